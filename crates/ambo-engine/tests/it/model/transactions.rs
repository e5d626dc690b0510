//! Transactions of several steps beside the model's view of them.

use std::collections::BTreeSet;

use ambo_engine::{
    Error, Result,
    database::{Isolation, Seek, Sync, Transaction},
};

use super::{
    oracle::{Change, Digest, Rows, State, apply},
    plan::{Step, Write},
    world::{World, value},
};

/// What the model knows of a transaction under way.
struct Shadow {
    /// What it sees.
    view: State,
    writes: Vec<Change>,
    /// What it has read of others, for serializable ones: (table, key).
    reads: BTreeSet<(String, Vec<u8>)>,
    /// (table, lower, upper or none).
    ranges: Vec<(String, Vec<u8>, Option<Vec<u8>>)>,
    locked: BTreeSet<(String, Vec<u8>)>,
    /// What others have written since it began.
    interfered: BTreeSet<(String, Vec<u8>)>,
    flushed: bool,
}

impl Shadow {
    fn rows(&self, table: &str) -> &Rows {
        &self.view[table].rows
    }

    fn written(&self) -> BTreeSet<(String, Vec<u8>)> {
        let rows = self.writes.iter().filter_map(|change| match change {
            Change::Row { table, key, .. } => Some((table.clone(), key.clone())),
            _ => None,
        });
        rows.collect()
    }

    /// Whether the commit must be refused.
    fn conflicts(&self, serializable: bool) -> bool {
        let written = self.written();
        if written.is_empty() {
            return false;
        }
        let is_in_range = |at: &(String, Vec<u8>)| {
            self.ranges.iter().any(|(table, lower, upper)| {
                *table == at.0 && *lower <= at.1 && upper.as_ref().is_none_or(|upper| at.1 < *upper)
            })
        };
        self.interfered
            .iter()
            .any(|at| written.contains(at) || serializable && (self.reads.contains(at) || is_in_range(at)))
    }
}

impl World {
    pub fn transaction(&mut self, steps: &[Step], serializable: bool, synced: bool, commit: bool) {
        let isolation = if serializable { Isolation::Serializable } else { Isolation::Snapshot };
        let mut transaction = match self.engine().begin(isolation) {
            Ok(transaction) => transaction,
            Err(error) => return self.excuse(&error),
        };
        if synced {
            transaction.set_sync(Sync::Commit);
        }
        let mut shadow = Shadow {
            view: self.oracle.now.clone(),
            writes: Vec::new(),
            reads: BTreeSet::new(),
            ranges: Vec::new(),
            locked: BTreeSet::new(),
            interfered: BTreeSet::new(),
            flushed: false,
        };
        let mut savepoints = Vec::new();
        for step in steps {
            let went = match step {
                Step::Savepoint => {
                    savepoints.push((transaction.savepoint(), shadow.writes.len(), shadow.view.clone()));
                    Ok(true)
                }
                Step::RollBack => {
                    if let Some((savepoint, count, view)) = savepoints.pop() {
                        transaction.rollback_to(savepoint).expect("it was not rolled back");
                        shadow.writes.truncate(count);
                        shadow.view = view;
                    }
                    Ok(true)
                }
                step => self.step(&mut transaction, &mut shadow, step),
            };
            match went {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.excuse(&error),
            }
        }
        if !commit {
            return transaction.rollback();
        }
        self.commit(transaction, &shadow, serializable, synced);
    }

    fn commit(&mut self, transaction: Transaction, shadow: &Shadow, serializable: bool, synced: bool) {
        let written = shadow.written();
        let before = self.engine().current();
        let result = transaction.commit();
        self.trace(|| format!("  commit: {result:?}"));
        if written.is_empty() {
            result.expect("nothing was to be done");
            return;
        }
        if let Err(error @ Error::Conflict(_)) = &result {
            assert!(error.is_retryable());
            // What is no longer known may be a conflict: only after a flush, perhaps by this very commit to make room.
            let flushed = shadow.flushed || !std::sync::Arc::ptr_eq(&before, &self.engine().current());
            let forgotten = flushed && error.to_string().contains("oldest change");
            // Two rows may want the same place in a unique index.
            let in_index = !shadow.interfered.is_empty()
                && written.iter().any(|(table, _)| self.has_unique_values(table));
            assert!(shadow.conflicts(serializable) || forgotten || in_index, "no reason for {error}");
            return;
        }
        if result.is_ok() {
            assert!(!shadow.conflicts(serializable), "a conflict is not seen: {:?}", shadow.interfered);
        }
        let logged = written.iter().any(|(table, _)| self.oracle.now[table].kind.is_logged());
        self.note(result, shadow.writes.clone(), logged && (synced || self.is_synced()));
    }

    /// Does one step; `Ok(false)` when the transaction cannot go on.
    fn step(&mut self, transaction: &mut Transaction, shadow: &mut Shadow, step: &Step) -> Result<bool> {
        match step {
            Step::Write(write) => self.step_write(transaction, shadow, *write),
            Step::Read { table, key: number } => {
                let Some((name, id)) = self.table(*table) else { return Ok(true) };
                let key = self.key(&name, *number);
                let found = transaction.get(id, &key)?.map(|value| Digest::of(&value));
                assert_eq!(found, shadow.rows(&name).get(&key).copied(), "{name} {number}");
                if !shadow.written().contains(&(name.clone(), key.clone())) {
                    shadow.reads.insert((name, key));
                }
                Ok(true)
            }
            Step::Scan { table } => {
                let Some((name, id)) = self.table(*table) else { return Ok(true) };
                let mut cursor = transaction.cursor(id)?;
                let mut found = Rows::new();
                let mut there = cursor.seek(Seek::First)?;
                while there {
                    let key = cursor.key().to_vec();
                    found.insert(key, Digest::of(cursor.value()?));
                    there = cursor.next()?;
                }
                assert_eq!(&found, shadow.rows(&name), "{name}");
                shadow.ranges.push((name, Vec::new(), None));
                Ok(true)
            }
            Step::Count { table, from, to } => {
                let Some((name, id)) = self.table(*table) else { return Ok(true) };
                let (lower, upper) = (self.key(&name, *from), self.key(&name, *to));
                let expected = match lower < upper {
                    true => shadow.rows(&name).range(lower.clone()..upper.clone()).count() as u64,
                    false => 0,
                };
                assert_eq!(transaction.count(id, Some(&lower), Some(&upper))?, expected, "{name}");
                shadow.ranges.push((name, lower, Some(upper)));
                Ok(true)
            }
            Step::Lock { table, key: number } => {
                let Some((name, id)) = self.table(*table) else { return Ok(true) };
                let key = self.key(&name, *number);
                let at = (name, key);
                match transaction.lock(id, &at.1) {
                    Ok(()) => assert!(!shadow.interfered.contains(&at), "a change is not seen"),
                    Err(Error::Conflict(why)) => {
                        assert!(shadow.interfered.contains(&at) || shadow.flushed, "no reason for {why}");
                        return Ok(false);
                    }
                    Err(error) => panic!("locking: {error}"),
                }
                shadow.locked.insert(at);
                Ok(true)
            }
            Step::Interfere(write) => {
                self.interfere(shadow, *write);
                Ok(true)
            }
            Step::Flush => {
                self.settle_down(|engine| engine.flush());
                shadow.flushed = true;
                Ok(true)
            }
            Step::Savepoint | Step::RollBack => unreachable!("done by the caller"),
        }
    }

    fn step_write(
        &mut self,
        transaction: &mut Transaction,
        shadow: &mut Shadow,
        write: Write,
    ) -> Result<bool> {
        let Some((name, id)) = self.table(write.table) else { return Ok(true) };
        let key = self.key(&name, write.key);
        let bytes = write.value.map(value);
        let result = match &bytes {
            Some(bytes) => transaction.put(id, &key, bytes),
            None => transaction.delete(id, &key),
        };
        let change = Change::Row { table: name, key, value: bytes.as_deref().map(Digest::of) };
        if self.is_refused(&result, self.takes(&shadow.view, std::slice::from_ref(&change))) {
            return Ok(true);
        }
        result?;
        apply(&mut shadow.view, std::slice::from_ref(&change));
        shadow.writes.push(change);
        Ok(true)
    }

    /// Somebody else writes; refused where the transaction holds the row's lock.
    fn interfere(&mut self, shadow: &mut Shadow, write: Write) {
        let Some((name, id)) = self.table(write.table) else { return };
        let key = self.key(&name, write.key);
        let at = (name, key);
        if shadow.locked.contains(&at) {
            if !self.poisoned && !self.disturbed {
                let refused = self.engine().put(id, &at.1, b"behind a lock");
                assert!(matches!(refused, Err(Error::Lock(_))), "{refused:?}");
            }
            return;
        }
        let before = self.engine().current();
        let written = self.write(write);
        // A flush on the way may have made history forgotten.
        shadow.flushed |= !std::sync::Arc::ptr_eq(&before, &self.engine().current());
        if written {
            shadow.interfered.insert(at);
        }
    }
}
