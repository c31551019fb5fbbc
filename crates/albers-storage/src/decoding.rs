//! Decoding of bytes that may be damaged, by libraries that may panic over them.
//!
//! Guarantee: a panic ends as an error, and its text is never shown, since it may hold a value.
//! Departures: a process that aborts on panics ends nevertheless.

use std::cell::Cell;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is decoding, so that panics are not told.
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// What was decoded is damaged: the decoder has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked;

/// Does some decoding on this thread; a panic of it is silent, and an error. Whatever `work` has
/// changed must not be used any more then.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    be_silent_while_decoding();
    let was_decoding = IS_DECODING.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    IS_DECODING.set(was_decoding);
    outcome.map_err(|payload| {
        // A payload is anything, and may panic when it is dropped.
        std::mem::forget(payload);
        Panicked
    })
}

/// What a decoder unpacks, byte after byte; nothing more once it has panicked.
pub(crate) struct Guarded<R> {
    decoder: Option<R>,
}

impl<R: Read> Guarded<R> {
    /// Of a decoder that has not begun.
    pub(crate) fn new(decoder: R) -> Guarded<R> {
        Guarded { decoder: Some(decoder) }
    }
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "what is packed is damaged");
        let decoder = self.decoder.as_mut().ok_or_else(damaged)?;
        guarded(|| decoder.read(bytes)).unwrap_or_else(|Panicked| {
            self.decoder = None;
            Err(damaged())
        })
    }
}

/// Puts a hook before the one that tells of panics. It stays for good, since a hook that is taken
/// away again might take another one's with it.
fn be_silent_while_decoding() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // A thread that is about to end has no flag any more, and decodes nothing.
            if !IS_DECODING.try_with(Cell::get).unwrap_or(false) {
                tell(panic);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unpacks one byte, and panics over the next.
    struct Panics(u8);

    impl Read for Panics {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            assert_eq!(self.0, 0, "a value");
            self.0 += 1;
            bytes[0] = b'a';
            Ok(1)
        }
    }

    #[test]
    fn what_panics_while_it_unpacks_is_damaged_and_not_asked_again() {
        let mut unpacked = Guarded::new(Panics(0));
        let mut bytes = [0; 4];
        assert_eq!(unpacked.read(&mut bytes).unwrap(), 1);
        for _ in 0..2 {
            let error = unpacked.read(&mut bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(!error.to_string().contains("value"), "{error}");
        }
    }

    #[test]
    fn a_panic_while_decoding_is_an_error_and_the_thread_goes_on() {
        assert_eq!(guarded(|| 7), Ok(7));
        assert_eq!(guarded(|| -> u8 { panic!("a value") }), Err(Panicked));
        let outer = guarded(|| {
            assert_eq!(guarded(|| -> u8 { panic!("a value") }), Err(Panicked));
            IS_DECODING.get()
        });
        assert_eq!(outer, Ok(true), "what is around goes on decoding");
        assert!(!IS_DECODING.get());
    }
}
