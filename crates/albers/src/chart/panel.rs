//! One pair of axes with its lines.
//!
//! ```text
//!   title
//!   y name
//!    tick ┼─────────────────────  ──name
//!    tick ┼─────────────────────  ──name
//!         ┴──┬──────┬───────┬───  x name
//! ```

use super::axis::{Ruler, figure};
use super::svg::{Document, escaped};
use super::{COLOURS, Chart, Series};

/// The place of a panel without the names at the ends of its lines.
pub(super) const WIDTH: f64 = 430.0;
pub(super) const HEIGHT: f64 = 304.0;

/// Where the axes stand in it.
const LEFT: f64 = 54.0;
const TOP: f64 = 50.0;
const PLOT_WIDTH: f64 = 330.0;
const PLOT_HEIGHT: f64 = 200.0;
/// The least distance between two names.
const NAME_LINE: f64 = 15.0;
/// From the end of a line to its name.
const NAME_GAP: f64 = 22.0;
const N_TICKS: usize = 5;
const N_SHAPES: usize = 4;

/// A chart about to be drawn at its place.
struct Panel<'a> {
    chart: &'a Chart,
    left: f64,
    top: f64,
    x: Ruler,
    y: Ruler,
    /// The names of all lines of the figure: the place of a name decides how its line looks.
    names: &'a [&'a str],
}

/// Draws a chart with its upper left corner at a place.
pub(super) fn draw(
    document: &mut Document,
    chart: &Chart,
    (left, top): (f64, f64),
    names: &[&str],
    is_named: bool,
) {
    let points = || chart.series.iter().flat_map(|series| &series.points).filter(is_finite);
    let xs: Vec<f64> = points().map(|point| point.0).collect();
    let ys: Vec<f64> = points().map(|point| point.1).collect();
    let panel = Panel {
        chart,
        left: left + LEFT,
        top: top + TOP,
        x: Ruler::new(&xs, chart.x.scale, N_TICKS + 1, false),
        y: Ruler::new(&ys, chart.y.scale, N_TICKS, true),
        names,
    };
    document.text(left, top + 14.0, "class=\"title\"", &chart.title);
    document.text(left, top + 34.0, "class=\"words quiet\"", &chart.y.name);
    panel.draw_axes(document);
    for series in chart.series.iter().filter(|series| series.is_limit) {
        document.push(&format!("<path class=\"limit\" d=\"{}\"/>", panel.path(series)));
    }
    for series in chart.series.iter().filter(|series| !series.is_limit) {
        panel.draw_line(document, series);
    }
    panel.draw_names(document, is_named);
}

fn is_finite(point: &&(f64, f64)) -> bool {
    point.0.is_finite() && point.1.is_finite()
}

impl Panel<'_> {
    fn place(&self, &(x, y): &(f64, f64)) -> (f64, f64) {
        let down = 1.0 - self.y.place(y);
        (self.left + self.x.place(x) * PLOT_WIDTH, self.top + down * PLOT_HEIGHT)
    }

    /// Which of the figure's lines this is.
    fn number(&self, series: &Series) -> usize {
        self.names.iter().position(|name| *name == series.name).unwrap_or(0)
    }

    fn draw_axes(&self, document: &mut Document) {
        let (right, bottom) = (self.left + PLOT_WIDTH, self.top + PLOT_HEIGHT);
        for &tick in &self.y.ticks {
            let y = self.top + (1.0 - self.y.place(tick)) * PLOT_HEIGHT;
            document.push(&line("grid", self.left, y, right, y));
            let attributes = "class=\"words quiet\" text-anchor=\"end\"";
            document.text(self.left - 8.0, y + 4.0, attributes, &self.y.label(tick));
        }
        document.push(&line("axis", self.left, bottom, right, bottom));
        for &tick in &self.x.ticks {
            let x = self.left + self.x.place(tick) * PLOT_WIDTH;
            document.push(&line("axis", x, bottom, x, bottom + 5.0));
            let attributes = "class=\"words quiet\" text-anchor=\"middle\"";
            document.text(x, bottom + 19.0, attributes, &self.x.label(tick));
        }
        let attributes = "class=\"words quiet\" text-anchor=\"middle\"";
        let middle = self.left + PLOT_WIDTH / 2.0;
        document.text(middle, bottom + 37.0, attributes, &self.chart.x.name);
    }

    /// The way along the points.
    fn path(&self, series: &Series) -> String {
        let mut path = String::new();
        for (idx, point) in series.points.iter().filter(is_finite).enumerate() {
            let ((x, y), step) = (self.place(point), if idx == 0 { "M" } else { " L" });
            path.push_str(&format!("{step}{x:.1} {y:.1}"));
        }
        path
    }

    fn draw_line(&self, document: &mut Document, series: &Series) {
        let (number, path) = (self.number(series), self.path(series));
        if !path.is_empty() {
            // Where there are more lines than colours, the second round is dashed.
            let dash = if number >= COLOURS.len() { " stroke-dasharray=\"5 3\"" } else { "" };
            let colour = number % COLOURS.len();
            document.push(&format!("<path class=\"s{colour}\"{dash} d=\"{path}\"/>"));
        }
        for point in series.points.iter().filter(is_finite) {
            let (x, y) = self.place(point);
            let x_name = &self.chart.x.name;
            let (at, value) = (figure(point.0), figure(point.1));
            let words = format!("{}, {x_name} {at}: {value}", series.name);
            document.push(&mark(number, x, y, &words));
        }
    }

    /// Names stand where their lines end, and step aside for each other; limits have no other.
    fn draw_names(&self, document: &mut Document, is_named: bool) {
        let mut ends: Vec<(f64, f64, &Series)> = Vec::new();
        for series in self.chart.series.iter().filter(|series| is_named || series.is_limit) {
            if let Some(last) = series.points.iter().rfind(is_finite) {
                let (x, y) = self.place(last);
                ends.push((x, y, series));
            }
        }
        ends.sort_by(|one, other| one.1.total_cmp(&other.1));
        let heights: Vec<f64> = ends.iter().map(|end| end.1).collect();
        let bottom = self.top + PLOT_HEIGHT;
        for ((x, y, series), name_y) in ends.into_iter().zip(apart(&heights, bottom)) {
            let (colour, name_x) = (self.number(series) % COLOURS.len(), self.left + PLOT_WIDTH);
            let (class, attributes) = match series.is_limit {
                true => ("limit".to_owned(), "class=\"words quiet\"".to_owned()),
                false => (format!("leader s{colour}"), format!("class=\"name f{colour}\"")),
            };
            document.push(&line(&class, x + 6.0, y, name_x + NAME_GAP - 4.0, name_y));
            document.text(name_x + NAME_GAP, name_y + 4.0, &attributes, &series.name);
        }
    }
}

/// Heights, in order, moved so that none is nearer to the next than a line of text and none is
/// below the bottom.
fn apart(heights: &[f64], bottom: f64) -> Vec<f64> {
    let mut moved = heights.to_vec();
    for idx in 1..moved.len() {
        moved[idx] = moved[idx].max(moved[idx - 1] + NAME_LINE);
    }
    let mut lowest = bottom;
    for y in moved.iter_mut().rev() {
        *y = y.min(lowest);
        lowest = *y - NAME_LINE;
    }
    moved
}

fn line(class: &str, x1: f64, y1: f64, x2: f64, y2: f64) -> String {
    let place = format!("x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"");
    format!("<line class=\"{class}\" {place}/>")
}

/// The mark of a line at a point; its words are shown to who points at it.
pub(super) fn mark(number: usize, x: f64, y: f64, words: &str) -> String {
    let class = format!("class=\"mark f{}\"", number % COLOURS.len());
    let words = match words {
        "" => String::new(),
        words => format!("<title>{}</title>", escaped(words)),
    };
    let polygon = |corners: &[(f64, f64)]| {
        let corners: Vec<String> =
            corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        format!("<polygon {class} points=\"{}\">{words}</polygon>", corners.join(" "))
    };
    match number % N_SHAPES {
        0 => format!("<circle {class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\">{words}</circle>"),
        1 => polygon(&[(-3.8, -3.8), (3.8, -3.8), (3.8, 3.8), (-3.8, 3.8)]),
        2 => polygon(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
        _ => polygon(&[(0.0, -5.0), (4.8, 3.6), (-4.8, 3.6)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_step_aside_for_each_other_and_stay_in_the_panel() {
        assert_eq!(apart(&[10.0, 100.0], 200.0), [10.0, 100.0]);
        assert_eq!(apart(&[10.0, 12.0, 13.0], 200.0), [10.0, 25.0, 40.0]);
        assert_eq!(apart(&[190.0, 195.0, 198.0], 200.0), [170.0, 185.0, 200.0]);
        assert_eq!(apart(&[], 200.0), [0.0; 0]);
    }
}
