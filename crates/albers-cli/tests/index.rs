//! An index through the program: its whole life.

mod common;

use common::Folder;

#[test]
fn help_lists_the_commands_in_the_order_of_a_life() {
    let run = Folder::new().run("index --help");
    assert_eq!(run.code, Some(0), "{}", run.err);
    let commands = ["create", "insert", "update", "delete", "sync", "release", "info", "check"];
    let places: Vec<Option<usize>> =
        commands.iter().map(|name| run.out.find(&format!("\n  {name} "))).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", run.out);
}
