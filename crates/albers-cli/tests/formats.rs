//! Tables as people have them: JSON Lines, workbooks, and files that are no tables at all.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod common;
mod formats {
    pub mod foreign;
    pub mod json_lines;
    pub mod sheets;
    pub mod workbooks;
}
