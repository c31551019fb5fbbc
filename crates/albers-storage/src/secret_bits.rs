//! Random bits that nobody else knows.
//!
//! Guarantee: the bits of [`SystemBits`] are those that the operating system keeps for secrets, and
//! no seed repeats them. Whoever tests what is done with bits brings generators of their own.

use crate::{Result, StorageError};

/// Where random bits come from.
pub trait SecretBits {
    /// Sixty-four of them, each word as likely as any other.
    fn word(&mut self) -> Result<u64>;

    /// A number below another one, each as likely as any other.
    ///
    /// # Panics
    /// When there is none below it.
    fn below(&mut self, end: u64) -> Result<u64> {
        assert!(end > 0, "there is no number below 0");
        // Words behind the last whole run of `end` numbers are drawn again.
        let most = u64::MAX - (u64::MAX % end + 1) % end;
        loop {
            let word = self.word()?;
            if word <= most {
                return Ok(word % end);
            }
        }
    }
}

/// The operating system's.
pub struct SystemBits {
    words: Vec<u64>,
}

/// Words that are asked for at once.
const N_WORDS: usize = 512;

impl SystemBits {
    /// None asked for yet.
    pub fn new() -> SystemBits {
        SystemBits { words: Vec::new() }
    }
}

impl Default for SystemBits {
    fn default() -> SystemBits {
        SystemBits::new()
    }
}

impl SecretBits for SystemBits {
    fn word(&mut self) -> Result<u64> {
        if let Some(word) = self.words.pop() {
            return Ok(word);
        }
        let mut bytes = [0u8; 8 * N_WORDS];
        getrandom::fill(&mut bytes)
            .map_err(|error| StorageError::NoRandomBits { problem: error.to_string() })?;
        let words = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("chunks of eight bytes")));
        self.words.extend(words);
        Ok(self.words.pop().expect("some were asked for"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these words.
    struct Given(Vec<u64>);

    impl SecretBits for Given {
        fn word(&mut self) -> Result<u64> {
            Ok(self.0.remove(0))
        }
    }

    #[test]
    fn words_that_would_favour_some_numbers_are_drawn_again() {
        // 2^64 = 3 n + 1: the last word is one too many.
        assert_eq!(Given(vec![u64::MAX, 5]).below(3).unwrap(), 2);
        assert_eq!(Given(vec![u64::MAX - 1]).below(3).unwrap(), 2);
        assert_eq!(Given(vec![u64::MAX]).below(4).unwrap(), 3);
        assert_eq!(Given(vec![u64::MAX]).below(1).unwrap(), 0);
    }

    #[test]
    fn the_system_gives_bits_that_do_not_repeat() {
        let mut bits = SystemBits::new();
        let words: Vec<u64> = (0..3 * N_WORDS).map(|_| bits.word().unwrap()).collect();
        let n_distinct = words.iter().collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(n_distinct, words.len());
        let n_ones: u32 = words.iter().map(|word| word.count_ones()).sum();
        let expected = 32 * words.len() as u32;
        assert!(n_ones.abs_diff(expected) < expected / 10, "{n_ones} of {}", 2 * expected);
    }
}
