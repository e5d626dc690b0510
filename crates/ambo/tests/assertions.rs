//! How many assertions the crates have: what a function relies on is checked where it begins, what it made where it ends.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The assertions that each crate has at least, outside of tests. These numbers only go up: whoever adds some raises them. The aim is one
/// in fifty lines of the store.
const ASSERTIONS: [(&str, usize); 5] =
    [("ambo-codec", 90), ("ambo-pages", 130), ("ambo-scan", 101), ("ambo-base", 273), ("ambo-engine", 321)];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let is_test = name == "tests" || name == "conformance" || name.ends_with("_tests");
        match path.is_dir() {
            _ if is_test => {}
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// Assertions of a file, without its tests.
fn assertions(text: &str) -> usize {
    let code = text.split("#[cfg(test)]\nmod tests").next().expect("a part");
    let lines = code.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let all = ["assert!", "assert_eq!", "assert_ne!"];
    lines.map(|line| all.iter().map(|assert| line.matches(assert).count()).sum::<usize>()).sum()
}

// Keeps away: code that relies on what nobody checks.
#[test]
fn assertions_do_not_become_fewer() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the crates");
    for (name, known) in ASSERTIONS {
        let mut files = Vec::new();
        sources(&crates.join(name).join("src"), &mut files);
        let texts = files.iter().map(|path| fs::read_to_string(path).expect("code"));
        let found: usize = texts.map(|text| assertions(&text)).sum();
        assert!(found >= known, "{name} has {found} assertions, it had {known}");
    }
}
