//! `albers index`: a table that changes, kept so that a new release is a scan.

mod batch;
mod create;
mod look;
mod release;

use std::process::ExitCode;

use albers::{Index, Job};
use anyhow::Result;
use clap::{Args, Subcommand};

use crate::flags::ResourceFlags;
use crate::interrupt::{self, Work};

/// Keep a table that changes in a folder, and publish it again and again
///
/// Rows come, change and go by their key; a new release is a scan. The index remembers what it has
/// published, and publishes nothing that tells fewer people apart together with earlier releases
/// than its requirement allows. The folder holds the rows as they came: it is private, and nothing
/// of it is for publication but the releases.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// In the order of a life.
#[derive(Subcommand)]
enum Command {
    Create(Box<create::Arguments>),
    Insert(batch::Insert),
    Update(batch::Update),
    Delete(batch::Delete),
    Sync(batch::Sync),
    Release(release::Arguments),
    Info(look::Info),
    Check(look::Check),
    Compact(look::Compact),
}

/// Runs the command.
pub fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.command {
        Command::Create(arguments) => create::run(*arguments),
        Command::Insert(arguments) => batch::insert(arguments),
        Command::Update(arguments) => batch::update(arguments),
        Command::Delete(arguments) => batch::delete(arguments),
        Command::Sync(arguments) => batch::sync(arguments),
        Command::Release(arguments) => release::run(arguments),
        Command::Info(arguments) => look::info(arguments),
        Command::Check(arguments) => look::check(arguments),
        Command::Compact(arguments) => look::compact(arguments),
    }
}

/// A job that says what may be used, and nothing else.
fn resources_of(flags: ResourceFlags) -> Result<Job> {
    let mut job = Job::default();
    flags.apply(&mut job)?;
    Ok(job)
}

/// Opens an index for some work, with what may be used for that.
fn open(
    folder: &std::path::Path,
    resources: &Job,
    work: fn(std::path::PathBuf) -> Work,
) -> Result<Index> {
    interrupt::at(work, folder);
    let mut index = Index::open(folder)?;
    index.use_resources(resources)?;
    Ok(index)
}
