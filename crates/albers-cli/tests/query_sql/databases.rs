//! DuckDB and PostgreSQL, where they are installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Prints a row for each statement of a script.
const DUCKDB: &str = "
import duckdb, sys
connection = duckdb.connect()
for statement in connection.extract_statements(sys.stdin.read()):
    print(*connection.execute(statement).fetchone(), sep='|')
";

/// What a database answers: overlap, estimate, lower and upper.
pub type Answer = [f64; 4];

/// A database.
pub enum Database {
    DuckDb { python: PathBuf },
    PostgreSql(Cluster),
}

impl Database {
    /// Those that are there; says which are not.
    pub fn all(test: &str) -> Vec<Database> {
        let duckdb = python().map(|python| Database::DuckDb { python });
        let postgresql = Cluster::start().map(Database::PostgreSql);
        for (name, is_there) in [("DuckDB", duckdb.is_some()), ("PostgreSQL", postgresql.is_some())]
        {
            if !is_there {
                println!("{test}: not tried in {name}, which is not there (./test installs it)");
            }
        }
        duckdb.into_iter().chain(postgresql).collect()
    }

    pub fn dialect(&self) -> &'static str {
        match self {
            Database::DuckDb { .. } => "duckdb",
            Database::PostgreSql(_) => "postgresql",
        }
    }

    /// The answers to the statements of a script, with a release as the table `release`.
    pub fn answers(&self, folder: &Path, release: &str, header: &str, script: &str) -> Vec<Answer> {
        let printed = match self {
            Database::DuckDb { python } => {
                run(Command::new(python).args(["-c", DUCKDB]).current_dir(folder), script)
            }
            Database::PostgreSql(cluster) => {
                let columns: Vec<String> =
                    header.split(',').map(|name| format!("{} text", name.trim())).collect();
                let load = format!(
                    "drop table if exists release; create table release ({});\n\\copy release from \
                     '{}' with (format csv, header)\n",
                    columns.join(", "),
                    folder.join(release).display()
                );
                cluster.psql(&format!("{load}{script}"))
            }
        };
        let numbers = |line: &str| -> Option<Answer> {
            let numbers: Option<Vec<f64>> = line.split('|').map(|own| own.parse().ok()).collect();
            numbers?.try_into().ok()
        };
        printed.lines().filter_map(numbers).collect()
    }
}

/// The Python that has DuckDB: in `target/venv`, or where `ALBERS_TOOLS` says.
fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("ALBERS_TOOLS").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/venv");
    let python = folder.unwrap_or(beside).join("bin/python");
    python.is_file().then_some(python)
}

/// A PostgreSQL that nobody else uses, gone when it is dropped.
pub struct Cluster {
    folder: tempfile::TempDir,
    programs: PathBuf,
}

impl Cluster {
    fn start() -> Option<Cluster> {
        let programs = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let programs = programs.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
        let programs = programs.filter(|own| own.join("initdb").is_file()).max()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cluster = Cluster { folder, programs };
        let path = cluster.folder.path();
        let is_root = run(Command::new("id").arg("-u"), "").trim() == "0";
        if is_root {
            run(Command::new("chown").arg("postgres").arg(path), "");
        }
        let data = path.join("data");
        let data = data.to_str().expect("a plain path");
        cluster.own("initdb", &["-D", data, "-A", "trust", "-U", "tester", "-N"]);
        let options = format!("-c listen_addresses='' -k {} -F", path.display());
        let log = path.join("log");
        let log = log.to_str().expect("a plain path");
        cluster.own("pg_ctl", &["-D", data, "-w", "-l", log, "-o", &options, "start"]);
        Some(cluster)
    }

    /// Runs a program of the server, as somebody who is not root.
    fn own(&self, program: &str, arguments: &[&str]) {
        let program = self.programs.join(program);
        let is_root = run(Command::new("id").arg("-u"), "").trim() == "0";
        let mut command = match is_root {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        // The server goes on, and would keep a pipe open.
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "{command:?}");
    }

    fn psql(&self, script: &str) -> String {
        let folder = self.folder.path();
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-U", "tester", "-d", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1", "-h"]);
        run(command.arg(folder), script)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let data = self.folder.path().join("data");
        let data = data.to_str().expect("a plain path").to_owned();
        self.own("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}

fn run(command: &mut Command, input: &str) -> String {
    use std::io::Write as _;
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it is written").ok();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}
