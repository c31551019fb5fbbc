//! `albers completions`: what a shell needs to complete commands and flags.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::render;

/// Print what a shell needs to complete commands, flags and choices
#[derive(Args)]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the command, for a program with these commands.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<ExitCode> {
    let mut text = Vec::new();
    let name = program.get_name().to_owned();
    clap_complete::generate(arguments.shell, &mut program, name, &mut text);
    render::print_raw(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
