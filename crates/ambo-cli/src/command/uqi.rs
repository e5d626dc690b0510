//! uqi: aggregates of keys and records in the manner of upscaledb's query interface.

use std::io::Write;

use ambo::{Datum, uqi::Stream};

use crate::datum;
use crate::engine::{OrFail, Store};
use crate::failure::Result;
use crate::output::{Align, Form, Output, Table};

/// Computes a query of what is committed, and shows its rows.
pub fn query(store: &Store, text: &str, out: &mut Output) -> Result<()> {
    let result = store.db.uqi(&store.db, text).or_fail(&store.dir)?;
    let value = |stream: &Stream, row: usize| match row < stream.len() {
        true => name(stream.value(row).to_value()),
        false => Datum::Null,
    };
    let rows = (0..result.rows()).map(|row| (value(&result.keys, row), value(&result.records, row)));
    if out.form == Form::Json {
        for (key, record) in rows {
            out.json(&serde_json::json!({ "key": datum::to_json(&key), "record": datum::to_json(&record) }))?;
        }
        return Ok(());
    }
    let mut table = Table::new([("key", Align::Left), ("record", Align::Right)]);
    rows.for_each(|(key, record)| table.row(vec![datum::show(&key), datum::show(&record)]));
    table.write(out, true)?;
    out.flush()?;
    Ok(())
}

/// The names of functions end in a zero byte, as upscaledb has them: they are shown as text.
fn name(value: Datum) -> Datum {
    match &value {
        Datum::Binary(bytes) => match bytes.split_last() {
            Some((0, name)) if name.iter().all(u8::is_ascii_uppercase) => {
                Datum::Utf8(String::from_utf8_lossy(name).into_owned())
            }
            _ => value,
        },
        _ => value,
    }
}
