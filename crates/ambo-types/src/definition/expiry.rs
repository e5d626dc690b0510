//! Rows that expire: how long after the time in a column.
//!
//! A row has expired as soon as its time is not later than *now* less the `ttl`. Whoever reads has a *now* of his own. Rows of a plain
//! key-value table have no column: they are of the time of their commit, which is kept behind each value.
//!
//! | part | encoding |
//! |---|---|
//! | flags | u8: 1 there is a ttl, 2 there is a column of time, 4 values are followed by the time of their commit |
//! | ttl | only with flag 1: u64, little-endian, microseconds |
//! | column | only with flag 2: varint column index |
//!
//! Example: an hour after the time in column 2: `03 00 a4 93 d6 00 00 00 00 02`.

use ambo_codec::{Type, varint};

use super::{COLUMNS_MAX, Retention, TableDefinition};
use crate::encoding::Input;

/// How the text of a check begins that SQL keeps with a table to whose rows others refer.
pub(super) const REFERRER: &str = "REFERENCED BY ";

const TTL: u8 = 1;
const COLUMN: u8 = 2;
const STAMPED: u8 = 4;

/// When rows of a table expire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Expiry {
    /// How long rows are there after their time; none for ever.
    pub ttl: Option<Retention>,
    /// The column that says when a row is of, by its place in the definition.
    pub column: Option<usize>,
    /// Whether each value of a plain key-value table is followed by the time of its commit. That is said when the table is created, and
    /// never changes.
    pub stamped: bool,
}

impl Expiry {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        out.push(
            flag(self.ttl.is_some(), TTL) | flag(self.column.is_some(), COLUMN) | flag(self.stamped, STAMPED),
        );
        if let Some(ttl) = self.ttl {
            out.extend_from_slice(&ttl.micros.to_le_bytes());
        }
        if let Some(column) = self.column {
            varint::encode(column as u64, out);
        }
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Result<Self, String> {
        let flags = input.byte()?;
        if flags & !(TTL | COLUMN | STAMPED) != 0 {
            return Err(format!("unknown flags {flags:#04x} of rows that expire"));
        }
        let ttl = match flags & TTL != 0 {
            true => {
                let micros = u64::from_le_bytes(input.take(8)?.try_into().expect("eight bytes"));
                Some(Retention { micros })
            }
            false => None,
        };
        let column = if flags & COLUMN != 0 { Some(input.count(COLUMNS_MAX)?) } else { None };
        Ok(Self { ttl, column, stamped: flags & STAMPED != 0 })
    }

    /// Closes the gap that a column leaves. Without their time rows cannot expire, and the definition is not valid.
    pub(super) fn without(&mut self, index: usize) {
        let left = self.column.filter(|column| *column != index);
        self.column = left.map(|column| column - usize::from(column > index));
    }
}

impl TableDefinition {
    /// Lets rows expire so long after the time in a column, which is a date or a timestamp and never NULL.
    #[must_use]
    pub fn ttl(mut self, ttl: Retention, column: &str) -> Self {
        // A name that is no column is refused as a time that is not there.
        let place = self.column_index(column).unwrap_or(self.columns.len());
        self.expiry = Expiry { ttl: Some(ttl), column: Some(place), ..self.expiry };
        self
    }

    /// Lets the values of a plain key-value table expire so long after their commit, whose time is kept behind each of them. Without a ttl
    /// it is kept for one that comes later.
    #[must_use]
    pub fn ttl_of_commits(mut self, ttl: impl Into<Option<Retention>>) -> Self {
        self.expiry = Expiry { ttl: ttl.into(), column: None, stamped: true };
        self
    }

    /// Whether its rows expire.
    pub fn expires(&self) -> bool {
        self.expiry.ttl.is_some()
    }

    /// What is wrong with what is said of rows that expire, if anything.
    pub(super) fn check_expiry(&self) -> Result<(), String> {
        let Expiry { ttl, column, stamped } = self.expiry;
        if let Some(Retention { micros }) = ttl
            && (micros == 0 || micros > i64::MAX as u64)
        {
            return Err("rows cannot expire after that time".into());
        }
        if stamped {
            let is_plain = self.raw && self.index.is_none() && !self.storage.traits().by_column;
            return match is_plain && column.is_none() {
                true => Ok(()),
                false => Err(format!(
                    "the time of commits is kept in plain key-value tables of storage btree or memory; in others rows expire by a column, \
                     and it is of storage {}",
                    self.storage.name()
                )),
            };
        }
        let Some(place) = column else {
            return match ttl {
                Some(_) if self.raw => Err(
                    "values of a key-value table expire if it was created so, with the time of their commits"
                        .into(),
                ),
                Some(_) => {
                    Err("a ttl needs the column that says when a row is of: ttl_column = column".into())
                }
                None => Ok(()),
            };
        };
        if ttl.is_some()
            && let Some(check) = self.checks.iter().find(|check| check.expression.starts_with(REFERRER))
        {
            return Err(format!(
                "its rows cannot expire, for other rows refer to them: it is {}",
                check.name
            ));
        }
        if self.index.is_some() {
            return Err("entries of an index go with their rows, they do not expire".into());
        }
        let Some(column) = self.columns.get(place) else {
            return Err(format!("the time that its rows expire by is column {place}, which is not there"));
        };
        if !matches!(column.kind, Type::Timestamp | Type::TimestampTz | Type::Date32)
            || column.logical.is_some()
        {
            return Err(format!(
                "column \"{}\" is of type {}, and rows expire by a date or a timestamp",
                column.name,
                column.type_name()
            ));
        }
        if column.nullable {
            return Err(format!(
                "column \"{}\" may be NULL, and rows expire by a time that each of them has: make it NOT NULL, or end the ttl first \
                 (RESET (ttl, ttl_column))",
                column.name
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    // Keeps away: options that are read other than written or documented, and those that fit no table.
    #[test]
    fn expiry_round_trips_and_bad_ones_are_refused() {
        let hour = Retention::parse("1 hour").unwrap();
        let expiry = Expiry { ttl: Some(hour), column: Some(2), stamped: false };
        let mut bytes = Vec::new();
        expiry.encode(&mut bytes);
        assert_eq!(bytes, [3, 0, 0xa4, 0x93, 0xd6, 0, 0, 0, 0, 2]);
        assert_eq!(Expiry::decode(&mut Input(&bytes)), Ok(expiry));
        for bad in [&[8][..], &[1, 0, 0], &[2], &[]] {
            assert!(Expiry::decode(&mut Input(bad)).is_err(), "{bad:?}");
        }
        for storage in Storage::ALL.iter().copied() {
            let plain = TableDefinition::key_value("t").storage(storage).ttl_of_commits(hour);
            assert_eq!(plain.validate().is_ok(), !storage.traits().by_column, "{storage:?}");
            if plain.validate().is_ok() {
                assert_eq!(TableDefinition::decode(&plain.encode()).unwrap(), plain);
            }
            let table = TableDefinition::new("t")
                .column("id", Type::I64)
                .column_nullable("x", Type::Timestamp)
                .column("day", Type::Date32)
                .primary_key(&["id"])
                .storage(storage);
            assert!(table.clone().ttl_of_commits(None).validate().is_err(), "it has columns");
            let good = table.clone().ttl(hour, "day");
            good.validate().unwrap();
            assert_eq!(TableDefinition::decode(&good.encode()).unwrap(), good);
            assert_eq!(good.encode()[0], 4, "older versions refuse it");
            assert_ne!(table.encode()[0], 4, "who needs it not can be read by older versions");
            for (column, said) in [("id", "date or a timestamp"), ("x", "may be NULL"), ("y", "not there")] {
                let bad = table.clone().ttl(hour, column).validate().unwrap_err().to_string();
                assert!(bad.contains(said), "{bad}");
            }
            let mut without = good.clone();
            without.drop_column_at(1);
            assert_eq!(without.expiry.column, Some(1));
            without.drop_column_at(1);
            assert!(without.validate().unwrap_err().to_string().contains("ttl_column"));
        }
    }
}
