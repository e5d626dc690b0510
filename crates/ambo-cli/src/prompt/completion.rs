//! Completion of commands, tables and options by the Tab key.

use clap::{CommandFactory, ValueEnum};
use rustyline::completion::Completer;
use rustyline::{Context, Helper, Highlighter, Hinter, Validator};

use super::commands::Line;
use crate::engine::Store;
use crate::storage::StorageName;

/// What the line editor asks for completions.
#[derive(Helper, Highlighter, Hinter, Validator)]
pub struct Completion {
    store: Store,
    commands: Vec<String>,
}

/// Commands whose next word is a table.
const TAKES_TABLE: [&str; 7] = ["use", "advise", "alter", "drop", "rename", "truncate", "info"];
const RANGE_OPTIONS: [&str; 3] = ["--from", "--to", "--prefix"];
const COMPRESSION_OPTIONS: [&str; 3] = ["--key-compression", "--record-compression", "--record-dictionary"];

impl Completion {
    /// For the tables of this database.
    pub fn new(store: Store) -> Self {
        let commands =
            Line::command().get_subcommands().map(|command| command.get_name().to_string()).collect();
        Self { store, commands }
    }

    fn candidates(&self, before: &[&str]) -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        match before {
            [] => self.commands.clone(),
            [command] if TAKES_TABLE.contains(command) => self.store.table_names(),
            ["scan", ..] => [owned(&RANGE_OPTIONS), owned(&["--limit", "--reverse"])].concat(),
            ["count", ..] => owned(&RANGE_OPTIONS),
            ["create", .., "--storage"] => {
                let names = StorageName::value_variants().iter().filter_map(ValueEnum::to_possible_value);
                names.map(|name| name.get_name().to_string()).collect()
            }
            ["create", _, ..] => [owned(&["--key", "--storage"]), owned(&COMPRESSION_OPTIONS)].concat(),
            ["alter", _, ..] => owned(&COMPRESSION_OPTIONS),
            _ => Vec::new(),
        }
    }
}

impl Completer for Completion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(&line[..position], |before| self.candidates(before)))
    }
}

/// Where the word under the cursor begins, and what it may become.
fn complete(line: &str, candidates: impl Fn(&[&str]) -> Vec<String>) -> (usize, Vec<String>) {
    let start = line.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
    let before: Vec<&str> = line[..start].split_whitespace().collect();
    let mut fitting = candidates(&before);
    fitting.retain(|candidate| candidate.starts_with(&line[start..]));
    fitting.iter_mut().for_each(|candidate| candidate.push(' '));
    (start, fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away options of `create` that are not offered, and storages that are offered elsewhere.
    #[test]
    fn completes_how_a_table_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let access = crate::engine::Access::Create;
        let store = Store::open(&dir.path().join("db"), access, &Default::default()).unwrap();
        let completion = Completion::new(store);
        let complete = |line: &str| complete(line, |before| completion.candidates(before)).1;
        assert_eq!(complete("create t id:int --st"), ["--storage "]);
        assert_eq!(complete("create t --storage "), ["btree ", "column ", "memory "]);
        assert_eq!(complete("create t --storage c"), ["column "]);
        assert!(complete("create t --key id --record").contains(&"--record-compression ".to_string()));
        assert!(complete("create ").is_empty() && complete("scan --st").is_empty());
    }

    // Keeps away completion of the wrong word, or of commands where tables are wanted.
    #[test]
    fn completes_the_last_word() {
        let candidates = |before: &[&str]| match before {
            [] => vec!["use".to_string(), "put".into()],
            ["use"] => vec!["users".into(), "orders".into()],
            _ => Vec::new(),
        };
        assert_eq!(complete("u", candidates), (0, vec!["use ".to_string()]));
        assert_eq!(complete("  use us", candidates), (6, vec!["users ".to_string()]));
        assert_eq!(complete("use ", candidates).1.len(), 2);
        assert_eq!(complete("use users x", candidates).1.len(), 0);
    }
}
