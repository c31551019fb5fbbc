//! How many threads there are to work on.
//!
//! The pool that nobody made is never asked: it is started by the question, and ends the program
//! where the system starts no further thread.

/// Threads of the pool that this is called on, at least one; one outside of any.
pub fn of_pool() -> usize {
    #[expect(clippy::disallowed_methods, reason = "there is a pool, so that none is started")]
    rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads().max(1))
}

/// Threads of a pool where nobody says how many.
pub fn of_machine() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_a_pool_there_is_one_thread_and_inside_as_many_as_it_has() {
        assert_eq!(of_pool(), 1);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert_eq!(pool.install(of_pool), 3);
        assert!(of_machine() >= 1);
    }
}
