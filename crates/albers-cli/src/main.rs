//! The program `albers`.
fn main() {}
