//! Nine whole numbers per person, with labels and targets that are functions of them.
//!
//! - `rules`: the constants of the class functions 2 to 6.
//!
//! Source: Agrawal, Imielinski & Swami 1993 as given by LeFevre, DeWitt & Ramakrishnan 2008, tables
//! I, II and VI; function 3 as in 1993, which the tables leave out.
//! Departures: salary, commission, house value and loan are whole numbers, as in Iwuchukwu &
//! Naughton 2007, where a record is nine numbers of 32 bits. LeFevre et al. impose hierarchies on
//! `elevel` and `car` and do not give them; those here are ours. Of the normal salary they give the
//! variance alone, 1.1e8; its mean is that of the uniform one.
//! Guarantee: labels and targets are computed in whole hundredths, so that no rounding decides a
//! class and a target is the float nearest to its exact value.

mod rules;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use arrow_schema::{DataType, Schema};

use self::rules::Rules;
use super::draw::{Draw, field, integers, labels};
use super::{HierarchyRows, Options};

/// A rule that puts a person into class `A` or `B`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClassFunction {
    /// By age and salary.
    C2,
    /// By age and education level.
    C3,
    /// By age, education level and salary.
    C4,
    /// By age, salary and loan.
    C5,
    /// By age, salary and commission.
    C6,
    /// By what is left of income after the loan.
    C7,
    /// By what is left of income after the loan and education.
    C9,
}

impl ClassFunction {
    /// Every function, in the order in which help texts list them.
    pub const ALL: [ClassFunction; 7] = [
        ClassFunction::C2,
        ClassFunction::C3,
        ClassFunction::C4,
        ClassFunction::C5,
        ClassFunction::C6,
        ClassFunction::C7,
        ClassFunction::C9,
    ];

    /// The word used in flags and as a column's name.
    pub fn name(self) -> &'static str {
        match self {
            ClassFunction::C2 => "c2",
            ClassFunction::C3 => "c3",
            ClassFunction::C4 => "c4",
            ClassFunction::C5 => "c5",
            ClassFunction::C6 => "c6",
            ClassFunction::C7 => "c7",
            ClassFunction::C9 => "c9",
        }
    }

    /// Whether it has constants that can be drawn at random.
    pub fn has_constants(self) -> bool {
        Rules::published(self).is_some()
    }

    /// The number that the literature gives it.
    fn number(self) -> u64 {
        match self {
            ClassFunction::C2 => 2,
            ClassFunction::C3 => 3,
            ClassFunction::C4 => 4,
            ClassFunction::C5 => 5,
            ClassFunction::C6 => 6,
            ClassFunction::C7 => 7,
            ClassFunction::C9 => 9,
        }
    }
}

/// A class function about to be applied.
enum Labeller {
    /// By ranges, functions 2 to 6.
    Rules(Rules),
    /// By what is left of income after the loan, function 7.
    Disposable,
    /// By what is left of income after the loan and education, function 9.
    AfterEducation,
}

impl Labeller {
    /// The function with its published constants, or with those of a seed.
    fn new(function: ClassFunction, constants_seed: Option<u64>) -> Labeller {
        let rules = match constants_seed {
            Some(seed) => Rules::drawn(function, seed),
            None => Rules::published(function),
        };
        match (rules, function) {
            (Some(rules), _) => Labeller::Rules(rules),
            (None, ClassFunction::C9) => Labeller::AfterEducation,
            (None, _) => Labeller::Disposable,
        }
    }

    /// Whether the person is in class `A`.
    fn is_class_a(&self, person: &Person) -> bool {
        match self {
            Labeller::Rules(rules) => rules.is_class_a(person),
            Labeller::Disposable => person.disposable_hundredths() > 0,
            Labeller::AfterEducation => {
                let &Person { elevel, loan, .. } = person;
                person.income_hundredths() - 500_000 * i64::from(elevel) - 20 * i64::from(loan)
                    > 1_000_000
            }
        }
    }
}

impl fmt::Display for ClassFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ClassFunction {
    type Err = String;

    fn from_str(word: &str) -> Result<ClassFunction, String> {
        let found = ClassFunction::ALL.into_iter().find(|f| f.name().eq_ignore_ascii_case(word));
        found.ok_or_else(|| {
            let names = ClassFunction::ALL.map(ClassFunction::name).join(", ");
            format!("'{word}' is not a class function; use one of {names}")
        })
    }
}

/// How salaries are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Salary {
    /// Evenly from 20,000 to 150,000: a variance of 1.4e9.
    #[default]
    Uniform,
    /// Around 85,000, nearly normal, with a variance of 1.1e8.
    Normal,
}

impl Salary {
    /// Every distribution, in the order in which help texts list them.
    pub const ALL: [Salary; 2] = [Salary::Uniform, Salary::Normal];

    /// The word used in flags.
    pub fn name(self) -> &'static str {
        match self {
            Salary::Uniform => "uniform",
            Salary::Normal => "normal",
        }
    }

    #[inline]
    fn draw(self, draw: &mut Draw) -> i32 {
        match self {
            Salary::Uniform => draw.between(20_000, 150_000),
            // A sum of twelve has a variance of one and ends at six: 22,000 to 148,000.
            Salary::Normal => {
                let sum: f64 = (0..12).map(|_| draw.unit()).sum();
                (85_000.0 + 10_500.0 * (sum - 6.0)).round() as i32
            }
        }
    }
}

impl fmt::Display for Salary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Salary {
    type Err = String;

    fn from_str(word: &str) -> Result<Salary, String> {
        Salary::ALL.into_iter().find(|salary| salary.name() == word).ok_or_else(|| {
            let names = Salary::ALL.map(Salary::name).join(", ");
            format!("'{word}' is not a distribution of salaries; use one of {names}")
        })
    }
}

/// A number to predict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TargetFunction {
    /// What is left of income after the loan.
    R7,
    /// What is left of income after education, plus a share of the house.
    R10,
}

impl TargetFunction {
    /// Every function, in the order in which help texts list them.
    pub const ALL: [TargetFunction; 2] = [TargetFunction::R7, TargetFunction::R10];

    /// The word used in flags and as a column's name.
    pub fn name(self) -> &'static str {
        match self {
            TargetFunction::R7 => "r7",
            TargetFunction::R10 => "r10",
        }
    }

    /// A hundred times the target, exactly.
    fn hundredths(self, person: &Person) -> i64 {
        match self {
            TargetFunction::R7 => person.disposable_hundredths(),
            TargetFunction::R10 => {
                // 0.2 * equity, where equity is a tenth of the house per year beyond 20.
                let years = i64::from((person.hyears - 20).max(0));
                let equity_share = 2 * i64::from(person.hvalue) * years;
                person.income_hundredths() - 500_000 * i64::from(person.elevel) + equity_share
                    - 1_000_000
            }
        }
    }
}

impl fmt::Display for TargetFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TargetFunction {
    type Err = String;

    fn from_str(word: &str) -> Result<TargetFunction, String> {
        let found = TargetFunction::ALL.into_iter().find(|f| f.name().eq_ignore_ascii_case(word));
        found.ok_or_else(|| {
            let names = TargetFunction::ALL.map(TargetFunction::name).join(", ");
            format!("'{word}' is not a target function; use one of {names}")
        })
    }
}

/// A row.
#[derive(Debug, Clone, Copy)]
struct Person {
    salary: i32,
    commission: i32,
    age: i32,
    elevel: i32,
    car: i32,
    zipcode: i32,
    hvalue: i32,
    hyears: i32,
    loan: i32,
}

impl Person {
    #[inline]
    fn draw(draw: &mut Draw, salary: Salary) -> Person {
        let salary = salary.draw(draw);
        let commission = if salary >= 75_000 { 0 } else { draw.between(10_000, 75_000) };
        let age = draw.between(20, 80);
        let elevel = draw.between(0, 4);
        let car = draw.between(1, 20);
        let zipcode = draw.between(0, 9);
        let hvalue = (f64::from(zipcode) * (0.5 + draw.unit()) * 100_000.0).round() as i32;
        let hyears = draw.between(1, 30);
        let loan = draw.between(0, 500_000);
        Person { salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan }
    }

    /// 0.67 * (salary + commission), in hundredths.
    fn income_hundredths(&self) -> i64 {
        67 * i64::from(self.salary + self.commission)
    }

    /// 0.67 * (salary + commission) - 0.2 * loan - 20,000, in hundredths.
    fn disposable_hundredths(&self) -> i64 {
        self.income_hundredths() - 20 * i64::from(self.loan) - 2_000_000
    }
}

/// The nine attributes and what the options add.
pub(super) fn schema(options: &Options) -> Schema {
    let names =
        ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"];
    let mut fields: Vec<_> = names.map(|name| field(name, DataType::Int32)).into();
    let is_only_class = options.class_functions.len() == 1;
    for function in &options.class_functions {
        let name = if is_only_class { "class" } else { function.name() };
        fields.push(field(name, DataType::Utf8));
    }
    for function in &options.target_functions {
        fields.push(field(function.name(), DataType::Float64));
    }
    Schema::new(fields)
}

/// The columns of one block.
pub(super) fn columns(options: &Options, draw: &mut Draw, n_rows: usize) -> Vec<ArrayRef> {
    let people: Vec<Person> = (0..n_rows).map(|_| Person::draw(draw, options.salary)).collect();
    let getters: [fn(&Person) -> i32; 9] = [
        |person| person.salary,
        |person| person.commission,
        |person| person.age,
        |person| person.elevel,
        |person| person.car,
        |person| person.zipcode,
        |person| person.hvalue,
        |person| person.hyears,
        |person| person.loan,
    ];
    let mut columns: Vec<ArrayRef> =
        getters.iter().map(|getter| integers(people.iter().map(getter).collect())).collect();
    for &function in &options.class_functions {
        let labeller = Labeller::new(function, options.constants_seed);
        let classes: Vec<usize> =
            people.iter().map(|person| usize::from(!labeller.is_class_a(person))).collect();
        columns.push(labels(&classes, &["A", "B"]));
    }
    for function in &options.target_functions {
        let targets = people.iter().map(|person| function.hundredths(person) as f64 / 100.0);
        columns.push(Arc::new(Float64Array::from_iter_values(targets)));
    }
    columns
}

/// Two groups of education levels; cars in groups of five and ten.
pub(super) fn hierarchies() -> Vec<(&'static str, HierarchyRows)> {
    let education = |level: i32| {
        let group = if level <= 1 { "0-1" } else { "2-4" };
        vec![level.to_string(), group.to_owned(), "*".to_owned()]
    };
    let car = |make: i32| {
        let range = |width: i32| {
            let first = (make - 1) / width * width + 1;
            format!("{first}-{}", first + width - 1)
        };
        vec![make.to_string(), range(5), range(10), "*".to_owned()]
    };
    vec![("elevel", (0..=4).map(education).collect()), ("car", (1..=20).map(car).collect())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people() -> Vec<Person> {
        let mut draw = Draw::new(7, 1, 0);
        (0..20_000).map(|_| Person::draw(&mut draw, Salary::Uniform)).collect()
    }

    fn is_class_a(function: ClassFunction, person: &Person) -> bool {
        Labeller::new(function, None).is_class_a(person)
    }

    /// Table II as it stands, in floats.
    fn reference_class(function: ClassFunction, p: &Person) -> bool {
        let k = |x: f64| x * 1000.0;
        let (age, salary, commission) = (p.age, f64::from(p.salary), f64::from(p.commission));
        let (elevel, loan) = (p.elevel, f64::from(p.loan));
        let in_range = |x: f64, low: f64, high: f64| k(low) <= x && x <= k(high);
        let middle = (40..60).contains(&age);
        match function {
            ClassFunction::C2 => {
                ((age < 40) && in_range(salary, 50.0, 100.0))
                    || (middle && in_range(salary, 75.0, 125.0))
                    || ((age >= 60) && in_range(salary, 25.0, 75.0))
            }
            ClassFunction::C3 => {
                (age < 40 && [0, 1].contains(&elevel))
                    || (middle && [1, 2, 3].contains(&elevel))
                    || (age >= 60 && [2, 3, 4].contains(&elevel))
            }
            ClassFunction::C4 => {
                let young = if [0, 1].contains(&elevel) {
                    in_range(salary, 25.0, 75.0)
                } else {
                    in_range(salary, 50.0, 100.0)
                };
                let mid = if [1, 2, 3].contains(&elevel) {
                    in_range(salary, 50.0, 100.0)
                } else {
                    in_range(salary, 75.0, 125.0)
                };
                let old = if [2, 3, 4].contains(&elevel) {
                    in_range(salary, 50.0, 100.0)
                } else {
                    in_range(salary, 25.0, 75.0)
                };
                (age < 40 && young) || (middle && mid) || (age >= 60 && old)
            }
            ClassFunction::C5 => {
                let young = if in_range(salary, 50.0, 100.0) {
                    in_range(loan, 100.0, 300.0)
                } else {
                    in_range(loan, 200.0, 400.0)
                };
                let mid = if in_range(salary, 75.0, 125.0) {
                    in_range(loan, 200.0, 400.0)
                } else {
                    in_range(loan, 300.0, 500.0)
                };
                let old = if in_range(salary, 25.0, 75.0) {
                    in_range(loan, 300.0, 500.0)
                } else {
                    in_range(loan, 100.0, 300.0)
                };
                (age < 40 && young) || (middle && mid) || (age >= 60 && old)
            }
            ClassFunction::C6 => {
                let total = salary + commission;
                ((age < 40) && in_range(total, 50.0, 100.0))
                    || (middle && in_range(total, 75.0, 125.0))
                    || ((age >= 60) && in_range(total, 25.0, 75.0))
            }
            ClassFunction::C7 => 0.67 * (salary + commission) - 0.2 * loan - k(20.0) > 0.0,
            ClassFunction::C9 => {
                0.67 * (salary + commission) - 5000.0 * f64::from(elevel) - 0.2 * loan - k(10.0)
                    > 0.0
            }
        }
    }

    #[test]
    fn attributes_have_the_distributions_of_table_i() {
        for person in people() {
            assert!((20_000..=150_000).contains(&person.salary));
            let is_paid_by_sales = (10_000..=75_000).contains(&person.commission);
            assert_eq!(is_paid_by_sales, person.salary < 75_000);
            assert!(is_paid_by_sales || person.commission == 0);
            assert!((20..=80).contains(&person.age) && (0..=4).contains(&person.elevel));
            assert!((1..=20).contains(&person.car) && (0..=9).contains(&person.zipcode));
            let (low, high) = (person.zipcode * 50_000, person.zipcode * 150_000);
            assert!((low..=high).contains(&person.hvalue));
            assert!((1..=30).contains(&person.hyears) && (0..=500_000).contains(&person.loan));
        }
    }

    #[test]
    fn classes_follow_table_ii_and_both_occur() {
        for function in ClassFunction::ALL {
            let people = people();
            for person in &people {
                let expected = reference_class(function, person);
                assert_eq!(is_class_a(function, person), expected, "{function} {person:?}");
            }
            let n_a = people.iter().filter(|person| is_class_a(function, person)).count();
            assert!(n_a > 1000 && n_a < 19_000, "{function}: {n_a}");
        }
    }

    #[test]
    fn a_normal_salary_has_the_variance_of_the_paper_and_stays_in_the_range() {
        for (distribution, variance) in [(Salary::Uniform, 1.4e9), (Salary::Normal, 1.1e8)] {
            let mut draw = Draw::new(3, 1, 0);
            let drawn: Vec<f64> = (0..100_000)
                .map(|_| f64::from(Person::draw(&mut draw, distribution).salary))
                .collect();
            assert!(drawn.iter().all(|salary| (20_000.0..=150_000.0).contains(salary)));
            let mean = drawn.iter().sum::<f64>() / 100_000.0;
            let spread = drawn.iter().map(|salary| (salary - mean).powi(2)).sum::<f64>() / 1e5;
            assert!((mean / 85_000.0 - 1.0).abs() < 0.01, "{distribution}: {mean}");
            assert!((spread / variance - 1.0).abs() < 0.03, "{distribution}: {spread}");
        }
    }

    #[test]
    fn classes_decide_at_the_exact_border() {
        let at_border = Person {
            salary: 50_000,
            commission: 0,
            age: 39,
            elevel: 0,
            car: 1,
            zipcode: 0,
            hvalue: 0,
            hyears: 1,
            loan: 67_500,
        };
        assert_eq!(TargetFunction::R7.hundredths(&at_border), 0);
        assert!(!is_class_a(ClassFunction::C7, &at_border));
        assert!(is_class_a(ClassFunction::C7, &Person { loan: 67_499, ..at_border }));
        assert!(is_class_a(ClassFunction::C2, &at_border));
        assert!(!is_class_a(ClassFunction::C2, &Person { salary: 49_999, ..at_border }));
    }

    #[test]
    fn targets_follow_table_vi() {
        for p in people() {
            let income = 0.67 * f64::from(p.salary + p.commission);
            let r7 = income - 0.2 * f64::from(p.loan) - 20_000.0;
            let equity = if p.hyears < 20 {
                0.0
            } else {
                0.1 * f64::from(p.hvalue) * f64::from(p.hyears - 20)
            };
            let r10 = income - 5000.0 * f64::from(p.elevel) + 0.2 * equity - 10_000.0;
            let near = |function: TargetFunction, expected: f64| {
                (function.hundredths(&p) as f64 / 100.0 - expected).abs() < 1e-6
            };
            assert!(near(TargetFunction::R7, r7) && near(TargetFunction::R10, r10), "{p:?}");
        }
    }
}
