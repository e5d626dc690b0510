//! The compaction filter of a table: a function of the programs that open the database, which the table knows by its name.
//!
//! The name is a text: a varint, its length in bytes, and UTF-8.

use super::{TableDefinition, expiry::REFERRER};
use crate::names;

/// What says in options that there is none.
const NONE: [&str; 2] = ["none", "off"];

impl TableDefinition {
    /// Lets the filter of this name say which rows go as the table is compacted.
    #[must_use]
    pub fn compaction_filter(mut self, name: impl Into<String>) -> Self {
        self.compaction_filter = Some(name.into());
        self
    }

    /// What is wrong with its filter, if anything.
    pub(super) fn check_filter(&self) -> Result<(), String> {
        let Some(name) = &self.compaction_filter else { return Ok(()) };
        names::check("compaction filter", name).map_err(|error| error.to_string())?;
        if NONE.contains(&name.as_str()) {
            return Err(format!(
                "a compaction filter cannot be called \"{name}\", which says that there is none"
            ));
        }
        if self.index.is_some() {
            return Err("entries of an index go with their rows, they have no compaction filter".into());
        }
        match self.checks.iter().find(|check| check.expression.starts_with(REFERRER)) {
            Some(check) => Err(format!(
                "a compaction filter cannot remove its rows, for other rows refer to them: it is {}",
                check.name
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ambo_codec::Type;

    use super::*;
    use crate::{Retention, Storage};

    // Keeps away: a filter that is read otherwise than written, that older versions do not see, or that no table can have.
    #[test]
    fn filters_round_trip_and_bad_ones_are_refused() {
        for storage in Storage::ALL.iter().copied() {
            let table = TableDefinition::new("t")
                .column("id", Type::I64)
                .column("day", Type::Date32)
                .primary_key(&["id"])
                .storage(storage);
            let expires = table.clone().ttl(Retention { micros: 7 }, "day");
            for without in [table, expires] {
                let with = without.clone().compaction_filter("old");
                with.validate().unwrap();
                let bytes = with.encode();
                assert_eq!(bytes[0], 5, "older versions refuse it");
                assert_eq!(TableDefinition::decode(&bytes).unwrap(), with);
                let cut = TableDefinition::decode(&bytes[..bytes.len() - 1]);
                assert_eq!(cut.unwrap_err(), "a table definition that is cut off");
                assert_ne!(without.encode()[0], 5, "who needs it not can be read by older versions");
                for bad in ["", "none", "off", "a\nb"] {
                    assert!(without.clone().compaction_filter(bad).validate().is_err(), "{bad:?}");
                }
                let referred = with.check("ref", format!("{REFERRER}u"));
                assert!(referred.validate().unwrap_err().to_string().contains("refer"));
            }
        }
    }
}
