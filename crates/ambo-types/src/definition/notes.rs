//! The part of a definition that only some tables have: dropped columns, and what is kept for SQL.
//!
//! | part | encoding |
//! |---|---|
//! | dropped columns | varint count; each: varint slot, greater than the one before; type; u8 1 and the default as a one-column row, or u8 0 |
//! | comment of the table | text |
//! | checks | varint count; each: text, its name; text, its expression |
//! | notes on columns | varint count; each: varint column index, greater than the one before; text, its default expression; text, its comment |
//!
//! A text is a varint, 0 for none and its length in bytes plus 1 otherwise, and UTF-8.
//!
//! Of a table whose second slot, an `i32`, was dropped, with the check `positive` of `x > 0` and the default expression `now()` for
//! column 1, it is `01 01 04 00 00 01 09 "positive" 06 "x > 0" 01 01 06 "now()" 00`.

use ambo_codec::{Type, varint};

use crate::encoding::{Input, put_optional};

use super::{COLUMNS_MAX, Check, TableDefinition, format::put_default, slots::Dropped};

/// The most checks of a table.
const CHECKS_MAX: usize = 4096;

impl TableDefinition {
    /// Whether there is something that this part is for.
    pub(super) fn has_notes(&self) -> bool {
        let of_column =
            |column: &super::Column| column.default_expression.is_some() || column.comment.is_some();
        !self.dropped.is_empty()
            || self.comment.is_some()
            || !self.checks.is_empty()
            || self.columns.iter().any(of_column)
    }

    pub(super) fn encode_notes(&self, out: &mut Vec<u8>) {
        varint::encode(self.dropped.len() as u64, out);
        for dropped in &self.dropped {
            varint::encode(dropped.slot as u64, out);
            dropped.kind.encode(out);
            put_default(out, dropped.kind, dropped.default.as_ref());
        }
        put_optional(out, self.comment.as_deref());
        varint::encode(self.checks.len() as u64, out);
        for check in &self.checks {
            put_optional(out, Some(&check.name));
            put_optional(out, Some(&check.expression));
        }
        let noted = || {
            let has =
                |column: &super::Column| column.default_expression.is_some() || column.comment.is_some();
            self.columns.iter().enumerate().filter(move |(_, column)| has(column))
        };
        varint::encode(noted().count() as u64, out);
        for (index, column) in noted() {
            varint::encode(index as u64, out);
            put_optional(out, column.default_expression.as_deref());
            put_optional(out, column.comment.as_deref());
        }
    }

    pub(super) fn decode_notes(&mut self, input: &mut Input<'_>) -> Result<(), String> {
        for _ in 0..input.count(COLUMNS_MAX)? {
            let slot = input.count(COLUMNS_MAX)?;
            let (kind, len) = Type::decode(input.0).map_err(|error| error.to_string())?;
            input.take(len)?;
            let default = input.default(kind)?;
            self.dropped.push(Dropped { slot, kind, default });
        }
        self.comment = input.optional()?;
        for _ in 0..input.count(CHECKS_MAX)? {
            let (name, expression) = (input.optional()?, input.optional()?);
            let (Some(name), Some(expression)) = (name, expression) else {
                return Err("a check without a name or an expression".into());
            };
            self.checks.push(Check { name, expression });
        }
        let mut next = 0;
        for _ in 0..input.count(COLUMNS_MAX)? {
            let index = input.count(COLUMNS_MAX)?;
            let Some(column) = self.columns.get_mut(index).filter(|_| index >= next) else {
                return Err(format!("notes on column {index}, which is not there or has some already"));
            };
            next = index + 1;
            column.default_expression = input.optional()?;
            column.comment = input.optional()?;
        }
        Ok(())
    }
}
