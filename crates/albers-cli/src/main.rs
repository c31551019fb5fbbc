//! The program `albers`.
//!
//! Exit codes: 0 published or satisfied, 1 the requirement cannot be met or does not hold (nothing
//! is written), 2 bad usage or input.

mod commands;
mod flags;
mod progress;
mod render;
mod table_flags;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Anonymizes tables about people: hides every person in a group and loses as little as possible.
#[derive(Parser)]
#[command(name = "albers", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Anonymize(Box<commands::anonymize::Arguments>),
    Check(commands::check::Arguments),
    Compact(commands::compact::Arguments),
    Experiment(commands::experiment::Arguments),
    Generate(commands::generate::Arguments),
    Index(commands::index::Arguments),
    Init(commands::init::Arguments),
    Lattice(commands::lattice::Arguments),
    Measure(commands::measure::Arguments),
    Query(Box<commands::query::Arguments>),
    Recode(commands::recode::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let interrupt = ctrlc::set_handler(|| {
        albers::remove_unfinished();
        std::process::exit(130);
    });
    if let Err(error) = interrupt {
        render::warn(&format!("an interrupt may leave a temporary file behind: {error}"));
    }
    let outcome = match arguments.command {
        Command::Anonymize(arguments) => commands::anonymize::run(*arguments),
        Command::Check(arguments) => commands::check::run(arguments),
        Command::Compact(arguments) => commands::compact::run(arguments),
        Command::Experiment(arguments) => commands::experiment::run(arguments),
        Command::Generate(arguments) => commands::generate::run(arguments),
        Command::Index(arguments) => commands::index::run(arguments),
        Command::Init(arguments) => commands::init::run(arguments),
        Command::Lattice(arguments) => commands::lattice::run(arguments),
        Command::Measure(arguments) => commands::measure::run(arguments),
        Command::Query(arguments) => commands::query::run(*arguments),
        Command::Recode(arguments) => commands::recode::run(arguments),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => render::fail(&error),
    }
}
