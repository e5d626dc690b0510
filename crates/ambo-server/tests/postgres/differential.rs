//! Each query that a client was seen to send, asked of both. Where PostgreSQL is not installed, its answers are those that are kept.

use std::{
    collections::HashMap,
    fmt::Write,
    path::{Path, PathBuf},
};

use crate::peer::{Ours, Peer, Theirs};

/// Numbers of things when the queries were seen.
const SEEN: [(&str, &str); 5] = [
    ("16385", "select oid from pg_class where relname = 'customers'"),
    ("16387", "select oid from pg_type where typname = 'customers'"),
    ("16395", "select oid from pg_class where relname = 'orders'"),
    ("16410", "select oid from pg_class where relname = 'orders_note'"),
    ("16411", "select oid from pg_class where relname = 'late'"),
];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgres/queries").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The queries of a client, with values in the places of parameters.
fn queries(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for part in text.split("\n-- [").flat_map(|part| part.split("-- [")) {
        let Some((head, body)) = part.split_once('\n') else { continue };
        let body = body.split("\n-- ERROR").next().unwrap_or_default();
        for statement in body.split(";\n\n") {
            let statement = statement.trim().trim_end_matches(';').trim();
            let lower = statement.to_lowercase();
            let is_query = lower.starts_with("select") || lower.starts_with("with");
            let is_about = ["pg_", "information_schema", "current_", "regclass", "set_config"];
            if is_query && is_about.iter().any(|word| lower.contains(word)) && !lower.contains("pg_sleep") {
                let query = with_values(statement, head);
                if !all.contains(&query) {
                    all.push(query);
                }
            }
        }
    }
    all
}

fn with_values(statement: &str, head: &str) -> String {
    let Some((_, given)) = head.split_once("parameters: $") else { return statement.to_owned() };
    let mut values: Vec<(usize, &str)> = Vec::new();
    for one in given.split(", $") {
        if let Some((number, value)) = one.split_once(" = ") {
            values.push((number.parse().unwrap(), value));
        }
    }
    let mut text = statement.to_owned();
    for (number, value) in values.into_iter().rev() {
        text = text.replace(&format!("${number}"), value);
    }
    text
}

/// What numbers are of, in one of the servers.
fn numbers(peer: &dyn Peer) -> HashMap<String, String> {
    let all = peer.ask(
        "select oid, 'relation ' || relname from pg_class where oid >= 16384
        union all select oid, 'type ' || typname from pg_type where oid >= 16384
        union all select oid, 'constraint ' || conname from pg_constraint where oid >= 16384
        union all select oid, 'default ' || adnum from pg_attrdef where oid >= 16384
        union all select oid, 'schema ' || nspname from pg_namespace where oid > 2200",
    );
    let all = all.unwrap();
    all.lines()
        .skip(1)
        .filter_map(|line| line.split_once(','))
        .map(|(oid, of)| (oid.to_owned(), of.to_owned()))
        .collect()
}

/// An answer with things in the place of their numbers, its rows in order.
fn plain(answer: &str, numbers: &HashMap<String, String>) -> Vec<String> {
    let mut cell = String::new();
    let mut text = String::new();
    let put = |cell: &mut String, text: &mut String| {
        text.push_str(numbers.get(cell.as_str()).unwrap_or(cell));
        cell.clear();
    };
    for c in answer.chars() {
        match c {
            c if c.is_ascii_digit() => cell.push(c),
            c => {
                put(&mut cell, &mut text);
                text.push(c);
            }
        }
    }
    put(&mut cell, &mut text);
    let mut lines = text.lines().map(str::to_owned);
    let head = lines.next();
    let mut rest: Vec<_> = lines.collect();
    rest.sort();
    head.into_iter().chain(rest).collect()
}

/// What is compared of an answer.
enum Judged {
    All,
    /// Rows about the tables of users; others are about each server's own.
    Users,
    /// Rows about the database; PostgreSQL has others beside it.
    Database,
    /// The names of columns: the rows are of each server, for the reason that is said where it is.
    Names,
}

/// Where not all is to be the same.
fn judged(query: &str) -> Judged {
    let has = |part: &str| query.contains(part);
    match () {
        // Its own version.
        () if has("version()") => Judged::Names,
        // Queries of views are kept as they were written, and not taken apart.
        () if has("pg_get_viewdef") || has("view_definition") => Judged::Names,
        // Casts are not listed, and there is no PL/pgSQL.
        () if has("pg_cast") || has("pg_extension") => Judged::Names,
        () if has("pg_catalog.pg_database") => Judged::Database,
        // All columns or types that there are, those of the catalog among them.
        () if has("relpages, attname") || has("ORDER BY\n    attrelid") || has("pg_indexes") => Judged::Users,
        () if has("t.typtype='c'") || has("as is_array") || has("pg_my_temp_schema()") => Judged::Users,
        // That of PostgreSQL lists all views of information_schema; here are those that clients ask for.
        () if has("AND c.relname LIKE '%' ORDER BY \"TABLE_TYPE\"") => Judged::Users,
        () if has("SELECT t.typname,t.oid FROM") || has("typreceive != 0") => Judged::Users,
        () if has("a.typcategory = 'A'") || has("FROM pg_namespace\n") => Judged::Users,
        () => Judged::All,
    }
}

/// The lines that are compared, with what is written in another way and means the same written in one.
fn compared(lines: &[String], judged: &Judged) -> Vec<String> {
    let is_about = |line: &String| match judged {
        Judged::All => true,
        Judged::Users => {
            let words: Vec<_> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
            // Rows have no places that could be told.
            !has(&["ctid", "cmin", "cmax", "xmin", "xmax", "tableoid", "pg_toast"])
                && has(&["customers", "orders", "late", "people", "public", "mood"])
        }
        Judged::Database => line.starts_with("ambo"),
        Judged::Names => false,
    };
    let plain = |line: &String| {
        // Conditions and defaults are kept as they were written, with their constants in the column's type.
        let mut line = line.replace("::numeric", "").replace("(0)", "0").replace(",0.00,", ",0,");
        line = line.replace("'ok'::mood", "'ok'").replace("CHECK ((balance >= 0))", "CHECK (balance >= 0)");
        line = line.replace("\"\" : ", "\"\":").replace(", \"\"", ",\"\"");
        // Sizes are those of each.
        let mut words: Vec<_> = line.split(',').map(str::to_owned).collect();
        for word in &mut words {
            if ["bytes", "kB", "MB"].iter().any(|unit| word.ends_with(&format!(" {unit}"))) {
                *word = "size".to_owned();
            }
        }
        let line = words.join(",");
        line.strip_suffix(",0.00").map_or(line.clone(), |line| format!("{line},0"))
    };
    let (head, rest) = lines.split_at(lines.len().min(1));
    head.iter().chain(rest.iter().filter(|line| is_about(line))).map(plain).collect()
}

/// An answer as it is compared, or what was wrong.
type Answer = Result<Vec<String>, String>;

/// The answers of PostgreSQL that are kept, for where it is not installed.
fn kept(file: &str) -> Vec<Answer> {
    let text = std::fs::read_to_string(path_of_kept(file)).unwrap_or_default();
    let answer = |part: &str| match part.strip_prefix("ERROR\n") {
        Some(error) => Err(error.trim_end().to_owned()),
        None => Ok(part.lines().map(str::to_owned).collect()),
    };
    text.split("####\n").skip(1).map(answer).collect()
}

fn path_of_kept(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/postgres/kept").join(file.replace(".sql", ".txt"))
}

fn keep(file: &str, answers: &[Answer]) {
    let text = |answer: &Answer| match answer {
        Ok(lines) => format!("####\n{}\n", lines.join("\n")),
        Err(error) => format!("####\nERROR\n{error}\n"),
    };
    std::fs::write(path_of_kept(file), answers.iter().map(text).collect::<String>()).unwrap();
}

/// A server with the numbers of what is in it.
struct Asked<'a> {
    peer: &'a dyn Peer,
    numbers: HashMap<String, String>,
    seen: Vec<(&'static str, String)>,
}

impl<'a> Asked<'a> {
    fn new(peer: &'a dyn Peer) -> Self {
        let number = |find: &str| peer.ask(find).unwrap().lines().nth(1).unwrap().to_owned();
        let seen = SEEN.iter().map(|(number_then, find)| (*number_then, number(find))).collect();
        Self { peer, numbers: numbers(peer), seen }
    }

    fn answer(&self, query: &str) -> Answer {
        let mut text = query.to_owned();
        for (then, now) in &self.seen {
            text = text.replace(then, now);
        }
        let answer = self.peer.ask(&text);
        answer.map(|answer| compared(&plain(&answer, &self.numbers), &judged(query)))
    }
}

fn compare(file: &str) {
    compare_all(file, &queries(&read(file)));
}

fn compare_all(file: &str, all: &[String]) {
    assert!(!all.is_empty());
    let theirs = Theirs::new(&read("schema.sql"));
    let kept = kept(file);
    let expected = match &theirs {
        None => kept,
        Some(theirs) => {
            let theirs = Asked::new(theirs);
            let answers: Vec<_> = all.iter().map(|query| theirs.answer(query)).collect();
            // With this set they are kept anew.
            if std::env::var_os("AMBO_KEEP_ANSWERS").is_some() {
                keep(file, &answers);
            } else {
                assert!(
                    kept == answers,
                    "what is kept is not what PostgreSQL answers: AMBO_KEEP_ANSWERS=1 keeps it anew"
                );
            }
            answers
        }
    };
    assert_eq!(expected.len(), all.len(), "answers are kept of other queries");
    let ours = Ours::new(&read("schema.sql"));
    let ours = Asked::new(&ours);
    let (mut wrong, mut said) = (0, String::new());
    for (nth, (query, other)) in all.iter().zip(&expected).enumerate() {
        let mine = ours.answer(query);
        if mine != *other {
            wrong += 1;
            tell(&mut said, &format!("{file} {nth}\n{query}"), &mine, other);
        }
    }
    assert!(wrong == 0, "{wrong} of {} are wrong\n{said}", all.len());
}

fn tell(said: &mut String, query: &str, mine: &Answer, other: &Answer) {
    let _ = writeln!(said, "#### {}", query.chars().take(3000).collect::<String>());
    let (Ok(mine), Ok(other)) = (mine, other) else {
        let _ = writeln!(said, "  ours: {mine:?}\n  theirs: {other:?}");
        return;
    };
    for line in mine.iter().filter(|line| !other.contains(line)).take(12) {
        let _ = writeln!(said, "  ours:   {line}");
    }
    for line in other.iter().filter(|line| !mine.contains(line)).take(12) {
        let _ = writeln!(said, "  theirs: {line}");
    }
}

/// Commands of psql, each of which asks several queries and makes one picture of them.
const COMMANDS: [&str; 23] = [
    "\\d",
    "\\dt",
    "\\dt+",
    "\\di",
    "\\dv",
    "\\ds",
    "\\dn",
    "\\dn+",
    "\\df",
    "\\du",
    "\\dT",
    "\\dT+",
    "\\dp",
    "\\dD",
    "\\d customers",
    "\\d+ customers",
    "\\d orders",
    "\\d people",
    "\\d orders_note",
    "\\d counter",
    "\\d late",
    "\\d nothing",
    "\\dt cust*",
];

#[test]
fn commands() {
    compare_all("commands.sql", &COMMANDS.map(str::to_owned));
}

macro_rules! clients {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            compare(concat!(stringify!($name), ".sql"));
        })*
    };
}

clients! { psql psql_tab pgjdbc sqla_psycopg asyncpg adbc duck node pgx psycopg more }
