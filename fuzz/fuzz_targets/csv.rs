#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| albers_fuzz::run("csv", bytes));
