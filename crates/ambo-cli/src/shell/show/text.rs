//! Rows as lines of text: one value a line, tabs, commas, Markdown.

use std::io::Write;

use ambo_files::{CsvRows, Form, Format};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::cells::{Cell, Cells, visible};
use super::{Reader, Show, unwritable};
use crate::failure::Result;
use crate::text::escape;

fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// `name = value`, with an empty line between rows.
pub struct Lines {
    names: Vec<String>,
    width: usize,
    rows: u64,
    max_rows: Option<u64>,
}

impl Lines {
    pub fn new(schema: &SchemaRef, reader: Reader) -> Self {
        let names = names(schema);
        let width = names.iter().map(|name| unicode_width::UnicodeWidthStr::width(name.as_str())).max();
        Self { names, width: width.unwrap_or(0), rows: 0, max_rows: reader.max_rows }
    }
}

impl Show for Lines {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            self.rows += 1;
            if self.max_rows.is_some_and(|max| self.rows > max) {
                continue;
            }
            if self.rows > 1 {
                writeln!(out)?;
            }
            for (column, name) in self.names.iter().enumerate() {
                let value = match cells.read(row, column, &mut text)? {
                    Cell::Null => "NULL".to_owned(),
                    Cell::Text | Cell::Other => visible(&text),
                };
                let gap = self.width - unicode_width::UnicodeWidthStr::width(name.as_str());
                writeln!(out, "{:gap$}{name} = {value}", "")?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Option<u64>> {
        Ok(self.max_rows.filter(|max| self.rows > *max))
    }
}

/// Fields between tabs. Texts have escapes, so that a row is a line and `NULL` is no text but for one of that name.
pub struct List;

impl Show for List {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let cells = Cells::new(batch)?;
        let (mut line, mut text) = (String::new(), String::new());
        let is_bytes = |column: usize| batch.column(column).data_type().is_binary();
        for row in 0..batch.num_rows() {
            line.clear();
            for column in 0..cells.columns() {
                if column > 0 {
                    line.push('\t');
                }
                match cells.read(row, column, &mut text)? {
                    Cell::Null => line.push_str("NULL"),
                    Cell::Text if !is_bytes(column) => line.push_str(&escape(text.as_bytes())),
                    Cell::Text | Cell::Other => line.push_str(&text),
                }
            }
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// As files have it. NULL is nothing, and a text of no characters is `""`.
pub struct Csv {
    rows: CsvRows,
    is_headed: bool,
}

impl Csv {
    pub fn new(schema: &SchemaRef) -> Self {
        Self { rows: CsvRows::new(schema, &Format::new(Form::Csv)), is_headed: false }
    }

    fn head(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if !std::mem::replace(&mut self.is_headed, true) {
            self.rows.head(&mut bytes);
        }
        bytes
    }
}

impl Show for Csv {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let mut bytes = self.head();
        let batch = ambo_sql::with_texts(batch.clone(), true).map_err(unwritable)?;
        self.rows.batch(&batch, &mut bytes).map_err(unwritable)?;
        out.write_all(&bytes)?;
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<Option<u64>> {
        out.write_all(&self.head())?;
        Ok(None)
    }
}

/// A table of Markdown, numbers to the right.
pub struct Markdown {
    names: Vec<String>,
    right: Vec<bool>,
    is_headed: bool,
}

impl Markdown {
    pub fn new(schema: &SchemaRef) -> Self {
        let right = schema.fields().iter().map(|field| field.data_type().is_numeric()).collect();
        Self { names: names(schema), right, is_headed: false }
    }

    fn head(&mut self, out: &mut dyn Write) -> Result<()> {
        if !std::mem::replace(&mut self.is_headed, true) {
            let names: Vec<_> = self.names.iter().map(|name| markdown_cell(name)).collect();
            writeln!(out, "| {} |", names.join(" | "))?;
            let rules: Vec<_> = self.right.iter().map(|right| if *right { "---:" } else { "---" }).collect();
            writeln!(out, "| {} |", rules.join(" | "))?;
        }
        Ok(())
    }
}

fn markdown_cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}

impl Show for Markdown {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        self.head(out)?;
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            let mut line = String::from("|");
            for column in 0..cells.columns() {
                let cell = match cells.read(row, column, &mut text)? {
                    Cell::Null => "NULL".to_owned(),
                    Cell::Text | Cell::Other => markdown_cell(&text),
                };
                line.extend([" ", &cell, " |"]);
            }
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<Option<u64>> {
        self.head(out)?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a cell that is read as two, and a line that is.
    #[test]
    fn cells_of_markdown_are_one_line() {
        assert_eq!(markdown_cell("a|b\nc\\"), "a\\|b<br>c\\\\");
    }
}
