//! Sequences: numbers that are given out once, whatever becomes of the transaction that took them.
//!
//! What is stored of a sequence is a [`Definition`]. Numbers are given out in memory; what is stored is ahead of them by up to [`AHEAD`],
//! so that not each number is a commit. After a crash those between are left out, as in PostgreSQL; closing the database stores where it
//! is.
//!
//! A sequence that the open transaction has made is stored with it: see [`Sequences::save_own`].

mod definition;
mod function;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ambo::{CatalogEdit, Object, ObjectKind, Transaction};

pub(crate) use definition::Definition;
pub(crate) use function::{Number, Seen, SequenceFunction, There};

use crate::{Error, ErrorKind, Result, names::shown};

/// How many numbers may be given out before the next is stored.
const AHEAD: u64 = 32;

/// The sequences of a database that numbers were taken from.
pub(crate) struct Sequences {
    db: ambo::Database,
    /// By their ids.
    known: Mutex<HashMap<u64, Arc<Mutex<State>>>>,
}

/// Where a sequence is.
struct State {
    name: String,
    of: Definition,
    next: i128,
    /// So many numbers may be given out, `next` first, until what is stored has to be told.
    left: u64,
    /// Whether nothing is stored yet that the numbers are taken from.
    is_own: bool,
}

/// What a connection has taken of sequences.
#[derive(Default)]
pub(crate) struct Taken {
    /// The last number of each, by ids.
    last: Mutex<LastNumbers>,
}

#[derive(Default)]
struct LastNumbers {
    of: HashMap<u64, i64>,
    of_any: Option<i64>,
}

impl Taken {
    fn note(&self, id: u64, number: i64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.of.insert(id, number);
        last.of_any = Some(number);
    }

    /// Has a sequence that was changed, and has another id, be the same to the session.
    pub(crate) fn goes_on_as(&self, id: u64, new: u64) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = last.of.get(&id).copied() {
            last.of.insert(new, number);
        }
    }

    fn last_of(&self, id: u64) -> Option<i64> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).of.get(&id).copied()
    }

    fn last(&self) -> Option<i64> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).of_any
    }
}

impl Sequences {
    pub(crate) fn new(db: ambo::Database) -> Self {
        Self { db, known: Mutex::default() }
    }

    fn state(&self, name: &str, of: &Definition) -> Arc<Mutex<State>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let state = || State { name: name.to_owned(), of: of.clone(), next: of.next, left: 0, is_own: false };
        known.entry(of.id).or_insert_with(|| Arc::new(Mutex::new(state()))).clone()
    }

    /// The number that it would give next.
    pub(crate) fn position(&self, of: &Definition) -> i128 {
        let state = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&of.id).cloned();
        state.map_or(of.next, |state| state.lock().unwrap_or_else(PoisonError::into_inner).next)
    }

    /// Takes the next number.
    ///
    /// # Errors
    /// [`ErrorKind::Execution`] at the end of a sequence that does not begin again.
    fn take(&self, name: &str, of: &Definition) -> Result<i64> {
        let state = self.state(name, of);
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if !of.has(state.next) {
            if !of.cycle {
                let (end, which) = if of.increment > 0 { (of.max, "MAXVALUE") } else { (of.min, "MINVALUE") };
                let message =
                    format!("sequence \"{}\" has given out all numbers; its {which} is {end}", shown(name));
                return Err(Error::new(ErrorKind::Execution, message));
            }
            (state.next, state.left) = (i128::from(if of.increment > 0 { of.min } else { of.max }), 0);
        }
        if state.left == 0 {
            let next = state.next + i128::from(of.increment) * i128::from(AHEAD);
            state.is_own = !self.store(name, of, next)?;
            state.left = AHEAD;
        }
        let number = i64::try_from(state.next).expect("a number within the bounds of the sequence");
        state.next += i128::from(of.increment);
        state.left -= 1;
        Ok(number)
    }

    /// Makes another number the next.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a number that the sequence cannot give.
    fn set(&self, name: &str, of: &Definition, next: i128) -> Result<()> {
        let state = self.state(name, of);
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_own = !self.store(name, of, next)?;
        (state.next, state.left) = (next, 0);
        Ok(())
    }

    /// Stores where a sequence goes on after the next start; false if it is the open transaction's own.
    fn store(&self, name: &str, of: &Definition, next: i128) -> Result<bool> {
        loop {
            let mut transaction = self.db.begin()?;
            let there = self.db.definitions(&transaction).object(ObjectKind::Sequence, name);
            let Some(there) =
                there.ok().filter(|there| Definition::read(&there.text).is_ok_and(|it| it.id == of.id))
            else {
                return Ok(false);
            };
            transaction.define(&with_next(&there, of, next))?;
            match transaction.commit() {
                // Somebody else changed it, or dropped it.
                Err(ambo::Error::Conflict(_)) => {}
                stored => return Ok(stored.map(|()| true)?),
            }
        }
    }

    /// Has a transaction that is about to commit store where the sequences go on that it has made.
    pub(crate) fn save_own(&self, transaction: &mut Transaction) -> Result<()> {
        for object in self.db.definitions(&*transaction).objects(ObjectKind::Sequence) {
            let of = Definition::read(&object.text)?;
            let state = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&of.id).cloned();
            let Some(state) = state else { continue };
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.is_own {
                let next = state.next + i128::from(of.increment) * i128::from(state.left);
                transaction.define(&with_next(&object, &of, next))?;
                state.is_own = false;
            }
        }
        Ok(())
    }
}

impl Drop for Sequences {
    fn drop(&mut self) {
        let known = std::mem::take(self.known.get_mut().unwrap_or_else(PoisonError::into_inner));
        for state in known.into_values() {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.left > 0 && !state.is_own {
                // What is not stored is left out, as after a crash.
                let _ = self.store(&state.name, &state.of, state.next);
            }
        }
    }
}

fn with_next(object: &Object, of: &Definition, next: i128) -> CatalogEdit {
    let text = Definition { next, ..of.clone() }.to_string();
    CatalogEdit::CreateObject { object: Object { text, ..object.clone() }, replace: true }
}
