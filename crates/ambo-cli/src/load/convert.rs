//! Records of a file as rows of a table.

use std::path::Path;

use ambo::Datum;

use super::records::{BadRecord, Cell, Records};
use crate::datum;
use crate::failure::{Failure, Result};
use crate::schema::Column;
use crate::text::shorten;

/// Where each column of the table comes from.
pub struct Converter {
    columns: Vec<Column>,
    /// For each column of the table its position in the file; JSON goes by name.
    positions: Vec<Option<usize>>,
}

/// No error message shows more of a cell.
const SHOWN_CHARS: usize = 40;

impl Converter {
    /// Matches the table's columns with the file's, by name. A column that the file lacks must be nullable, and the file
    /// has no other columns. Pairs go by position when the file does not call them `key` and `value`.
    pub fn new(columns: Vec<Column>, key_value: bool, records: &Records, path: &Path) -> Result<Self> {
        let names = &records.names;
        let by_name = |column: &Column| names.iter().position(|name| name == &column.name);
        let mut positions: Vec<Option<usize>> = columns.iter().map(by_name).collect();
        if key_value && names.len() == 2 && positions.contains(&None) {
            positions = vec![Some(0), Some(1)];
        }
        if names.is_empty() {
            return Ok(Self { columns, positions });
        }
        let fail = |what: String| Failure::usage(format!("{}: {what}", path.display()));
        if let Some(extra) = (0..names.len()).find(|i| !positions.contains(&Some(*i))) {
            let known: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            let what = format!("the table has no column {}; it has {}", names[extra], known.join(", "));
            return Err(fail(what));
        }
        let lacking =
            columns.iter().zip(&positions).find(|(column, position)| position.is_none() && !column.nullable);
        match lacking {
            Some((column, _)) => {
                Err(fail(format!("column {} is missing, and it is not nullable", column.name)))
            }
            None => Ok(Self { columns, positions }),
        }
    }

    /// The current record as a row.
    pub fn convert(&self, records: &Records) -> Result<Vec<Datum>, BadRecord> {
        let mut row = Vec::with_capacity(self.columns.len());
        for (column, position) in self.columns.iter().zip(&self.positions) {
            let cell = match (position, records.names.is_empty()) {
                (None, false) => Cell::Null,
                (position, _) => records.cell(position.unwrap_or_default(), &column.name)?,
            };
            let value = convert_cell(cell, column);
            row.push(value.map_err(|what| records.bad(format!("column {}: {what}", column.name)))?);
        }
        self.refuse_unknown(records)?;
        Ok(row)
    }

    /// A JSON member that no column takes would be lost in silence.
    fn refuse_unknown(&self, records: &Records) -> Result<(), BadRecord> {
        let unknown = records.members().find(|name| !self.columns.iter().any(|column| column.name == *name));
        match unknown {
            Some(name) => Err(records.bad(format!("column {name}: the table has none of that name"))),
            None => Ok(()),
        }
    }
}

fn convert_cell(cell: Cell<'_>, column: &Column) -> Result<Datum, String> {
    let value = match cell {
        Cell::Null if column.nullable => return Ok(Datum::Null),
        // Text and bytes that may not be NULL are empty instead.
        Cell::Null if column.ty.is_variable() => return datum::parse("", column.ty),
        Cell::Null => return Err("a value is missing, and the column is not nullable".into()),
        Cell::Text(text) => datum::parse(text, column.ty),
        Cell::Json(json) => datum::from_json(json, column.ty),
    };
    value.map_err(|error| shorten_quoted(&error))
}

/// Cells can be megabytes; messages are one line.
fn shorten_quoted(error: &str) -> String {
    match (error.find('\''), error.rfind('\'')) {
        (Some(open), Some(close)) if close > open + SHOWN_CHARS => {
            format!(
                "{}'{}'{}",
                &error[..open],
                shorten(&error[open + 1..close], SHOWN_CHARS),
                &error[close + 1..]
            )
        }
        _ => error.to_string(),
    }
}
