//! The notation of cells, as far as a look at the text of a cell needs it.

/// What the text of a cell is, `"` undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell<'a> {
    /// `*`.
    Any,
    /// `[48, 62]`, `(-inf, 24]`.
    Interval(&'a str, &'a str),
    /// A value or a label.
    Name(String),
    /// `{a, "b, c"}`: the members, without the missing one.
    Set(Vec<Cell<'a>>),
}

/// What a cell is, and whether it shows a missing value beside that.
pub(super) fn read(text: &str) -> (Cell<'_>, bool) {
    let Some(inner) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return (alone(text), false);
    };
    let (inner, with_missing) = match inner.strip_prefix(", ") {
        Some(rest) => (rest, true),
        None => (inner, false),
    };
    // What stands beside the missing value alone is an interval, a value or a label; labels that look
    // like intervals, and the one for any value, stand in quotes there.
    let bare = inner.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match bare.filter(|_| with_missing) {
        Some("*") => return (Cell::Any, true),
        Some(bare) if !bare.contains('"') => {
            if let Some((lo, hi)) = interval(bare) {
                return (Cell::Interval(lo, hi), true);
            }
        }
        _ => {}
    }
    let is_interval = inner.starts_with(['[', '(']) && interval(inner).is_some();
    let mut members = if is_interval { vec![alone(inner)] } else { members(inner) };
    match (with_missing, members.len()) {
        (true, 1) => (members.remove(0), true),
        _ => (Cell::Set(members), with_missing),
    }
}

fn alone(text: &str) -> Cell<'_> {
    if text == "*" {
        return Cell::Any;
    }
    if let Some(rest) = text.strip_prefix('"') {
        let (name, _) = quoted(rest);
        return Cell::Name(name);
    }
    match interval(text) {
        Some((lo, hi)) => Cell::Interval(lo, hi),
        None => Cell::Name(text.to_owned()),
    }
}

fn interval(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
    inner.split_once(", ")
}

/// The members of a set.
fn members(mut rest: &str) -> Vec<Cell<'_>> {
    let mut members = Vec::new();
    loop {
        let (member, behind) = match rest.strip_prefix('"') {
            Some(inside) => {
                let (name, behind) = quoted(inside);
                (Cell::Name(name), behind)
            }
            None => {
                let end = rest.find(", ").unwrap_or(rest.len());
                (Cell::Name(rest[..end].to_owned()), &rest[end..])
            }
        };
        members.push(member);
        match behind.strip_prefix(", ") {
            Some(next) => rest = next,
            None => return members,
        }
    }
}

/// The name behind an opening quote, and what follows the closing one.
fn quoted(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('"') {
        name.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return (name, rest),
        }
    }
    name.push_str(rest);
    (name, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Cell<'_> {
        Cell::Name(text.to_owned())
    }

    #[test]
    fn cells_are_read_as_they_are_written() {
        assert_eq!(read("48"), (name("48"), false));
        assert_eq!(read("[48, 62]"), (Cell::Interval("48", "62"), false));
        assert_eq!(read("(-inf, 24]"), (Cell::Interval("-inf", "24"), false));
        assert_eq!(read("{, [48, 62]}"), (Cell::Interval("48", "62"), true));
        assert_eq!(read("{, 01*}"), (name("01*"), true));
        assert_eq!(read("{, \"[60, 79]\"}"), (Cell::Interval("60", "79"), true));
        assert_eq!(read("{, \"*\"}"), (Cell::Any, true));
        assert_eq!(read("{, \"a, b\"}"), (name("a, b"), true));
        assert_eq!(read("*"), (Cell::Any, false));
        assert_eq!(read("\"*\""), (name("*"), false));
        assert_eq!(read("\"[1, 2]\""), (name("[1, 2]"), false));
        assert_eq!(read("(none)"), (name("(none)"), false));
        let set = Cell::Set(vec![name("a, b"), name("c"), name("say \"x\"")]);
        assert_eq!(read("{\"a, b\", c, \"say \"\"x\"\"\"}"), (set, false));
        assert_eq!(read("{, a, b}"), (Cell::Set(vec![name("a"), name("b")]), true));
    }
}
