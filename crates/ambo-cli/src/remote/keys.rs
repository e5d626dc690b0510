//! put, get, del, scan and count (check and info: `about.rs`), by way of the process that has the database open.

use std::io::Write;

use ambo_server::{Client, Entry, Range};

use super::{about, failure};
use crate::arguments::{Command, RangeArguments, TableArgument};
use crate::command::record;
use crate::engine::DEFAULT_TABLE;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{Align, Output, Table};
use crate::schema::Column;
use crate::text::escape;
use crate::view::Record;
use crate::word::{Spelling, Word};

/// Runs a command, if it is one of those that are done from here.
pub fn run(mut client: Client, command: Command, out: &mut Output) -> Result<()> {
    match command {
        Command::Put { place, words, file } => {
            let words = Spelling::Shell.read_all(&words)?;
            let table = place.table.clone().map_or_else(|| table(&mut client, &place, true), Ok)?;
            let (key, value) = match (&words[..], file) {
                ([key], Some(file)) => {
                    (key, std::fs::read(&file).map_err(|error| Failure::file(&file, &error))?)
                }
                ([key, value], None) => (key, value.bytes.clone()),
                _ => return Err(Failure::usage("put takes a key and a value; rows are written with SQL")),
            };
            client.put(&table, &key.bytes, &value).map_err(failure)
        }
        Command::Get { place, key, raw } => {
            let key = one(&Spelling::Shell.read_all(&key)?, "get")?;
            let table = table(&mut client, &place, false)?;
            let value = client.get(&table, &key).map_err(failure)?.ok_or_else(|| absent(&key))?;
            record::show_value(&key, &value, raw, out)
        }
        Command::Del { place, key } => {
            let key = one(&Spelling::Shell.read_all(&key)?, "del")?;
            let table = table(&mut client, &place, false)?;
            match client.delete(&table, &key).map_err(failure)? {
                true => Ok(()),
                false => Err(absent(&key)),
            }
        }
        Command::Scan { place, scan } => {
            let table = table(&mut client, &place, false)?;
            let range = Range { limit: scan.limit, reverse: scan.reverse, ..range(&scan.range)? };
            show(&mut client, &table, &range, out)
        }
        Command::Count { place, range: asked } => {
            let table = table(&mut client, &place, false)?;
            let count = client.count(&table, &range(&asked)?).map_err(failure)?;
            record::show_count(count, out)
        }
        Command::Check { dir } => about::check(client, &dir, out),
        Command::Info { place } => about::info(client, &place.dir, place.table.as_deref(), out),
        _ => Err(Failure::Database(
            "this is done where the database is open: SQL, put, get, del, scan, count, check and info work from here"
                .into(),
        )),
    }
}

fn one(words: &[Word], what: &str) -> Result<Vec<u8>> {
    match words {
        [key] => Ok(key.bytes.clone()),
        _ => Err(Failure::usage(format!("{what} takes one key, not {} words; quote blanks", words.len()))),
    }
}

fn absent(key: &[u8]) -> Failure {
    Failure::Negative(format!("not found: {}", escape(key)))
}

/// The table that is meant: the named one, else the default one, else the only one.
fn table(client: &mut Client, place: &TableArgument, writes: bool) -> Result<String> {
    if let Some(name) = &place.table {
        return Ok(name.clone());
    }
    let names = client.tables().map_err(failure)?;
    match names.as_slice() {
        [] if writes => Ok(DEFAULT_TABLE.to_owned()),
        [] => Err(Failure::Negative(format!("{}: the database has no tables yet", place.dir.display()))),
        [only] => Ok(only.clone()),
        names if names.iter().any(|name| name == DEFAULT_TABLE) => Ok(DEFAULT_TABLE.to_owned()),
        names => Err(Failure::usage(format!("which table? say --table with one of: {}", names.join(", ")))),
    }
}

fn range(asked: &RangeArguments) -> Result<Range> {
    let read = |raw: &std::ffi::OsString| Spelling::Shell.read(raw).map(|word| word.bytes);
    let prefix = match asked.prefix.as_slice() {
        [] => None,
        [prefix] => Some(read(prefix)?),
        _ => return Err(Failure::usage("keys of bytes have one part, so there is one --prefix")),
    };
    let (from, to) = (asked.from.as_ref().map(read).transpose()?, asked.to.as_ref().map(read).transpose()?);
    Ok(Range { from, to, prefix, ..Range::default() })
}

/// Rows are aligned in groups of so many, so that the first are shown before the last are read.
const GROUP: usize = 200;

fn show(client: &mut Client, name: &str, range: &Range, out: &mut Output) -> Result<()> {
    interrupt::watch();
    let pair = |name: &str| Column { name: name.into(), ty: ambo::Type::Binary, nullable: false };
    let columns = ["key", "value"].map(pair);
    let mut table = Table::new(columns.iter().map(|column| (column.name.as_str(), Align::Left)));
    let (mut headed, mut wrong) = (true, None);
    let mut take = |entry: Entry| -> Result<bool> {
        if interrupt::raised() {
            return Err(Failure::Interrupted("stopped".into()));
        }
        let record = Record::Pair(entry.key, entry.value);
        match out.is_json() {
            true => out.json(&record::record_json(&columns, &record))?,
            false => table.row(record::cells(&record)),
        }
        if table.waiting() >= GROUP {
            table.write(out, headed)?;
            headed = false;
        }
        Ok(true)
    };
    let done = client.scan(name, range, |entry| match take(entry) {
        Ok(more) => more,
        Err(failure) => {
            wrong = Some(failure);
            false
        }
    });
    done.map_err(failure)?;
    if let Some(failure) = wrong {
        return Err(failure);
    }
    let any = table.waiting() > 0;
    table.write(out, headed && any)?;
    out.flush()?;
    Ok(())
}
