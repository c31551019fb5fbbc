//! What a run takes of memory, as the kernel tells it once the run has ended.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a program as its only child, and writes down the peak of its resident memory. The kernel's
/// figure begins with what the parent took before its child became another program, so that the
/// parent has to be small: a test is not.
const WATCH: &str = "
import os, sys
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(child, 0)
with open(sys.argv[1], 'w') as file:
    file.write(str(used.ru_maxrss * 1024))
code = os.waitstatus_to_exitcode(status)
sys.exit(code if code >= 0 else 128 - code)
";

/// How a run ended, what it said, and the most memory that it held.
pub struct Watched {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
    pub peak_bytes: u64,
}

/// Runs the program in a folder.
pub fn watched(folder: &Path, arguments: &[&str], input: Stdio) -> Watched {
    let peak = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new("python3")
        .args(["-c", WATCH])
        .arg(peak.path())
        .arg(env!("CARGO_BIN_EXE_albers"))
        .args(arguments)
        .current_dir(folder)
        .stdin(input)
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    let peak_bytes = std::fs::read_to_string(peak.path()).unwrap();
    let peak_bytes = peak_bytes.parse().unwrap_or_else(|_| panic!("not measured: {err}"));
    Watched { code: output.status.code(), out: output.stdout, err, peak_bytes }
}
