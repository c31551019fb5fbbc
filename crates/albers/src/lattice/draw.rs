//! A lattice as a picture.
//!
//! ```text
//!          [ 1,2 ]           from the bottom, nothing generalized, to the top
//!          /     \
//!      [ 0,2 ] [ 1,1 ]       a node is named by its levels, in the order of the columns
//!          \     /
//!          [ 0,1 ] ...
//! ```

use albers_lattice::dimension::Dimension;
use albers_lattice::lattice::{Lattice, count_nodes};
use albers_lattice::search::Found;

use crate::chart::svg::{Document, Style, escaped};
use crate::error::{Error, Result};

/// More nodes than this no person can read.
const MAX_NODES: u128 = 400;

const NODE_HEIGHT: f64 = 26.0;
const ROW_HEIGHT: f64 = 78.0;
const GAP: f64 = 14.0;
const MARGIN: f64 = 28.0;
const CHAR_WIDTH: f64 = 7.6;
const LEGEND_LINE: f64 = 20.0;

/// What a node is to the search, with how it is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Minimal,
    Satisfying,
    TakenUnseen,
    Violating,
    PrunedUnseen,
}

impl Kind {
    const ALL: [Kind; 5] =
        [Kind::Minimal, Kind::Satisfying, Kind::TakenUnseen, Kind::Violating, Kind::PrunedUnseen];

    fn class(self) -> &'static str {
        match self {
            Kind::Minimal => "minimal",
            Kind::Satisfying => "satisfying",
            Kind::TakenUnseen => "taken",
            Kind::Violating => "violating",
            Kind::PrunedUnseen => "pruned",
        }
    }

    fn words(self, is_complete: bool) -> &'static str {
        match self {
            Kind::Minimal => "satisfies, and generalizes no other that does",
            Kind::Satisfying => "satisfies",
            Kind::TakenUnseen => "satisfies, taken without a look",
            Kind::Violating => "violates",
            Kind::PrunedUnseen if is_complete => "violates, pruned without a look",
            Kind::PrunedUnseen => "not looked at",
        }
    }
}

const STYLE: Style<'_> = Style {
    light: "\
text{font:12px ui-monospace,Menlo,Consolas,monospace}rect{stroke-width:1.2}.paper{stroke:none}\
.minimal{fill:#1f7a4d;stroke:#0f5132;stroke-width:2.4}.minimal+text{fill:#fff;font-weight:700}\
.satisfying{fill:#a9dfc1;stroke:#1f7a4d}.taken{fill:#e3f5ea;stroke:#1f7a4d;stroke-dasharray:4 3}\
.violating{fill:#f4c7c3;stroke:#a8322a}.pruned{fill:#f3f4f6;stroke:#9aa5b1;stroke-dasharray:4 3}\
.minimal+.words{fill:#1d2733;font-weight:400}",
    dark: "\
.minimal{fill:#2f9d68;stroke:#8fe3b8}.satisfying{fill:#1d4a34;stroke:#4fb585}\
.taken{fill:#14241c;stroke:#4fb585}.violating{fill:#552724;stroke:#e08a83}\
.pruned{fill:#1d232a;stroke:#6b7785}.minimal+.words{fill:#e4e9ee}",
};

/// Refuses a lattice that no person can read.
pub fn check_size(heights: &[u16]) -> Result<()> {
    let n_nodes = count_nodes(heights.iter().copied());
    if n_nodes <= MAX_NODES {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "the lattice has {n_nodes} nodes, more than the {MAX_NODES} that a person can read"
        ),
        "draw it for fewer columns, or for hierarchies with fewer levels",
    ))
}

/// The picture of a lattice that was searched.
pub fn svg(dimensions: &[Dimension], found: &Found, is_complete: bool) -> String {
    let names: Vec<&str> = dimensions.iter().map(|dimension| dimension.name()).collect();
    Picture::new(&found.lattice, found, &names, is_complete).draw()
}

struct Picture<'a> {
    lattice: &'a Lattice,
    names: &'a [&'a str],
    /// Whether every node is known to satisfy or to violate.
    is_complete: bool,
    kinds: Vec<Kind>,
    centers: Vec<(f64, f64)>,
    node_width: f64,
    width: f64,
    height: f64,
}

impl<'a> Picture<'a> {
    fn new(
        lattice: &'a Lattice,
        found: &Found,
        names: &'a [&'a str],
        is_complete: bool,
    ) -> Picture<'a> {
        let mut minimal = vec![false; lattice.n_nodes()];
        found.minimal.iter().for_each(|own| minimal[lattice.node(&own.levels)] = true);
        let kind = |node: usize| match (found.known.contains(node), minimal[node]) {
            (true, true) => Kind::Minimal,
            (true, false) if found.looked_at.contains(node) => Kind::Satisfying,
            (true, false) => Kind::TakenUnseen,
            (false, _) if found.looked_at.contains(node) => Kind::Violating,
            (false, _) => Kind::PrunedUnseen,
        };
        let label_chars = label(lattice, lattice.n_nodes() - 1).len();
        let node_width = (label_chars as f64 * CHAR_WIDTH + 16.0).max(40.0);
        let rows = lattice.nodes_by_height();
        let widest = rows.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let legend_chars = names.join(", ").chars().count() + 24;
        let width =
            (widest * (node_width + GAP) - GAP).max(legend_chars as f64 * CHAR_WIDTH).max(420.0)
                + 2.0 * MARGIN;
        let legend_height = (Kind::ALL.len() as f64 + 3.0) * LEGEND_LINE;
        let height = rows.len() as f64 * ROW_HEIGHT + legend_height + MARGIN;
        let mut centers = vec![(0.0, 0.0); lattice.n_nodes()];
        for (at, row) in rows.iter().enumerate() {
            let y = MARGIN + (rows.len() - 1 - at) as f64 * ROW_HEIGHT + NODE_HEIGHT / 2.0;
            let row_width = row.len() as f64 * (node_width + GAP) - GAP;
            let first = (width - row_width) / 2.0 + node_width / 2.0;
            for (place, &node) in row.iter().enumerate() {
                centers[node] = (first + place as f64 * (node_width + GAP), y);
            }
        }
        let kinds = (0..lattice.n_nodes()).map(kind).collect();
        Picture { lattice, names, is_complete, kinds, centers, node_width, width, height }
    }

    fn draw(&self) -> String {
        let title = "Lattice of full-domain generalizations";
        let mut document = Document::new(title, &self.description(), STYLE);
        for node in 0..self.lattice.n_nodes() {
            let (x, y) = self.centers[node];
            for above in self.lattice.above(node) {
                let (to_x, to_y) = self.centers[above];
                let (from_y, to_y) = (y - NODE_HEIGHT / 2.0, to_y + NODE_HEIGHT / 2.0);
                document.push(&format!(
                    "<line x1=\"{x:.1}\" y1=\"{from_y:.1}\" x2=\"{to_x:.1}\" y2=\"{to_y:.1}\"/>"
                ));
            }
        }
        for node in 0..self.lattice.n_nodes() {
            let (x, y) = self.centers[node];
            self.draw_node(&mut document, node, x, y);
        }
        self.draw_legend(&mut document);
        document.finish(self.width, self.height)
    }

    /// How many nodes are what, in words.
    fn description(&self) -> String {
        let mut lines = vec![format!("A node is the levels of {}.", self.names.join(", "))];
        for (kind, n_nodes) in self.counts() {
            lines.push(format!("{}: {n_nodes}.", kind.words(self.is_complete)));
        }
        lines.join("\n")
    }

    /// The kinds that occur, and how often.
    fn counts(&self) -> impl Iterator<Item = (Kind, usize)> {
        let count = |kind: Kind| self.kinds.iter().filter(|&&other| other == kind).count();
        let counts = Kind::ALL.map(|kind| (kind, count(kind)));
        counts.into_iter().filter(|(_, n_nodes)| *n_nodes > 0)
    }

    fn draw_node(&self, document: &mut Document, node: usize, x: f64, y: f64) {
        let (left, top) = (x - self.node_width / 2.0, y - NODE_HEIGHT / 2.0);
        let levels = self.lattice.levels(node);
        let named = self.names.iter().zip(levels).map(|(name, level)| format!("{name} {level}"));
        let named = escaped(&named.collect::<Vec<_>>().join(", "));
        let kind = self.kinds[node];
        document.push(&format!(
            "<g><title>{named}: {}</title><rect class=\"{}\" x=\"{left:.1}\" y=\"{top:.1}\" \
             width=\"{:.1}\" height=\"{NODE_HEIGHT}\" rx=\"5\"/><text x=\"{x:.1}\" \
             y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
            kind.words(self.is_complete),
            kind.class(),
            self.node_width,
            y + 4.0,
            label(self.lattice, node),
        ));
    }

    fn draw_legend(&self, document: &mut Document) {
        let rows = self.lattice.height() + 1;
        let mut y = MARGIN + rows as f64 * ROW_HEIGHT;
        let names = format!("levels of {}", self.names.join(", "));
        document.text(MARGIN, y, "class=\"title\"", &names);
        for (kind, n_nodes) in self.counts() {
            y += LEGEND_LINE;
            let (class, top) = (kind.class(), y - 11.0);
            document.push(&format!(
                "<rect class=\"{class}\" x=\"{MARGIN}\" y=\"{top:.1}\" width=\"22\" height=\"13\" \
                 rx=\"3\"/>"
            ));
            let words = format!("{}: {n_nodes}", kind.words(self.is_complete));
            document.text(MARGIN + 32.0, y, "class=\"words\"", &words);
        }
    }
}

/// The levels of a node.
fn label(lattice: &Lattice, node: usize) -> String {
    let levels: Vec<String> = lattice.levels(node).iter().map(ToString::to_string).collect();
    levels.join(",")
}
