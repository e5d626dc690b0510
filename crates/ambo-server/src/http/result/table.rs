//! A table to look at. Columns are as wide as the first batch needs them.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde_json::Value as Json;

use super::{Summary, cells::Cells};

/// Characters of a cell, more of which are cut.
const WIDTH_MAX: usize = 60;

/// Writes lines of cells.
pub(super) struct Writer {
    names: Vec<String>,
    right: Vec<bool>,
    zone: String,
    widths: Option<Vec<usize>>,
}

impl Writer {
    pub(super) fn new(schema: &SchemaRef, zone: &str) -> Self {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        let right = schema.fields().iter().map(|field| field.data_type().is_numeric()).collect();
        Self { names, right, zone: zone.to_owned(), widths: None }
    }

    fn line(&self, cells: &[String], widths: &[usize], out: &mut Vec<u8>) {
        let mut line = String::new();
        for (nth, cell) in cells.iter().enumerate() {
            if nth > 0 {
                line.push_str(" | ");
            }
            let pad = " ".repeat(widths[nth].saturating_sub(cell.chars().count()));
            match self.right[nth] {
                true => line.push_str(&(pad + cell)),
                false => line.push_str(&(cell.clone() + &pad)),
            }
        }
        out.extend_from_slice(line.trim_end().as_bytes());
        out.push(b'\n');
    }

    fn begin(&mut self, rows: &[Vec<String>], out: &mut Vec<u8>) -> Vec<usize> {
        let cell = |nth: usize| rows.iter().map(move |row| row[nth].chars().count()).max().unwrap_or(0);
        let widths: Vec<_> =
            self.names.iter().enumerate().map(|(nth, name)| cell(nth).max(name.chars().count())).collect();
        if !widths.is_empty() {
            self.line(&self.names, &widths, out);
            let rule: Vec<_> = widths.iter().map(|width| "-".repeat(*width)).collect();
            out.extend_from_slice(rule.join("-+-").as_bytes());
            out.push(b'\n');
        }
        self.widths = Some(widths.clone());
        widths
    }
}

/// A value as it is shown: NULL in small letters, texts without quotes, on one line.
fn cell(cells: &Cells, row: usize) -> Result<String, String> {
    let mut json = Vec::new();
    cells.write(row, &mut json)?;
    let shown = match serde_json::from_slice(&json) {
        Ok(Json::String(text)) => text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"),
        _ => String::from_utf8_lossy(&json).into_owned(),
    };
    Ok(match shown.chars().count() > WIDTH_MAX {
        true => shown.chars().take(WIDTH_MAX - 1).chain(['…']).collect(),
        false => shown,
    })
}

impl super::Writer for Writer {
    fn head(&mut self, _: &mut Vec<u8>) -> Result<(), String> {
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let cells = Cells::of_batch(batch, &self.zone)?;
        let row = |row| cells.iter().map(|cells| cell(cells, row)).collect::<Result<Vec<_>, _>>();
        let rows = (0..batch.num_rows()).map(row).collect::<Result<Vec<_>, _>>()?;
        let widths = match self.widths.take() {
            Some(widths) => widths,
            None => self.begin(&rows, out),
        };
        for row in &rows {
            self.line(row, &widths, out);
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn end(&mut self, summary: &Summary, out: &mut Vec<u8>) -> Result<(), String> {
        if self.widths.is_none() {
            self.begin(&[], out);
        }
        let told = match (self.names.is_empty(), summary.affected) {
            (true, Some(affected)) => format!("{} {affected}\n", summary.tag),
            (true, None) => format!("{}\n", summary.tag),
            (false, _) => format!("({} {})\n", summary.rows, if summary.rows == 1 { "row" } else { "rows" }),
        };
        out.extend_from_slice(told.as_bytes());
        Ok(())
    }

    fn broken(&mut self, error: &Json, out: &mut Vec<u8>) {
        out.extend_from_slice(
            format!("error: {}\n", error["detail"].as_str().unwrap_or_default()).as_bytes(),
        );
    }
}
