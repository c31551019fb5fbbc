//! The program `albers`.
//!
//! Exit codes: 0 published or satisfied, 1 the requirement cannot be met or does not hold (nothing
//! is written), 2 bad usage or input, 130 interrupted.

mod commands;
mod flags;
mod help;
mod interrupt;
mod plain;
mod progress;
mod render;
mod table_flags;
mod text_flags;
mod values;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Anonymizes tables about people: hides every person in a group and loses as little as possible.
#[derive(Parser)]
#[command(name = "albers", version)]
struct Arguments {
    /// Show no progress and no summary: only errors, what stops a job, and what was asked for
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Anonymize(Box<commands::anonymize::Arguments>),
    Check(commands::check::Arguments),
    Compact(commands::compact::Arguments),
    Completions(commands::completions::Arguments),
    Experiment(commands::experiment::Arguments),
    Generate(commands::generate::Arguments),
    Hierarchy(commands::hierarchy::Arguments),
    Index(commands::index::Arguments),
    Init(commands::init::Arguments),
    Lattice(commands::lattice::Arguments),
    Man(commands::man::Arguments),
    Measure(commands::measure::Arguments),
    Query(Box<commands::query::Arguments>),
    Recode(commands::recode::Arguments),
}

fn main() -> ExitCode {
    let program = help::polished(Arguments::command());
    let read = program.clone().try_get_matches();
    let arguments = match read.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return plain::refuse(&error),
    };
    if arguments.quiet {
        render::be_quiet();
    }
    interrupt::listen();
    let outcome = match arguments.command {
        Command::Anonymize(arguments) => commands::anonymize::run(*arguments),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Compact(arguments) => commands::compact::run(arguments),
        Command::Completions(arguments) => commands::completions::run(&arguments, program),
        Command::Experiment(arguments) => commands::experiment::run(arguments),
        Command::Generate(arguments) => {
            let pool = albers::pool(None).map_err(anyhow::Error::from);
            pool.and_then(|pool| pool.install(|| commands::generate::run(arguments)))
        }
        Command::Hierarchy(arguments) => commands::hierarchy::run(arguments),
        Command::Index(arguments) => commands::index::run(arguments),
        Command::Init(arguments) => commands::init::run(arguments),
        Command::Lattice(arguments) => commands::lattice::run(arguments),
        Command::Man(arguments) => commands::man::run(&arguments, program),
        Command::Measure(arguments) => commands::measure::run(arguments),
        Command::Query(arguments) => commands::query::run(*arguments),
        Command::Recode(arguments) => commands::recode::run(arguments),
    };
    interrupt::end();
    match outcome {
        Ok(code) => code,
        Err(error) => render::fail(&error),
    }
}
