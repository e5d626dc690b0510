//! One JSON object: `{"columns":[…],"rows":[…],"tag":…,"affected":…,"count":…,"ms":…}`.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::{Value as Json, json};

use super::{
    Summary,
    cells::{Cells, separate, text},
    columns_json, unique_names,
};

/// Writes rows as arrays, or as objects.
pub(super) struct Writer {
    schema: SchemaRef,
    zone: String,
    /// The names in front of values, as they are written, if rows are objects.
    names: Option<Vec<Vec<u8>>>,
    rows: usize,
}

impl Writer {
    pub(super) fn new(schema: &SchemaRef, zone: &str, objects: bool) -> Self {
        let names = objects.then(|| quoted_names(schema));
        Self { schema: schema.clone(), zone: zone.to_owned(), names, rows: 0 }
    }
}

/// The names of columns as they stand in objects, with the colon.
pub(super) fn quoted_names(schema: &SchemaRef) -> Vec<Vec<u8>> {
    let quoted = |name: &String| {
        let mut bytes = Vec::new();
        text(name, &mut bytes);
        bytes.push(b':');
        bytes
    };
    unique_names(schema).iter().map(quoted).collect()
}

/// Appends a row as an object.
pub(super) fn object(
    names: &[Vec<u8>],
    cells: &[Cells],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    out.push(b'{');
    for (nth, (name, cells)) in names.iter().zip(cells).enumerate() {
        separate(nth, out);
        out.extend_from_slice(name);
        cells.write(row, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends a row as an array.
pub(crate) fn array(cells: &[Cells], row: usize, out: &mut Vec<u8>) -> Result<(), String> {
    out.push(b'[');
    for (nth, cells) in cells.iter().enumerate() {
        separate(nth, out);
        cells.write(row, out)?;
    }
    out.push(b']');
    Ok(())
}

/// What is said of a statement behind its rows.
pub(crate) fn summary_json(summary: &Summary) -> Json {
    let mut said = json!({
        "tag": summary.tag,
        "affected": summary.affected,
        "count": summary.rows,
        "ms": (summary.millis * 1000.0).round() / 1000.0,
    });
    if summary.is_cut {
        said["truncated"] = true.into();
    }
    said
}

impl super::Writer for Writer {
    fn head(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(b"{\"columns\":");
        out.extend_from_slice(columns_json(&self.schema).to_string().as_bytes());
        out.extend_from_slice(b",\"rows\":[");
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let cells = Cells::of_batch(batch, &self.zone)?;
        for row in 0..batch.num_rows() {
            separate(self.rows, out);
            out.push(b'\n');
            self.rows += 1;
            match &self.names {
                Some(names) => object(names, &cells, row, out)?,
                None => array(&cells, row, out)?,
            }
        }
        Ok(())
    }

    fn end(&mut self, summary: &Summary, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(b"],");
        // An object without its first brace.
        out.extend_from_slice(&summary_json(summary).to_string().as_bytes()[1..]);
        out.push(b'\n');
        Ok(())
    }

    fn broken(&mut self, error: &Json, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("],\"error\":{error}}}\n").as_bytes());
    }
}
