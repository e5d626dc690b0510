//! How a table is compressed: as options of commands, and as they are shown.

use std::io::Write;
use std::str::FromStr;

use ambo::{IntegerCodec, RecordCodec, Retention, Storage, TableDefinition, TableOptions};
use clap::Args;
use clap::builder::BoolishValueParser;
use serde_json::json;

use crate::engine::{OrFail, Store};
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::schema::short_name;
use crate::storage::{self, NewTableArguments};

/// What is said where nothing is compressed.
const NONE: &str = "none";

/// How a table is to be compressed; what is not said stays as it is.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct CompressionArguments {
    /// Compress keys of 4 or 8 bytes: vbyte, masked-vbyte, group-varint, stream-vbyte, for, simd-for, bp128 or none
    #[arg(long, value_name = "CODEC", value_parser = OrNone::<IntegerCodec>::from_str)]
    key_compression: Option<OrNone<IntegerCodec>>,
    /// Compress records: elekt-rle, firebird-rle, lz4, zstd, snappy, zlib, lzf or none; zstd and zlib with a level, as in zstd:9
    #[arg(long, value_name = "CODEC", value_parser = OrNone::<RecordCodec>::from_str)]
    record_compression: Option<OrNone<RecordCodec>>,
    /// Compress records with a dictionary that is trained as they compact: on or off, with zstd only
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    record_dictionary: Option<bool>,
    /// Let rows expire so long after their time, as in '7 days', or none: values of a new table of keys and values after their commit,
    /// rows of other tables by their ttl_column
    #[arg(long, value_name = "TIME", value_parser = ttl)]
    ttl: Option<OrNone<Retention>>,
}

/// A codec, or `none`.
#[derive(Clone, Copy, Debug)]
struct OrNone<T>(Option<T>);

impl<T: FromStr<Err: ToString>> FromStr for OrNone<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            NONE => Ok(Self(None)),
            name => name.parse().map(|codec| Self(Some(codec))).map_err(|error: T::Err| error.to_string()),
        }
    }
}

fn ttl(text: &str) -> Result<OrNone<Retention>, String> {
    match text {
        NONE => Ok(OrNone(None)),
        text => Retention::parse(text).map(|ttl| OrNone(Some(ttl))),
    }
}

impl CompressionArguments {
    /// For the engine.
    pub fn options(&self) -> TableOptions {
        let mut options = TableOptions::new();
        if let Some(OrNone(codec)) = self.key_compression {
            options = options.key_compression(codec);
        }
        if let Some(OrNone(codec)) = self.record_compression {
            options = options.record_compression(codec);
        }
        if let Some(on) = self.record_dictionary {
            options = options.record_dictionary(on);
        }
        if let Some(OrNone(ttl)) = self.ttl {
            options = options.ttl(ttl);
        }
        options
    }
}

/// The codec of keys by name, or `none`.
pub fn keys(table: &TableDefinition) -> String {
    table.key_compression.map_or(NONE.into(), |codec| codec.to_string())
}

/// The codec of records by name, and whether there is a dictionary, or `none`.
pub fn records(table: &TableDefinition) -> String {
    let codec = table.record_compression.map_or(NONE.into(), |codec| codec.to_string());
    if table.record_dictionary { codec + " + dictionary" } else { codec }
}

/// Options as they are given to `alter`.
pub fn words(options: &TableOptions) -> String {
    let codec = |codec: Option<String>| codec.unwrap_or_else(|| NONE.into());
    let (keys, records, dictionary) = options.parts();
    let keys = keys.map(|keys| format!("--key-compression {}", codec(keys.map(|codec| codec.to_string()))));
    let records = records
        .map(|records| format!("--record-compression {}", codec(records.map(|codec| codec.to_string()))));
    let dictionary = dictionary.map(|on| format!("--record-dictionary {}", if on { "on" } else { "off" }));
    [keys, records, dictionary].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Changes the storage of a table, or how it is compressed, and says how it is now.
pub fn alter(store: &Store, table: &str, changes: &NewTableArguments, out: &mut Output) -> Result<()> {
    let options = changes.compression.options();
    if options.is_empty() && changes.storage.is_none() {
        return Err(Failure::usage(
            "change what? say --storage, --key-compression, --record-compression, --record-dictionary or --ttl",
        ));
    }
    let before = store.table(table)?.definition().clone();
    let wanted = changes.storage.map_or(before.storage, Storage::from);
    if storage::refused(&options.apply(before.with_storage(wanted))) {
        return Err(Failure::usage(format!(
            "table {} is or becomes one of storage column, which encodes each column by itself; there is nothing to change",
            short_name(&before.name)
        )));
    }
    if !wanted.traits().durable && before.storage.traits().durable {
        return Err(Failure::usage(format!(
            "in memory the rows of table {} would be gone as soon as this command ends; a program that keeps the database open can move it there",
            short_name(&before.name)
        )));
    }
    if wanted != before.storage {
        store.db.set_storage(table, wanted).or_fail(&store.dir)?;
    }
    if !options.is_empty() {
        store.db.alter_table(table, options.clone()).or_fail(&store.dir)?;
    }
    let table = store.table(table)?;
    let table = table.definition();
    if out.is_json() {
        out.json(&json!({
            "table": short_name(&table.name),
            "storage": table.storage.name(),
            "key_compression": keys(table),
            "record_compression": table.record_compression.map_or(NONE.into(), |codec| codec.to_string()),
            "record_dictionary": table.record_dictionary,
            "ttl": table.expiry.ttl.map(|ttl| ttl.to_string()),
        }))?;
        return Ok(());
    }
    write!(out, "table {}: storage {}", short_name(&table.name), table.storage.name())?;
    if let Some(ttl) = table.expiry.ttl {
        write!(out, ", rows expire after {ttl}")?;
    }
    if !options.is_empty() {
        write!(
            out,
            ", keys {}, records {}; what is compacted from now on is stored so, `ambo vacuum {}` rewrites the rest",
            keys(table),
            records(table),
            store.dir.display()
        )?;
    }
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: CompressionArguments,
    }

    // Keeps away: options that say something else to the engine than the user said, and names that are not known to the help.
    #[test]
    fn options_are_what_was_said() {
        let options = |words: &[&str]| {
            Line::try_parse_from([&["ambo"], words].concat()).map(|line| line.arguments.options())
        };
        assert!(options(&[]).unwrap().is_empty());
        let said = options(&[
            "--key-compression",
            "none",
            "--record-compression=zstd:9",
            "--record-dictionary",
            "on",
        ]);
        let wanted = TableOptions::new()
            .key_compression(None)
            .record_compression(RecordCodec::Zstd { level: 9 })
            .record_dictionary(true);
        assert_eq!(said.unwrap(), wanted);
        let again = words(&wanted);
        assert_eq!(options(&again.split(' ').collect::<Vec<_>>()).unwrap(), wanted);
        for bad in
            [["--key-compression", "lz4"], ["--record-compression", "zstd:0"], ["--record-dictionary", "2"]]
        {
            assert!(options(&bad).is_err(), "{bad:?}");
        }
        let help = <Line as clap::CommandFactory>::command().render_long_help().to_string();
        for name in IntegerCodec::ALL
            .map(IntegerCodec::name)
            .into_iter()
            .chain(RecordCodec::ALL.map(RecordCodec::name))
        {
            assert!(help.contains(name), "{name}");
        }
    }
}
