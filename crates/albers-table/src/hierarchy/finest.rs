//! The lowest level of a hierarchy that may be shown.

use std::fmt;
use std::str::FromStr;

use super::HierarchySpec;
use crate::schema::ColumnType;

/// A level that nothing may be shown below: by its number, or by its name where levels have names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finest {
    /// By its number: 1 is the first above the values.
    Level(usize),
    /// By its name: `year` of dates, `3-characters` of prefixes.
    Named(String),
}

impl FromStr for Finest {
    type Err = String;

    fn from_str(text: &str) -> Result<Finest, String> {
        match text.trim() {
            "" => Err("no level given; use for example 1, year or 3-characters".to_owned()),
            text => match text.parse() {
                Ok(0) => Err("level 0 is the values themselves, which are shown anyway".to_owned()),
                Ok(level) => Ok(Finest::Level(level)),
                Err(_) => Ok(Finest::Named(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for Finest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finest::Level(level) => write!(f, "{level}"),
            Finest::Named(name) => f.write_str(name),
        }
    }
}

impl Finest {
    /// The number of the level in a hierarchy of this height, or what levels there are.
    pub(super) fn level(
        &self,
        spec: &HierarchySpec,
        column_type: ColumnType,
        height: usize,
    ) -> Result<usize, String> {
        let numbers = || format!("its levels are 1 to {height}");
        match (self, spec) {
            (Finest::Level(level), _) => {
                Some(*level).filter(|&level| level <= height).ok_or_else(numbers)
            }
            (Finest::Named(name), HierarchySpec::Dates(levels)) => {
                let names: Vec<String> = levels
                    .of(column_type == ColumnType::Timestamp)
                    .iter()
                    .map(ToString::to_string)
                    .collect();
                let place = names.iter().position(|own| own == name);
                // Without any value there is nothing between a value and the top.
                place
                    .map(|place| height.min(place + 1))
                    .ok_or_else(|| format!("{}, by name {}", numbers(), names.join(", ")))
            }
            (Finest::Named(name), HierarchySpec::Prefix) => {
                let n_kept = ["-characters", "-character", "-digits", "-digit"]
                    .iter()
                    .find_map(|ending| name.strip_suffix(ending)?.parse::<usize>().ok());
                n_kept.filter(|&n_kept| n_kept < height).map(|n_kept| height - n_kept).ok_or_else(
                    || {
                        let most = height.saturating_sub(1);
                        format!("{}, by name 1-characters to {most}-characters", numbers())
                    },
                )
            }
            (Finest::Named(_), _) => Err(numbers()),
        }
    }
}
