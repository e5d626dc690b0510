//! Keys and values in the database: changes that depend on what is there.

use ambo::{Database, Read, Table, Transaction};
use ambo_sql::Connection;
use ring::digest::{SHA256, digest};

use super::record::{Change, Condition};
use crate::http::problem::Problem;

/// How often changes are tried that others are in the way of.
const ATTEMPTS: u32 = 64;

/// The tag of a value: the same for the same bytes, whoever asks.
pub(crate) fn etag(value: &[u8]) -> String {
    let hash = digest(&SHA256, value);
    let hex: String = hash.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

/// Whether a list of tags has one, or is `*`.
pub(super) fn names(tags: &str, tag: &str) -> bool {
    tags.split(',').map(str::trim).any(|known| known == "*" || known == tag)
}

/// The value of a key in the open transaction of a connection.
pub(super) fn read(
    connection: &mut Connection,
    table: &Table,
    key: &[u8],
) -> Result<Option<Vec<u8>>, Problem> {
    let value = match connection.read_only_view() {
        Some(view) => view.get(table, key)?,
        None => match connection.transaction() {
            Some(transaction) => transaction.get(table, key)?,
            None => table.get(key)?,
        },
    };
    Ok(value.map(|value| value.to_vec()))
}

/// Makes changes in the open transaction of a connection, all or none.
pub(super) fn write_in(
    connection: &mut Connection,
    table: &Table,
    changes: &[Change],
) -> Result<Vec<bool>, Problem> {
    let transaction = connection
        .transaction()
        .ok_or_else(|| Problem::request("the transaction of the session only reads"))?;
    let before = transaction.savepoint();
    let done = apply(transaction, table, changes);
    if done.is_err() {
        transaction.rollback_to(before)?;
    }
    done
}

/// Makes changes as a transaction of their own. What depends on nothing needs no second look.
pub(super) fn write(db: &Database, table: &Table, changes: &[Change]) -> Result<Vec<bool>, Problem> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let mut transaction = db.begin()?;
        let done = apply(&mut transaction, table, changes)
            .and_then(|there| transaction.commit().map(|()| there).map_err(Problem::from));
        match done {
            Err(problem) if problem.retryable && attempts < ATTEMPTS => {}
            done => return done,
        }
    }
}

fn apply(transaction: &mut Transaction, table: &Table, changes: &[Change]) -> Result<Vec<bool>, Problem> {
    let mut there = Vec::with_capacity(changes.len());
    for (nth, change) in changes.iter().enumerate() {
        let now = transaction.get(table, &change.key)?;
        there.push(now.is_some());
        // Only computed where somebody asks for it.
        let tag = || now.as_ref().map(|value| etag(value));
        let holds = match &change.condition {
            Condition::None => true,
            Condition::Match(tags) => tag().is_some_and(|tag| names(tags, &tag)),
            Condition::NoneMatch(tags) => !tag().is_some_and(|tag| names(tags, &tag)),
        };
        if !holds {
            let detail = match tag() {
                Some(tag) => format!("the value is another, of the tag {tag}"),
                None => "there is no such key".to_owned(),
            };
            let problem = Problem::precondition(detail);
            return Err(if changes.len() > 1 {
                Problem { statement: Some(nth), ..problem }
            } else {
                problem
            });
        }
        match &change.value {
            Some(value) => transaction.put(table, &change.key, value)?,
            None => transaction.delete(table, &change.key)?,
        }
    }
    Ok(there)
}
