//! advise: what each codec would save and cost for a table.

use std::io::Write;

use ambo::{Advice, Estimate, RecordChoice};
use serde_json::{Value as Json, json};

use crate::compression;
use crate::engine::{OrFail, Store};
use crate::failure::{Failure, Result};
use crate::output::{self, Align, Output, Table};
use crate::schema::short_name;

/// What is stored as it is.
const PLAIN: &str = "none";

/// Samples a table and shows what each codec makes of it.
pub fn advise(store: &Store, table: &str, rows: u64, out: &mut Output) -> Result<()> {
    if store.table(table)?.definition().storage.traits().by_column {
        return Err(Failure::usage(format!(
            "table {table} is of storage column, which chooses encodings by itself; `ambo info {} -t {table}` shows them",
            store.dir.display()
        )));
    }
    let advice = store.db.advise(table, rows).or_fail(&store.dir)?;
    let name = short_name(&advice.definition.name).to_string();
    let options = compression::words(&advice.recommended);
    let command =
        (!options.is_empty()).then(|| format!("ambo alter {} {name} {options}", store.dir.display()));
    if out.is_json() {
        out.json(&json!({
            "table": name,
            "rows": advice.rows,
            "sampled": advice.sampled,
            "left_out": advice.left_out,
            "key_bytes": advice.key_bytes,
            "record_bytes": advice.record_bytes,
            "keys": advice.keys.iter().map(|e| to_json(&advice, key_name(e), e)).collect::<Vec<_>>(),
            "records": advice.records.iter().map(|e| to_json(&advice, record_name(e), e)).collect::<Vec<_>>(),
            "recommended": command,
        }))?;
        return Ok(());
    }
    if advice.keys.is_empty() {
        writeln!(out, "table {name} has {} rows: too few to say anything", output::count(advice.rows))?;
        return Ok(());
    }
    writeln!(
        out,
        "table {name}: {} rows, {} of them sampled, with {} of keys and {} of records{}",
        output::count(advice.rows),
        output::count(advice.sampled),
        output::bytes(advice.key_bytes),
        output::bytes(advice.record_bytes),
        match advice.left_out {
            0 => String::new(),
            n => format!("; {} values of more than 1 MiB were left out", output::count(n)),
        }
    )?;
    writeln!(out)?;
    list("keys", &advice, &advice.keys, key_name, out)?;
    if advice.keys.len() == 1 {
        writeln!(out, "key compression needs keys of 4 or 8 bytes")?;
    }
    writeln!(out)?;
    list("records", &advice, &advice.records, record_name, out)?;
    writeln!(out)?;
    match command {
        None => writeln!(out, "recommended: leave it as it is")?,
        Some(command) => {
            writeln!(out, "recommended: {command}")?;
            writeln!(out, "then:        ambo vacuum {}", store.dir.display())?;
        }
    }
    Ok(())
}

fn list<C>(
    what: &str,
    advice: &Advice,
    estimates: &[Estimate<C>],
    name: fn(&Estimate<C>) -> String,
    out: &mut Output,
) -> Result<()> {
    let right = |name| (name, Align::Right);
    let headings = ["sample", "table", "ratio", "encode", "decode"].map(right);
    let mut table = Table::new([(what, Align::Left)].into_iter().chain(headings));
    for estimate in estimates {
        let codec = name(estimate);
        let time = |ns: f64| if codec == PLAIN { String::new() } else { format!("{ns:.1} ns") };
        table.row(vec![
            codec.clone(),
            output::bytes(estimate.bytes),
            output::bytes(in_table(advice, estimate.bytes)),
            format!("{:.2}", ratio(estimates[0].bytes, estimate.bytes)),
            time(estimate.encode_ns),
            time(estimate.decode_ns),
        ]);
    }
    table.write(out, true)?;
    Ok(())
}

fn to_json<C>(advice: &Advice, codec: String, estimate: &Estimate<C>) -> Json {
    json!({
        "codec": codec,
        "sample_bytes": estimate.bytes,
        "table_bytes": in_table(advice, estimate.bytes),
        "encode_ns": estimate.encode_ns,
        "decode_ns": estimate.decode_ns,
    })
}

/// The sample's bytes, for all rows.
fn in_table(advice: &Advice, bytes: u64) -> u64 {
    (u128::from(bytes) * u128::from(advice.rows) / u128::from(advice.sampled.max(1))) as u64
}

fn ratio(before: u64, after: u64) -> f64 {
    before as f64 / after.max(1) as f64
}

fn key_name(estimate: &Estimate<Option<ambo::IntegerCodec>>) -> String {
    estimate.codec.map_or(PLAIN.into(), |codec| codec.to_string())
}

fn record_name(estimate: &Estimate<RecordChoice>) -> String {
    let RecordChoice { codec, dictionary } = estimate.codec;
    let codec = codec.map_or(PLAIN.into(), |codec| codec.to_string());
    if dictionary { codec + " + dictionary" } else { codec }
}
