//! The one orchestration: every release of every method is a call of it.
//!
//! ```text
//!   source ──► rows ──► protection ──► method ──► door ──► sinks
//!                │                        │         │
//!                └──────── one clock, one budget, one report
//! ```

use albers_storage::watch::Watch;
use albers_storage::wording;
use albers_storage::wording::{Field, Wording};
use albers_table::sink::Sink;
use albers_table::source::Source;

use crate::context::Context;
use crate::error::Result;
use crate::memory::Memory;
use crate::method;
use crate::method::given::GivenRelease;
use crate::plan::{CutPlan, MethodPlan, Plan};
use crate::report::Prepared;
use crate::rows::{KnownColumns, Rows, Wanted};

/// Runs a plan: reads, finds classes, verifies, measures and writes. There is a sink for each
/// release, the finest first; `given` are the classes of a plan that does not find them.
pub(crate) fn run(
    plan: &Plan,
    source: &dyn Source,
    memory: &Memory,
    given: Option<GivenRelease<'_>>,
    sinks: Vec<Box<dyn Sink>>,
    watch: &dyn Watch,
) -> Result<Prepared> {
    run_with(Context::new(plan, source, memory, &sinks, watch)?, given, sinks)
}

/// The same in a context that knows more already.
pub(crate) fn run_with(
    mut context: Context<'_>,
    given: Option<GivenRelease<'_>>,
    sinks: Vec<Box<dyn Sink>>,
) -> Result<Prepared> {
    let (plan, memory) = (context.plan, context.memory);
    let key = given.as_ref().map(|given| given.key);
    let wanted = method::wanted(plan, memory);
    let reading = context.reading(key);
    let rows = KnownColumns::of(&reading).and_then(|known| reading.read_counted(known, wanted));
    let (rows, repeated) = rows.map_err(|error| match (wanted, &given) {
        (Wanted::OnlyTable { .. }, None) => {
            if let MethodPlan::Cuts { cuts } = &plan.method {
                let method = if cuts.regroups() { "the best effort" } else { "an exact mondrian" };
                return method::works_in_memory(error, method, exact_advice(cuts));
            }
            let words = plan.method.words(false);
            let method = words.split(',').next().unwrap_or_default();
            method::works_in_memory(error, method, method::another_method())
        }
        (Wanted::OnlyTable { .. }, Some(_)) => {
            method::works_in_memory(error, "compact", wording!["give more ", Field::Memory])
        }
        _ => error,
    })?;
    context.repeated = repeated;
    match (rows, given) {
        (Rows::InMemory(table), Some(given)) => given.publish(context, *table, sinks),
        (Rows::InMemory(table), None) => method::in_memory(context, *table, sinks),
        (Rows::Outside(surveyed), _) => method::outside(context, *surveyed, sinks),
    }
}

/// What to do where a table is to be cut exactly and does not fit.
fn exact_advice(cuts: &CutPlan) -> Wording {
    match cuts.counts_decide {
        _ if cuts.regroups() => {
            wording!["use ", Field::Effort.of("balanced"), ", or give more ", Field::Memory]
        }
        true => {
            wording!["use ", Field::External.of("tree"), ", or give more ", Field::Memory]
        }
        false => wording!["give more ", Field::Memory, ", or drop ", Field::Exact],
    }
}
