//! The tools that recipients have, where they are installed.

#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::path::PathBuf;
use std::process::Command;

use crate::common::{Folder, finished};

/// Runs every statement of a script, and prints the counts that come of it.
const DUCKDB: &str = "
import duckdb, sys
connection = duckdb.connect()
for statement in connection.extract_statements(sys.stdin.read()):
    found = connection.execute(statement).fetchall()
    if 'SELECT count' in statement.query:
        print(found[0][0])
";

/// The Python that has them: in `target/venv`, or where `ALBERS_TOOLS` says.
fn python() -> Option<PathBuf> {
    let folder = std::env::var_os("ALBERS_TOOLS").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/venv");
    let python = folder.unwrap_or(beside).join("bin/python");
    python.is_file().then_some(python)
}

/// Whether there are tools to run recipes in; says so if there are none.
#[expect(clippy::print_stdout, reason = "a test that is not tried says so")]
pub fn has_tools(test: &str) -> bool {
    let has = python().is_some();
    if !has {
        println!(
            "{test}: not tried, pandas and DuckDB are not in target/venv (./test installs them)"
        );
    }
    has
}

/// The numbers that the recipes of a page print, by tool: pandas, DuckDB, and R where it is
/// installed
/// and the release is one that it reads without packages.
pub fn answers_of(folder: &Folder, page: &str) -> Vec<(&'static str, Vec<u64>)> {
    let python = python().unwrap();
    let mut command = Command::new(&python);
    let mut answers =
        vec![("pandas", numbers(folder, command.arg("-c").arg(block(page, "python"))))];
    folder.write("recipe.sql", block(page, "sql"));
    let mut command = Command::new(&python);
    let script = std::fs::File::open(folder.path("recipe.sql")).unwrap();
    answers.push(("DuckDB", numbers(folder, command.args(["-c", DUCKDB]).stdin(script))));
    let has_r = Command::new("Rscript").arg("--version").output().is_ok();
    let needs_package = ["arrow::", "jsonlite::"].iter().any(|own| block(page, "r").contains(own));
    if has_r && !needs_package {
        folder.write("recipe.R", block(page, "r"));
        let mut command = Command::new("Rscript");
        let printed = numbers(folder, command.args(["--vanilla", "recipe.R"]));
        answers.push(("R", printed));
    }
    answers
}

/// What a script of Python prints, which is given some arguments.
pub fn printed(folder: &Folder, script: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(python().unwrap());
    command.current_dir(folder.path("")).args(["-c", script]).args(arguments);
    let run = finished(&mut command);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    run.out
}

/// The code of a page in a language.
fn block(page: &str, language: &str) -> String {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("\n```\n").unwrap().0.to_owned() + "\n"
}

fn numbers(folder: &Folder, command: &mut Command) -> Vec<u64> {
    let run = finished(command.current_dir(folder.path("")));
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    let lines = run.out.lines().map(|line| line.trim_start_matches("[1] "));
    lines.map(|line| line.trim().parse().unwrap()).collect()
}
