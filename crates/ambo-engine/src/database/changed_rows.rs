//! What a transaction has changed since a moment in it, for whoever has to know what was there.

use std::collections::HashSet;

use super::{Engine, Savepoint, Transaction};
use ambo_types::{Result, id::TableId};

/// A row that was written: what there was, and what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRow {
    /// Its stored key.
    pub key: Vec<u8>,
    /// Its value at the moment; none if it was not there.
    pub before: Option<Vec<u8>>,
    /// Its value now; none if it is gone.
    pub after: Option<Vec<u8>>,
}

impl Transaction {
    /// The rows of a table that were written since a savepoint, each once. Those that are as they were may be among them.
    pub fn changed_since(&self, table: TableId, since: Savepoint) -> Result<Vec<ChangedRow>> {
        let mut seen = HashSet::new();
        let mut changed = Vec::new();
        for (of, key, before) in self.writes().since(since.writes()) {
            if of != table || !seen.insert(key) {
                continue;
            }
            let before = match before {
                Some(own) => Engine::own_value(self.snapshot().version(), table, own)?,
                None => self.snapshot().get(table, key)?,
            };
            let after = self.peek(table, key)?;
            changed.push(ChangedRow {
                key: key.to_vec(),
                before: before.map(|value| value.to_vec()),
                after: after.map(|value| value.to_vec()),
            });
        }
        Ok(changed)
    }

    /// Whether something was written to a table.
    pub fn has_written(&self, table: TableId) -> bool {
        self.writes().tables().contains_key(&table)
    }
}
