//! The commands and flags of the program, as its own help tells them.

use super::Folder;

/// A flag, and whether it takes a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    pub name: String,
    pub takes_value: bool,
}

/// The words of every command, the program itself first.
pub fn commands(folder: &Folder) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut at = 0;
    while at < all.len() {
        let own = all[at].clone();
        all.extend(listed(&help(folder, &own, "-h")).iter().map(|name| join(&own, name)));
        at += 1;
    }
    assert!(all.len() >= 23, "{all:?}");
    all
}

fn join(words: &str, name: &str) -> String {
    format!("{words} {name}").trim().to_owned()
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|&name| name != "help").map(str::to_owned).collect()
}

/// The help of a command.
pub fn help(folder: &Folder, words: &str, flag: &str) -> String {
    let arguments: Vec<&str> = words.split_whitespace().chain([flag]).collect();
    let run = folder.run_once(&arguments);
    assert_eq!(run.code, Some(0), "{words} {flag}: {}", run.said());
    run.out
}

/// The flags of a command.
pub fn flags(folder: &Folder, words: &str) -> Vec<Flag> {
    let help = help(folder, words, "--help");
    let (help, _) = help.rsplit_once("\nExamples:\n").expect("examples stand at the end");
    let lines = help.lines().filter(|line| line.len() - line.trim_start().len() <= 6);
    let found = lines.filter_map(|line| flag(line.trim_start()));
    found.collect()
}

fn flag(line: &str) -> Option<Flag> {
    let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let first = words.next().filter(|word| word.starts_with('-') && word.len() > 1)?;
    let is_pair = first.len() == 2 && line[2..].starts_with(", --");
    let name = if is_pair { words.next()? } else { first };
    let takes_value = words.next().is_some_and(|word| word.starts_with('<'));
    let name = name.trim_end_matches("...").to_owned();
    Some(Flag { name, takes_value })
}
