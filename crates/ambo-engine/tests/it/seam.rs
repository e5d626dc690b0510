//! Which storage a table has is asked by bases and definitions alone.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ambo_engine::catalog::Storage;

/// Where storages are told apart: what they can do is said there, and what they are is made there.
const HOME: [&str; 2] = ["ambo-base/src/", "ambo-types/src/definition/storage.rs"];

/// Other files that name a storage, and how often they may. The list only shrinks.
const OTHERS: [(&str, usize); 1] = [
    // What CREATE TABLE makes where nothing else is said.
    ("ambo-sql/src/engine.rs", 1),
];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != "tests" {
            sources(&path, files);
        } else if path.extension().is_some_and(|end| end == "rs") && path.file_name().unwrap() != "tests.rs" {
            files.push(path);
        }
    }
}

/// How often a program, without its comments and its tests, names one of these.
fn named(program: &str, names: &[String]) -> usize {
    let program = program.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = program.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| names.iter().map(|name| line.matches(name.as_str()).count()).sum::<usize>()).sum()
}

/// Keeps away: code that asks which storage a table has, and has to be found and changed for the next one. What a storage can do is said
/// by its traits, and what it does by its base.
#[test]
fn nobody_else_asks_which_storage_it_is() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut files);
        }
    }
    assert!(files.len() > 300, "the sources are looked for in the wrong place");
    let arms = Storage::KNOWN
        .iter()
        .flat_map(|storage| ["Storage", "Base"].map(|kind| format!("{kind}::{storage:?}")));
    let arms: Vec<_> = arms.collect();
    let mut found = BTreeMap::new();
    for file in files {
        let name = file.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/");
        let count = named(&fs::read_to_string(&file).unwrap(), &arms);
        if count > 0 && !HOME.iter().any(|home| name.starts_with(home)) {
            found.insert(name, count);
        }
    }
    let allowed = OTHERS.map(|(name, count)| (name.to_owned(), count)).into();
    assert_eq!(
        found, allowed,
        "ask Storage::traits() or the base; fewer places than allowed: take them off the list"
    );
}
