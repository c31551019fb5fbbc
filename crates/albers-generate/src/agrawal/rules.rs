//! The constants of the class functions 2 to 6, as published or drawn at random.
//!
//! All five have one shape: the age tells the group, in some of them a second attribute tells which
//! of two ranges counts, and who lies in that range is in class `A`.
//!
//! ```text
//!   age ──► group ──► condition? ──► range of the attribute that decides ──► A or B
//! ```
//!
//! Source: Agrawal, Imielinski & Swami 1993, functions 2 to 6; constants "varied independently at
//! random over the range of the attribute" as in LeFevre, DeWitt & Ramakrishnan 2008, section 4.4.
//! Departures: two constants that bound a range are drawn apart from each other and put in order,
//! so that no range of ages or amounts is empty. A range may still hold few people.
//! Guarantee: the constants of a function follow from the seed and the function alone, whatever
//! other functions are asked for and whatever table they label.

use std::ops::RangeInclusive;

use super::super::draw::Draw;
use super::{ClassFunction, Person};

/// Part of the seed of drawn constants, far from the tags of tables.
const CONSTANTS_TAG: u64 = 0xC0;

/// What a function asks in one group of ages.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    /// Where the attribute of the condition lies for `met` to count.
    condition: RangeInclusive<i32>,
    met: RangeInclusive<i32>,
    otherwise: RangeInclusive<i32>,
}

/// A class function with its constants: 2, 3, 4, 5 or 6.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rules {
    function: ClassFunction,
    /// The first age of the middle group, and the first of the old one.
    ages: [i32; 2],
    /// The young, the middle-aged and the old.
    groups: [Group; 3],
}

impl Rules {
    /// The published constants; nothing for a function that has none to vary.
    pub(super) fn published(function: ClassFunction) -> Option<Rules> {
        let money = |low: i32, high: i32| low * 1000..=high * 1000;
        let plain = |range: RangeInclusive<i32>| Group {
            condition: i32::MIN..=i32::MAX,
            met: range.clone(),
            otherwise: range,
        };
        let asking = |condition, met, otherwise| Group { condition, met, otherwise };
        let groups = match function {
            ClassFunction::C2 | ClassFunction::C6 => {
                [plain(money(50, 100)), plain(money(75, 125)), plain(money(25, 75))]
            }
            ClassFunction::C3 => [plain(0..=1), plain(1..=3), plain(2..=4)],
            ClassFunction::C4 => [
                asking(0..=1, money(25, 75), money(50, 100)),
                asking(1..=3, money(50, 100), money(75, 125)),
                asking(2..=4, money(50, 100), money(25, 75)),
            ],
            ClassFunction::C5 => [
                asking(money(50, 100), money(100, 300), money(200, 400)),
                asking(money(75, 125), money(200, 400), money(300, 500)),
                asking(money(25, 75), money(300, 500), money(100, 300)),
            ],
            ClassFunction::C7 | ClassFunction::C9 => return None,
        };
        Some(Rules { function, ages: [40, 60], groups })
    }

    /// The same with every constant drawn over the range of its attribute.
    pub(super) fn drawn(function: ClassFunction, seed: u64) -> Option<Rules> {
        let Rules { groups, .. } = Rules::published(function)?;
        let mut draw = Draw::new(seed, CONSTANTS_TAG, function.number());
        let ages = range(&mut draw, 20, 80, 1);
        let has_condition = matches!(function, ClassFunction::C4 | ClassFunction::C5);
        let groups = groups.map(|own| {
            let met = deciding_range(function, &mut draw);
            if !has_condition {
                return Group { condition: own.condition, met: met.clone(), otherwise: met };
            }
            let otherwise = deciding_range(function, &mut draw);
            let condition = match function {
                ClassFunction::C4 => range(&mut draw, 0, 4, 0),
                _ => range(&mut draw, 20_000, 150_000, 1),
            };
            Group { condition, met, otherwise }
        });
        Some(Rules { function, ages: [*ages.start(), *ages.end()], groups })
    }

    /// Whether the person is in class `A`.
    pub(super) fn is_class_a(&self, person: &Person) -> bool {
        let [middle, old] = self.ages;
        let group =
            &self.groups[usize::from(person.age >= middle) + usize::from(person.age >= old)];
        let &Person { salary, commission, elevel, loan, .. } = person;
        let (asked, decides) = match self.function {
            ClassFunction::C3 => (0, elevel),
            ClassFunction::C4 => (elevel, salary),
            ClassFunction::C5 => (salary, loan),
            ClassFunction::C6 => (0, salary + commission),
            _ => (0, salary),
        };
        let range = if group.condition.contains(&asked) { &group.met } else { &group.otherwise };
        range.contains(&decides)
    }
}

/// A range of the attribute that decides.
fn deciding_range(function: ClassFunction, draw: &mut Draw) -> RangeInclusive<i32> {
    match function {
        ClassFunction::C3 => range(draw, 0, 4, 0),
        ClassFunction::C5 => range(draw, 0, 500_000, 1),
        // Who earns less than 75,000 has a commission of at least 10,000.
        ClassFunction::C6 => range(draw, 30_000, 150_000, 1),
        _ => range(draw, 20_000, 150_000, 1),
    }
}

/// Two numbers between the least and the greatest, in order and at least so far apart.
fn range(draw: &mut Draw, least: i32, greatest: i32, apart: i32) -> RangeInclusive<i32> {
    loop {
        let (one, other) = (draw.between(least, greatest), draw.between(least, greatest));
        if (one - other).abs() >= apart {
            return one.min(other)..=one.max(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIED: [ClassFunction; 5] = [
        ClassFunction::C2,
        ClassFunction::C3,
        ClassFunction::C4,
        ClassFunction::C5,
        ClassFunction::C6,
    ];

    #[test]
    fn constants_follow_from_seed_and_function() {
        for function in VARIED {
            let drawn = Rules::drawn(function, 4).unwrap();
            assert_eq!(drawn, Rules::drawn(function, 4).unwrap());
            assert_ne!(drawn, Rules::drawn(function, 5).unwrap());
            assert_ne!(drawn, Rules::published(function).unwrap());
        }
        let ages = VARIED.map(|function| Rules::drawn(function, 4).unwrap().ages);
        assert!(ages.iter().any(|own| *own != ages[0]), "each function has its own constants");
        for function in [ClassFunction::C7, ClassFunction::C9] {
            assert_eq!(Rules::drawn(function, 4), None);
        }
    }

    #[test]
    fn constants_stay_in_the_range_of_their_attribute_and_reach_all_of_it() {
        let (mut least, mut greatest) = (i32::MAX, i32::MIN);
        for seed in 0..2000 {
            let Rules { ages, groups, .. } = Rules::drawn(ClassFunction::C5, seed).unwrap();
            assert!(20 <= ages[0] && ages[0] < ages[1] && ages[1] <= 80);
            for Group { condition, met, otherwise } in groups {
                assert!(20_000 <= *condition.start() && *condition.end() <= 150_000);
                for range in [met, otherwise] {
                    assert!(0 <= *range.start() && *range.end() <= 500_000 && !range.is_empty());
                    least = least.min(*range.start());
                    greatest = greatest.max(*range.end());
                }
            }
        }
        assert!(least < 5_000 && greatest > 495_000, "{least} to {greatest}");
    }

    #[test]
    fn functions_without_a_condition_look_at_one_range() {
        for function in [ClassFunction::C2, ClassFunction::C3, ClassFunction::C6] {
            for seed in 0..20 {
                let groups = Rules::drawn(function, seed).unwrap().groups;
                assert!(groups.iter().all(|group| group.met == group.otherwise));
            }
        }
    }
}
