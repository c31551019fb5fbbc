//! Conditions on rows, as `select` gives them: SQL expressions that come to boxes.
//!
//! `age >= 40 and sex = 'M'` is one box; a disjunction is several. A condition is read once, when
//! its job is; what it means on a table is told later, by the values of its columns. Missing
//! values satisfy nothing but `is null`, as in SQL.

mod mark;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

pub(crate) use mark::{ConditionError, Mark};

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
    /// Where the column stands.
    pub(crate) column_mark: Mark,
    /// Where the values stand that it is compared with.
    pub(crate) value_mark: Mark,
}

impl Test {
    /// The values that the column is compared with.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        let values: &[String] = match &self.asks {
            Asks::OneOf { values, .. } => values,
            Asks::Bound(_, value) => std::slice::from_ref(value),
            Asks::Missing(_) => &[],
        };
        values.iter().map(String::as_str)
    }
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
    /// The condition that all rows satisfy.
    pub(crate) fn of_all_rows() -> Condition {
        Condition { text: String::new(), boxes: vec![Vec::new()] }
    }

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

impl Condition {
    /// Reads a condition, also one that no row can satisfy.
    pub(crate) fn read(text: &str) -> Result<Condition, ConditionError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ConditionError::new("the condition is empty", EXAMPLE));
        }
        if text.chars().count() > MAX_CHARACTERS {
            let problem = format!("the condition has more than {MAX_CHARACTERS} characters");
            return Err(ConditionError::new(problem, "ask for less at once"));
        }
        let unreadable = |error: sqlparser::parser::ParserError| {
            let mark = Some(Mark::of_parser_error(&error)).filter(|mark| !mark.is_nowhere());
            let mark = mark.unwrap_or_else(|| Mark::at_end_of(text));
            ConditionError::new("the condition cannot be read", EXAMPLE).at(mark)
        };
        let dialect = GenericDialect {};
        let mut parser = Parser::new(&dialect).try_with_sql(text).map_err(unreadable)?;
        let expression = parser.parse_expr().map_err(unreadable)?;
        let next = parser.peek_token();
        if next.token != Token::EOF {
            let problem = "the condition goes on where it should end";
            return Err(ConditionError::new(problem, EXAMPLE).at(next.span.into()));
        }
        Ok(Condition { text: text.to_owned(), boxes: boxes_of(&expression, false)? })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let mut condition = Condition::read(text).map_err(|error| error.to_string())?;
        condition.boxes.retain(|tests| !contradicts_itself(tests));
        match condition.boxes.is_empty() {
            true => Err("no row can satisfy the condition, which contradicts itself".to_owned()),
            false => Ok(condition),
        }
    }
}

/// An expression, or its opposite, as boxes.
fn boxes_of(expression: &Expr, negated: bool) -> Result<Vec<Vec<Test>>, ConditionError> {
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
            let marks = [Mark::of(low), Mark::of(high)];
            let (low, high) = (literal_of(low)?, literal_of(high)?);
            let bound = |side, value| {
                let mark = marks[usize::from(matches!(side, Side::UpTo | Side::Above))];
                column.clone().test(Asks::Bound(side, value), mark)
            };
            match *outside != negated {
                false => Ok(vec![vec![bound(Side::From, low), bound(Side::UpTo, high)]]),
                true => Ok(vec![vec![bound(Side::Below, low)], vec![bound(Side::Above, high)]]),
            }
        }
        Expr::InList { expr, list, negated: outside } => {
            let column = column_of(expr)?;
            let mark = Mark::of_all(list);
            let values = list.iter().map(literal_of).collect::<Result<_, _>>()?;
            let asks = Asks::OneOf { values, negated: *outside != negated };
            Ok(one_box(column.test(asks, mark)))
        }
        Expr::IsNull(inner) => {
            Ok(one_box(column_of(inner)?.test(Asks::Missing(!negated), Mark::of(inner))))
        }
        Expr::IsNotNull(inner) => {
            Ok(one_box(column_of(inner)?.test(Asks::Missing(negated), Mark::of(inner))))
        }
        Expr::Identifier(_) => {
            let values = vec!["true".to_owned()];
            let asks = Asks::OneOf { values, negated };
            Ok(one_box(column_of(expression)?.test(asks, Mark::of(expression))))
        }
        Expr::Function(function) => {
            let problem = format!("the condition calls a function, '{}'", function.name);
            Err(ConditionError::new(problem, EXAMPLE).at(Mark::of(expression)))
        }
        _ => {
            let problem = "the condition asks for more than comparisons, between, in, is null, and, \
                           or, not";
            Err(ConditionError::new(problem, EXAMPLE).at(Mark::of(expression)))
        }
    }
}

/// A column as it stands in a condition.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    mark: Mark,
}

impl Named {
    fn test(self, asks: Asks, value_mark: Mark) -> Test {
        Test { column: self.name, asks, column_mark: self.mark, value_mark }
    }
}

fn one_box(test: Test) -> Vec<Vec<Test>> {
    vec![vec![test]]
}

fn both(left: &[Vec<Test>], right: &[Vec<Test>]) -> Result<Vec<Vec<Test>>, ConditionError> {
    let pairs = left.iter().flat_map(|one| right.iter().map(move |other| (one, other)));
    let boxes: Vec<Vec<Test>> = pairs.map(|(one, other)| [&one[..], &other[..]].concat()).collect();
    check_boxes(boxes.len())?;
    Ok(boxes)
}

fn either(
    mut left: Vec<Vec<Test>>,
    right: Vec<Vec<Test>>,
) -> Result<Vec<Vec<Test>>, ConditionError> {
    check_boxes(left.len() + right.len())?;
    left.extend(right);
    Ok(left)
}

fn check_boxes(n_boxes: usize) -> Result<(), ConditionError> {
    let problem = || format!("the condition comes to more than {MAX_BOXES} boxes");
    match n_boxes > MAX_BOXES {
        true => Err(ConditionError::new(problem(), "ask for less at once")),
        false => Ok(()),
    }
}

/// A comparison of a column with a value, whichever comes first.
fn compared(
    left: &Expr,
    op: &BinaryOperator,
    right: &Expr,
    negated: bool,
) -> Result<Test, ConditionError> {
    let is_flipped = column_of(left).is_err() && column_of(right).is_ok();
    let (column, value) = if is_flipped { (right, left) } else { (left, right) };
    let mark = Mark::of(value);
    let (column, value) = (column_of(column)?, literal_of(value)?);
    let side = match op {
        BinaryOperator::Lt => Side::Below,
        BinaryOperator::LtEq => Side::UpTo,
        BinaryOperator::GtEq => Side::From,
        BinaryOperator::Gt => Side::Above,
        BinaryOperator::Eq | BinaryOperator::NotEq => {
            let negated = (*op == BinaryOperator::NotEq) != negated;
            return Ok(column.test(Asks::OneOf { values: vec![value], negated }, mark));
        }
        _ => {
            let problem = "the condition has an operator that is no comparison";
            let mark = column.mark.up_to(mark);
            return Err(ConditionError::new(problem, EXAMPLE).at(mark));
        }
    };
    let side = if is_flipped { side.flipped() } else { side };
    let side = if negated { side.negated() } else { side };
    Ok(column.test(Asks::Bound(side, value), mark))
}

fn column_of(expression: &Expr) -> Result<Named, ConditionError> {
    let mark = Mark::of(expression);
    let (problem, hint) = match expression {
        Expr::Nested(inner) => return column_of(inner),
        Expr::Identifier(name) => return Ok(Named { name: name.value.clone(), mark }),
        Expr::CompoundIdentifier(_) => (
            "the condition names a column with a dot".to_owned(),
            "put the name between double quotes",
        ),
        Expr::Function(function) => {
            (format!("the condition calls a function, '{}'", function.name), EXAMPLE)
        }
        _ => ("the condition compares something that is not a column".to_owned(), EXAMPLE),
    };
    Err(ConditionError::new(problem, hint).at(mark))
}

/// Whether one number is taken from another, as `2020-12` reads of a day without quotes.
fn is_number_minus(left: &Expr) -> bool {
    match left {
        Expr::BinaryOp { op: BinaryOperator::Minus, left, .. } => is_number_minus(left),
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        _ => false,
    }
}

fn literal_of(expression: &Expr) -> Result<String, ConditionError> {
    let (problem, hint) = match expression {
        Expr::Nested(inner) => return literal_of(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            let literal = literal_of(expr)?;
            return Ok(literal
                .strip_prefix('-')
                .map_or_else(|| format!("-{literal}"), str::to_owned));
        }
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => return literal_of(expr),
        Expr::TypedString(typed) => match literal_of_value(&typed.value.value) {
            Ok(text) => return Ok(text),
            Err(why) => why,
        },
        Expr::Value(value) => match literal_of_value(&value.value) {
            Ok(text) => return Ok(text),
            Err(why) => why,
        },
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => (
            "the condition compares two columns",
            "texts stand between single quotes, as in sex = 'M'",
        ),
        Expr::BinaryOp { op: BinaryOperator::Minus, left, .. } if is_number_minus(left) => (
            "the condition compares with something that is not a value",
            "a date stands between single quotes, as in day >= '2020-12-31'",
        ),
        _ => ("the condition compares with something that is not a value", EXAMPLE),
    };
    Err(ConditionError::new(problem, hint).at(Mark::of(expression)))
}

/// The text of a value, or what is wrong with it and what to do.
fn literal_of_value(value: &Value) -> Result<String, (&'static str, &'static str)> {
    match value {
        Value::Number(digits, _) => Ok(digits.clone()),
        Value::SingleQuotedString(text) => Ok(text.clone()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        Value::Null => Err(("nothing is equal to null", "use is null, or is not null")),
        _ => Err(("the condition compares with a value of an unknown kind", EXAMPLE)),
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

    /// What is asked of which column, wherever it stands.
    type Asked = (String, Asks);

    fn boxes(text: &str) -> Vec<Vec<Asked>> {
        let condition = text.parse::<Condition>().unwrap_or_else(|why| panic!("{text}: {why}"));
        let tests =
            |tests: Vec<Test>| tests.into_iter().map(|own| (own.column, own.asks)).collect();
        condition.boxes.into_iter().map(tests).collect()
    }

    fn bound(column: &str, side: Side, value: &str) -> Asked {
        (column.to_owned(), Asks::Bound(side, value.to_owned()))
    }

    fn one_of(column: &str, values: &[&str], negated: bool) -> Asked {
        let values = values.iter().map(|&value| value.to_owned()).collect();
        (column.to_owned(), Asks::OneOf { values, negated })
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
        let missing = |is| ("a".to_owned(), Asks::Missing(is));
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
