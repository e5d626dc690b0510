//! Text tables with aligned columns.

use std::io::{self, Write};

use super::{Form, Output};
use crate::text::shorten;

/// On which side the text of a column stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of text under headings. A person gets them aligned, a pipe gets them separated by tabs and without headings.
pub struct Table {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

/// Wider cells are cut for a person, never for a program.
const CELL_WIDTH_MAX: usize = 60;
const GAP: &str = "  ";

impl Table {
    /// A table with these headings.
    pub fn new(headings: impl IntoIterator<Item = (impl Into<String>, Align)>) -> Self {
        let headings = headings.into_iter().map(|(name, align)| (name.into(), align)).collect();
        Self { headings, rows: Vec::new() }
    }

    /// Adds a row; it has as many cells as there are headings.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.headings.len());
        self.rows.push(cells);
    }

    /// How many rows wait to be written.
    pub fn waiting(&self) -> usize {
        self.rows.len()
    }

    /// Writes the rows and forgets them. The headings come with them when `headed`.
    pub fn write(&mut self, out: &mut Output, headed: bool) -> io::Result<()> {
        match out.form {
            Form::Human => self.write_aligned(out, headed)?,
            Form::Plain | Form::Json => {
                for row in &self.rows {
                    writeln!(out, "{}", row.join("\t"))?;
                }
            }
        }
        self.rows.clear();
        Ok(())
    }

    fn write_aligned(&self, out: &mut Output, headed: bool) -> io::Result<()> {
        let widths = self.widths();
        let shown = shown(&widths, out.width);
        let columns: Vec<(Align, usize)> = self
            .headings
            .iter()
            .zip(&widths)
            .take(shown)
            .map(|((_, align), width)| (*align, *width))
            .collect();
        if headed {
            let names: Vec<&str> = self.headings.iter().map(|(name, _)| name.as_str()).collect();
            write_row(out, &names, &columns)?;
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            write_row(out, &rules, &columns)?;
        }
        self.rows.iter().try_for_each(|row| write_row(out, row, &columns))?;
        if shown < self.headings.len() {
            let hidden: Vec<&str> = self.headings[shown..].iter().map(|(name, _)| name.as_str()).collect();
            writeln!(
                out,
                "… and the columns {}: too wide for this terminal; --json or a pipe shows all",
                hidden.join(", ")
            )?;
        }
        Ok(())
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.headings.iter().map(|(name, _)| name.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count().min(CELL_WIDTH_MAX));
            }
        }
        widths
    }
}

/// How many columns fit into a line, at least one.
fn shown(widths: &[usize], line: usize) -> usize {
    let mut end = 0;
    let fits = |width: &&usize| {
        end += **width + GAP.len();
        end <= line + GAP.len()
    };
    widths.iter().take_while(fits).count().max(1).min(widths.len())
}

/// Writes the cells of a row that there are columns for.
fn write_row(out: &mut Output, cells: &[impl AsRef<str>], columns: &[(Align, usize)]) -> io::Result<()> {
    let mut line = String::new();
    for (cell, &(align, width)) in cells.iter().zip(columns) {
        let cell = shorten(cell.as_ref(), CELL_WIDTH_MAX);
        let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
        match align {
            Align::Left => line.extend([cell.as_str(), &padding, GAP]),
            Align::Right => line.extend([padding.as_str(), &cell, GAP]),
        }
    }
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away wide tables that wrap into an unreadable heap, and a last column that is cut although it fits.
    #[test]
    fn columns_that_fit() {
        assert_eq!(shown(&[10, 10, 10], 34), 3);
        assert_eq!(shown(&[10, 10, 10], 33), 2);
        assert_eq!(shown(&[100], 80), 1);
        assert_eq!(shown(&[], 80), 0);
    }
}
