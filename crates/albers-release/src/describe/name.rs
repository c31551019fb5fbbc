//! How a name stands in a cell, so that the cell can be read in one way only.
//!
//! ```text
//!   A   say "x"   (none)   [sic]        names that read like nothing else stand as they are
//!   "*"   "{A, B}"   "[1, 2]"   """"    all others in quotes, quotes doubled
//!   {A, "B, C"}                         members of a set also where they hold what separates them
//! ```
//!
//! Guarantee: no two names, sets, intervals and `*` have the same text. A cell that begins with a
//! quote is a name, one that begins with a brace is a set, a lone `*` is any value, and brackets
//! around a comma are an interval; everything else is a name.
//! Cost: one look at the name.

use super::ANY;

/// Writes a name that stands alone in its cell, in quotes if it reads like something else.
pub(crate) fn push_name(name: &str, out: &mut String) {
    match reads_otherwise(name) {
        true => push_quoted(name, out),
        false => out.push_str(name),
    }
}

/// Writes a member of a set, in quotes if it reads like something else or like several members.
pub(crate) fn push_member(member: &str, out: &mut String) {
    let is_plain = !reads_otherwise(member)
        && member.trim() == member
        && !member.starts_with('(')
        && !member.contains([',', '{', '}', '"', '[', ']']);
    if is_plain { out.push_str(member) } else { push_quoted(member, out) }
}

/// Writes a name in quotes.
pub(crate) fn push_quoted(name: &str, out: &mut String) {
    out.push('"');
    out.push_str(&name.replace('"', "\"\""));
    out.push('"');
}

/// Whether a cell that holds nothing but the name would be read as something else.
pub(crate) fn reads_otherwise(name: &str) -> bool {
    let inner = name.trim();
    inner.is_empty() || inner == ANY || inner.starts_with(['{', '"']) || reads_as_interval(inner)
}

/// Whether a text has the form of an interval, ours or anybody's.
pub(crate) fn reads_as_interval(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['[', '(', ']'])
        && text.ends_with([']', ')', '['])
        && text.contains([',', ';'])
}
