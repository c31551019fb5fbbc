//! The one clock of a job.

use std::time::Instant;

use super::Seconds;

/// Measures where the time of a job goes, from its first moment on.
#[derive(Clone)]
pub(crate) struct Clock {
    start: Instant,
    last: Instant,
    seconds: Seconds,
}

impl Clock {
    /// Starts the clock.
    pub(crate) fn start() -> Clock {
        let now = Instant::now();
        Clock { start: now, last: now, seconds: Seconds::default() }
    }

    /// What went by since the last lap was reading.
    pub(crate) fn read(&mut self) {
        self.seconds.read += self.lap();
    }

    /// What went by since the last lap was finding classes.
    pub(crate) fn partition(&mut self) {
        self.seconds.partition += self.lap();
    }

    /// What went by since the last lap was writing, but for the time that verifying took.
    pub(crate) fn verify_and_write(&mut self, verify_seconds: f64) {
        let both = self.lap();
        self.seconds.verify += verify_seconds.min(both);
        self.seconds.write += (both - verify_seconds).max(0.0);
    }

    /// Where the time went so far.
    pub(crate) fn seconds(&self) -> Seconds {
        Seconds { total: (self.last - self.start).as_secs_f64(), ..self.seconds.clone() }
    }

    /// Where the time went until this moment.
    pub(crate) fn seconds_now(&self) -> Seconds {
        Seconds { total: self.start.elapsed().as_secs_f64(), ..self.seconds.clone() }
    }

    fn lap(&mut self) -> f64 {
        let now = Instant::now();
        let seconds = (now - self.last).as_secs_f64();
        self.last = now;
        seconds
    }
}
