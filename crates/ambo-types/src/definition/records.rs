//! What a table of storage `append` says of its records: their width, whether they may be changed, and how long they are kept.
//!
//! | part | encoding |
//! |---|---|
//! | width | u8: 0 as suits the columns, 1 a power of two, 2 tight |
//! | flags | u8: 1 updates are allowed, 2 there is a column of time, 4 rows are kept for a time |
//! | time | only with flag 2: varint column index |
//! | retention | only with flag 4: u64, little-endian, microseconds |
//!
//! Example: tight records that are never changed, whose column 0 is their time, kept for a day: `02 06 00 00 60 d7 1d 14 00 00 00`.

use std::fmt;

use ambo_codec::{Type, varint};

use super::{COLUMNS_MAX, TableDefinition};
use crate::{Error, encoding::Input};

const UPDATES: u8 = 1;
const TIME: u8 = 2;
const RETENTION: u8 = 4;

/// How wide records are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum RecordWidth {
    /// A power of two, unless that would leave more than an eighth empty.
    #[default]
    Suitable = 0,
    /// A power of two.
    Power = 1,
    /// The next multiple of eight bytes.
    Tight = 2,
}

impl RecordWidth {
    /// Those that can be asked for by name.
    pub const NAMED: [Self; 2] = [Self::Power, Self::Tight];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Suitable => "suitable",
            Self::Power => "power",
            Self::Tight => "tight",
        }
    }

    /// The width of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|width| width.name() == name)
    }

    fn numbered(number: u8) -> Option<Self> {
        [Self::Suitable, Self::Power, Self::Tight].into_iter().find(|width| *width as u8 == number)
    }
}

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Records {
    /// How wide records are.
    pub width: RecordWidth,
    /// Whether rows may be updated: the old row is marked as deleted, the new one is appended. Otherwise an update is refused.
    pub updates: bool,
    /// The column that says when a row is of, by its place in the definition.
    pub time: Option<usize>,
    /// How long rows are kept by their time.
    pub retention: Option<Retention>,
}

/// How long rows are kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Retention {
    /// Microseconds; not zero.
    pub micros: u64,
}

/// Units that a retention is told in, the largest first.
const UNITS: [(&str, u64); 5] = [
    ("week", 7 * 86_400_000_000),
    ("day", 86_400_000_000),
    ("hour", 3_600_000_000),
    ("minute", 60_000_000),
    ("second", 1_000_000),
];

impl Retention {
    /// The retention in words such as `90 days`.
    ///
    /// # Errors
    /// What is expected, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "a retention is a number and weeks, days, hours, minutes or seconds, as '90 days', not '{text}'"
            )
        };
        let mut words = text.split_whitespace();
        let (Some(number), Some(unit), None) = (words.next(), words.next(), words.next()) else {
            return Err(wrong());
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let unit = unit.to_ascii_lowercase();
        let singular = unit.strip_suffix('s').unwrap_or(&unit);
        let (_, micros) = UNITS.iter().find(|(name, _)| *name == singular).ok_or_else(wrong)?;
        match number.checked_mul(*micros).filter(|micros| (1..=i64::MAX as u64).contains(micros)) {
            Some(micros) => Ok(Self { micros }),
            None => Err(wrong()),
        }
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS[1..].iter().find(|(_, micros)| self.micros.is_multiple_of(*micros));
        match unit {
            Some((name, micros)) => {
                let count = self.micros / micros;
                write!(f, "{count} {name}{}", if count == 1 { "" } else { "s" })
            }
            None => write!(f, "{} microseconds", self.micros),
        }
    }
}

impl Records {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let flag = |on: bool, bit: u8| if on { bit } else { 0 };
        out.push(self.width as u8);
        out.push(
            flag(self.updates, UPDATES)
                | flag(self.time.is_some(), TIME)
                | flag(self.retention.is_some(), RETENTION),
        );
        if let Some(time) = self.time {
            varint::encode(time as u64, out);
        }
        if let Some(retention) = self.retention {
            out.extend_from_slice(&retention.micros.to_le_bytes());
        }
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Result<Self, String> {
        let width = input.byte()?;
        let width =
            RecordWidth::numbered(width).ok_or_else(|| format!("unknown width {width} of records"))?;
        let flags = input.byte()?;
        if flags & !(UPDATES | TIME | RETENTION) != 0 {
            return Err(format!("unknown flags {flags:#04x} of records"));
        }
        let time = if flags & TIME != 0 { Some(input.count(COLUMNS_MAX)?) } else { None };
        let retention = match flags & RETENTION != 0 {
            true => {
                let micros = u64::from_le_bytes(input.take(8)?.try_into().expect("eight bytes"));
                Some(Retention { micros })
            }
            false => None,
        };
        Ok(Self { width, updates: flags & UPDATES != 0, time, retention })
    }

    /// Closes the gap that a column leaves. Without their time they are valid only if they are kept for ever.
    pub(super) fn without(&mut self, index: usize) {
        self.time = self.time.filter(|time| *time != index).map(|time| time - usize::from(time > index));
    }
}

impl TableDefinition {
    /// Says of a table of storage `append` what its records are like.
    #[must_use]
    pub fn records(mut self, records: Records) -> Self {
        self.records = records;
        self
    }

    /// That rows of the table may be updated.
    ///
    /// # Errors
    /// [`Error::Invalid`] that says what to do about it.
    pub fn check_updates(&self) -> Result<(), Error> {
        match self.records.updates || !self.storage.traits().records {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "rows of table \"{0}\", which is of storage append, are not updated; with ALTER TABLE {0} SET UPDATES = 'shadow' an \
                 update marks the old row as deleted and appends the new one, and SET STORAGE = column makes it a table whose rows change",
                self.name.strip_prefix("main.").unwrap_or(&self.name)
            ))),
        }
    }

    /// What is wrong with what is said of records, if anything.
    pub(super) fn check_records(&self) -> Result<(), String> {
        if !self.storage.traits().records {
            return match self.records == Records::default() {
                true => Ok(()),
                false => Err(format!(
                    "record, updates, time and retention are options of storage append, and it is of storage {}",
                    self.storage.name()
                )),
            };
        }
        if let Some(time) = self.records.time {
            let Some(column) = self.columns.get(time) else {
                return Err(format!("its time is column {time}, which is not there"));
            };
            if !matches!(column.kind, Type::Timestamp | Type::TimestampTz | Type::Date32)
                || column.logical.is_some()
            {
                return Err(format!(
                    "column \"{}\" is of type {}, and the time of rows is a date or a timestamp",
                    column.name,
                    column.type_name()
                ));
            }
        }
        match self.records.retention {
            Some(Retention { micros }) if micros == 0 || micros > i64::MAX as u64 => {
                Err("rows cannot be kept for that time".into())
            }
            Some(_) if self.records.time.is_none() => {
                Err("a retention needs the column that says when a row is of: time = column".into())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    // Keeps away: options that are read other than written or documented, and those that fit no table.
    #[test]
    fn records_round_trip_and_bad_ones_are_refused() {
        let records = Records {
            width: RecordWidth::Tight,
            updates: false,
            time: Some(0),
            retention: Some(Retention::parse("1 day").unwrap()),
        };
        let mut bytes = Vec::new();
        records.encode(&mut bytes);
        assert_eq!(bytes, [2, 6, 0, 0, 0x60, 0xd7, 0x1d, 0x14, 0, 0, 0]);
        assert_eq!(Records::decode(&mut Input(&bytes)), Ok(records));
        for bad in [&[3, 0][..], &[0, 8], &[0, 2], &[0, 4, 0, 0], &[]] {
            assert!(Records::decode(&mut Input(bad)).is_err(), "{bad:?}");
        }
        let table = TableDefinition::new("t").column("at", Type::Timestamp).column("x", Type::I32);
        let append = table.clone().storage(Storage::Append);
        append.clone().records(records).validate().unwrap();
        assert_eq!(
            TableDefinition::decode(&append.clone().records(records).encode()).unwrap().records,
            records
        );
        let other = Records { time: Some(1), ..records };
        assert!(
            append.clone().records(other).validate().unwrap_err().to_string().contains("date or a timestamp")
        );
        let timeless = Records { time: None, ..records };
        assert!(append.records(timeless).validate().unwrap_err().to_string().contains("time = column"));
        assert!(table.records(records).validate().unwrap_err().to_string().contains("storage append"));
        TableDefinition::key_value("t").storage(Storage::Append).validate().unwrap();
    }

    // Keeps away: a retention that is another one than was said, or reads as one.
    #[test]
    fn retentions_are_what_was_said() {
        for (text, shown) in
            [("90 days", "90 days"), ("1 week", "7 days"), ("36 HOURS", "36 hours"), ("1 second", "1 second")]
        {
            assert_eq!(Retention::parse(text).unwrap().to_string(), shown);
        }
        for bad in ["", "90", "days", "0 days", "-1 days", "1 fortnight", "1 day 2", "99999999999999 weeks"] {
            assert!(Retention::parse(bad).unwrap_err().contains("'90 days'"), "{bad}");
        }
    }
}
