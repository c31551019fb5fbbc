//! Flags of the commands that look at tables which somebody else may have made.

use std::path::PathBuf;

use albers::{ColumnType, Job, Role};
use anyhow::{Result, anyhow};
use clap::Args;

use crate::flags::{self, Assignment, ColumnFlags, MethodFlags, RequirementFlags};

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
    /// ranges:5,10,20, dates or suppress
    #[arg(long = "hierarchy", value_name = "COLUMN=HIERARCHY")]
    hierarchies: Vec<Assignment<String>>,
    /// The character between the cells of a CSV file; told from the header when not given
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<char>,
    /// A text that stands for a missing value, besides the empty cell
    #[arg(long, value_name = "TEXT")]
    missing: Vec<String>,
}

impl TableFlags {
    /// A job from a job file, if one is given, and flags that override it. What flags say of a
    /// column without a role would have no effect and is refused.
    pub fn job(
        self,
        file: Option<&PathBuf>,
        subject: Option<String>,
        requirement: RequirementFlags,
        method: MethodFlags,
    ) -> Result<Job> {
        let TableFlags { quasi, sensitive, types, hierarchies, delimiter, missing } = self;
        let types_of = types.iter().map(|given| ("--type", given.column.clone()));
        let hierarchies_of = hierarchies.iter().map(|given| ("--hierarchy", given.column.clone()));
        let weights_of = method.weights.iter().map(|given| ("--weight", given.column.clone()));
        let named: Vec<_> = types_of.chain(hierarchies_of).chain(weights_of).collect();
        let columns = ColumnFlags {
            quasi,
            sensitive,
            subject,
            types,
            hierarchies,
            delimiter,
            missing,
            ..ColumnFlags::default()
        };
        let job = flags::job(file, columns, requirement, method)?;
        for (flag, name) in named {
            let role = job.columns.get(&name).and_then(|column| column.role);
            if !matches!(role, Some(Role::Quasi | Role::Sensitive)) {
                return Err(anyhow!(
                    "{flag} names column '{name}', which is neither quasi nor sensitive; \
                     add it to --quasi or --sensitive, or drop the flag"
                ));
            }
        }
        Ok(job)
    }
}
