//! Foreign keys: rows that refer to rows of another table, or of the same.
//!
//! A foreign key is kept with the checks of the table that refers, as its text; and a check of the table that is referred to says by whom
//! ([`Referrer`]). So whoever writes rows without SQL is refused, as of every check that only SQL can evaluate.
//!
//! 1. When a statement has done its work, the rows that it has changed are looked at, whatever it was that changed them: what is to be done
//!    about rows that refer to what is gone is done (`actions`), and then every new row has to refer to one that is there, and nothing to
//!    one that is gone (`verify`). What is deferred is looked at when the transaction commits.
//! 2. The row that is referred to is locked to the end of the transaction, and the table whose rows may refer to what is gone is held: of
//!    two transactions of which one refers to what the other deletes, one waits, and has a conflict.
//! 3. A NULL among its columns refers to nothing.
//!
//! | file | what |
//! |---|---|
//! | `definition` | the text of a foreign key, and what can be one |
//! | `actions` | CASCADE, SET NULL, SET DEFAULT |
//! | `verify` | whether all that is referred to is there |

mod actions;
mod definition;
mod verify;

use std::sync::{Mutex, PoisonError};

use ambo::{Datum, Definitions, Row, Savepoint, SchemaStamp, TableDefinition};

use crate::{Result, connection::Work, engine::SqlEngine};

pub(crate) use definition::{ForeignKey, Referrer, is_kept_text};
pub(crate) use verify::problem;

/// Whether a database has foreign keys, as it was when somebody last asked.
#[derive(Default)]
pub(crate) struct AreThere(Mutex<Option<(SchemaStamp, bool)>>);

impl AreThere {
    /// Whether there are any, for a transaction that has changed no definitions.
    pub(crate) fn ask(&self, db: &ambo::Database) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((stamp, are_there)) = &*known
            && stamp.is_current(db)
        {
            return *are_there;
        }
        let stamp = db.schema_stamp();
        let are_there = has_any(&db.definitions(db));
        *known = Some((stamp, are_there));
        are_there
    }
}

fn has_any(definitions: &Definitions<'_>) -> bool {
    let has = |name: &String| definitions.table(name).is_ok_and(|table| has_references(table.definition()));
    definitions.tables().iter().any(has)
}

/// Whether rows of a table refer to others, or are referred to.
pub(crate) fn has_references(table: &TableDefinition) -> bool {
    table.checks.iter().any(|check| is_kept_text(&check.expression))
}

/// A row that has another key than before, which two keys that were written do not tell.
pub(crate) struct Moved {
    table: String,
    before: Row,
    after: Row,
}

/// Notes that a row of a table was changed, if that is of interest.
pub(crate) fn note_change(
    moved: &mut Vec<Moved>,
    table: &TableDefinition,
    before: &[Datum],
    after: &[Datum],
) {
    if has_references(table) && table.key.iter().any(|place| before[*place] != after[*place]) {
        let (before, after) = (before.to_vec(), after.to_vec());
        moved.push(Moved { table: table.name.clone(), before, after });
    }
}

/// Whether statements of a transaction are to be looked at.
pub(crate) fn are_watched(engine: &SqlEngine, transaction: &ambo::Transaction) -> bool {
    engine.foreign_keys.ask(&engine.db) || transaction.has_own_definitions()
}

/// Holds what a statement has written since a moment to the foreign keys.
///
/// # Errors
/// [`crate::ErrorKind::Constraint`] with the row and the key.
pub(crate) fn hold_to(work: &mut Work<'_>, since: Savepoint) -> Result<()> {
    if !has_any(&work.definitions()) {
        return Ok(());
    }
    // What is done about rows is part of the statement, whatever their number.
    let is_auto = std::mem::replace(&mut work.is_auto, false);
    let held = actions::act(work, since).and_then(|()| verify::all(work, since, is_auto));
    work.is_auto = is_auto;
    held
}

/// Holds a transaction to what is deferred to its end.
///
/// # Errors
/// As [`hold_to`].
pub(crate) fn at_commit(work: &mut Work<'_>) -> Result<()> {
    verify::deferred(work)
}

/// Holds all rows of a table to a foreign key that it is to have.
///
/// # Errors
/// As [`hold_to`].
pub(crate) fn verify_all_rows(work: &Work<'_>, key: &ForeignKey) -> Result<()> {
    verify::whole(work, key)
}
