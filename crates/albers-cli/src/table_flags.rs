//! Flags of the commands that look at tables which somebody else may have made.

use std::path::PathBuf;

use albers::source::{Layout, Source};
use albers::{ColumnType, Job, Role};
use anyhow::{Result, anyhow};
use clap::Args;

use crate::flags::{
    self, Assignment, ColumnFlags, HeaderFlags, HierarchyFlag, MethodFlags, RequirementFlags,
};
use crate::text_flags::TextFlags;

/// What the columns of a table are.
#[derive(Args)]
#[command(next_help_heading = "Columns")]
pub struct TableFlags {
    /// Columns that others know and that identify people in combination
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    quasi: Vec<String>,
    /// Columns that must not be linked to a person
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    sensitive: Vec<String>,
    /// The type of a column: integer, decimal, float, date, timestamp, boolean, text or code
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    types: Vec<Assignment<ColumnType>>,
    /// The hierarchy of a column: a FILE (one row per value, from specific to general), prefix,
    /// ranges:5,10,20, dates, dates:month,year or suppress
    #[arg(long = "hierarchy", value_name = "COLUMN=HIERARCHY")]
    hierarchies: Vec<HierarchyFlag>,
    /// The character between the cells of a CSV file, or tab; told from the header when not given
    #[arg(long, value_name = "CHARACTER", value_parser = flags::delimiter)]
    delimiter: Option<char>,
    #[command(flatten)]
    pub header: HeaderFlags,
    /// The sheet of a workbook; the only one that holds anything when not given
    #[arg(long, value_name = "NAME")]
    pub sheet: Option<String>,
    /// A text that stands for a missing value, besides the empty cell and, among numbers and dates,
    /// NA, N/A, NULL, None, NaN, unknown, ?, - and .; age=99 for one of the column age
    #[arg(long, value_name = "[COLUMN=]TEXT")]
    missing: Vec<String>,
    #[command(flatten)]
    text: TextFlags,
}

/// A flag that tells how a text is written.
#[derive(Clone, Copy)]
pub struct SaidOfText(&'static str);

impl SaidOfText {
    /// Refuses it where none of the tables is a text.
    pub fn check(self, tables: &[&dyn Source]) -> Result<()> {
        let SaidOfText(flag) = self;
        let layouts = || tables.iter().map(|table| table.layout());
        match layouts().next() {
            Some(first) if layouts().all(|layout| layout != Layout::Text) => {
                Err(anyhow!("{flag} has no effect on {}; drop it", first.words()))
            }
            _ => Ok(()),
        }
    }
}

impl TableFlags {
    /// What they say that only a text can be told. A job file may say it of its input, whatever the
    /// tables are that it is taken for.
    pub fn said_of_text(&self) -> Option<SaidOfText> {
        let said = [
            ("--delimiter", self.delimiter.is_some()),
            ("--encoding", self.text.encoding.is_some()),
        ];
        said.into_iter().find_map(|(flag, is_given)| is_given.then_some(SaidOfText(flag)))
    }

    /// A job from a job file, if one is given, and flags that override it. What flags say of a
    /// column without a role would have no effect and is refused.
    pub fn job(
        self,
        file: Option<&PathBuf>,
        subject: Option<String>,
        requirement: RequirementFlags,
        method: MethodFlags,
    ) -> Result<Job> {
        let TableFlags {
            quasi,
            sensitive,
            types,
            hierarchies,
            delimiter,
            header,
            sheet,
            missing,
            text,
        } = self;
        let weights_of =
            method.weights.iter().map(|given| given.column.clone()).collect::<Vec<_>>();
        let types_of = types.iter().map(|given| given.column.clone()).collect::<Vec<_>>();
        let hierarchies_of = hierarchies.clone();
        let columns = ColumnFlags {
            quasi,
            sensitive,
            subject,
            types,
            hierarchies,
            delimiter,
            header,
            sheet,
            missing,
            text,
            ..ColumnFlags::default()
        };
        let job = flags::job(file, columns, requirement, method)?;
        let mut weights_of = weights_of.iter();
        if let Some(name) = weights_of.find(|name| role_of(&job, name) != Some(Role::Quasi)) {
            return Err(anyhow!(
                "--weight names column '{name}', which is not quasi; add it to --quasi, or drop \
                 the flag"
            ));
        }
        let types_of = types_of.into_iter().map(|name| ("--type", name));
        let hierarchies_of =
            hierarchies_of.iter().map(|given| ("--hierarchy", given.split(&job).column));
        for (flag, name) in types_of.chain(hierarchies_of) {
            if !matches!(role_of(&job, &name), Some(Role::Quasi | Role::Sensitive)) {
                return Err(anyhow!(
                    "{flag} names column '{name}', which is neither quasi nor sensitive; \
                     add it to --quasi or --sensitive, or drop the flag"
                ));
            }
        }
        Ok(job)
    }
}

fn role_of(job: &Job, name: &str) -> Option<Role> {
    job.columns.get(name).and_then(|column| column.role)
}
