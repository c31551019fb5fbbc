//! What can be said of a release, factor by factor, and what fits together.
//!
//! A choice adds flags, with words in braces that the table fills in. What a flag cannot stand
//! beside is said by bits, so that no drawn job is a mistake: a flag that has no effect on a method
//! is refused, and stands in no draw with it.

use super::pairs::{Choice, Draw, Factor};
use super::words::TABLES;

/// How classes are found.
const AUTO: u32 = 1;
const MONDRIAN: u32 = 1 << 1;
const RTREE: u32 = 1 << 2;
const LATTICE: u32 = 1 << 3;
/// The search that also takes levels, and goes by the loss.
const INCOGNITO: u32 = 1 << 4;
const SAMARATI: u32 = 1 << 5;
const COLUMNS: u32 = 1 << 6;
const SUBTREE: u32 = 1 << 7;
const ORDERED_SET: u32 = 1 << 8;
const LOCAL: u32 = 1 << 9;

const CUTS: u32 = AUTO | MONDRIAN | RTREE;
const FULL_DOMAIN: u32 = LATTICE | INCOGNITO | SAMARATI | COLUMNS;
const RECODINGS: u32 = SUBTREE | ORDERED_SET;
const ALL: u32 = CUTS | FULL_DOMAIN | RECODINGS | LOCAL;

/// What a table has not: a sensitive number, two sensitive columns, persons, other columns.
pub const NO_NUMBER: u32 = 1 << 10;
pub const NO_SECOND: u32 = 1 << 11;
pub const NO_SUBJECT: u32 = 1 << 12;
pub const NO_KEEP: u32 = 1 << 13;
pub const NO_IDENTIFIER: u32 = 1 << 14;
/// A text that stands for a missing value.
pub const NO_MISSING_TEXT: u32 = 1 << 15;
/// So many rows that a budget matters.
pub const SMALL: u32 = 1 << 16;
/// More names in a column than a set can list.
pub const MANY_NAMES: u32 = 1 << 17;

/// Which columns have hierarchies.
const NO_TREES: u32 = 1 << 18;
const SOME_TREES: u32 = 1 << 19;
const BUILT_IN_TREES: u32 = 1 << 20;
const FILE_TREES: u32 = 1 << 21;
const ALL_TREES: u32 = BUILT_IN_TREES | FILE_TREES;

const CLOSENESS: u32 = 1 << 22;
const LEVELS: u32 = 1 << 23;

/// A choice that is nothing in particular.
fn plain(flags: &'static str) -> Choice {
    choice(flags, 0, 0)
}

/// A choice that cannot stand beside some.
fn barring(flags: &'static str, bars: u32) -> Choice {
    choice(flags, 0, bars)
}

fn choice(flags: &'static str, gives: u32, bars: u32) -> Choice {
    Choice { flags, gives, bars }
}

fn factor(name: &'static str, choices: impl IntoIterator<Item = Choice>) -> Factor {
    Factor { name, choices: choices.into_iter().collect() }
}

/// All factors; the arguments of a job follow their order.
pub fn factors() -> Vec<Factor> {
    let mut factors = vec![
        factor("table", TABLES.iter().map(|table| choice("", table.gives, 0))),
        factor("input", INPUTS.map(plain)),
        factor("output", OUTPUTS.map(plain)),
        factor("columns", [plain("-k {k} --quasi {quasi}")]),
        searches(),
        requirements(),
        hierarchies(),
    ];
    factors.extend(of_columns());
    factors.extend(of_methods());
    factors.extend(of_cells());
    factors
}

const INPUTS: [&str; 6] = [
    "tables/{table}.csv",
    "tables/{table}.csv.gz",
    "tables/{table}.tsv",
    "tables/{table}.parquet",
    "tables/{table}.semicolon.csv",
    "tables/{table}.semicolon.csv --delimiter ;",
];

const OUTPUTS: [&str; 5] =
    ["-o out.csv", "-o out.csv.zst", "-o out.tsv", "-o out.parquet", "-o out.csv.gz"];

fn searches() -> Factor {
    factor(
        "search",
        [
            choice("", AUTO, 0),
            choice("--split median", AUTO, 0),
            choice("--method auto --split compact", AUTO, 0),
            choice("--method mondrian --split compact", MONDRIAN, 0),
            choice("--method mondrian --split median", MONDRIAN, 0),
            choice("--method rtree", RTREE, 0),
            choice("--method rtree --split median", RTREE, 0),
            choice("--method rtree --split compact", RTREE, 0),
            choice("--method incognito", INCOGNITO, 0),
            choice("--method incognito --variant basic", LATTICE, 0),
            choice("--method incognito --variant super-roots", LATTICE, 0),
            choice("--method incognito --variant cube", LATTICE, 0),
            choice("--method samarati", SAMARATI, 0),
            choice("--method bottom-up --variant rollup", LATTICE, 0),
            choice("--method bottom-up --variant scan", LATTICE, 0),
            choice("--method attribute-suppression", COLUMNS, 0),
            choice("--method subtree", SUBTREE, 0),
            choice("--method ordered-set", ORDERED_SET, MANY_NAMES),
            choice("--method local", LOCAL, 0),
        ],
    )
}

fn requirements() -> Factor {
    let number = "--sensitive {number} --t-closeness {number}=0.3";
    let both = "--sensitive {category} --l-diversity {category}={l} --alpha {category}=0.9";
    let two = "--sensitive {category},{second} --l-diversity {category}=distinct:2 \
        --t-closeness {second}=0.4";
    factor(
        "requirement",
        [
            plain(""),
            plain("--sensitive {category}"),
            plain("--sensitive {category} --l-diversity {category}=distinct:{l}"),
            plain("--sensitive {category} --l-diversity {category}=entropy:{entropy}"),
            plain("--sensitive {category} --l-diversity {category}=recursive:3,2"),
            plain("--sensitive {category} --alpha {category}=0.8"),
            choice("--sensitive {category} --t-closeness {category}=0.35", CLOSENESS, 0),
            choice(number, CLOSENESS, NO_NUMBER),
            barring("--sensitive {number} --variance {number}={variance}", NO_NUMBER),
            choice(two, CLOSENESS, NO_SECOND),
            plain(both),
        ],
    )
}

fn hierarchies() -> Factor {
    factor(
        "hierarchies",
        [
            choice("", NO_TREES, LATTICE | INCOGNITO | SAMARATI | SUBTREE),
            choice("{some}", SOME_TREES, FULL_DOMAIN | SUBTREE),
            choice("{built-in}", BUILT_IN_TREES, COLUMNS),
            choice("{files}", FILE_TREES, COLUMNS),
        ],
    )
}

/// What is said of other columns, and of how cells are read.
fn of_columns() -> [Factor; 5] {
    [
        factor("subject", [plain(""), barring("--subject {subject}", NO_SUBJECT)]),
        factor(
            "carried",
            [
                plain(""),
                barring("--keep {keep}", NO_KEEP),
                barring("--keep {keep} --identifier {identifier}", NO_KEEP | NO_IDENTIFIER),
            ],
        ),
        factor("types", [plain(""), plain("{types}")]),
        factor("missing", [plain(""), barring("--missing n/a", NO_MISSING_TEXT)]),
        factor("weight", [plain(""), plain("--weight {weight}=3.5")]),
    ]
}

/// What is said of how classes are found.
fn of_methods() -> Vec<Factor> {
    let without_cuts = ALL & !CUTS;
    let without_index = ALL & !(AUTO | RTREE);
    let without_lattice = ALL & !FULL_DOMAIN;
    let in_memory = MONDRIAN | RECODINGS | LOCAL;
    let searched = without_lattice | LEVELS;
    vec![
        // The recodings cannot leave rows out under t-closeness, the lattice can.
        factor(
            "suppress",
            [
                plain(""),
                barring("--suppress 0.03", CUTS | LOCAL | RECODINGS),
                barring("--suppress 0.1", CUTS | LOCAL | CLOSENESS),
            ],
        ),
        factor(
            "minimize",
            [
                plain(""),
                barring("--minimize ncp", searched),
                // A binary search has the least height in any case.
                barring("--minimize height", searched | SAMARATI),
                barring("--minimize discernibility", searched),
                barring("--minimize weights", searched),
            ],
        ),
        factor(
            "levels",
            [
                plain(""),
                choice(
                    "--level {level}",
                    LEVELS,
                    (ALL & !INCOGNITO) | (ALL_TREES & !BUILT_IN_TREES),
                ),
            ],
        ),
        factor("bias", [plain(""), barring("--bias {bias}", without_cuts)]),
        factor(
            "also",
            [
                plain(""),
                barring("--also-k {also}", without_index),
                barring("--also-k {also} --granularity cut", without_index),
                barring("--also-k {also} --granularity leaf-scan", without_index),
                barring("--also-k {also} --granularity hierarchical", without_index),
            ],
        ),
        factor(
            "memory",
            [
                plain(""),
                plain("--memory 500MB"),
                barring("--memory {budget}", in_memory | CUTS | SMALL),
                barring("--memory {other-budget}", in_memory | CUTS | SMALL),
                barring("--memory {budget} --least-memory 300KB", ALL & !(AUTO | RTREE) | SMALL),
                barring(
                    "--memory {other-budget} --least-memory 200KB",
                    ALL & !(AUTO | RTREE) | SMALL,
                ),
                barring("--least-memory 200KB", without_cuts | SMALL),
            ],
        ),
        factor("threads", ["", "--threads 1", "--threads 2"].map(plain)),
    ]
}

/// What is said of how classes are shown.
fn of_cells() -> [Factor; 4] {
    // Labels leave nothing to be written as an interval.
    let no_intervals = FULL_DOMAIN | SUBTREE | ALL_TREES;
    let no_sets = FULL_DOMAIN | RECODINGS | NO_TREES;
    [
        factor("regions", [plain(""), barring("--no-compact", ALL & !CUTS)]),
        factor(
            "values",
            [
                plain(""),
                barring("--values interval", no_intervals),
                barring("--values bounds", no_intervals),
            ],
        ),
        factor(
            "categories",
            [
                plain(""),
                barring("--categories label", no_sets),
                barring("--categories set", no_sets),
            ],
        ),
        factor("seed", [plain(""), plain("--seed 7")]),
    ]
}

/// The arguments of a job that was drawn.
pub fn arguments(factors: &[Factor], draw: &Draw) -> String {
    let flags = factors.iter().zip(draw).map(|(factor, &choice)| factor.choices[choice].flags);
    let flags: Vec<&str> = flags.filter(|flags| !flags.is_empty()).collect();
    let mut line = format!("anonymize {}", flags.join(" "));
    for (word, text) in TABLES[draw[0]].words {
        line = line.replace(&format!("{{{word}}}"), text);
    }
    assert!(!line.contains('{'), "the table has not all words of {line}");
    line
}
