//! The list of experiments, and what all of them have in common.

use super::*;

fn text(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn names_are_found_once_each_in_the_order_of_the_list() {
    let found = |names: &[&str]| -> Vec<&str> {
        named(&text(names)).unwrap().iter().map(|own| own.name).collect()
    };
    assert_eq!(found(&["all"]).len(), all().len());
    assert_eq!(found(&["entropy-by-l", "all"]).len(), all().len());
    assert_eq!(found(&["entropy-by-l", "class-size-by-k"]), ["class-size-by-k", "entropy-by-l"]);
    let error = named(&text(&["all", "figure-8"])).err().unwrap().to_string();
    assert!(error.contains("figure-8") && error.contains("class-size-by-k"), "{error}");
}

#[test]
fn no_two_experiments_share_a_name_or_a_seed() {
    for (idx, own) in all().iter().enumerate() {
        let others = &all()[..idx];
        assert!(others.iter().all(|other| other.name != own.name && other.seed != own.seed));
        assert!(own.claim.ends_with('.') && own.source.contains("figure"));
    }
}

#[test]
fn a_line_is_the_mean_of_its_trials() {
    let [one, two] =
        lines(&["a", "b"], &[1.0, 2.0], 2, |at, x, trial| Ok([x * 10.0 + trial as f64, at as f64]))
            .unwrap();
    assert_eq!(one[0].points, [(1.0, 10.5), (2.0, 20.5)]);
    assert_eq!(two[1].points, [(1.0, 1.0), (2.0, 1.0)]);
    assert!(never_falls(&one[0]) && never_falls(&two[0]));
    let falling = Series::new("", vec![(1.0, 2.0), (2.0, 1.0)]);
    assert!(!never_falls(&falling));
}

#[test]
fn every_experiment_gives_a_row_for_each_point_and_the_same_ones_again() {
    for own in all() {
        let report = experiment(own, ExperimentScale::Small).unwrap();
        let again = experiment(own, ExperimentScale::Small).unwrap();
        assert_eq!((&report.rows, &report.found), (&again.rows, &again.found), "{}", own.name);
        let n_points: usize = report
            .figure
            .panels
            .iter()
            .flat_map(|panel| &panel.series)
            .map(|series| series.points.len())
            .sum();
        assert_eq!(report.rows.len(), 1 + n_points);
        assert!(report.figure.panels.iter().all(|panel| panel.series.len() >= 2));
    }
}

#[test]
fn a_batch_cuts_a_part_of_an_index_that_has_many_rows() {
    let own = named(&text(&["incremental-cost"])).unwrap()[0];
    let report = experiment(own, ExperimentScale::Small).unwrap();
    let [index, anew] = &report.figure.panels[0].series[..] else { panic!("two lines") };
    assert_eq!(index.points.len(), 9);
    assert_eq!(index.points[0], anew.points[0], "the first batch is all there is");
    for (own, all) in index.points.iter().zip(&anew.points) {
        assert!(own.0 == all.0 && 0.0 < own.1 && own.1 <= all.1, "{own:?} of {all:?}");
    }
    assert!(2.0 * index.points[8].1 < anew.points[8].1, "{:?}", index.points);
    assert!(report.holds, "{}", report.found);
}

#[test]
fn an_index_of_one_batch_loses_what_a_bulk_load_loses() {
    let own = named(&text(&["incremental-quality"])).unwrap()[0];
    let report = experiment(own, ExperimentScale::Small).unwrap();
    assert_eq!(report.figure.panels.len(), 3);
    for panel in &report.figure.panels {
        let [live, bulk, mondrian] = &panel.series[..] else { panic!("three lines") };
        assert_eq!(live.points[0], bulk.points[0], "{}", panel.title);
        assert_ne!(live.points[8], bulk.points[8], "{}", panel.title);
        assert_eq!(mondrian.points.len(), 9);
    }
}

#[test]
fn an_index_costs_the_same_for_every_k_but_for_its_leaves() {
    let own = named(&text(&["build-cost-by-k"])).unwrap()[0];
    let report = experiment(own, ExperimentScale::Small).unwrap();
    let [index, top_down] = &report.figure.panels[0].series[..] else { panic!("two lines") };
    let costs: Vec<f64> = index.points.iter().map(|point| point.1).collect();
    assert!(costs[0] < costs[1] && costs[1..].iter().all(|cost| *cost == costs[1]), "{costs:?}");
    assert!(top_down.points.windows(2).all(|pair| pair[1].1 < pair[0].1), "{:?}", top_down.points);
}

#[test]
fn what_regions_answer_is_never_closer_to_the_truth_than_what_bounds_answer() {
    for name in ["query-error-by-k", "query-error-by-selectivity"] {
        let own = named(&text(&[name])).unwrap()[0];
        let report = experiment(own, ExperimentScale::Small).unwrap();
        let [.., regions, bounds] = &report.figure.panels[0].series[..] else { panic!("lines") };
        assert!(bounds.points.len() > 1);
        for (wide, narrow) in regions.points.iter().zip(&bounds.points) {
            assert!(0.0 <= narrow.1 && narrow.1 <= wide.1, "{name}: {narrow:?}, {wide:?}");
        }
    }
}

#[test]
fn both_ways_to_bring_leaves_together_begin_with_the_same_leaves() {
    let own = named(&text(&["point-query-error"])).unwrap()[0];
    let report = experiment(own, ExperimentScale::Small).unwrap();
    let [base, _, coarse, _] = &report.figure.panels[..] else { panic!("two k, two middles") };
    assert_eq!(base.series[0].points, base.series[1].points, "an R+-tree for k = 5");
    assert_ne!(coarse.series[0].points, coarse.series[1].points, "brought together for k = 100");
    for (fine, wide) in base.series.iter().zip(&coarse.series) {
        assert!(fine.points.len() == 7 && fine.points[6].1 < wide.points[6].1, "{}", fine.name);
    }
}
