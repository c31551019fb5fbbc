//! `albers man`: manual pages, one for each command.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use albers::{Job, files};
use anyhow::{Context as _, Result};
use clap::{Args, Command};
use clap_mangen::Man;

use crate::render;

/// Write manual pages into a folder, one for each command
#[derive(Args)]
pub struct Arguments {
    /// The folder, made if it is not there; pages that are there already are replaced
    dir: PathBuf,
}

/// Runs the command, for a program with these commands.
pub fn run(arguments: &Arguments, mut program: Command) -> Result<ExitCode> {
    let Arguments { dir } = arguments;
    std::fs::create_dir_all(dir)
        .with_context(|| format!("cannot create the folder {}", dir.display()))?;
    program.build();
    let mut pages = Vec::new();
    write(&program, program.get_name(), dir, &mut pages)?;
    render::tell(&format!("wrote {} manual pages to {}\n", pages.len(), dir.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the page of a command, and those of its commands.
fn write(command: &Command, name: &str, dir: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    let page = Man::new(command.clone().disable_help_subcommand(true)).title(name);
    let mut text = Vec::new();
    page.render(&mut text).expect("memory takes all that is written to it");
    let path = dir.join(page.get_filename());
    files::write_text(&Job::default(), &path, &String::from_utf8_lossy(&text))?;
    pages.push(path);
    for own in command.get_subcommands().filter(|own| own.get_name() != "help") {
        write(own, &format!("{name}-{}", own.get_name()), dir, pages)?;
    }
    Ok(())
}
