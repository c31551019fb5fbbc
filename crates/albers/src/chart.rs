//! Line charts as SVG.
//!
//! ```text
//!   What the figure shows
//!   rows per class                     entropy, bits
//!    100 ┤          ╱ median            0.8 ┤    ___ median
//!     50 ┤      __╱── compact           0.6 ┤ _╱──── compact
//!      0 ┼────┬────┬──                  0.4 ┼────┬────┬──
//!        10   20   50  k                    10   20   50  k
//! ```
//!
//! - [`axis`]: round numbers along linear and logarithmic axes.
//! - `panel`: one pair of axes with its lines, each named where it ends.
//! - `svg`: the document, light and dark, which pictures of lattices have too.
//!
//! A line is told from others by colour, by the shape of its marks and by its name, so that it can be
//! read in print and by who sees colours otherwise. All values stand in the description in words, for
//! who cannot see the picture. The same figure gives the same bytes.

pub mod axis;
mod panel;
pub(crate) mod svg;

use axis::{Scale, figure};
use svg::{Document, Style, wrapped};

/// Panels stand side by side in pairs.
const N_COLUMNS: usize = 2;
const MARGIN: f64 = 24.0;
const TITLE_LINE: f64 = 22.0;
const NOTE_LINE: f64 = 17.0;
/// The mean width of a letter at 12 pixels.
const CHAR_WIDTH: f64 = 6.4;
/// Above so many lines a legend is easier to read than names at the ends of lines.
const MAX_NAMED_LINES: usize = 6;

/// Colours that also differ for who does not see red or green, on white and on black.
const COLOURS: [(&str, &str); 6] = [
    ("#0b66a8", "#6ab7f0"),
    ("#c4500a", "#f59a5b"),
    ("#0a7f5c", "#4fcfa6"),
    ("#8a3f86", "#d79ad3"),
    ("#7a6a00", "#dcc95a"),
    ("#4a5560", "#b9c3cd"),
];

/// A figure: panels under one title.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What is shown.
    pub title: String,
    /// What is to be seen, in a sentence or two.
    pub note: String,
    /// The charts, in reading order. Lines of the same name look the same in all of them.
    pub panels: Vec<Chart>,
}

/// One pair of axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What is special about it among the panels of its figure.
    pub title: String,
    /// What goes to the right.
    pub x: Axis,
    /// What goes up.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// What an axis measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The quantity, and its unit if it has one.
    pub name: String,
    /// How its values are spread.
    pub scale: Scale,
}

impl Axis {
    /// An axis of equal differences.
    pub fn linear(name: &str) -> Axis {
        Axis { name: name.to_owned(), scale: Scale::Linear }
    }

    /// An axis of equal ratios.
    pub fn log(name: &str) -> Axis {
        Axis { name: name.to_owned(), scale: Scale::Log }
    }
}

/// A line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// What it is called.
    pub name: String,
    /// Its points, from left to right. A point that is not finite is left out.
    pub points: Vec<(f64, f64)>,
    /// Whether it is what the others cannot go beyond, rather than one of them.
    pub is_limit: bool,
}

impl Series {
    /// A line to be compared with others.
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.to_owned(), points, is_limit: false }
    }

    /// What the others cannot go beyond.
    pub fn limit(name: &str, points: Vec<(f64, f64)>) -> Series {
        Series { is_limit: true, ..Series::new(name, points) }
    }
}

impl Figure {
    /// The figure as an SVG document.
    pub fn svg(&self) -> String {
        let names = self.names();
        let has_legend = names.len() > MAX_NAMED_LINES;
        let all_series = self.panels.iter().flat_map(|chart| &chart.series);
        let named_at_end = all_series.filter(|series| series.is_limit || !has_legend);
        let longest = named_at_end.map(|series| series.name.chars().count()).max().unwrap_or(0);
        let name_width = longest as f64 * CHAR_WIDTH;
        let panel_width = panel::WIDTH + name_width;
        let n_columns = self.panels.len().clamp(1, N_COLUMNS);
        let width = n_columns as f64 * panel_width + 2.0 * MARGIN;
        let (light, dark) = rules();
        let style = Style { light: &light, dark: &dark };
        let mut document = Document::new(&self.title, &self.description(), style);
        let n_chars = ((width - 2.0 * MARGIN) / CHAR_WIDTH) as usize;
        let mut y = MARGIN + 6.0;
        for line in wrapped(&self.title, n_chars * 6 / 7) {
            document.text(MARGIN, y, "class=\"heading\"", &line);
            y += TITLE_LINE;
        }
        for line in wrapped(&self.note, n_chars) {
            document.text(MARGIN, y, "class=\"words quiet\"", &line);
            y += NOTE_LINE;
        }
        y += 8.0;
        for row in self.panels.chunks(N_COLUMNS) {
            for (column, chart) in row.iter().enumerate() {
                let left = MARGIN + column as f64 * panel_width;
                panel::draw(&mut document, chart, (left, y), &names, !has_legend);
            }
            y += panel::HEIGHT;
        }
        if has_legend {
            y = draw_legend(&mut document, &names, y, width);
        }
        document.finish(width, y + MARGIN / 2.0)
    }

    /// The names of all lines but limits, in the order in which they are first met.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|chart| &chart.series) {
            if !series.is_limit && !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    /// All that is shown, in words.
    fn description(&self) -> String {
        let mut lines = vec![self.note.clone()];
        for chart in &self.panels {
            lines.push(format!("{}: {} by {}.", chart.title, chart.y.name, chart.x.name));
            for Series { name, points, .. } in &chart.series {
                let points = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
                let points = points.map(|&(x, y)| format!("{}: {}", figure(x), figure(y)));
                lines.push(format!("{name}: {}.", points.collect::<Vec<_>>().join("; ")));
            }
        }
        lines.join("\n")
    }
}

/// The style sheets of charts: one class per line, for what is filled and what is drawn.
fn rules() -> (String, String) {
    let mut light = "text{font:12px system-ui,sans-serif}\
        .heading{font:600 16px system-ui,sans-serif}\
        .grid{stroke:#e4e9ee}.axis{stroke:#8a97a5}.leader{stroke-width:.8}\
        path{fill:none;stroke-width:1.8;stroke-linejoin:round}.name{font-weight:600}\
        .mark{stroke:#fff;stroke-width:1.2}\
        .limit{stroke:#8a97a5;stroke-width:1.2;stroke-dasharray:2 3}"
        .to_owned();
    let mut dark =
        ".grid{stroke:#252c34}.axis{stroke:#6b7785}.mark{stroke:#14181d}.limit{stroke:#6b7785}"
            .to_owned();
    for (idx, (on_white, on_black)) in COLOURS.iter().enumerate() {
        light.push_str(&format!(".f{idx}{{fill:{on_white}}}.s{idx}{{stroke:{on_white}}}"));
        dark.push_str(&format!(".f{idx}{{fill:{on_black}}}.s{idx}{{stroke:{on_black}}}"));
    }
    (light, dark)
}

/// Marks and names in rows; returns where they end.
fn draw_legend(document: &mut Document, names: &[&str], top: f64, width: f64) -> f64 {
    let (mut x, mut y) = (MARGIN, top + 4.0);
    for (idx, name) in names.iter().enumerate() {
        let own_width = 34.0 + name.chars().count() as f64 * CHAR_WIDTH;
        if x > MARGIN && x + own_width > width - MARGIN {
            (x, y) = (MARGIN, y + NOTE_LINE);
        }
        document.push(&panel::mark(idx, x + 5.0, y - 4.0, ""));
        document.text(x + 14.0, y, "class=\"words\"", name);
        x += own_width;
    }
    y + NOTE_LINE / 2.0
}

#[cfg(test)]
mod tests;
