//! Creating and dropping indexes.

use std::io::Write;
use std::time::Instant;

use ambo::{IndexDefinition, IndexKind};
use clap::Args;
use serde_json::json;

use crate::engine::{OrFail, Store};
use crate::failure::Result;
use crate::output::{self, Output};
use crate::schema::short_name;

/// An index to be.
#[derive(Args, Clone, Debug)]
pub struct IndexArguments {
    /// The index's name
    pub name: String,
    /// The table
    pub table: String,
    /// Its columns, in order: town or town,street
    #[arg(required = true, value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Refuse rows with the same values as another; NULLs are no values
    #[arg(long)]
    pub unique: bool,
    /// Find by a hash: short entries for long values, but only all columns at once and no ranges
    #[arg(long)]
    pub hash: bool,
    /// Scan by a bitmap for each value: for a column with few values in a table of storage column
    #[arg(long, conflicts_with_all = ["unique", "hash"])]
    pub bitmap: bool,
    /// Scan by postings in files beside segments: which rows have each value, or the values of all columns together
    #[arg(long, conflicts_with_all = ["unique", "hash", "bitmap"])]
    pub br64: bool,
    /// With --br64: a row stands under the value of each of the columns
    #[arg(long, requires = "br64")]
    pub any: bool,
}

/// Creates and builds an index.
pub fn create(store: &Store, arguments: &IndexArguments, out: &mut Output) -> Result<()> {
    let columns: Vec<_> = arguments.columns.iter().map(String::as_str).collect();
    let mut index = IndexDefinition::new(&arguments.name, &arguments.table, &columns);
    if arguments.hash {
        index = index.hash();
    }
    if arguments.bitmap {
        index = index.bitmap();
    }
    if arguments.br64 {
        index = if arguments.any { index.br64_any() } else { index.br64() };
    }
    if arguments.unique {
        index = index.unique();
    }
    let start = Instant::now();
    store.db.create_index(&index).or_fail(&store.dir)?;
    let rows = store.table(&arguments.table)?.len().or_fail(&store.dir)?;
    let seconds = start.elapsed();
    if out.is_json() {
        out.json(&json!({
            "index": arguments.name,
            "table": arguments.table,
            "columns": arguments.columns,
            "kind": index.kind.name(),
            "unique": index.unique,
            "rows": rows,
            "seconds": seconds.as_secs_f64(),
        }))?;
        return Ok(());
    }
    writeln!(
        out,
        "index {}: {} rows in {}",
        short_name(&arguments.name),
        output::count(rows),
        output::duration(seconds)
    )?;
    Ok(())
}

/// Drops an index.
pub fn drop_index(store: &Store, name: &str) -> Result<()> {
    store.db.drop_index(name).or_fail(&store.dir)
}

/// What an index is, in words: `unique hash` or nothing for the plain kind.
pub fn kind(unique: bool, kind: IndexKind) -> String {
    let unique = if unique { "unique " } else { "" };
    format!("{unique}{}", kind.name())
}
