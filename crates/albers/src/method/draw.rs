//! How leaves were merged, as a picture for their owner: it tells how many rows each leaf has, and of
//! no value of theirs.
//!
//! ```text
//!   5 ──┐
//!       ├───┐            a leaf with its rows on every line; who merged in the first round meets
//!   7 ──┘   ├──          in the first column, and so on
//!   6 ──────┘
//! ```

use albers_index::granularity::dendrogram::Dendrogram;
use albers_storage::wording;
use albers_storage::wording::Field;

use crate::chart::svg::{Document, Style};
use crate::error::{Error, Result};

/// More leaves than this no person can read.
const MAX_LEAVES: usize = 200;

const LINE: f64 = 16.0;
const ROUND: f64 = 64.0;
const MARGIN: f64 = 28.0;
const HEAD: f64 = 52.0;
const NAMES: f64 = 84.0;

const STYLE: Style<'_> = Style {
    light: "line{stroke:#35618e;stroke-width:1.4}circle{fill:#35618e}",
    dark: "line{stroke:#7fb2e5}circle{fill:#7fb2e5}",
};

/// A picture that is being gathered, part of the index by part.
#[derive(Default)]
pub(super) struct Picture {
    parts: Vec<Part>,
    n_leaves: usize,
}

enum Part {
    Merged(Dendrogram),
    /// A leaf of so many rows that is a class of its own in every release.
    Leaf(u64),
}

impl Picture {
    /// Takes in what is merged of a part of the index.
    pub(super) fn add(&mut self, dendrogram: Dendrogram) {
        self.n_leaves += dendrogram.n_leaves();
        self.push(Part::Merged(dendrogram));
    }

    /// Takes in a leaf that is a part by itself.
    pub(super) fn add_leaf(&mut self, n_rows: u64) {
        self.n_leaves += 1;
        self.push(Part::Leaf(n_rows));
    }

    /// Keeps a part, if there is still anything to be drawn.
    fn push(&mut self, part: Part) {
        match self.n_leaves <= MAX_LEAVES {
            true => self.parts.push(part),
            false => self.parts.clear(),
        }
    }

    /// The picture, if a person can read it.
    pub(super) fn draw(self) -> Result<String> {
        let n_leaves = self.n_leaves;
        if n_leaves > MAX_LEAVES {
            return Err(Error::usage(
                format!(
                    "the dendrogram has {n_leaves} leaves, more than the {MAX_LEAVES} that a person \
                     can read"
                ),
                wording!["drop ", Field::Dendrogram, ", or ask for a greater ", Field::K],
            ));
        }
        let n_rounds = self.parts.iter().map(Part::n_rounds).max().unwrap_or(0);
        let (title, words) = ("Dendrogram of leaves", words(n_leaves, n_rounds));
        let mut document = Document::new(title, &words, STYLE);
        document.text(MARGIN, MARGIN, "class=\"title\"", title);
        document.text(MARGIN, MARGIN + 18.0, "class=\"words quiet\"", &words);
        let mut n_lines = 0;
        for part in &self.parts {
            n_lines += part.draw(&mut document, n_lines);
        }
        let width = (x_of(n_rounds) + ROUND).max(words.len() as f64 * 6.6) + MARGIN;
        Ok(document.finish(width, y_of(n_lines) + MARGIN))
    }
}

/// What is drawn, in words.
fn words(n_leaves: usize, n_rounds: u32) -> String {
    let leaves = if n_leaves == 1 { "leaf" } else { "leaves" };
    let rounds = if n_rounds == 1 { "round" } else { "rounds" };
    format!("{n_leaves} {leaves} with their rows, merged in {n_rounds} {rounds}")
}

/// Where those that merged in a round meet.
fn x_of(round: u32) -> f64 {
    MARGIN + NAMES + f64::from(round) * ROUND
}

fn y_of(line: usize) -> f64 {
    MARGIN + HEAD + line as f64 * LINE
}

impl Part {
    fn n_rounds(&self) -> u32 {
        match self {
            Part::Merged(dendrogram) => dendrogram.root().map_or(0, |root| dendrogram.round(root)),
            Part::Leaf(_) => 0,
        }
    }

    /// Draws it from a line on, and says how many lines it took.
    fn draw(&self, document: &mut Document, first_line: usize) -> usize {
        let dendrogram = match self {
            Part::Leaf(n_rows) => {
                draw_leaf(document, *n_rows, y_of(first_line));
                return 1;
            }
            Part::Merged(dendrogram) => dendrogram,
        };
        let n_leaves = dendrogram.n_leaves();
        let mut ys = vec![0.0; n_leaves];
        let mut n_rows = vec![0; n_leaves];
        for (line, &leaf) in (first_line..).zip(dendrogram.order()) {
            ys[leaf as usize] = y_of(line);
            n_rows[leaf as usize] = dendrogram.n_rows(leaf);
            draw_leaf(document, dendrogram.n_rows(leaf), y_of(line));
        }
        // Parts come before what is merged of them.
        for node in n_leaves as u32..dendrogram.root().map_or(0, |root| root + 1) {
            let parts = dendrogram.children(node);
            let x = x_of(dendrogram.round(node));
            let own = || parts.iter().map(|&part| ys[part as usize]);
            let (top, bottom) = (own().fold(f64::MAX, f64::min), own().fold(0.0, f64::max));
            draw_line(document, (x, top), (x, bottom));
            for &part in parts {
                let y = ys[part as usize];
                draw_line(document, (x_of(dendrogram.round(part)), y), (x, y));
            }
            let sum: u64 = parts.iter().map(|&part| n_rows[part as usize]).sum();
            let y = (top + bottom) / 2.0;
            document.push(&format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"><title>{sum} rows</title></circle>"
            ));
            ys.push(y);
            n_rows.push(sum);
        }
        n_leaves
    }
}

fn draw_leaf(document: &mut Document, n_rows: u64, y: f64) {
    let attributes = "class=\"words\" text-anchor=\"end\"";
    document.text(x_of(0) - 8.0, y + 4.0, attributes, &n_rows.to_string());
}

fn draw_line(document: &mut Document, from: (f64, f64), to: (f64, f64)) {
    document.push(&format!(
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_that_are_parts_by_themselves_are_drawn_one_below_the_other() {
        let mut picture = Picture::default();
        picture.add_leaf(7);
        picture.add_leaf(1234);
        let drawn = picture.draw().unwrap();
        assert!(drawn.contains("2 leaves with their rows, merged in 0 rounds"));
        assert!(drawn.contains(">7</text>") && drawn.contains(">1234</text>"));
    }

    #[test]
    fn more_leaves_than_a_person_can_read_are_refused_with_their_number() {
        let mut picture = Picture::default();
        (0..=MAX_LEAVES as u64).for_each(|n_rows| picture.add_leaf(n_rows));
        assert!(picture.parts.is_empty(), "nothing is kept that will not be drawn");
        let refused = picture.draw().unwrap_err().to_string();
        assert!(refused.contains("201 leaves"), "{refused}");
    }
}
