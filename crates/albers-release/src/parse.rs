//! The text of a release, ours or anybody's, back to what it shows.
//!
//! ```text
//!   48                        a value
//!   [48, 62]  [48, 63)  48-62 an interval; an end that is turned outward is left out
//!   (-inf, 15]  [76, inf)     a range without a least or a greatest value
//!   Teaching                  a label of the hierarchy
//!   {A, "B, C"}               a set; members as `describe` writes them
//!   {, [48, 62]}              the missing value, or what follows
//!   "{A, B}"  "*"             a value or a label that would be read as something else
//!   *                         any value
//! ```
//!
//! Two columns of whole numbers instead of labels or sets are places in the order of a hierarchy file.
//! Places in another order are refused: it is not told which values they are of.
//!
//! Guarantee: a cell is read in one way only: as what its first letter says it is, a name in
//! quotes, a set or any value; then as a value or a label, then as an interval. Only a cell of a
//! release of others that is no such name and no such set is looked for as a value. What a cell
//! shows is never narrowed: only its bounds beyond the table are cut off.
//! Cost: linear in the text; one table of the names of a category.

use albers_classes::Attribute;
use albers_classes::space::Shown;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::code::{Code, CodeRange};
use albers_table::domain::{Domain, End, OrderedValue};
use albers_table::hierarchy::{Hierarchy, Node};
use albers_table::schema::ColumnType;
use albers_table::value;
use rustc_hash::FxHashMap;

use crate::describe::{ANY, CellContent, share_of_steps};

/// What a cell of a release shows, and what it loses.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCell {
    /// What it shows, in the codes of the table.
    pub content: CellContent,
    /// What it loses, in steps of the domain.
    pub lost_steps: u64,
    /// Whether the least and the greatest end of an interval are the values of their codes: an end
    /// may also lie between two values of the table, or beyond them.
    pub are_values: [bool; 2],
}

impl ReadCell {
    /// What it loses, from 0 to 1, before weights.
    pub fn loss(&self, domain: &Domain) -> f64 {
        share_of_steps(domain, self.lost_steps)
    }
}

/// Why a cell is not understood. Never holds its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellProblem {
    /// Neither a value, nor a label, nor an interval, nor a set.
    NotUnderstood,
    /// An interval or a value in which no value of the table lies.
    NoValueThere,
    /// The least value is above the greatest.
    Reversed,
    /// A missing value in a column that misses none.
    NothingMissing,
    /// Only one of two bounds.
    HalfBounds,
    /// Places in an order that the release does not tell.
    UnknownOrder,
}

impl CellProblem {
    /// What is wrong, for a message.
    pub fn problem(self) -> &'static str {
        match self {
            CellProblem::NotUnderstood => {
                "the cell is neither a value of the original, nor a label of its hierarchy, nor an \
                 interval or a set of its values"
            }
            CellProblem::NoValueThere => "no value of the original lies in the cell",
            CellProblem::Reversed => "the cell's least value is above its greatest",
            CellProblem::NothingMissing => {
                "the cell is empty, but the original misses no value of this column"
            }
            CellProblem::HalfBounds => "only one of the two bounds is there",
            CellProblem::UnknownOrder => {
                "the cells are places in an order that the release does not tell: which values they \
                 stand for is not known without a hierarchy file"
            }
        }
    }

    /// What the user can do, for a message.
    pub fn hint(self, column: &str) -> Wording {
        match self {
            CellProblem::NotUnderstood => wording![
                "give the column's ",
                Field::Hierarchy,
                " if it shows labels, ",
                Field::Categories.of("set"),
                " if it has one and shows intervals or sets, or ",
                Field::Type.of_column(column, "TYPE")
            ],
            CellProblem::NoValueThere => {
                "make sure that this is the release of this original".into()
            }
            CellProblem::Reversed => "write the least value first".into(),
            CellProblem::NothingMissing => "write * for a suppressed value".into(),
            CellProblem::HalfBounds => {
                "write both bounds, or none of them for a missing value".into()
            }
            CellProblem::UnknownOrder => wording![
                "if it was made with one, give it with ",
                Field::Hierarchy,
                " and say ",
                Field::Categories.of("label"),
                "; else compare a release with ",
                Field::Values.of("interval")
            ],
        }
    }
}

/// Reads the cells of one attribute.
pub struct CellParser<'a> {
    attribute: &'a Attribute,
    /// The codes of a category's names, where there is no hierarchy to ask.
    code_of: FxHashMap<&'a str, Code>,
    /// Whether the release shows missing values by themselves, so that `*` leaves them out where
    /// it is a label.
    shows_missing: bool,
}

impl<'a> CellParser<'a> {
    /// The parser of an attribute.
    pub fn new(attribute: &'a Attribute, shows_missing: bool) -> CellParser<'a> {
        let domain = &attribute.domain;
        let mut code_of = FxHashMap::default();
        if domain.hierarchy().is_none() && !domain.is_ordered() {
            code_of.extend(domain.categories().map(|(code, name)| (name, code)));
        }
        CellParser { attribute, code_of, shows_missing }
    }

    /// What a cell shows; `None` is the empty cell.
    pub fn parse(&self, text: Option<&str>) -> Result<ReadCell, CellProblem> {
        let Some(text) = text else { return self.missing() };
        let trimmed = text.trim();
        if trimmed == ANY {
            return Ok(self.any());
        }
        let quoted = trimmed.strip_prefix('"').and_then(quoted_member);
        if let Some((name, "")) = quoted
            && let Some(cell) = self.value_or_label(&name.text)?
        {
            return Ok(cell);
        }
        if let Some(inner) = trimmed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            return self.set(inner).or_else(|problem| match self.value_or_label(text) {
                Ok(Some(cell)) => Ok(cell),
                _ => Err(problem),
            });
        }
        match self.value_or_label(text)? {
            Some(cell) => Ok(cell),
            None => self.interval(trimmed),
        }
    }

    /// What two columns of bounds, and one that tells of missing values, show.
    pub fn parse_bounds(
        &self,
        min: Option<&str>,
        max: Option<&str>,
        missing: Option<&str>,
    ) -> Result<ReadCell, CellProblem> {
        let flag = missing.map(|text| value::parse_boolean(text.as_bytes()));
        let with_missing = flag.transpose().map_err(|_| CellProblem::NotUnderstood)?;
        match (min.map(str::trim), max.map(str::trim)) {
            (None, None) => self.missing(),
            (Some(min), Some(max)) if !self.domain().is_ordered() => {
                self.places(min, max, with_missing.unwrap_or(false))
            }
            (Some(ANY), Some(ANY)) => Ok(self.of(CellContent::Everything)),
            (Some(min), Some(max)) => {
                let (lo, hi) = (self.bound(min, End::Low)?, self.bound(max, End::High)?);
                self.between(lo, hi, with_missing.unwrap_or(false))
            }
            _ => Err(CellProblem::HalfBounds),
        }
    }

    /// What two places in the order of a hierarchy file show: the label of all leaves from one to the
    /// other, else these.
    fn places(&self, min: &str, max: &str, with_missing: bool) -> Result<ReadCell, CellProblem> {
        let given = self.domain().hierarchy().filter(|hierarchy| hierarchy.is_given());
        let hierarchy = given.ok_or(CellProblem::UnknownOrder)?;
        let place = |text: &str| -> Result<u32, CellProblem> {
            let place: u32 = text.parse().map_err(|_| CellProblem::NotUnderstood)?;
            match (1..=hierarchy.n_leaves()).contains(&place) {
                true => Ok(place - 1),
                false => Err(CellProblem::NoValueThere),
            }
        };
        let (lo, hi) = (place(min)?, place(max)?);
        if lo > hi {
            return Err(CellProblem::Reversed);
        }
        let missing = if with_missing { Some(self.missing_code()?) } else { None };
        let leaves = CodeRange { start: Code::ZERO, end: hierarchy.leaves_end() };
        let mut codes: Vec<Code> =
            leaves.into_iter().filter(|&code| (lo..=hi).contains(&hierarchy.place(code))).collect();
        let node = hierarchy.lowest_common_ancestor(codes[0], codes[codes.len() - 1]);
        if hierarchy.leaves_of(node).len() == codes.len() && self.attribute.shown == Shown::Label {
            return Ok(self.of(match self.label(node) {
                CellContent::Label { node, .. } => CellContent::Label { node, with_missing },
                other => other,
            }));
        }
        codes.extend(missing);
        Ok(self.of(CellContent::Set(codes)))
    }

    fn domain(&self) -> &'a Domain {
        &self.attribute.domain
    }

    fn of(&self, content: CellContent) -> ReadCell {
        let lost_steps = content.lost_steps(self.domain());
        ReadCell { content, lost_steps, are_values: [false; 2] }
    }

    fn missing(&self) -> Result<ReadCell, CellProblem> {
        self.missing_code().map(|_| self.of(CellContent::Missing))
    }

    fn missing_code(&self) -> Result<Code, CellProblem> {
        self.domain().missing_code().ok_or(CellProblem::NothingMissing)
    }

    /// What a lone `*` shows.
    fn any(&self) -> ReadCell {
        let top = self.domain().hierarchy().and_then(|hierarchy| {
            let n_leaves = hierarchy.n_leaves() as usize;
            let is_top = |node: &Node| hierarchy.leaves_of(*node).len() == n_leaves;
            hierarchy.node_by_label(ANY).filter(is_top)
        });
        self.of(top.map_or(CellContent::Everything, |node| self.label(node)))
    }

    /// The cell as a value of the table or as a label, if it is one.
    fn value_or_label(&self, text: &str) -> Result<Option<ReadCell>, CellProblem> {
        let domain = self.domain();
        if domain.is_ordered() {
            let (Ok(lo), Ok(hi)) = (domain.bound(text, End::Low), domain.bound(text, End::High))
            else {
                return Ok(None);
            };
            let cell = self.between(lo, hi, false).map_err(|_| CellProblem::NoValueThere);
            return cell.map(Some);
        }
        if let Some(hierarchy) = domain.hierarchy() {
            return Ok(self.node(hierarchy, text).map(|node| self.of(self.label(node))));
        }
        let code = self.code_of.get(text).copied().or_else(|| {
            let canonical = value::canonical(domain.column_type(), text)?;
            self.code_of.get(canonical.as_str()).copied()
        });
        Ok(code.map(|code| self.of(CellContent::Set(vec![code]))))
    }

    fn node(&self, hierarchy: &Hierarchy, text: &str) -> Option<Node> {
        hierarchy.node_by_label(text).or_else(|| {
            let canonical = value::canonical(self.domain().column_type(), text)?;
            hierarchy.node_by_label(&canonical)
        })
    }

    /// What a label shows: the top is everything if missing values are shown nowhere else.
    fn label(&self, node: Node) -> CellContent {
        let hierarchy = self.domain().hierarchy().expect("labels come from a hierarchy");
        let is_top = hierarchy.leaves_of(node).len() as u32 == hierarchy.n_leaves();
        let hides_missing = self.domain().n_missing() > 0 && !self.shows_missing;
        if is_top && hierarchy.label(node) == ANY && (hides_missing || hierarchy.n_leaves() == 0) {
            return CellContent::Everything;
        }
        CellContent::Label { node, with_missing: false }
    }

    fn bound(&self, text: &str, end: End) -> Result<OrderedValue, CellProblem> {
        if !self.domain().is_ordered() {
            return Err(CellProblem::NotUnderstood);
        }
        self.domain().bound(text, end).map_err(|_| CellProblem::NotUnderstood)
    }

    /// The least or the greatest value of the table.
    fn outermost(&self, end: End) -> Result<OrderedValue, CellProblem> {
        let (first, last) = self.domain().code_range();
        let code = if end == End::Low { first } else { last };
        self.domain().value(code).ok_or(CellProblem::NotUnderstood)
    }

    fn between(
        &self,
        lo: OrderedValue,
        hi: OrderedValue,
        with_missing: bool,
    ) -> Result<ReadCell, CellProblem> {
        if lo > hi {
            return Err(CellProblem::Reversed);
        }
        if with_missing {
            self.missing_code()?;
        }
        let codes = self.domain().codes_between(lo, hi);
        let (lo_code, hi_code) = codes.ok_or(CellProblem::NoValueThere)?;
        let lost_steps = match with_missing {
            true => self.domain().n_steps(),
            false => self.domain().steps_between(lo, hi),
        };
        let content = CellContent::Interval { lo: lo_code, hi: hi_code, with_missing };
        let is_value = |code, end| self.domain().value(code) == Some(end);
        let are_values = [is_value(lo_code, lo), is_value(hi_code, hi)];
        Ok(ReadCell { content, lost_steps, are_values })
    }

    /// `[48, 62]`, `[48, 63)`, `[48, 63[` and, for whole numbers, `48-62`.
    fn interval(&self, text: &str) -> Result<ReadCell, CellProblem> {
        const NOT: CellProblem = CellProblem::NotUnderstood;
        let bytes = text.as_bytes();
        if let (Some(open @ (b'[' | b'(' | b']')), Some(close @ (b']' | b')' | b'['))) =
            (bytes.first(), bytes.last())
        {
            let inner = text.get(1..text.len().saturating_sub(1)).ok_or(NOT)?;
            let (lo, hi) = inner.split_once([',', ';']).ok_or(NOT)?;
            let end =
                |text: &str, end: End, is_left_out: bool| -> Result<OrderedValue, CellProblem> {
                    match (text, end) {
                        ("-inf", End::Low) => self.outermost(End::Low),
                        ("inf", End::High) => self.outermost(End::High),
                        _ => {
                            let own = self.bound(text, end)?;
                            Ok(if is_left_out { own.inward(end) } else { own })
                        }
                    }
                };
            let lo = end(lo.trim(), End::Low, *open != b'[')?;
            let hi = end(hi.trim(), End::High, *close != b']')?;
            return self.between(lo, hi, false);
        }
        if self.domain().column_type() != ColumnType::Integer {
            return Err(NOT);
        }
        let dash = (1..bytes.len()).find(|&at| bytes[at] == b'-').ok_or(NOT)?;
        let (lo, hi) = (text[..dash].trim(), text[dash + 1..].trim());
        self.between(self.bound(lo, End::Low)?, self.bound(hi, End::High)?, false)
    }

    /// The members of a set; an empty first one is the missing value.
    fn set(&self, inner: &str) -> Result<ReadCell, CellProblem> {
        let members = members(inner).filter(|_| !inner.trim().is_empty());
        let mut members = members.ok_or(CellProblem::NotUnderstood)?;
        let with_missing =
            members.first().is_some_and(|member| !member.quoted && member.is_empty());
        let missing = if with_missing { Some(self.missing_code()?) } else { None };
        if with_missing {
            members.remove(0);
        }
        let mut cells = Vec::new();
        let mut are_values = [false; 2];
        for member in &members {
            let is_any = !member.quoted && member.text == ANY;
            let cell = match self.value_or_label(&member.text)? {
                _ if is_any => self.any(),
                Some(cell) => cell,
                None if member.quoted => return Err(CellProblem::NotUnderstood),
                None => self.interval(&member.text)?,
            };
            if members.len() == 1 && !with_missing {
                return Ok(cell);
            }
            are_values = cell.are_values;
            cells.push(cell.content);
        }
        match (&cells[..], missing) {
            ([], _) => self.missing(),
            ([CellContent::Interval { lo, hi, .. }], Some(_)) => {
                let content = CellContent::Interval { lo: *lo, hi: *hi, with_missing: true };
                Ok(ReadCell { are_values, ..self.of(content) })
            }
            ([CellContent::Label { node, .. }], Some(_))
                if self.attribute.shown == Shown::Label =>
            {
                Ok(self.of(CellContent::Label { node: *node, with_missing: true }))
            }
            _ => self.union(&cells, missing),
        }
    }

    /// All values of several categories.
    fn union(&self, cells: &[CellContent], missing: Option<Code>) -> Result<ReadCell, CellProblem> {
        let mut codes: Vec<Code> = missing.into_iter().collect();
        for cell in cells {
            match cell {
                CellContent::Set(more) => codes.extend_from_slice(more),
                CellContent::Label { node, .. } => {
                    let hierarchy = self.domain().hierarchy().expect("labels have a hierarchy");
                    codes.extend(hierarchy.leaves_of(*node));
                }
                CellContent::Everything => return Ok(self.of(CellContent::Everything)),
                // Several intervals are no description that the loss of an interval is made for.
                _ => return Err(CellProblem::NotUnderstood),
            }
        }
        codes.sort_unstable();
        codes.dedup();
        Ok(self.of(CellContent::Set(codes)))
    }
}

/// Whether a text is a set of two or more values besides the missing one.
pub fn is_set_of_values(text: &str) -> bool {
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let members = inner.and_then(members).unwrap_or_default();
    members.iter().filter(|member| member.quoted || !member.is_empty()).count() > 1
}

/// Whether a text shows the missing value beside others.
pub fn shows_missing_too(text: &str) -> bool {
    text.trim().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(','))
}

/// Something that a cell shows, alone or as a member of a set.
#[derive(Clone, PartialEq, Eq)]
pub struct ShownMember {
    /// Its text, without the quotes that it may stand in.
    pub text: String,
    /// Whether it stood in quotes: then it is a name, whatever it looks like.
    pub is_quoted: bool,
}

/// What a cell shows: the members of a set, of which an empty first one is the missing value, or what
/// it shows alone.
pub fn members_of(text: &str) -> Vec<ShownMember> {
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let shown = |own: Member| ShownMember { text: own.text, is_quoted: own.quoted };
    match inner.and_then(members) {
        Some(members) => members.into_iter().map(shown).collect(),
        None => match trimmed.strip_prefix('"').and_then(quoted_member) {
            Some((name, "")) => vec![shown(name)],
            _ => vec![ShownMember { text: text.to_owned(), is_quoted: false }],
        },
    }
}

/// The names that a cell shows: the members of a set, or what it shows alone; the missing value has
/// no letters.
pub fn names_of(text: &str) -> Vec<String> {
    members_of(text).into_iter().map(|member| member.text).collect()
}

/// A member of a set.
struct Member {
    text: String,
    quoted: bool,
}

impl Member {
    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// The members between the braces of a set; nothing if a quote or a bracket is never closed.
fn members(inner: &str) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut rest = inner.trim();
    loop {
        let member;
        (member, rest) = match rest.as_bytes().first() {
            Some(b'"') => quoted_member(&rest[1..])?,
            Some(b'[' | b'(' | b']') => {
                let end = rest[1..].find([']', ')', '['])? + 2;
                (Member { text: rest[..end].to_owned(), quoted: false }, &rest[end..])
            }
            _ => {
                let end = rest.find(',').unwrap_or(rest.len());
                (Member { text: rest[..end].trim().to_owned(), quoted: false }, &rest[end..])
            }
        };
        members.push(member);
        rest = rest.trim_start();
        if rest.is_empty() {
            return Some(members);
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

/// A member whose opening quote has been read, and what follows its closing one.
fn quoted_member(text: &str) -> Option<(Member, &str)> {
    let mut unquoted = String::new();
    let mut rest = text;
    loop {
        let quote = rest.find('"')?;
        unquoted.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                unquoted.push('"');
                rest = after;
            }
            None => return Some((Member { text: unquoted, quoted: true }, rest)),
        }
    }
}

#[cfg(test)]
mod tests;
