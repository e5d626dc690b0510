//! Completion by the Tab key: of commands and what they take, of keywords, tables, columns and functions.

use std::cell::OnceCell;

use ambo_sql::Database;
use clap::{CommandFactory, ValueEnum};
use rustyline::completion::{FilenameCompleter, Pair};

use super::commands::Line;
use super::describe::{quoted, quoted_path};
use super::keywords::KEYWORDS;
use super::session::is_command;
use super::split::{Kind, Piece, is_word, pieces};
use crate::schema::short_name;
use crate::storage::StorageName;

/// What knows which words may stand where.
pub struct Completion {
    sql: Database,
    /// Names of functions; looked up when first they are wanted, because the planner has to be made for them.
    functions: OnceCell<Vec<String>>,
    files: FilenameCompleter,
}

/// Commands whose next word is a table.
const TAKES_TABLE: [&str; 11] =
    ["use", "advise", "alter", "drop", "rename", "truncate", "info", "schema", "describe", "d", "dt"];
const TAKES_FILE: [&str; 6] = ["import", "export", "read", "output", "i", "o"];
const RANGE_OPTIONS: [&str; 3] = ["--from", "--to", "--prefix"];
const COMPRESSION_OPTIONS: [&str; 3] = ["--key-compression", "--record-compression", "--record-dictionary"];
const BACKSLASH: [&str; 12] = ["d", "dt", "di", "dn", "l", "timing", "x", "i", "o", "q", "?", "conninfo"];
/// Behind these stands a table.
const BEFORE_TABLE: [&str; 7] = ["from", "join", "into", "update", "table", "describe", "truncate"];

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn values<T: ValueEnum>() -> Vec<String> {
    let names = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    names.map(|name| name.get_name().to_string()).collect()
}

impl Completion {
    /// For the tables of this database.
    pub fn new(sql: Database) -> Self {
        Self { sql, functions: OnceCell::new(), files: FilenameCompleter::new() }
    }

    /// Where the word under the cursor begins, and what it may become.
    pub fn complete(&self, line: &str, position: usize) -> (usize, Vec<Pair>) {
        let before = &line[..position];
        let (start, words) = match is_command(before) {
            true if self.wants_file(before) => {
                return self.files.complete_path(before, position).unwrap_or((position, Vec::new()));
            }
            true => self.command(before),
            false => self.statement(line, position),
        };
        (
            start,
            words
                .into_iter()
                .map(|word| Pair { display: word.trim_end().to_owned(), replacement: word })
                .collect(),
        )
    }

    fn wants_file(&self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let command = words.next().unwrap_or_default();
        let nth = words.count() + usize::from(line.ends_with(char::is_whitespace));
        TAKES_FILE.contains(&&command[1..]) && nth == 1
    }

    fn command(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
        let words: Vec<&str> = line[..start].split_whitespace().collect();
        let typed = &line[start..];
        let mut fitting = match words.as_slice() {
            [] if typed.starts_with('\\') => BACKSLASH.iter().map(|name| format!("\\{name}")).collect(),
            [] => {
                let commands = Line::command();
                let commands = commands.get_subcommands().filter(|command| !command.is_hide_set());
                commands.map(|command| format!(".{}", command.get_name())).collect()
            }
            [command, arguments @ ..] => self.arguments(&command[1..], arguments),
        };
        fitting.retain(|candidate| candidate.starts_with(typed));
        fitting.iter_mut().for_each(|candidate| candidate.push(' '));
        (start, fitting)
    }

    fn arguments(&self, command: &str, before: &[&str]) -> Vec<String> {
        match (command, before) {
            (command, []) if TAKES_TABLE.contains(&command) => self.tables(),
            ("import" | "export", [_]) => self.tables(),
            ("mode", []) => values::<super::settings::Mode>(),
            ("timer" | "timing" | "explain" | "bail", []) => owned(&["on", "off"]),
            ("maxrows", []) => owned(&["all"]),
            ("help", []) => {
                Line::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
            }
            ("scan", _) => [owned(&RANGE_OPTIONS), owned(&["--limit", "--reverse"])].concat(),
            ("count", _) => owned(&RANGE_OPTIONS),
            ("import" | "create" | "alter", [.., "--storage"]) => values::<StorageName>(),
            ("import" | "create", [_, ..]) => {
                [owned(&["--key", "--storage"]), owned(&COMPRESSION_OPTIONS)].concat()
            }
            ("alter", [_, ..]) => [owned(&["--storage"]), owned(&COMPRESSION_OPTIONS)].concat(),
            _ => Vec::new(),
        }
    }

    /// Words of SQL: tables where a table stands, columns of the tables that are named, functions and keywords elsewhere.
    fn statement(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let before = &line[..position];
        let start = before
            .rfind(|c: char| !is_word(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let typed = &before[start..];
        let pieces = pieces(before);
        if pieces
            .last()
            .is_some_and(|piece| matches!(piece.kind, Kind::Text | Kind::Comment) && !is_over(piece))
        {
            return (position, Vec::new());
        }
        let mut words = if before[..start].ends_with('.') {
            self.qualified(line, &before[..start - 1])
        } else if self.stands_behind(before, &pieces, start) {
            self.tables()
        } else if typed.is_empty() {
            // Everything would be offered.
            Vec::new()
        } else {
            let functions = self.functions().iter().map(|name| format!("{name}("));
            let keywords = KEYWORDS.iter().map(|word| cased(word, typed));
            self.columns(line).into_iter().chain(self.tables()).chain(functions).chain(keywords).collect()
        };
        let lower = typed.to_lowercase();
        words.retain(|word| word.trim_start_matches('"').to_lowercase().starts_with(&lower));
        let mut seen = std::collections::HashSet::new();
        words.retain(|word| seen.insert(word.clone()));
        (start, words)
    }

    /// Whether the word that begins at `start` is a table's name.
    fn stands_behind(&self, text: &str, pieces: &[Piece], start: usize) -> bool {
        let is_said =
            |piece: &&Piece| piece.text.end <= start && !matches!(piece.kind, Kind::Blank | Kind::Comment);
        let last = pieces.iter().rev().find(is_said);
        last.is_some_and(|piece| {
            BEFORE_TABLE.contains(&text[piece.text.clone()].to_ascii_lowercase().as_str())
        })
    }

    fn tables(&self) -> Vec<String> {
        self.sql.tables().iter().map(|name| quoted_path(short_name(name))).collect()
    }

    fn functions(&self) -> &[String] {
        self.functions.get_or_init(|| self.sql.functions().unwrap_or_default())
    }

    fn columns_of(&self, table: &str) -> Vec<String> {
        match self.sql.table(table) {
            Ok(table) => table.definition().columns.iter().map(|column| quoted(&column.name)).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// The columns of the tables that the statement names; of all tables while it names none.
    fn columns(&self, line: &str) -> Vec<String> {
        let tables: Vec<_> = self.sql.tables().iter().map(|name| short_name(name).to_owned()).collect();
        let said = names(line);
        let mut named: Vec<_> = tables.iter().filter(|table| said.contains(table)).collect();
        if named.is_empty() {
            named = tables.iter().collect();
        }
        named.into_iter().flat_map(|table| self.columns_of(table)).collect()
    }

    /// What may stand behind `name.`: columns of a table or of what it is called in the statement, or the tables of a schema.
    fn qualified(&self, line: &str, before: &str) -> Vec<String> {
        let start = before
            .rfind(|c: char| !is_word(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let name = before[start..].to_lowercase();
        let columns = self.columns_of(&name);
        if !columns.is_empty() {
            return columns;
        }
        let said = names(line);
        let is_called =
            |words: &&[String]| words[words.len() - 1] == name && (words.len() == 2 || words[1] == "as");
        let called = said.windows(3).chain(said.windows(2)).filter(is_called);
        let columns = called.map(|words| self.columns_of(&words[0])).find(|columns| !columns.is_empty());
        if let Some(columns) = columns {
            return columns;
        }
        let prefix = format!("{name}.");
        self.sql.tables().iter().filter_map(|table| Some(quoted(table.strip_prefix(&prefix)?))).collect()
    }
}

/// Whether what follows a piece is not part of it.
fn is_over(piece: &Piece) -> bool {
    piece.is_closed && piece.kind == Kind::Text
}

/// The names in a statement, in small letters or as they stand between quotes.
fn names(line: &str) -> Vec<String> {
    let name = |piece: Piece| match piece.kind {
        Kind::Word => Some(line[piece.text].to_lowercase()),
        Kind::Quoted if piece.is_closed => {
            Some(line[piece.text.start + 1..piece.text.end - 1].replace("\"\"", "\""))
        }
        _ => None,
    };
    pieces(line).into_iter().filter_map(name).collect()
}

/// A keyword in letters as the typed ones are.
fn cased(word: &str, typed: &str) -> String {
    match typed.chars().all(|c| !c.is_lowercase()) {
        true => word.to_uppercase(),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion() -> Completion {
        let sql = Database::in_memory().unwrap();
        let mut connection = sql.connect();
        connection
            .script(
                "create table flights (id int primary key, tailnum text, carrier text, \"Odd name\" text);
                 create table airlines (carrier text primary key, name text);",
            )
            .unwrap();
        Completion::new(sql)
    }

    fn complete(completion: &Completion, line: &str) -> Vec<String> {
        let (start, pairs) = completion.complete(line, line.len());
        assert!(line.is_char_boundary(start));
        pairs.into_iter().map(|pair| pair.replacement).collect()
    }

    // Keeps away completion of the wrong kind of word.
    #[test]
    fn completes_what_may_stand_there() {
        let completion = completion();
        let complete = |line: &str| complete(&completion, line);
        assert_eq!(complete("select * from fl"), ["flights"]);
        assert_eq!(complete("select * from "), ["airlines", "flights"]);
        assert_eq!(complete("insert into air"), ["airlines"]);
        assert_eq!(complete("select f.tail from flights as f where f.ta"), ["tailnum"]);
        assert_eq!(complete("select x.na from flights f, airlines x where x.na"), ["name"]);
        assert_eq!(complete("select * from flights where flights.o"), ["\"Odd name\""]);
        assert_eq!(complete("select tailn"), ["tailnum"]);
        assert_eq!(complete("SELE"), ["SELECT"]);
        assert_eq!(complete("sele"), ["select"]);
        assert!(complete("select cou").contains(&"count(".to_owned()));
        for nothing in ["select 'fl", "select * -- fl", "select "] {
            assert!(complete(nothing).is_empty(), "{nothing}");
        }
    }

    // Keeps away options and values that are not offered, or offered elsewhere.
    #[test]
    fn completes_commands() {
        let completion = completion();
        let complete = |line: &str| complete(&completion, line);
        assert_eq!(complete(".tab"), [".tables "]);
        assert_eq!(complete(".describe fl"), ["flights "]);
        assert_eq!(complete("\\d fl"), ["flights "]);
        assert_eq!(complete(".mode c"), ["csv "]);
        assert_eq!(complete(".create t id:int --st"), ["--storage "]);
        assert_eq!(complete(".create t --storage c"), ["column "]);
        assert!(complete(".create t --key id --record").contains(&"--record-compression ".to_owned()));
        assert!(complete(".create ").is_empty() && complete(".scan --st").is_empty());
    }
}
