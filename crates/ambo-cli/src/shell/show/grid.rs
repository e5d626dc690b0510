//! Rows as an aligned table for a person: it fits the terminal, numbers stand to the right, and NULL does not look like a text.
//!
//! The first rows decide how wide the columns are; those behind them follow, and are cut where they do not fit. So a table of any length
//! is shown as it comes.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::cells::{Cell, Cells, visible};
use super::{Reader, Show};
use crate::failure::Result;

/// So many rows decide.
const FIRST: usize = 1000;
const GAP: &str = "  ";
/// Texts are cut to no less than so many characters; columns that still do not fit are left out.
const TEXT_WIDTH_MIN: usize = 12;
/// Where there is no terminal, longer texts are as long as they are.
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

/// See the module.
pub struct Grid {
    columns: Vec<Column>,
    reader: Reader,
    /// Rows that wait until the widths are known.
    first: Vec<Vec<Option<String>>>,
    is_headed: bool,
    rows: u64,
}

struct Column {
    name: String,
    is_right: bool,
    /// 0 if it is left out. Known when the head is written.
    width: usize,
}

impl Grid {
    /// For rows of these columns.
    pub fn new(schema: &SchemaRef, reader: Reader) -> Self {
        let column = |field: &arrow_schema::FieldRef| Column {
            name: visible(field.name()),
            is_right: field.data_type().is_numeric(),
            width: 0,
        };
        let columns = schema.fields().iter().map(column).collect();
        Self { columns, reader, first: Vec::new(), is_headed: false, rows: 0 }
    }

    fn is_shown(&self, row: u64) -> bool {
        self.reader.max_rows.is_none_or(|max| row < max)
    }

    /// Decides on the widths, and writes what waited for that.
    fn head(&mut self, out: &mut dyn Write) -> Result<()> {
        if std::mem::replace(&mut self.is_headed, true) {
            return Ok(());
        }
        let first = std::mem::take(&mut self.first);
        for (place, column) in self.columns.iter_mut().enumerate() {
            let widths = first.iter().map(|row| row[place].as_deref().unwrap_or("NULL").width());
            column.width = widths.chain([column.name.width()]).max().unwrap_or(0).max(1);
        }
        if let Some(line) = self.reader.width {
            fit(&mut self.columns, line);
        }
        let names: Vec<_> = self.columns.iter().map(|column| Some(column.name.clone())).collect();
        self.line(&names, BOLD, out)?;
        let rules: Vec<_> = self.columns.iter().map(|column| Some("─".repeat(column.width))).collect();
        self.line(&rules, DIM, out)?;
        first.iter().try_for_each(|row| self.line(row, "", out))
    }

    fn line(&self, cells: &[Option<String>], style: &str, out: &mut dyn Write) -> Result<()> {
        let mut line = String::new();
        for (cell, column) in cells.iter().zip(&self.columns).filter(|(_, column)| column.width > 0) {
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let (text, style) = match cell {
                Some(text) => (cut(text, column.width), style),
                None => (cut("NULL", column.width), DIM),
            };
            let blanks = " ".repeat(column.width - text.width());
            let style = if self.reader.colours { style } else { "" };
            let text = if style.is_empty() { text } else { format!("{style}{text}{PLAIN}") };
            match column.is_right {
                true => line.extend([blanks.as_str(), &text]),
                false => line.extend([text.as_str(), &blanks]),
            }
        }
        Ok(writeln!(out, "{}", line.trim_end_matches(' '))?)
    }
}

/// Makes texts narrower until the columns fit into a line, the widest first; leaves columns out from the right if that does not do.
fn fit(columns: &mut [Column], line: usize) {
    let total = |columns: &[Column], cap: usize| {
        let shown = columns.iter().filter(|column| column.width > 0);
        let (sum, count) = shown.fold((0, 0), |(sum, count), column| {
            (sum + if column.is_right { column.width } else { column.width.min(cap) }, count + 1)
        });
        sum + GAP.len() * usize::max(count, 1) - GAP.len()
    };
    for left_out in (1..columns.len()).rev() {
        if total(columns, TEXT_WIDTH_MIN) <= line {
            break;
        }
        columns[left_out].width = 0;
    }
    let widest = columns.iter().map(|column| column.width).max().unwrap_or(0);
    let cap = (TEXT_WIDTH_MIN..=widest).rev().find(|cap| total(columns, *cap) <= line);
    for column in columns.iter_mut().filter(|column| !column.is_right) {
        column.width = column.width.min(cap.unwrap_or(TEXT_WIDTH_MIN));
    }
    // A single column, even of numbers, is not wider than the line.
    columns[0].width = columns[0].width.min(line.max(1));
}

/// The text in so many places of a terminal, the last of them `…` if it does not fit.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for letter in text.graphemes(true) {
        used += letter.width();
        if used > width {
            break;
        }
        shown.push_str(letter);
    }
    shown + "…"
}

impl Show for Grid {
    fn batch(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            let is_shown = self.is_shown(self.rows);
            self.rows += 1;
            if !is_shown {
                self.rows += (batch.num_rows() - row - 1) as u64;
                break;
            }
            let mut line = Vec::with_capacity(self.columns.len());
            for column in 0..self.columns.len() {
                line.push(match cells.read(row, column, &mut text)? {
                    Cell::Null => None,
                    Cell::Text | Cell::Other => Some(visible(&text)),
                });
            }
            match self.is_headed {
                true => self.line(&line, "", out)?,
                false => self.first.push(line),
            }
            if self.first.len() == FIRST {
                self.head(out)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<Option<u64>> {
        self.head(out)?;
        let left_out: Vec<_> = self
            .columns
            .iter()
            .filter(|column| column.width == 0)
            .map(|column| column.name.as_str())
            .collect();
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            writeln!(out, "… and {names}: too wide for this terminal; \\x shows a column a line")?;
        }
        Ok(self.reader.max_rows.filter(|max| self.rows > *max))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn shown(width: usize, max_rows: Option<u64>, columns: Vec<(&str, ArrayRef)>) -> (String, Option<u64>) {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let reader = Reader { width: Some(width), colours: false, max_rows };
        let mut grid = Grid::new(&batch.schema(), reader);
        let mut out = Vec::new();
        grid.batch(&batch, &mut out).unwrap();
        let more = grid.end(&mut out).unwrap();
        (String::from_utf8(out).unwrap(), more)
    }

    fn numbers(of: Vec<Option<i64>>) -> ArrayRef {
        Arc::new(Int64Array::from(of))
    }

    fn texts(of: Vec<Option<&str>>) -> ArrayRef {
        Arc::new(StringArray::from(of))
    }

    // Keeps away columns that are not below each other because a letter takes two places, or a tab any number of them.
    #[test]
    fn columns_are_aligned() {
        let names = texts(vec![Some("東京"), Some("e\u{301}"), None, Some("a\tb")]);
        let (text, more) =
            shown(80, None, vec![("n", numbers(vec![Some(1), Some(1000), None, Some(-3)])), ("name", names)]);
        assert_eq!(text, "   n  name\n────  ────\n   1  東京\n1000  e\u{301}\nNULL  NULL\n  -3  a\\tb\n");
        assert_eq!(more, None);
    }

    // Keeps away lines that wrap: long texts are cut, numbers are not, and what does not fit is named.
    #[test]
    fn lines_fit() {
        let long = "0123456789".repeat(10);
        let long = || texts(vec![Some(&long)]);
        let all = vec![("a", long()), ("number", numbers(vec![Some(1_234_567_890_123)])), ("b", long())];
        let (text, _) = shown(60, None, all.clone());
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
        assert!(text.contains("1234567890123") && text.matches('…').count() == 2, "{text}");
        let (text, _) = shown(30, None, all.clone());
        assert!(text.lines().take(3).all(|line| line.width() <= 30), "{text}");
        assert!(text.contains("… and b: too wide"), "{text}");
        let (text, _) = shown(8, None, all);
        assert!(text.lines().take(3).all(|line| line.width() <= 8), "{text}");
    }

    // Keeps away a limit that is off by one, or that is not told.
    #[test]
    fn rows_are_limited() {
        let column = || vec![("n", numbers((0..5).map(Some).collect()))];
        let (text, more) = shown(80, Some(3), column());
        assert_eq!((text.lines().count(), more), (5, Some(3)));
        let (text, more) = shown(80, Some(5), column());
        assert_eq!((text.lines().count(), more), (7, None));
    }

    // Keeps away a text that is cut in the middle of a letter.
    #[test]
    fn texts_are_cut_between_letters() {
        assert_eq!(cut("東京都", 4), "東…");
        assert_eq!(cut("東京都", 5), "東京…");
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abc", 1), "…");
    }
}
