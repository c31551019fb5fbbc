//! Completions and manual pages: they are current, and the tools that read them take them.

use crate::common::{Folder, finished, helped};

#[test]
fn every_shell_gets_every_command_and_flag() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = folder.run(&format!("completions {shell}")).out;
        for words in helped::commands(&folder).iter().filter(|words| !words.is_empty()) {
            let name = words.rsplit(' ').next().unwrap();
            assert!(text.contains(name), "{shell}: {words}");
            for flag in helped::flags(&folder, words) {
                let bare = flag.name.trim_start_matches('-');
                assert!(text.contains(bare), "{shell}: {words} {}", flag.name);
            }
        }
    }
    let refused = folder.run("completions tcsh");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("bash"), "{}", refused.err);
}

#[test]
fn bash_loads_the_completions_and_completes_flags_and_choices() {
    let folder = Folder::new();
    folder.write("albers.bash", folder.run("completions bash").out);
    let checked = finished(folder.command_of("bash").args(["-n", "albers.bash"]));
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""));
    for (words, expected) in [
        ("albers anon", "anonymize"),
        ("albers anonymize --dry", "--dry-run"),
        ("albers anonymize --method mon", "mondrian"),
        ("albers index rel", "release"),
        ("albers index release --also", "--also-k"),
    ] {
        let n_words = words.split(' ').count();
        let (current, previous) =
            (words.rsplit(' ').next().unwrap(), words.rsplit(' ').nth(1).unwrap());
        let script = format!(
            "source albers.bash; COMP_WORDS=({words}); COMP_CWORD={}; \
             _albers albers '{current}' '{previous}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            n_words - 1
        );
        let run = finished(folder.command_of("bash").args(["-c", &script]));
        assert!(run.out.lines().any(|line| line == expected), "{words}: {}", run.said());
    }
}

#[test]
fn every_command_has_a_manual_page_with_all_its_flags() {
    let folder = Folder::new();
    let run = folder.run("man pages");
    let commands = helped::commands(&folder);
    assert!(
        run.out.contains(&format!("wrote {} manual pages to pages", commands.len())),
        "{}",
        run.out
    );
    for words in &commands {
        let name = format!("albers {words}").trim().replace(' ', "-");
        let page = folder.read(&format!("pages/{name}.1"));
        for flag in helped::flags(&folder, words) {
            let escaped = flag.name.replace('-', "\\-");
            assert!(page.contains(&escaped), "{name}: {}", flag.name);
        }
        assert!(page.contains("Examples:") || page.contains("EXAMPLES"), "{name}");
    }
    let n_pages = std::fs::read_dir(folder.path("pages")).unwrap().count();
    assert_eq!(n_pages, commands.len());
}

#[test]
fn manual_pages_have_no_faults() {
    let folder = Folder::new();
    folder.run("man pages");
    for entry in std::fs::read_dir(folder.path("pages")).unwrap() {
        let path = entry.unwrap().path();
        let page = path.to_str().unwrap();
        let run = finished(folder.command_of("groff").args(["-mandoc", "-z", "-wall", page]));
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{page}");
    }
}
