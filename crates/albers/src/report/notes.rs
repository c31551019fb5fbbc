//! Things the user should know: typed, and said in one place.

use std::fmt;

use albers_lattice::choose::Minimize;
use albers_partition::top::SampledTops;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::source::Remark;
use serde::{Serialize, Serializer};

use crate::finding::Acceptance;

/// Something the user should know. Reports hold its sentence.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Note {
    /// What was found out about the table while it was read.
    Reading(Remark),
    /// How far the values of a column are apart.
    Closeness {
        /// The column.
        column: String,
        /// How far.
        distance: Distance,
    },
    /// It is not known which values of a column occur.
    ValuesUnknown {
        /// The column.
        column: String,
    },
    /// There are several releases of one index.
    BoundTogether,
    /// A hierarchy got a top of its own.
    AddedTop {
        /// The column.
        column: String,
    },
    /// How good the best that was found in the time given is.
    Gap {
        /// What was minimized.
        minimize: Minimize,
        /// How much less of it there could be, as a share.
        gap: f64,
    },
    /// Classes overlap.
    Overlap,
    /// There is one class only.
    OneClass {
        /// Whether classes come of cuts.
        is_cut: bool,
    },
    /// With rows left out the requirement is not monotone.
    NotMonotone,
    /// No k was given.
    GivenK {
        /// The k that the given release reaches.
        k: u64,
        /// What k counts.
        counts: &'static str,
    },
    /// What a given release loses cannot be told.
    LossUnknown {
        /// Why.
        why: String,
    },
    /// Labels lose more than what a given release shows.
    LabelsLoseMore,
    /// The column that pairs rows is published.
    KeyPublished {
        /// The column.
        column: String,
    },
    /// A quasi-identifier is shown by its bounds.
    ShownByBounds {
        /// The quasi-identifier.
        column: String,
        /// The columns that show it.
        shown_in: Vec<String>,
    },
    /// A sensitive column has cells without a value.
    MissingValues {
        /// The column.
        column: String,
        /// How many.
        n_missing: u64,
    },
    /// The divergence was not computed.
    NoKey,
    /// Whether one person rules a class was not counted.
    NoKeyForPersons,
    /// Rows of a release whose value of a carried column was not found in the original.
    NotInOriginal {
        /// The column.
        column: String,
        /// How many.
        n_rows: u64,
    },
    /// A selection has fewer rows than a class.
    SelectsFew {
        /// Which, counted from 1.
        place: usize,
    },
    /// How many rows satisfy a selection is not told.
    LeftOutUnknown,
    /// Rows were left out of a release.
    RowsLeftOut {
        /// How many.
        n_rows: u64,
    },
    /// Labels of nested classes may hold more than their regions.
    LabelsHideLevels,
    /// Labels of a column are not explained by anything.
    LabelsUnread {
        /// The column.
        column: String,
    },
    /// The true answers of queries are those of all rows, also of those left out.
    LeftOutAsked,
    /// Classes of one level overlap, or are too many to compare, so that levels have no say in what
    /// a release answers.
    LevelsTellNothing,
    /// Rows have values that a recoding function does not know.
    OutsideModel {
        /// How many.
        n_rows: u64,
    },
    /// Rows are in leaves of a recoding function that miss the requirement.
    BelowRequirement {
        /// How many.
        n_rows: u64,
    },
    /// Cells of a column are in no range of a fixed grid.
    Unfit {
        /// The column.
        column: String,
        /// How many.
        n_rows: u64,
    },
    /// Rows name no person.
    WithoutPerson {
        /// How many.
        n_rows: u64,
    },
    /// No cell of a fixed grid has enough drawn rows.
    NothingDrawn {
        /// How many would be enough.
        k: u64,
    },
    /// Samples supported no cut of some parts.
    NotSupported {
        /// How many.
        n_parts: u64,
    },
    /// Parts too large to be cut at once stayed whole.
    MaybeDivisible {
        /// How many.
        n_parts: u64,
    },
    /// A finding is accepted that there is not.
    NothingToAccept {
        /// What is accepted.
        accepted: Acceptance,
    },
}

/// How far the values of a sensitive column are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// All equally far.
    Equal,
    /// All equally far, since some are missing.
    EqualSinceMissing,
    /// As numbers are.
    Ordered,
    /// By their hierarchy.
    Hierarchical,
}

impl Note {
    /// What the owner should know of cuts that were chosen on samples.
    pub(crate) fn of_samples(tops: &SampledTops) -> impl Iterator<Item = Note> + use<> {
        let told = |n_parts: u64| (n_parts > 0).then_some(n_parts);
        let not_supported = told(tops.fell_back).map(|n_parts| Note::NotSupported { n_parts });
        let whole = told(tops.maybe_divisible).map(|n_parts| Note::MaybeDivisible { n_parts });
        not_supported.into_iter().chain(whole)
    }

    /// What it says, with settings that each face names in its own words.
    pub fn wording(&self) -> Wording {
        match self {
            Note::LabelsLoseMore => wording![
                "the given release loses less, since labels of a hierarchy are coarser than what \
                 it shows: ",
                Field::Categories.of("set"),
                " shows intervals and sets"
            ],
            Note::NoKey => wording![
                "the KL divergence needs to know which rows belong together: name a column that \
                 is unique in both files with ",
                Field::Key
            ],
            Note::NoKeyForPersons => wording![
                "whether a rule holds only by the rows of one person cannot be told: name a column \
                 that is unique in both files with ",
                Field::Key
            ],
            Note::SelectsFew { place } => wording![
                Field::Select,
                format!(
                    " number {place} has fewer rows than a class: whatever is returned for it has \
                     others too"
                )
            ],
            Note::LeftOutUnknown => wording![
                "the release leaves rows out, so that what satisfies ",
                Field::Select,
                " behind it is not known: name a column that is unique in both files with ",
                Field::Key
            ],
            Note::LeftOutAsked => wording![
                "the release leaves rows out, and it is not known which: the true answers of queries \
                 are those of all rows of the original; name a column that is unique in both files \
                 with ",
                Field::Key
            ],
            Note::LevelsTellNothing => wording![
                "classes of one level overlap, or too many lie within each other, so that levels \
                 tell nothing: each class is asked as all of its box; name another column with ",
                Field::LevelColumn
            ],
            Note::OutsideModel { n_rows } => wording![format!(
                "{n_rows} rows have values that the model does not know, and are left out"
            )],
            Note::BelowRequirement { n_rows } => wording![format!(
                "{n_rows} rows are in classes of the model that miss the requirement with these \
                 rows, and are left out"
            )],
            Note::LabelsUnread { column } => wording![
                format!(
                    "nothing tells what the labels of '{column}' stand for, so that each may be any \
                     value: give its "
                ),
                Field::Hierarchy
            ],
            Note::NothingToAccept { accepted } => {
                wording![Field::Accept.of(accepted.to_string()), " meets no finding"]
            }
            other => other.to_string().into(),
        }
    }

    /// The words of notes that tell how many rows, cells or parts there are, and of others that
    /// tell of single columns.
    fn counted(&self) -> String {
        match self {
            Note::RowsLeftOut { n_rows } => format!(
                "{n_rows} rows of the table were left out of the release: what is told is told of the \
                 others, and up to {n_rows} more may satisfy"
            ),
            Note::Unfit { column, n_rows } => {
                format!(
                    "{n_rows} cells of '{column}' are in none of its ranges, and count as missing"
                )
            }
            Note::WithoutPerson { n_rows } => {
                format!("{n_rows} rows name no person, and are never drawn")
            }
            Note::NothingDrawn { k } => format!(
                "no class has {k} drawn rows, so that the release has none: use fewer or longer ranges"
            ),
            Note::NotSupported { n_parts } => format!(
                "the samples of {n_parts} parts of the table supported no cut that held with all \
                 rows: these parts were divided without a test"
            ),
            Note::MaybeDivisible { n_parts: 1 } => {
                "a class has more rows than are cut at once, and \
                 no sample showed how to divide it: some cut of it may still be allowable"
                    .to_owned()
            }
            Note::MaybeDivisible { n_parts } => format!(
                "{n_parts} classes have more rows than are cut at once, and no sample showed how to \
                 divide them: some cut of them may still be allowable"
            ),
            Note::NotInOriginal { column, n_rows } => format!(
                "{n_rows} rows have a value of '{column}' that the original does not have, or not in \
                 this form: what these tell is not counted"
            ),
            Note::MissingValues { column, n_missing } => {
                format!("'{column}' misses {n_missing} values, which count as a value of their own")
            }
            Note::KeyPublished { column } => {
                format!("the key '{column}' is published: whoever knows a key finds its row")
            }
            Note::Reading(remark) => remark.to_string(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Closeness { column, distance } => {
                write!(f, "t-closeness of '{column}' {}", distance.words())
            }
            Note::ValuesUnknown { column } => write!(
                f,
                "the divergence counts all values between the least and the greatest of \
                 '{column}', whether they occur or not"
            ),
            Note::BoundTogether => f.write_str(
                "every class of every release is a union of whole classes of each finer one, as they \
                 are shown: whoever holds some of the releases has the finest of these, and no more",
            ),
            Note::AddedTop { column } => write!(
                f,
                "the hierarchy of '{column}' has several values at its top: a level '*' above them \
                 was added, so that the column can be suppressed"
            ),
            Note::Gap { minimize, gap } => f.write_str(&gap_words(*minimize, *gap)),
            Note::Overlap => f.write_str(
                "classes may overlap: a value may be shown as it is in one row and generalized in \
                 another",
            ),
            Note::OneClass { is_cut: true } => f.write_str(
                "all rows are in one class: no cut leaves classes that satisfy the requirement",
            ),
            Note::OneClass { is_cut: false } => f.write_str("all published rows are in one class"),
            Note::NotMonotone => f.write_str(
                "with rows left out this requirement is not monotone: a generalization of a \
                 satisfying one need not satisfy; every one that could was looked at",
            ),
            Note::GivenK { k, counts } => write!(
                f,
                "no k was given: the smallest class of the release has {k} {counts}, so k is {k}"
            ),
            Note::LossUnknown { why } => {
                write!(f, "the loss before compaction is not known: {why}")
            }
            Note::LabelsLoseMore
            | Note::NoKey
            | Note::NoKeyForPersons
            | Note::SelectsFew { .. }
            | Note::LeftOutUnknown
            | Note::LeftOutAsked
            | Note::LevelsTellNothing
            | Note::OutsideModel { .. }
            | Note::BelowRequirement { .. }
            | Note::LabelsUnread { .. }
            | Note::NothingToAccept { .. } => write!(f, "{}", self.wording()),
            Note::LabelsHideLevels => f.write_str(
                "labels may hold more than the regions of their classes, so that levels do not tell \
                 whose a value is: each class is asked as all of its box",
            ),
            Note::RowsLeftOut { .. }
            | Note::Unfit { .. }
            | Note::WithoutPerson { .. }
            | Note::NothingDrawn { .. }
            | Note::NotSupported { .. }
            | Note::MaybeDivisible { .. }
            | Note::NotInOriginal { .. }
            | Note::MissingValues { .. }
            | Note::KeyPublished { .. }
            | Note::Reading(_) => f.write_str(&self.counted()),
            Note::ShownByBounds { column, shown_in } => {
                write!(f, "'{column}' is shown by its bounds: {}", shown_in.join(", "))
            }
        }
    }
}

/// How much better than what was found the best may be.
fn gap_words(minimize: Minimize, gap: f64) -> String {
    if gap <= 0.0 {
        return format!("the search proved that no generalization has a lower {minimize}");
    }
    format!(
        "the search ended before it could prove the best: no generalization can have a {minimize} \
         lower by more than {:.1} %; another time may find another one",
        gap * 100.0
    )
}

impl Distance {
    fn words(self) -> &'static str {
        match self {
            Distance::EqualSinceMissing => {
                "counts all values as equally far apart, since some are missing"
            }
            Distance::Equal => "counts all values as equally far apart",
            Distance::Ordered => "uses the distance between its values",
            Distance::Hierarchical => "uses the distance in its hierarchy",
        }
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
