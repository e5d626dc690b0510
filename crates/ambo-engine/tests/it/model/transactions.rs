//! Transactions of several steps beside the model's view of them.

use std::collections::BTreeSet;

use ambo_engine::{
    Error, Result,
    database::{CatalogEdit, Isolation, Savepoint, Seek, Sync, Transaction},
};

use super::{
    definitions::{Ids, adopt, choose},
    indexes::{indexes_of, planned, refuses_twice},
    oracle::{Change, Digest, Rows, State, Table, apply},
    plan::{IndexOn, Kind, Range, Step, Write},
    world::{World, keys_between, value},
};

/// A row of a table, which is told from others of its name by its birth.
type Place = (u64, Vec<u8>);

/// What the model knows of a transaction under way.
struct Shadow {
    /// What it sees.
    view: State,
    ids: Ids,
    changes: Vec<Change>,
    written: Vec<Place>,
    /// What it has read of others, for serializable ones.
    reads: BTreeSet<Place>,
    ranges: Vec<Span>,
    locked: BTreeSet<Place>,
    /// What it deleted as ranges. It may count as read, or as written whatever was there.
    deleted_ranges: Vec<Span>,
    /// Tables that others may not write to.
    held: BTreeSet<u64>,
    /// What others have written since it began.
    interfered: BTreeSet<Place>,
    /// What they deleted as ranges: rows that were not there may count as written, or not.
    interfered_ranges: Vec<Span>,
    flushed: bool,
}

/// A range of keys of a table: (table, lower, upper or none).
type Span = (u64, Vec<u8>, Option<Vec<u8>>);

fn is_in(at: &Place, (table, lower, upper): &Span) -> bool {
    *table == at.0 && *lower <= at.1 && upper.as_ref().is_none_or(|upper| at.1 < *upper)
}

/// What a transaction goes back to.
struct Before {
    savepoint: Savepoint,
    view: State,
    ids: Ids,
    changes: usize,
    written: usize,
}

impl Shadow {
    fn rows(&self, table: &str) -> &Rows {
        &self.view[table].rows
    }

    fn birth(&self, table: &str) -> u64 {
        self.view[table].birth
    }

    /// The rows that it has written of tables that are still there.
    fn written(&self) -> BTreeSet<&Place> {
        let is_there = |birth: u64| self.view.values().any(|table| table.birth == birth);
        self.written.iter().filter(|(birth, _)| is_there(*birth)).collect()
    }

    /// Whether the commit must be refused.
    fn conflicts(&self, serializable: bool, defines: bool) -> bool {
        let written = self.written();
        if written.is_empty() && !defines {
            return false;
        }
        let is_in_range = |at: &Place| self.ranges.iter().any(|range| is_in(at, range));
        self.interfered
            .iter()
            .any(|at| written.contains(at) || serializable && (self.reads.contains(at) || is_in_range(at)))
    }
}

impl Shadow {
    /// Whether the commit may be refused for a range that it deleted, or that others did, and that had no row there.
    fn may_conflict(&self, serializable: bool) -> bool {
        let meets = |one: &Span, other: &Span| {
            let ends_before = |one: &Span, other: &Span| one.2.as_ref().is_some_and(|end| *end <= other.1);
            one.0 == other.0 && !ends_before(one, other) && !ends_before(other, one)
        };
        let mut deleted = self.deleted_ranges.iter();
        let meets_deleted = deleted.any(|own| {
            self.interfered.iter().any(|at| is_in(at, own))
                || self.interfered_ranges.iter().any(|range| meets(own, range))
        });
        meets_deleted
            || self.interfered_ranges.iter().any(|range| {
                let read = || self.ranges.iter().any(|read| meets(read, range));
                let key_read = || self.reads.iter().any(|at| is_in(at, range));
                self.written().iter().any(|at| is_in(at, range)) || serializable && (read() || key_read())
            })
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
            ids: self.ids.clone(),
            changes: Vec::new(),
            written: Vec::new(),
            held: BTreeSet::new(),
            reads: BTreeSet::new(),
            ranges: Vec::new(),
            deleted_ranges: Vec::new(),
            locked: BTreeSet::new(),
            interfered: BTreeSet::new(),
            interfered_ranges: Vec::new(),
            flushed: false,
        };
        let mut savepoints = Vec::new();
        for step in steps {
            let went = match step {
                Step::Savepoint => {
                    savepoints.push(Before {
                        savepoint: transaction.savepoint(),
                        view: shadow.view.clone(),
                        ids: shadow.ids.clone(),
                        changes: shadow.changes.len(),
                        written: shadow.written.len(),
                    });
                    Ok(true)
                }
                Step::RollBack => {
                    if let Some(before) = savepoints.pop() {
                        transaction.rollback_to(before.savepoint).expect("it was not rolled back");
                        shadow.changes.truncate(before.changes);
                        shadow.written.truncate(before.written);
                        (shadow.view, shadow.ids) = (before.view, before.ids);
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
        // Nobody else changes definitions meanwhile.
        let defines = !transaction.catalog().changes_since(&before.catalog).is_empty();
        let own = transaction.catalog().clone();
        let result = transaction.commit();
        self.trace(|| format!("  commit: {result:?}"));
        if written.is_empty() && !defines {
            // Tables that came may have gone again, and a range may have had no row. As a range it can come too late.
            match &result {
                Ok(_) => return,
                Err(error) => assert!(!shadow.deleted_ranges.is_empty(), "nothing was to be done: {error}"),
            }
        }
        if let Err(error @ Error::Conflict(_)) = &result {
            assert!(error.is_retryable());
            // What is no longer known may be a conflict: only after a flush, perhaps by this very commit to make room.
            let flushed = shadow.flushed || !std::sync::Arc::ptr_eq(&before, &self.engine().current());
            let forgotten = flushed && error.to_string().contains("oldest change");
            // Two rows may want the same place in a unique index.
            let births = |name: &&String| written.iter().any(|(birth, _)| *birth == shadow.birth(name));
            let in_index = !shadow.interfered.is_empty()
                && shadow.view.keys().filter(births).any(|name| refuses_twice(&own, shadow.ids[name]));
            assert!(
                shadow.conflicts(serializable, defines)
                    || shadow.may_conflict(serializable)
                    || forgotten
                    || in_index,
                "no reason for {error}"
            );
            return;
        }
        if result.is_ok() {
            assert!(
                !shadow.conflicts(serializable, defines),
                "a conflict is not seen: {:?}",
                shadow.interfered
            );
            self.ids.clone_from(&shadow.ids);
        }
        let is_logged =
            |table: &Table| table.kind.is_logged() && written.iter().any(|(birth, _)| *birth == table.birth);
        let logged = defines || shadow.view.values().any(is_logged);
        self.note(result, shadow.changes.clone(), logged && (synced || self.is_synced()));
    }

    /// Does one step; `Ok(false)` when the transaction cannot go on.
    fn step(&mut self, transaction: &mut Transaction, shadow: &mut Shadow, step: &Step) -> Result<bool> {
        match step {
            Step::Write(write) => self.step_write(transaction, shadow, *write),
            Step::Read { table, key: number } => {
                let Some((name, id)) = choose(&shadow.ids, *table) else { return Ok(true) };
                let key = self.key_of(shadow.view[&name].keys, *number);
                let found = transaction.get(id, &key)?.map(|value| Digest::of(&value));
                assert_eq!(found, shadow.rows(&name).get(&key).copied(), "{name} {number}");
                let place = (shadow.birth(&name), key);
                if !shadow.written.contains(&place) {
                    shadow.reads.insert(place);
                }
                Ok(true)
            }
            Step::Scan { table } => {
                let Some((name, id)) = choose(&shadow.ids, *table) else { return Ok(true) };
                let mut cursor = transaction.cursor(id)?;
                let mut found = Rows::new();
                let mut there = cursor.seek(Seek::First)?;
                while there {
                    let key = cursor.key().to_vec();
                    found.insert(key, Digest::of(cursor.value()?));
                    there = cursor.next()?;
                }
                assert_eq!(&found, shadow.rows(&name), "{name}");
                shadow.ranges.push((shadow.birth(&name), Vec::new(), None));
                Ok(true)
            }
            Step::Count { table, from, to } => {
                let Some((name, id)) = choose(&shadow.ids, *table) else { return Ok(true) };
                let keys = shadow.view[&name].keys;
                let (lower, upper) = (self.key_of(keys, *from), self.key_of(keys, *to));
                let expected = match lower < upper {
                    true => shadow.rows(&name).range(lower.clone()..upper.clone()).count() as u64,
                    false => 0,
                };
                assert_eq!(transaction.count(id, Some(&lower), Some(&upper))?, expected, "{name}");
                shadow.ranges.push((shadow.birth(&name), lower, Some(upper)));
                Ok(true)
            }
            Step::Lock { table, key: number } => {
                let Some((name, id)) = choose(&shadow.ids, *table) else { return Ok(true) };
                let at = (shadow.birth(&name), self.key_of(shadow.view[&name].keys, *number));
                match transaction.lock(id, &at.1) {
                    Ok(()) => assert!(!shadow.interfered.contains(&at), "a change is not seen"),
                    Err(Error::Conflict(why)) => {
                        let in_range = shadow.interfered_ranges.iter().any(|range| is_in(&at, range));
                        let is_known = shadow.interfered.contains(&at) || in_range;
                        assert!(is_known || shadow.flushed, "no reason for {why}");
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
            Step::DeleteRange(range) => self.step_delete_range(transaction, shadow, *range),
            Step::InterfereRange(range) => {
                self.interfere_range(shadow, *range);
                Ok(true)
            }
            Step::Flush => {
                self.settle_down(|engine| engine.flush());
                shadow.flushed = true;
                Ok(true)
            }
            Step::Define(definition) => {
                let (view, ids) = (shadow.view.clone(), shadow.ids.clone());
                let catalog = transaction.catalog().clone();
                if let Some((edit, change)) = self.planned(definition, &view, &ids, &catalog) {
                    let id = transaction.define(&edit)?;
                    adopt(&mut shadow.ids, &change, id);
                    apply(&mut shadow.view, std::slice::from_ref(&change));
                    shadow.changes.push(change);
                }
                Ok(true)
            }
            Step::CreateIndex { table, on } => self.step_create_index(transaction, shadow, *table, *on),
            Step::DropIndex { index } => {
                let indexes = indexes_of(transaction.catalog());
                let Some((id, name, of)) = indexes.get(*index as usize % indexes.len().max(1)) else {
                    return Ok(true);
                };
                let primary = transaction.catalog().primary_index(of.table).map(|(id, _)| id);
                match transaction.define(&CatalogEdit::DropIndex(name.clone())) {
                    Err(Error::Invalid(_)) if primary == Some(*id) => Ok(true),
                    dropped => dropped.map(|_| true),
                }
            }
            Step::Savepoint | Step::RollBack => unreachable!("done by the caller"),
        }
    }

    fn step_create_index(
        &mut self,
        transaction: &mut Transaction,
        shadow: &mut Shadow,
        table: u64,
        on: IndexOn,
    ) -> Result<bool> {
        let Some((name, _)) = choose(&shadow.ids, table) else { return Ok(true) };
        // An index with postings in files holds no table and meets nobody.
        let on = match on {
            IndexOn::KeyPostings => IndexOn::Key,
            IndexOn::ValuePostings => IndexOn::Value,
            on => on,
        };
        let Some((index, twice)) = planned(&name, on, &shadow.view, transaction.catalog()) else {
            return Ok(true);
        };
        let birth = shadow.birth(&name);
        match transaction.create_index(&index) {
            Ok(_) => {
                assert!(!twice, "rows with the same value are not noticed");
                assert!(shadow.interfered.iter().all(|(table, _)| *table != birth), "a change is not seen");
                shadow.held.insert(birth);
                Ok(true)
            }
            Err(Error::Exists(what)) => {
                assert!(twice, "refused for no reason: {what}");
                shadow.held.insert(birth);
                Ok(true)
            }
            Err(Error::Invalid(why)) if why.contains("is not logged") => {
                assert_eq!(shadow.view[&name].kind, Kind::LogOff, "{why}");
                Ok(true)
            }
            Err(Error::Conflict(why)) => {
                let interfered = shadow.interfered.iter().any(|(table, _)| *table == birth)
                    || shadow.interfered_ranges.iter().any(|(table, ..)| *table == birth);
                assert!(interfered || shadow.flushed, "no reason for {why}");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn step_write(
        &mut self,
        transaction: &mut Transaction,
        shadow: &mut Shadow,
        write: Write,
    ) -> Result<bool> {
        let Some((name, id)) = choose(&shadow.ids, write.table) else { return Ok(true) };
        let key = self.key_of(shadow.view[&name].keys, write.key);
        let place = (shadow.birth(&name), key.clone());
        let bytes = write.value.map(value);
        let result = match &bytes {
            Some(bytes) => transaction.put(id, &key, bytes),
            None => transaction.delete(id, &key),
        };
        let change = Change::Row { table: name, key, value: bytes.as_deref().map(Digest::of) };
        let takes =
            self.takes_in(transaction.catalog(), &shadow.ids, &shadow.view, std::slice::from_ref(&change));
        if self.is_refused(&result, takes) {
            return Ok(true);
        }
        result?;
        apply(&mut shadow.view, std::slice::from_ref(&change));
        shadow.changes.push(change);
        shadow.written.push(place);
        Ok(true)
    }

    fn step_delete_range(
        &mut self,
        transaction: &mut Transaction,
        shadow: &mut Shadow,
        range: Range,
    ) -> Result<bool> {
        let Some((name, id)) = choose(&shadow.ids, range.table) else { return Ok(true) };
        let (lower, upper) = self.bounds(shadow.view[&name].keys, range);
        let keys = keys_between(shadow.rows(&name), &lower, upper.as_deref());
        transaction.delete_range(id, &lower, upper.as_deref())?;
        let birth = shadow.birth(&name);
        shadow.deleted_ranges.push((birth, lower, upper));
        for key in keys {
            let change = Change::Row { table: name.clone(), key: key.clone(), value: None };
            apply(&mut shadow.view, std::slice::from_ref(&change));
            shadow.changes.push(change);
            shadow.written.push((birth, key));
        }
        Ok(true)
    }

    /// Somebody else deletes a range, of a table of which the transaction has locked nothing.
    fn interfere_range(&mut self, shadow: &mut Shadow, range: Range) {
        let Some((name, _)) = self.table(range.table) else { return };
        let table = &self.oracle.now[&name];
        let birth = table.birth;
        if shadow.held.contains(&birth) || shadow.locked.iter().any(|at| at.0 == birth) {
            return;
        }
        let (lower, upper) = self.bounds(table.keys, range);
        let before = self.engine().current();
        let deleted = self.delete_range(range);
        shadow.flushed |= !std::sync::Arc::ptr_eq(&before, &self.engine().current());
        if let Some((_, keys)) = deleted {
            shadow.interfered.extend(keys.into_iter().map(|key| (birth, key)));
        }
        // Whether it came to be is not always known.
        shadow.interfered_ranges.push((birth, lower, upper));
    }

    /// Somebody else writes; refused where the transaction holds the row's lock.
    fn interfere(&mut self, shadow: &mut Shadow, write: Write) {
        let Some((name, id)) = self.table(write.table) else { return };
        let at = (self.oracle.now[&name].birth, self.key(&name, write.key));
        if shadow.locked.contains(&at) || shadow.held.contains(&at.0) {
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
