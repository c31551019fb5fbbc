//! Hierarchies as the oracle sees them: the labels above each leaf, one by one.

use std::collections::BTreeMap;
use std::path::Path;

use albers::ColumnType;

use super::dice::Dice;
use super::files;
use super::value::Value;

/// The path of each leaf, itself first and the top last.
#[derive(Debug, Clone)]
pub struct Tree {
    pub paths: BTreeMap<String, Vec<String>>,
}

impl Tree {
    fn of(leaves: &[String], above: impl Fn(&str) -> Vec<String>) -> Tree {
        let path = |leaf: &String| {
            std::iter::once(leaf.clone()).chain(above(leaf)).chain(["*".to_owned()]).collect()
        };
        Tree { paths: leaves.iter().map(|leaf| (leaf.clone(), path(leaf))).collect() }
    }

    /// The lowest label that all of some leaves are under.
    pub fn common_label(&self, leaves: &[String]) -> &str {
        let paths: Vec<&Vec<String>> = leaves.iter().map(|leaf| &self.paths[leaf]).collect();
        let level = (0..paths[0].len())
            .find(|&level| paths.iter().all(|path| path[level] == paths[0][level]))
            .expect("the top is above all");
        &paths[0][level]
    }

    pub fn is_under(&self, leaf: &str, label: &str) -> bool {
        self.paths[leaf].iter().any(|above| above == label)
    }

    pub fn n_under(&self, label: &str) -> usize {
        self.paths.keys().filter(|leaf| self.is_under(leaf, label)).count()
    }

    /// The height of the lowest label above both leaves, over the height of the tree.
    pub fn distance(&self, a: &str, b: &str) -> f64 {
        let (a, b) = (&self.paths[a], &self.paths[b]);
        let level = (0..a.len()).find(|&level| a[level] == b[level]).expect("the top");
        level as f64 / (a.len() - 1) as f64
    }
}

/// Everything or nothing.
pub fn suppressing(leaves: &[String]) -> Tree {
    Tree::of(leaves, |_| Vec::new())
}

/// Draws a hierarchy for values of a column: its text in a job, and what it means. Files are
/// written into `folder`.
pub fn draw(
    dice: &mut Dice,
    kind: ColumnType,
    column: &str,
    leaves: &[String],
    folder: &Path,
) -> (String, Tree) {
    match (dice.below(4), kind) {
        (0, _) => ("suppress".to_owned(), suppressing(leaves)),
        (2, ColumnType::Text | ColumnType::Code | ColumnType::Integer) => {
            ("prefix".to_owned(), Tree::of(leaves, prefixes(leaves)))
        }
        (3, ColumnType::Integer) => {
            let sizes = *dice.pick(&[&[5, 10, 20][..], &[1, 7], &[1000, 1_000_000]]);
            let text: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            (format!("ranges:{}", text.join(",")), Tree::of(leaves, whole_ranges(sizes)))
        }
        (2 | 3, ColumnType::Decimal) => {
            let path = |leaf: &str| [500_000, 2_000_000].map(|size| decimal_range(leaf, size));
            let tree = Tree::of(leaves, |leaf| path(leaf).to_vec());
            ("ranges:0.5,2".to_owned(), tree)
        }
        (2 | 3, ColumnType::Date) => ("dates".to_owned(), Tree::of(leaves, months)),
        _ => from_file(dice, kind, column, leaves, folder),
    }
}

fn prefixes(leaves: &[String]) -> impl Fn(&str) -> Vec<String> {
    let longest = leaves.iter().map(|leaf| leaf.chars().count()).max().unwrap_or(0);
    move |leaf| {
        let short = |n_kept: usize| {
            if leaf.chars().count() <= n_kept {
                leaf.to_owned()
            } else {
                leaf.chars().take(n_kept).chain(['*']).collect()
            }
        };
        (1..longest).rev().map(short).collect()
    }
}

fn whole_ranges(sizes: &[i128]) -> impl Fn(&str) -> Vec<String> {
    move |leaf| {
        let number: i128 = leaf.parse().expect("an integer");
        let low = |size: i128| number.div_euclid(size) * size;
        let range = |&size: &i128| match size {
            1 => number.to_string(),
            size => format!("[{}, {}]", low(size), low(size) + size - 1),
        };
        sizes.iter().map(range).collect()
    }
}

fn decimal_range(leaf: &str, size: i128) -> String {
    let Value::Ticks(ticks) = Value::read(ColumnType::Decimal, leaf) else {
        panic!("a leaf has a value")
    };
    let low = ticks.div_euclid(size) * size;
    let text = |ticks| Value::Ticks(ticks).canonical(ColumnType::Decimal);
    format!("[{}, {})", text(low), text(low + size))
}

fn months(leaf: &str) -> Vec<String> {
    let month: usize = leaf[5..7].parse().expect("a month");
    let year = &leaf[..4];
    vec![leaf[..7].to_owned(), format!("{year}-Q{}", month.div_ceil(3)), year.to_owned()]
}

/// A file with levels of groups of groups, sometimes with leaves that do not occur.
fn from_file(
    dice: &mut Dice,
    kind: ColumnType,
    column: &str,
    leaves: &[String],
    folder: &Path,
) -> (String, Tree) {
    let mut leaves = leaves.to_vec();
    let extra: &[&str] = match kind {
        ColumnType::Text => &["Zanzibar", "Ypern", "X, and \"more\""],
        ColumnType::Code => &["99998", "00001"],
        ColumnType::Integer => &["-77", "1234567"],
        ColumnType::Decimal => &["0.125", "-9"],
        ColumnType::Float => &["0.125", "-9.0"],
        ColumnType::Date => &["1999-12-31"],
        ColumnType::Boolean => &["true", "false"],
        ColumnType::Timestamp => &[],
    };
    if leaves.is_empty() || dice.chance(0.5) {
        leaves.extend(extra.iter().map(|&leaf| leaf.to_owned()));
    }
    leaves.sort_unstable();
    leaves.dedup();
    dice.shuffle(&mut leaves);
    let mut groups: Vec<usize> = (0..leaves.len()).collect();
    let mut paths: Vec<Vec<String>> = leaves.iter().map(|leaf| vec![leaf.clone()]).collect();
    for level in 1..=dice.below(3) {
        let fan_in = 1 + dice.below(4);
        for (group, path) in groups.iter_mut().zip(&mut paths) {
            *group /= fan_in;
            path.push(format!("group {level}, {group}"));
        }
    }
    let n_top = groups.iter().max().map_or(0, |last| last + 1);
    let writes_top = dice.chance(0.5) && n_top > 0;
    let lines = paths.iter().map(|path| {
        let top = writes_top.then(|| "*".to_owned());
        path.iter().cloned().chain(top).collect::<Vec<String>>()
    });
    let file = folder.join(format!("{column}.hierarchy.csv"));
    files::write(&file, ';', lines);
    // A root stands above several tops; a single top of the file is the root itself.
    let needs_root = writes_top || n_top > 1 || paths[0].len() == 1;
    if needs_root {
        paths.iter_mut().for_each(|path| path.push("*".to_owned()));
    }
    let tree = Tree { paths: leaves.into_iter().zip(paths).collect() };
    (file.to_str().expect("UTF-8").to_owned(), tree)
}
