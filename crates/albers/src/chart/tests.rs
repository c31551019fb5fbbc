//! A figure shows all its values, in marks and in words, and the same bytes each time.

use super::*;

fn chart(n_series: usize) -> Chart {
    let series = (0..n_series)
        .map(|idx| {
            let first = (10.0, 1.5 + idx as f64);
            let points = vec![first, (20.0, 2.5), (50.0, f64::NAN), (100.0, 30.0)];
            Series::new(&format!("policy <{idx}>"), points)
        })
        .collect();
    Chart { title: "people".to_owned(), x: Axis::log("k"), y: Axis::linear("rows"), series }
}

fn figure_of(panels: Vec<Chart>) -> Figure {
    Figure { title: "Sizes".to_owned(), note: "They grow.".to_owned(), panels }
}

#[test]
fn a_figure_is_the_same_bytes_each_time_and_has_a_mark_for_every_point() {
    let drawn = figure_of(vec![chart(2), chart(2)]).svg();
    assert_eq!(drawn, figure_of(vec![chart(2), chart(2)]).svg());
    assert_eq!(drawn.matches("class=\"mark ").count(), 2 * 2 * 3, "what is not finite is left out");
    assert_eq!(drawn.matches("<path ").count(), 4);
    assert!(!drawn.contains("NaN"));
}

#[test]
fn who_cannot_see_a_figure_can_have_its_values_read_out() {
    let drawn = figure_of(vec![chart(1)]).svg();
    let (_, description) = drawn.split_once("<desc>").unwrap();
    let (description, _) = description.split_once("</desc>").unwrap();
    assert!(description.contains("people: rows by k."), "{description}");
    assert!(description.contains("policy &lt;0&gt;: 10: 1.5; 20: 2.5;"), "{description}");
}

#[test]
fn lines_are_named_where_they_end_and_by_a_legend_where_they_are_many() {
    let few = figure_of(vec![chart(6)]).svg();
    assert_eq!(few.matches("class=\"name ").count(), 6);
    let many = figure_of(vec![chart(9)]).svg();
    assert_eq!(many.matches("class=\"name ").count(), 0);
    assert_eq!(many.matches(">policy &lt;").count(), 9 + 9 * 3, "in the legend and at each mark");
    assert!(many.contains("stroke-dasharray"), "there are more lines than colours");
}

#[test]
fn colours_follow_the_reader_on_a_screen_and_are_light_on_paper() {
    let drawn = figure_of(vec![chart(1)]).svg();
    assert_eq!(drawn.matches("@media").count(), 1);
    assert!(drawn.contains("@media screen and (prefers-color-scheme:dark)"));
}

#[test]
fn a_figure_without_points_is_still_a_picture() {
    for panels in [vec![], vec![chart(0)]] {
        let drawn = figure_of(panels).svg();
        assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"));
        assert!(!drawn.contains("NaN") && !drawn.contains("inf\""));
    }
}

#[test]
fn a_limit_is_named_and_has_no_marks_whatever_else_is_drawn() {
    for n_series in [2, 9] {
        let mut limited = chart(n_series);
        limited.series.push(Series::limit("the most", vec![(10.0, 40.0), (100.0, 40.0)]));
        let drawn = figure_of(vec![limited]).svg();
        assert_eq!(drawn.matches("<path class=\"limit\"").count(), 1);
        assert_eq!(drawn.matches(">the most</text>").count(), 1);
        let in_legend = if n_series > MAX_NAMED_LINES { n_series } else { 0 };
        assert_eq!(drawn.matches("class=\"mark ").count(), n_series * 3 + in_legend);
        assert!(drawn.contains("the most: 10: 40; 100: 40."), "it is read out like all lines");
    }
}
