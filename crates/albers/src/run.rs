//! The one orchestration: every release of every method is a call of it.
//!
//! ```text
//!   source ──► rows ──► protection ──► method ──► door ──► sinks
//!                │                        │         │
//!                └──────── one clock, one budget, one report
//! ```

use albers_storage::watch::Watch;
use albers_table::sink::Sink;
use albers_table::source::Source;

use crate::context::Context;
use crate::error::Result;
use crate::memory::Memory;
use crate::method;
use crate::method::given::GivenRelease;
use crate::plan::Plan;
use crate::report::Report;
use crate::rows::Rows;

/// Runs a plan: reads, finds classes, verifies, measures and writes. There is a sink for each
/// release, the finest first; `given` are the classes of a plan that does not find them.
pub(crate) fn run(
    plan: &Plan,
    source: &dyn Source,
    given: Option<GivenRelease<'_>>,
    sinks: Vec<Box<dyn Sink>>,
    watch: &dyn Watch,
) -> Result<Report> {
    let memory = Memory::of(plan);
    let context = Context::new(plan, source, &memory, &sinks, watch)?;
    let key = given.as_ref().map(|given| given.key);
    let rows = context.reading(key).read(method::wanted(plan, &memory))?;
    match (rows, given) {
        (Rows::InMemory(table), Some(given)) => given.publish(context, *table, sinks),
        (Rows::InMemory(table), None) => method::in_memory(context, *table, sinks),
        (Rows::Outside(surveyed), _) => method::outside(context, *surveyed, sinks),
    }
}
