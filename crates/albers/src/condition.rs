//! Conditions on rows, as `select` gives them: SQL expressions that come to boxes.
//!
//! `age >= 40 and sex = 'M'` is one box; a disjunction is several. A condition is read once, when
//! its job is; what it means on a table is told later, by the values of its columns. Missing
//! values satisfy nothing but `is null`, as in SQL.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// The most boxes that a condition may come to.
pub(crate) const MAX_BOXES: usize = 64;
/// Longer texts are not conditions that a person wrote.
const MAX_CHARACTERS: usize = 10_000;
/// What to write instead.
const EXAMPLE: &str = "use for example age >= 40 and sex = 'M'";

/// A condition on rows: rows that lie in one of some boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    text: String,
    boxes: Vec<Vec<Test>>,
}

/// What a box asks of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    /// The column.
    pub(crate) column: String,
    /// What is asked of it.
    pub(crate) asks: Asks,
}

/// What is asked of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asks {
    /// That it lies on one side of another, or is the other.
    Bound(Side, String),
    /// That it is one of some, or none of them.
    OneOf {
        /// The values.
        values: Vec<String>,
        /// Whether it must be none of them.
        negated: bool,
    },
    /// That it is missing, or is not.
    Missing(bool),
}

/// On which side of another value a value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Below,
    UpTo,
    From,
    Above,
}

impl Side {
    /// Whether a value that compares so with the bound lies there.
    pub(crate) fn has(self, order: Ordering) -> bool {
        match self {
            Side::Below => order.is_lt(),
            Side::UpTo => order.is_le(),
            Side::From => order.is_ge(),
            Side::Above => order.is_gt(),
        }
    }

    /// The side on which the other value lies.
    fn flipped(self) -> Side {
        match self {
            Side::Below => Side::Above,
            Side::UpTo => Side::From,
            Side::From => Side::UpTo,
            Side::Above => Side::Below,
        }
    }

    /// Where the values lie that are not there.
    fn negated(self) -> Side {
        match self {
            Side::Below => Side::From,
            Side::UpTo => Side::Above,
            Side::From => Side::Below,
            Side::Above => Side::UpTo,
        }
    }
}

impl Condition {
    /// The boxes: each holds the rows that pass all its tests.
    pub(crate) fn boxes(&self) -> &[Vec<Test>] {
        &self.boxes
    }

    /// The columns that it looks at, some more than once.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.boxes.iter().flatten().map(|test| test.column.as_str())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(format!("the condition is empty; {EXAMPLE}"));
        }
        if text.chars().count() > MAX_CHARACTERS {
            return Err(format!("the condition has more than {MAX_CHARACTERS} characters"));
        }
        let unreadable = |_| format!("the condition cannot be read; {EXAMPLE}");
        let dialect = GenericDialect {};
        let mut parser = Parser::new(&dialect).try_with_sql(text).map_err(unreadable)?;
        let expression = parser.parse_expr().map_err(unreadable)?;
        if parser.peek_token().token != Token::EOF {
            return Err(format!("the condition goes on where it should end; {EXAMPLE}"));
        }
        let mut boxes = boxes_of(&expression, false)?;
        boxes.retain(|tests| !contradicts_itself(tests));
        match boxes.is_empty() {
            true => Err("no row can satisfy the condition, which contradicts itself".to_owned()),
            false => Ok(Condition { text: text.to_owned(), boxes }),
        }
    }
}

/// An expression, or its opposite, as boxes.
fn boxes_of(expression: &Expr, negated: bool) -> Result<Vec<Vec<Test>>, String> {
    match expression {
        Expr::Nested(inner) => boxes_of(inner, negated),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => boxes_of(expr, !negated),
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            let (left, right) = (boxes_of(left, negated)?, boxes_of(right, negated)?);
            // The opposite of both is one of the opposites, and the other way round.
            match (*op == BinaryOperator::And) != negated {
                true => both(&left, &right),
                false => either(left, right),
            }
        }
        Expr::BinaryOp { left, op, right } => compared(left, op, right, negated).map(one_box),
        Expr::Between { expr, negated: outside, low, high } => {
            let column = column_of(expr)?;
            let (low, high) = (literal_of(low)?, literal_of(high)?);
            let bound =
                |side, value| Test { column: column.clone(), asks: Asks::Bound(side, value) };
            match *outside != negated {
                false => Ok(vec![vec![bound(Side::From, low), bound(Side::UpTo, high)]]),
                true => Ok(vec![vec![bound(Side::Below, low)], vec![bound(Side::Above, high)]]),
            }
        }
        Expr::InList { expr, list, negated: outside } => {
            let column = column_of(expr)?;
            let values = list.iter().map(literal_of).collect::<Result<_, _>>()?;
            Ok(one_box(Test { column, asks: Asks::OneOf { values, negated: *outside != negated } }))
        }
        Expr::IsNull(inner) => {
            Ok(one_box(Test { column: column_of(inner)?, asks: Asks::Missing(!negated) }))
        }
        Expr::IsNotNull(inner) => {
            Ok(one_box(Test { column: column_of(inner)?, asks: Asks::Missing(negated) }))
        }
        Expr::Identifier(_) => {
            let column = column_of(expression)?;
            let values = vec!["true".to_owned()];
            Ok(one_box(Test { column, asks: Asks::OneOf { values, negated } }))
        }
        _ => Err(format!(
            "the condition asks for more than comparisons, between, in, is null, and, or, not; {EXAMPLE}"
        )),
    }
}

fn one_box(test: Test) -> Vec<Vec<Test>> {
    vec![vec![test]]
}

fn both(left: &[Vec<Test>], right: &[Vec<Test>]) -> Result<Vec<Vec<Test>>, String> {
    let pairs = left.iter().flat_map(|one| right.iter().map(move |other| (one, other)));
    let boxes: Vec<Vec<Test>> = pairs
        .map(|(one, other)| [&one[..], &other[..]].concat())
        .filter(|tests| !contradicts_itself(tests))
        .collect();
    check_boxes(boxes.len())?;
    Ok(boxes)
}

fn either(mut left: Vec<Vec<Test>>, right: Vec<Vec<Test>>) -> Result<Vec<Vec<Test>>, String> {
    check_boxes(left.len() + right.len())?;
    left.extend(right);
    Ok(left)
}

fn check_boxes(n_boxes: usize) -> Result<(), String> {
    match n_boxes > MAX_BOXES {
        true => Err(format!("the condition comes to more than {MAX_BOXES} boxes")),
        false => Ok(()),
    }
}

/// A comparison of a column with a value, whichever comes first.
fn compared(left: &Expr, op: &BinaryOperator, right: &Expr, negated: bool) -> Result<Test, String> {
    let is_flipped = column_of(left).is_err() && column_of(right).is_ok();
    let (column, value) = if is_flipped { (right, left) } else { (left, right) };
    let (column, value) = (column_of(column)?, literal_of(value)?);
    let side = match op {
        BinaryOperator::Lt => Side::Below,
        BinaryOperator::LtEq => Side::UpTo,
        BinaryOperator::GtEq => Side::From,
        BinaryOperator::Gt => Side::Above,
        BinaryOperator::Eq | BinaryOperator::NotEq => {
            let negated = (*op == BinaryOperator::NotEq) != negated;
            return Ok(Test { column, asks: Asks::OneOf { values: vec![value], negated } });
        }
        _ => {
            return Err(format!("the condition has an operator that is no comparison; {EXAMPLE}"));
        }
    };
    let side = if is_flipped { side.flipped() } else { side };
    let side = if negated { side.negated() } else { side };
    Ok(Test { column, asks: Asks::Bound(side, value) })
}

fn column_of(expression: &Expr) -> Result<String, String> {
    match expression {
        Expr::Nested(inner) => column_of(inner),
        Expr::Identifier(name) => Ok(name.value.clone()),
        Expr::CompoundIdentifier(_) => {
            Err("the condition names a column with a dot; put the name between double quotes"
                .to_owned())
        }
        _ => Err(format!("the condition compares something that is not a column; {EXAMPLE}")),
    }
}

fn literal_of(expression: &Expr) -> Result<String, String> {
    match expression {
        Expr::Nested(inner) => literal_of(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            let literal = literal_of(expr)?;
            Ok(literal.strip_prefix('-').map_or_else(|| format!("-{literal}"), str::to_owned))
        }
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => literal_of(expr),
        Expr::TypedString(typed) => literal_of_value(&typed.value.value),
        Expr::Value(value) => literal_of_value(&value.value),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => Err(
            "the condition compares two columns; texts stand between single quotes, as in sex = 'M'"
                .to_owned(),
        ),
        _ => Err(format!("the condition compares with something that is not a value; {EXAMPLE}")),
    }
}

fn literal_of_value(value: &Value) -> Result<String, String> {
    match value {
        Value::Number(digits, _) => Ok(digits.clone()),
        Value::SingleQuotedString(text) => Ok(text.clone()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        Value::Null => Err("nothing is equal to null; use is null, or is not null".to_owned()),
        _ => Err(format!("the condition compares with a value of an unknown kind; {EXAMPLE}")),
    }
}

/// Whether tests ask of a column what no value is, whatever the table: what texts and times mean is
/// known later.
fn contradicts_itself(tests: &[Test]) -> bool {
    let mut pairs = tests.iter().flat_map(|one| tests.iter().map(move |other| (one, other)));
    pairs.any(|(one, other)| one.column == other.column && contradict(&one.asks, &other.asks))
}

fn contradict(one: &Asks, other: &Asks) -> bool {
    let order = |a: &str, b: &str| a.parse::<f64>().ok()?.partial_cmp(&b.parse().ok()?);
    match (one, other) {
        (Asks::Missing(true), Asks::Missing(asks_missing)) => !asks_missing,
        (Asks::Missing(true), _) => true,
        (Asks::Bound(low_side @ (Side::From | Side::Above), low), Asks::Bound(side, high)) => {
            let is_strict = *low_side == Side::Above || *side == Side::Below;
            match (side, order(low, high)) {
                (Side::Below | Side::UpTo, Some(order)) => {
                    order.is_gt() || is_strict && order.is_eq()
                }
                _ => false,
            }
        }
        (Asks::OneOf { values, negated: false }, Asks::Bound(side, bound)) => {
            let is_beyond = |value: &String| order(value, bound).is_some_and(|own| !side.has(own));
            values.iter().all(is_beyond)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(text: &str) -> Vec<Vec<Test>> {
        text.parse::<Condition>().unwrap_or_else(|why| panic!("{text}: {why}")).boxes
    }

    fn bound(column: &str, side: Side, value: &str) -> Test {
        Test { column: column.to_owned(), asks: Asks::Bound(side, value.to_owned()) }
    }

    fn one_of(column: &str, values: &[&str], negated: bool) -> Test {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        Test { column: column.to_owned(), asks: Asks::OneOf { values, negated } }
    }

    #[test]
    fn a_conjunction_is_one_box_and_a_disjunction_several() {
        let age = || bound("age", Side::From, "40");
        assert_eq!(boxes("age >= 40 and sex = 'M'"), [[age(), one_of("sex", &["M"], false)]]);
        assert_eq!(boxes("40 <= age"), [[age()]]);
        assert_eq!(boxes("not (age < 40)"), [[age()]]);
        let two = boxes("age >= 40 or \"home town\" in ('a', 'b')");
        assert_eq!(two, [vec![age()], vec![one_of("home town", &["a", "b"], false)]]);
        assert_eq!(boxes("not (age < 40 or sex = 'M')"), [[age(), one_of("sex", &["M"], true)]]);
        assert_eq!(boxes("(a = 1 or b = 2) and (c = 3 or d = 4)").len(), 4);
        assert_eq!(boxes("x between -1 and 2.5").concat().len(), 2);
        assert_eq!(boxes("x not between 1 and 2").len(), 2);
        assert_eq!(boxes("day >= date '2020-01-31'"), [[bound("day", Side::From, "2020-01-31")]]);
        assert_eq!(boxes("smokes"), [[one_of("smokes", &["true"], false)]]);
        assert_eq!(boxes("x = - -5"), [[one_of("x", &["5"], false)]]);
        // What cannot be has no box, as long as something can.
        assert_eq!(boxes("(age > 50 and age < 40) or sex = 'M'").len(), 1);
        let apart = "not (age between 30 and 40) and not (age between 50 and 60)";
        assert_eq!(boxes(apart).len(), 3);
        let missing = |is| Test { column: "a".to_owned(), asks: Asks::Missing(is) };
        assert_eq!(boxes("a is null"), [[missing(true)]]);
        assert_eq!(boxes("not a is null"), [[missing(false)]]);
    }

    #[test]
    fn what_is_no_condition_is_refused_with_a_hint() {
        for (text, hint) in [
            ("", "empty"),
            ("age >=", "cannot be read"),
            ("age >= 40 and", "cannot be read"),
            ("age >= 40 sex = 'M'", "goes on"),
            ("age + 1 > 3", "not a column"),
            ("age > height", "two columns"),
            ("sex = M", "two columns"),
            ("age = null", "is null"),
            ("name like 'A%'", "more than comparisons"),
            ("t.age > 3", "double quotes"),
            ("1 = 1", "not a column"),
            ("age > 50 and age < 40", "contradicts itself"),
            ("age > 40 and age <= 40", "contradicts itself"),
            ("age = 5 and age > 10", "contradicts itself"),
            ("age between 5 and 3", "contradicts itself"),
            ("age is null and age > 3", "contradicts itself"),
            ("age in (select 3)", "more than comparisons"),
        ] {
            let why = text.parse::<Condition>().expect_err(text);
            assert!(why.contains(hint), "{text}: {why}");
        }
        let many = ["(a = 1 or b = 2)"; 7].join(" and ");
        assert!(many.parse::<Condition>().expect_err("128 boxes").contains("64 boxes"));
        let deep = "(".repeat(5_000);
        assert!(deep.parse::<Condition>().is_err());
        let long = vec!["a = 1"; 2_000].join(" or ");
        assert!(long.parse::<Condition>().is_err());
    }
}
