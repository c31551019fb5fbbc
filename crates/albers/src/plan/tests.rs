//! What a plan refuses, and what it holds.

use albers_index::granularity::Granularity;
use albers_lattice::choose::Minimize;
use albers_partition::split::Policy;
use albers_table::hierarchy::{HierarchyRows, HierarchySpec};
use albers_table::schema::{ColumnType, Role};
use albers_table::source::SourceColumn;

use super::*;
use crate::job::{
    Diversity, External, Method, SelectSpec, Split, TargetKind, TargetSpec, TimeLimit,
};

/// A job on `age`, `zip` (with a hierarchy) and the secret `pay`, by a method.
fn job(method: Method) -> Job {
    let mut job = Job { k: Some(5), method: Some(method), ..Job::default() };
    for (name, role) in [("age", Role::Quasi), ("zip", Role::Quasi), ("pay", Role::Sensitive)] {
        job.set_role(name, role).unwrap();
    }
    for name in ["age", "zip"] {
        job.column(name).hierarchy = Some("suppress".parse().unwrap());
    }
    if method == Method::Tds {
        set_target(&mut job, "zip");
    }
    job
}

fn columns() -> Vec<SourceColumn> {
    let column = |name: &str| SourceColumn { name: name.to_owned(), data_type: None };
    ["age", "zip", "pay", "extra"].map(column).to_vec()
}

fn plan(job: &Job) -> Result<Plan> {
    Plan::of(job, "people", &columns())
}

/// The settings that a refusal names first.
fn refused_field(job: &Job) -> Option<Field> {
    let Error::Usage { problem, advice } = plan(job).err()? else { return None };
    let first = problem.settings().chain(advice.settings()).next()?;
    Some(first.field)
}

/// Lets cuts, or a method that always does, follow a target.
fn set_target(job: &mut Job, target: &str) {
    let target: TargetSpec = target.parse().unwrap();
    let kind = target.kind.unwrap_or(TargetKind::Class);
    let split = match kind {
        TargetKind::Class => Split::InfoGain,
        TargetKind::Number => Split::Regression,
    };
    // A method of its own follows targets by a score of its own.
    job.split = (job.method != Some(Method::Tds)).then_some(split);
    job.workload.targets.push(target);
}

/// Lets cuts follow a target beside a feature, which is kept.
fn set_feature(job: &mut Job, feature: &str) {
    if job.method != Some(Method::Tds) {
        set_target(job, "zip");
    }
    job.column("extra").role = Some(Role::Keep);
    job.workload.features.push(feature.to_owned());
}

/// Lets a job promise differential privacy, by a fixed grid where its method has one.
fn promise(job: &mut Job, epsilon: Option<f64>) {
    job.epsilon = epsilon;
    job.delta = epsilon.is_none().then_some(1e-6);
    if job.method == Some(Method::Grid) {
        *job = private_job();
    }
}

/// A job on `age` and `zip` with a grid that is known beforehand.
fn private_job() -> Job {
    let mut job =
        Job { method: Some(Method::Grid), epsilon: Some(1.0), delta: Some(1e-6), ..Job::default() };
    job.set_role("age", Role::Quasi).unwrap();
    job.column("age").scale = Some("equal:0..100:3".parse().unwrap());
    job.set_role("zip", Role::Quasi).unwrap();
    let rows = HierarchyRows::of_text("zips", "01;0;*\n02;0;*\n11;1;*\n");
    job.column("zip").hierarchy = Some(HierarchySpec::Rows(rows.into()));
    job
}

fn add_select(job: &mut Job, condition: &str) {
    if CUTS.contains(&job.method()) {
        job.split = Some(Split::Selection);
    }
    let condition = condition.parse().unwrap();
    job.workload.select.push(SelectSpec { condition, weight: None });
}

const CUTS: [Method; 3] = [Method::Auto, Method::Mondrian, Method::Rtree];
const FOLLOWERS: [Method; 4] = [Method::Auto, Method::Mondrian, Method::Rtree, Method::Tds];
const SEARCHES: [Method; 4] =
    [Method::Incognito, Method::Samarati, Method::BottomUp, Method::AttributeSuppression];

#[test]
fn every_method_is_planned() {
    for &method in <Method as albers_storage::choice::Choice>::ALL {
        assert!(plan(&job(method)).is_ok(), "{method}: {:?}", plan(&job(method)).err());
    }
}

/// Relatives of the BANG file that halve space where scales say.
const HALVE_REGULARLY: [Method; 5] =
    [Method::KdTrie, Method::PrQuadtree, Method::KdBTrie, Method::GridFile, Method::BdTree];

/// For each setting that only some methods look at: the methods that take it, and no other.
#[test]
fn a_setting_without_effect_is_refused_by_name_and_one_with_effect_is_taken() {
    type Set = fn(&mut Job);
    let settings: [(Field, Set, &[Method]); 21] = [
        (Field::Epsilon, |job| promise(job, Some(1.0)), &[Method::Grid]),
        (Field::Delta, |job| promise(job, None), &[Method::Grid]),
        (Field::Split, |job| job.split = Some(Split::Median), &CUTS),
        (Field::Exact, |job| job.exact = Some(true), &[Method::Auto, Method::Mondrian]),
        (
            Field::External,
            |job| job.external = Some(External::Sample),
            &[Method::Auto, Method::Mondrian],
        ),
        (Field::Model, |job| job.model = Some("elsewhere/model".into()), &CUTS),
        (Field::Target, |job| set_target(job, "age:number"), &FOLLOWERS),
        (
            Field::Then,
            |job| {
                if job.method != Some(Method::Tds) {
                    set_target(job, "zip");
                }
                job.then = Some(Policy::Median);
            },
            &CUTS,
        ),
        (Field::Features, |job| set_feature(job, "extra"), &CUTS),
        (Field::Bias, |job| job.column("age").bias = Some(true), &FOLLOWERS),
        (
            Field::Compact,
            |job| job.compact = Some(false),
            &[
                &[
                    Method::Auto,
                    Method::Mondrian,
                    Method::Rtree,
                    Method::Bang,
                    Method::HbTree,
                    Method::Grid,
                ],
                &HALVE_REGULARLY[..],
            ]
            .concat(),
        ),
        (
            Field::Scale,
            |job| job.column("age").scale = Some("equal".parse().unwrap()),
            &[&[Method::Bang, Method::Grid], &HALVE_REGULARLY[..]].concat(),
        ),
        (Field::Nesting, |job| job.nesting = Some(false), &[Method::Bang]),
        (
            Field::LevelColumn,
            |job| job.level_column = Some("depth".to_owned()),
            &[Method::Bang, Method::BdTree, Method::HbTree],
        ),
        (
            Field::LeastMemory,
            |job| job.least_memory = Some("128MB".parse().unwrap()),
            &[&CUTS[..], &[Method::Bang]].concat(),
        ),
        (Field::Select, |job| add_select(job, "age >= 40"), &CUTS),
        (Field::AlsoK, |job| job.also_k = vec![10], &[Method::Auto, Method::Rtree, Method::Bang]),
        (
            Field::Minimize,
            |job| job.minimize = Some(Default::default()),
            &[&SEARCHES[..], &CUTS[..]].concat(),
        ),
        (Field::Level, |job| job.column("zip").level = Some(1), &SEARCHES),
        (
            Field::Time,
            |job| job.time = Some("1s".parse::<TimeLimit>().unwrap()),
            &[Method::Incognito, Method::AttributeSuppression],
        ),
        (
            Field::Suppress,
            |job| job.suppress = Some(0.1),
            &[
                Method::Incognito,
                Method::Samarati,
                Method::BottomUp,
                Method::AttributeSuppression,
                Method::Subtree,
                Method::OrderedSet,
                Method::Auto,
                Method::Mondrian,
                Method::Rtree,
                Method::Local,
            ],
        ),
    ];
    for (field, set, takers) in settings {
        for &method in <Method as albers_storage::choice::Choice>::ALL {
            let mut job = job(method);
            set(&mut job);
            // Levels without a method mean a full-domain release.
            let takes =
                takers.contains(&method) || (field == Field::Level && method == Method::Auto);
            match takes {
                true => assert!(plan(&job).is_ok(), "{field:?} with {method}"),
                false => assert_eq!(refused_field(&job), Some(field), "{method}"),
            }
        }
    }
}

#[test]
fn resources_are_never_refused_for_a_method() {
    for &method in <Method as albers_storage::choice::Choice>::ALL {
        let job = Job {
            memory: Some("256MB".parse().unwrap()),
            threads: Some(2),
            spill_dir: Some("somewhere".into()),
            seed: Some(7),
            ..job(method)
        };
        let plan = plan(&job).unwrap();
        assert_eq!(plan.resources.memory_bytes, 256_000_000);
    }
}

#[test]
fn a_job_that_contradicts_itself_is_refused() {
    type Spoil = fn(&mut Job);
    let mistakes: [(&str, Spoil); 34] = [
        ("a sample has a part of the rows only", |job| {
            (job.exact, job.external) = (Some(true), Some(External::Sample));
        }),
        ("contradict each other", |job| (job.exact, job.also_k) = (Some(true), vec![10])),
        ("contradict each other", |job| {
            (job.external, job.also_k) = (Some(External::Sample), vec![10]);
        }),
        ("contradict each other", |job| (job.model, job.also_k) = (Some("m".into()), vec![10])),
        ("`least-memory` has no effect", |job| {
            (job.exact, job.least_memory) = (Some(true), Some("128MB".parse().unwrap()));
        }),
        ("no target that is a class", |job| job.split = Some(Split::InfoGain)),
        ("no target that is a number", |job| {
            set_target(job, "age:class");
            job.split = Some(Split::Regression);
        }),
        ("`target` has no effect", |job| {
            set_target(job, "age");
            job.split = Some(Split::Median);
        }),
        ("`then` has no effect", |job| job.then = Some(Policy::Median)),
        ("is sensitive and has no requirement", |job| set_target(job, "pay")),
        ("has no role", |job| set_target(job, "extra")),
        ("is identifier, and is not published", |job| {
            job.set_role("extra", Role::Identifier).unwrap();
            set_target(job, "extra");
        }),
        ("a target twice", |job| {
            set_target(job, "age");
            set_target(job, "age:2");
        }),
        ("weight of target", |job| set_target(job, "age:class:-1")),
        ("no k", |job| job.k = None),
        ("k = 0", |job| job.k = Some(0)),
        ("coarser", |job| job.also_k = vec![5]),
        ("twice", |job| job.also_k = vec![10, 10]),
        ("no column 'shoe'", |job| job.set_role("shoe", Role::Quasi).unwrap()),
        ("has no effect", |job| job.granularity = Some(Default::default())),
        ("no regions of auto lie in each other", |job| {
            (job.also_k, job.granularity) = (vec![10], Some(Granularity::Nested));
        }),
        ("not brought together by nodes", |job| {
            (job.also_k, job.fan_out) = (vec![10], Some(8));
        }),
        ("`minimize = height` has no effect", |job| job.minimize = Some(Minimize::Height)),
        ("has no effect with `split = median`", |job| {
            (job.split, job.minimize) = (Some(Split::Median), Some(Minimize::Ncp));
        }),
        ("has no effect with `then = median`", |job| {
            add_select(job, "age >= 40");
            (job.split, job.then) = (Some(Split::Selection), Some(Policy::Median));
            job.minimize = Some(Minimize::Discernibility);
        }),
        ("up to 2 children", |job| {
            (job.also_k, job.fan_out) = (vec![10], Some(2));
            job.granularity = Some(Granularity::Hierarchical);
        }),
        ("without a dendrogram", |job| {
            (job.also_k, job.dendrogram) = (vec![10], Some("tree.svg".into()));
        }),
        ("not sensitive", |job| {
            job.column("age").l_diversity = Some("distinct:2".parse::<Diversity>().unwrap());
        }),
        ("no column is a quasi", |job| job.columns.retain(|name, _| name == "pay")),
        ("weight", |job| job.column("age").weight = Some(-1.0)),
        ("no effect", |job| job.column("pay").weight = Some(2.0)),
        ("any role", |job| {
            job.column("extra").column_type = Some(ColumnType::Text);
        }),
        ("64KB", |job| job.memory = Some("256".parse().unwrap())),
        ("0 threads", |job| job.threads = Some(0)),
    ];
    for (expected, spoil) in mistakes {
        let mut job = job(Method::Auto);
        spoil(&mut job);
        let error = plan(&job).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn features_are_kept_columns_beside_targets() {
    type Spoil = fn(&mut Job);
    let mistakes: [(&str, Spoil); 9] = [
        ("`features` has no effect", |job| {
            set_feature(job, "extra");
            job.workload.targets.clear();
            job.split = None;
        }),
        ("`features` has no effect", |job| {
            set_feature(job, "extra");
            job.workload.targets.clear();
            job.split = Some(Split::Selection);
            job.workload.select.push("age >= 40".parse().unwrap());
        }),
        ("feature 'age' is a quasi-identifier", |job| set_feature(job, "age")),
        ("feature 'pay' is sensitive", |job| set_feature(job, "pay")),
        ("feature 'extra' is identifier", |job| {
            set_feature(job, "extra");
            job.column("extra").role = Some(Role::Identifier);
        }),
        ("feature 'extra' is subject", |job| {
            set_feature(job, "extra");
            job.column("extra").role = Some(Role::Subject);
        }),
        ("feature 'extra' has no role", |job| {
            set_feature(job, "extra");
            job.columns.remove("extra");
        }),
        ("both a target and a feature", |job| {
            set_feature(job, "extra");
            set_target(job, "extra");
        }),
        ("a feature twice", |job| {
            set_feature(job, "extra");
            job.workload.features.push("extra".to_owned());
        }),
    ];
    for (expected, spoil) in mistakes {
        let mut job = job(Method::Auto);
        spoil(&mut job);
        let error = plan(&job).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let mut job = job(Method::Auto);
    set_feature(&mut job, "extra");
    let plan = plan(&job).unwrap();
    let of_features = plan.columns.iter().filter(|column| column.is_feature);
    assert_eq!(of_features.map(|column| &column.name[..]).collect::<Vec<_>>(), ["extra"]);
}

#[test]
fn the_levels_of_nested_classes_have_a_name_of_their_own() {
    let name_of = |job: &Job| -> Vec<String> {
        let plan = plan(job).unwrap();
        plan.method.features().iter().map(|own| own.name.clone()).collect()
    };
    let mut bang = job(Method::Bang);
    assert_eq!(name_of(&bang), ["level"]);
    bang.level_column = Some("depth".to_owned());
    assert_eq!(name_of(&bang), ["depth"]);
    bang.level_column = Some("pay".to_owned());
    assert_eq!(refused_field(&bang), Some(Field::LevelColumn));
    bang.level_column = Some(" ".to_owned());
    assert!(plan(&bang).err().unwrap().to_string().contains("have no name"));
    bang.level_column = Some("pay".to_owned());
    bang.nesting = Some(false);
    assert_eq!(refused_field(&bang), Some(Field::LevelColumn));
    bang.level_column = None;
    assert!(name_of(&bang).is_empty());
    assert_eq!(plan(&bang).unwrap().method.words(false), "bang, no nesting");
    bang.column("pay").scale = Some("equal".parse().unwrap());
    let error = plan(&bang).err().unwrap().to_string();
    assert!(error.contains("the scale of column 'pay' has no effect"), "{error}");
}

#[test]
fn a_quadtree_of_more_than_six_quasi_identifiers_is_refused_with_the_reason() {
    let with = |n_quasi: usize, method: Method| {
        let mut job = Job { k: Some(5), method: Some(method), ..Job::default() };
        let names: Vec<String> = (0..n_quasi).map(|at| format!("q{at}")).collect();
        names.iter().for_each(|name| job.set_role(name, Role::Quasi).unwrap());
        let column = |name: String| SourceColumn { name, data_type: None };
        let columns: Vec<SourceColumn> = names.into_iter().map(column).collect();
        Plan::of(&job, "people", &columns)
    };
    assert!(with(6, Method::PrQuadtree).is_ok());
    for n_quasi in [7, 64] {
        let error = with(n_quasi, Method::PrQuadtree).err().unwrap().to_string();
        assert!(error.contains(&format!("2^{n_quasi} parts")), "{error}");
        assert!(with(n_quasi, Method::KdTrie).is_ok());
    }
}

#[test]
fn a_recoding_that_follows_targets_needs_one_that_is_a_class() {
    type Spoil = fn(&mut Job);
    let mistakes: [(&str, Spoil); 6] = [
        ("tds has no target that is a class", |job| job.workload.targets.clear()),
        ("tds has no target that is a class", |job| {
            job.workload.targets = vec!["age:number".parse().unwrap()];
        }),
        ("is sensitive and has no requirement", |job| set_target(job, "pay")),
        ("has no role", |job| set_target(job, "extra")),
        ("a target twice", |job| set_target(job, "zip:2")),
        ("weight of target", |job| set_target(job, "age:class:0")),
    ];
    for (expected, spoil) in mistakes {
        let mut job = job(Method::Tds);
        spoil(&mut job);
        let error = plan(&job).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let mut ruled = job(Method::Tds);
    set_target(&mut ruled, "pay");
    ruled.column("pay").l_diversity = Some("distinct:2".parse::<Diversity>().unwrap());
    let plan = plan(&ruled).unwrap();
    assert_eq!(plan.secret_targets(), ["pay"]);
    assert_eq!(plan.method.words(false), "tds");
    // Numbers are cut and names listed, so that no column needs a hierarchy.
    ruled.column("age").hierarchy = None;
    assert!(Plan::of(&ruled, "people", &columns()).is_ok());
}

#[test]
fn labels_need_a_hierarchy_and_methods_that_climb_need_one_for_each_column() {
    let mut flat = job(Method::Mondrian);
    flat.columns.values_mut().for_each(|column| column.hierarchy = None);
    flat.categories = Some(Categories::Label);
    assert_eq!(refused_field(&flat), Some(Field::Categories));
    flat.categories = Some(Categories::Set);
    assert!(plan(&flat).is_ok());
    let mut climbing = job(Method::Subtree);
    climbing.column("age").hierarchy = None;
    assert_eq!(refused_field(&climbing), Some(Field::Hierarchy));
    climbing.method = Some(Method::AttributeSuppression);
    assert!(plan(&climbing).is_ok(), "whole columns need no hierarchy");
}

#[test]
fn how_many_rows_may_be_left_out_is_a_share_that_rounding_does_not_lower() {
    let mut suppressing = job(Method::Incognito);
    suppressing.suppress = Some(0.07);
    assert_eq!(plan(&suppressing).unwrap().max_left_out(100), 7);
    assert_eq!(plan(&job(Method::Incognito)).unwrap().max_left_out(100), 0);
}

#[test]
fn a_plan_says_in_reports_what_was_asked() {
    let words = |job: &Job| plan(job).unwrap().method.words(false);
    assert_eq!(words(&job(Method::Auto)), "mondrian, compact split");
    assert_eq!(words(&job(Method::BottomUp)), "bottom-up, rollup, least ncp");
    let mut given = job(Method::Auto);
    given.column("zip").level = Some(1);
    assert_eq!(words(&given), "incognito, given levels");
}

#[test]
fn a_promise_has_its_k_and_a_greater_one_is_taken() {
    let k_of = |job: &Job| plan(job).unwrap().ks;
    let mut job = private_job();
    assert_eq!(k_of(&job), [74]);
    assert!(!plan(&job).unwrap().method.is_repeatable());
    job.k = Some(100);
    assert_eq!(k_of(&job), [100]);
    assert_eq!(plan(&job).unwrap().method.promise().unwrap().k, 100);
    job.k = Some(73);
    assert_eq!(refused_field(&job), Some(Field::K));
}

/// Each condition of the proof that a job decides, and each setting that would break one.
#[test]
fn what_a_promise_does_not_survive_is_refused_by_name() {
    type Spoil = fn(&mut Job);
    let mistakes: [(&str, Spoil); 23] = [
        ("`epsilon` promises nothing without `delta`", |job| job.delta = None),
        ("`delta` promises nothing without `epsilon`", |job| job.epsilon = None),
        ("epsilon is 0", |job| job.epsilon = Some(0.0)),
        ("delta is 2", |job| job.delta = Some(2.0)),
        ("`seed` cannot stand beside", |job| job.seed = Some(1)),
        ("`suppress` has no effect", |job| job.suppress = Some(0.1)),
        ("`also-k` has no effect", |job| job.also_k = vec![500]),
        ("`values` cannot stand beside", |job| job.values = Some(Values::Mean)),
        ("`categories` cannot stand beside", |job| job.categories = Some(Categories::Set)),
        ("`compact` cannot stand beside", |job| job.compact = Some(false)),
        ("`accept` cannot stand beside", |job| {
            job.accept = vec!["rows-per-person".parse().unwrap()];
        }),
        ("column 'pay' is keep", |job| job.set_role("pay", Role::Keep).unwrap()),
        ("column 'pay' is sensitive", |job| job.set_role("pay", Role::Sensitive).unwrap()),
        ("column 'pay' has neither", |job| job.set_role("pay", Role::Quasi).unwrap()),
        ("a scale without ends", |job| job.column("age").scale = Some("equal:3".parse().unwrap())),
        ("a scale without bits", |job| {
            job.column("age").scale = Some("equal:0..9".parse().unwrap());
        }),
        ("about equally many rows", |job| {
            job.column("age").scale = Some("quantile".parse().unwrap());
        }),
        ("a file of ranges", |job| job.column("age").scale = Some("ranges.csv".parse().unwrap())),
        ("has both", |job| job.column("age").hierarchy = Some("suppress".parse().unwrap())),
        ("made of its values", |job| {
            job.column("zip").hierarchy = Some("prefix".parse().unwrap());
        }),
        ("nothing but the top", |job| job.column("zip").level = Some(2)),
        ("the level of column 'age' has no effect", |job| job.column("age").level = Some(1)),
        ("persons are told by their texts", |job| {
            job.set_role("extra", Role::Subject).unwrap();
            job.column("extra").column_type = Some(ColumnType::Integer);
        }),
    ];
    for (expected, spoil) in mistakes {
        let mut job = private_job();
        spoil(&mut job);
        let error = plan(&job).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_fixed_grid_has_the_types_of_its_scales() {
    let mut job = private_job();
    job.column("zip").level = Some(1);
    let fixed: Vec<(ColumnType, Vec<String>)> = plan(&job)
        .unwrap()
        .columns
        .iter()
        .filter_map(|column| column.fixed.as_ref())
        .map(|fixed| (fixed.column_type(), fixed.labels().to_vec()))
        .collect();
    assert_eq!(fixed[0].0, ColumnType::Integer);
    assert_eq!(fixed[0].1.len(), 8);
    assert_eq!(fixed[1], (ColumnType::Code, vec!["0".to_owned(), "1".to_owned()]));
}

#[test]
fn whoever_asks_for_no_k_of_a_grid_is_told_what_resolutions_come_to_and_nothing_else() {
    let of = |job: &Job| Plan::of_resolutions(job, "people", &columns());
    let mut asking = job(Method::Grid);
    asking.k = None;
    assert!(of(&asking).is_ok(), "what is carried has no part in it");
    assert_eq!(of(&asking).unwrap().columns.len(), 2);
    type Set = fn(&mut Job);
    let settings: [(Field, Set); 7] = [
        (Field::Output, |job| job.output = Some("out.csv".into())),
        (Field::OwnerReport, |job| job.owner_report = Some("owner.json".into())),
        (Field::Suppress, |job| job.suppress = Some(0.1)),
        (Field::Compact, |job| job.compact = Some(false)),
        (Field::Seed, |job| job.seed = Some(7)),
        (Field::Weight, |job| job.column("age").weight = Some(2.0)),
        (Field::Method, |job| job.method = Some(Method::Bang)),
    ];
    for (field, set) in settings {
        let mut job = asking.clone();
        set(&mut job);
        let Some(Error::Usage { problem, advice }) = of(&job).err() else { panic!("{field:?}") };
        let first = problem.settings().chain(advice.settings()).next().unwrap().field;
        assert_eq!(first, field);
    }
    asking.column("pay").alpha = Some(0.5);
    assert!(of(&asking).err().unwrap().to_string().contains("requirement on column 'pay'"));
}

#[test]
fn outliers_are_not_left_out_where_that_would_tell_of_them_or_could_not_be_told() {
    type Spoil = fn(&mut Job);
    let mistakes: [(&str, Spoil); 5] = [
        ("regions reach to rows", |job| job.compact = Some(false)),
        ("a recoding function", |job| job.model = Some("model".into())),
        ("cuts follow something else", |job| set_target(job, "zip")),
        ("counts of values", |job| {
            (job.external, job.split) = (Some(External::Tree), Some(Split::Median));
        }),
        ("under t-closeness", |job| job.column("pay").t_closeness = Some(0.2)),
    ];
    for (expected, spoil) in mistakes {
        for share in [0.1, 0.0] {
            let mut job = job(Method::Mondrian);
            job.suppress = Some(share);
            spoil(&mut job);
            let error = plan(&job).err().map(|error| error.to_string());
            assert_eq!(error.is_some_and(|own| own.contains(expected)), share > 0.0, "{expected}");
        }
    }
}
