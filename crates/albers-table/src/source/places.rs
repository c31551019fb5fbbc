//! What the lines of a text are called in messages: a text may have been made of something else.

use std::fmt;
use std::sync::Arc;

/// Tells what a line of a text is called, given its 1-based number.
type Tell = dyn Fn(u64) -> String + Send + Sync;

/// What the lines of a text are called.
#[derive(Clone, Default)]
pub(super) struct Places(Option<Arc<Tell>>);

impl Places {
    /// As this says; it is asked only for messages.
    pub(super) fn told_by(tell: impl Fn(u64) -> String + Send + Sync + 'static) -> Places {
        Places(Some(Arc::new(tell)))
    }

    /// What a line is called.
    pub(super) fn name(&self, line: u64) -> String {
        match &self.0 {
            None => format!("line {line}"),
            Some(tell) => tell(line),
        }
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_none() { "lines" } else { "told" })
    }
}
