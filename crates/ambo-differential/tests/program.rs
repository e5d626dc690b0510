//! The program as it is started.

use std::process::{Command, Output};

fn program(arguments: &[&str]) -> Output {
    let dir = std::env::temp_dir().join("ambo-differential-program");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ambo-differential"));
    command.args(arguments).arg("--dir").arg(dir).output().expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

// Keeps away: runs that end well without having asked anything.
#[test]
fn what_was_asked_is_counted() {
    let output = program(&["sqlite", "--databases", "1", "--seed", "7"]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    let queries: u64 = said
        .lines()
        .find_map(|line| line.strip_prefix("sqlite: ")?.split(' ').next()?.parse().ok())
        .unwrap_or_else(|| panic!("{said}"));
    assert!(queries > 10, "{said}");
}

// Keeps away: words that are not known and read over.
#[test]
fn unknown_words_are_refused() {
    for words in [&["sqlit"][..], &["sqlite", "--database", "1"], &["sqlite", "--seed"]] {
        let output = program(words);
        assert!(!output.status.success() && !said(&output).is_empty(), "{words:?}: {}", said(&output));
    }
}
