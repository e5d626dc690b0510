//! Rows as CSV, as RFC 4180 has it. NULL is nothing, and a text of no characters is `""`; or as the options say.

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

use super::cells::{Form, read, unpacked};
use crate::{Format, csv::Marks};

/// Writes rows as CSV.
pub struct CsvRows {
    names: Vec<String>,
    format: Format,
    marks: Marks,
}

impl CsvRows {
    /// For rows with these columns.
    pub fn new(schema: &SchemaRef, format: &Format) -> Self {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        Self { names, format: format.clone(), marks: Marks::of(format) }
    }

    /// Appends the line of names, if there is one.
    pub fn head(&self, out: &mut Vec<u8>) {
        if !self.format.header {
            return;
        }
        for (nth, name) in self.names.iter().enumerate() {
            if nth > 0 {
                out.push(self.marks.delimiter);
            }
            // Blanks around names are taken for none.
            let is_quoted = name.is_empty() || name.trim() != name || self.needs_quotes(name);
            self.field(name, is_quoted, out);
        }
        out.push(b'\n');
    }

    /// Appends rows.
    ///
    /// # Errors
    /// A value that has no text.
    pub fn batch(&self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), String> {
        let arrays = batch.columns().iter().map(unpacked).collect::<Result<Vec<_>, _>>()?;
        let forms = arrays.iter().map(|array| Form::of(array.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let nulls: Vec<_> = arrays.iter().map(|array| *array.data_type() == DataType::Null).collect();
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (nth, array) in arrays.iter().enumerate() {
                if nth > 0 {
                    out.push(self.marks.delimiter);
                }
                if nulls[nth] || array.is_null(row) {
                    out.extend_from_slice(self.format.null().as_bytes());
                    continue;
                }
                read(array.as_ref(), &forms[nth], row, &mut text)?;
                // Other readers pass over a line that is empty.
                let is_alone = text.is_empty() && arrays.len() == 1;
                self.field(&text, is_alone || self.format.is_null(&text) || self.needs_quotes(&text), out);
            }
            out.push(b'\n');
        }
        Ok(())
    }

    fn needs_quotes(&self, text: &str) -> bool {
        let Marks { delimiter, quote, escape } = self.marks;
        let is_mark = |byte: u8| byte == delimiter || byte == quote || byte == b'\n' || byte == b'\r';
        text.bytes().any(|byte| is_mark(byte) || Some(byte) == escape) || text.starts_with('\u{feff}')
    }

    fn field(&self, text: &str, is_quoted: bool, out: &mut Vec<u8>) {
        if !is_quoted || self.marks.quote == 0 {
            out.extend_from_slice(text.as_bytes());
            return;
        }
        let Marks { quote, escape, .. } = self.marks;
        out.push(quote);
        for byte in text.bytes() {
            if byte == quote || Some(byte) == escape {
                out.push(escape.unwrap_or(quote));
            }
            out.push(byte);
        }
        out.push(quote);
    }
}
