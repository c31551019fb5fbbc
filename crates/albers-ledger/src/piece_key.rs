//! Which piece of a ledger some bytes are.

use std::fmt;

/// Which piece of a ledger some bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceKey {
    /// Version and numbers, rewritten with every other piece.
    Head,
    /// The sets of some rows.
    Rows(u32),
    /// Some signatures.
    Sets(u32),
    /// Earlier values of some living rows.
    Past(u32),
    /// Deleted members of some sets.
    Dead(u32),
    /// What is recorded of one release.
    Release(u32),
    /// The sets that were accepted below the requirement.
    Below,
    /// One recoding of sensitive columns.
    Recoding(u32),
}

impl PieceKey {
    /// The key as a number: pieces of one kind follow each other.
    pub fn to_u64(self) -> u64 {
        let (kind, number) = match self {
            Self::Head => (0, 0),
            Self::Rows(number) => (1, number),
            Self::Sets(number) => (2, number),
            Self::Past(number) => (3, number),
            Self::Dead(number) => (4, number),
            Self::Release(number) => (5, number),
            Self::Below => (6, 0),
            Self::Recoding(number) => (7, number),
        };
        kind << 32 | u64::from(number)
    }

    /// The key of a number that [`Self::to_u64`] gave.
    pub fn from_u64(key: u64) -> Option<Self> {
        let number = key as u32;
        match (key >> 32, number) {
            (0, 0) => Some(Self::Head),
            (1, _) => Some(Self::Rows(number)),
            (2, _) => Some(Self::Sets(number)),
            (3, _) => Some(Self::Past(number)),
            (4, _) => Some(Self::Dead(number)),
            (5, _) => Some(Self::Release(number)),
            (6, 0) => Some(Self::Below),
            (7, _) => Some(Self::Recoding(number)),
            _ => None,
        }
    }
}

impl fmt::Display for PieceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head => write!(f, "the head"),
            Self::Rows(number) => write!(f, "piece {number} of the rows"),
            Self::Sets(number) => write!(f, "piece {number} of the sets"),
            Self::Past(number) => write!(f, "piece {number} of the past values"),
            Self::Dead(number) => write!(f, "piece {number} of the deleted rows"),
            Self::Release(number) => write!(f, "release {number}"),
            Self::Below => write!(f, "the list of accepted sets"),
            Self::Recoding(number) => write!(f, "recoding {number}"),
        }
    }
}
