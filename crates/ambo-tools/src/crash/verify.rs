//! The comparison of a reopened database with the model.

use std::collections::BTreeMap;

use super::plan::{Model, TABLES, counter_key};
use ambo_cli::engine::{OrFail, Store};
use ambo_cli::failure::{Failure, Result};
use ambo_files::text::{escape, shorten};

/// Takes over what an earlier run has left.
pub fn resume(store: &Store, model: &mut Model) -> Result<()> {
    for writer in 0..model.writers() {
        let generation = generation(store, writer)?;
        model.advance(writer, generation);
    }
    compare(store, model)
}

/// Compares after so many crashes since the last comparison; how many commits had not been acknowledged.
pub fn verify(store: &Store, model: &mut Model, crashes: u64) -> Result<u64> {
    let mut unsaid = 0;
    for writer in 0..model.writers() {
        let acknowledged = model.acknowledged(writer);
        let found = generation(store, writer)?;
        if found < acknowledged {
            return Err(Failure::Database(format!(
                "LOST: writer {writer} had transaction {acknowledged} acknowledged, the database ends at {found}"
            )));
        }
        if found > acknowledged + crashes {
            return Err(Failure::Database(format!(
                "IMPOSSIBLE: writer {writer} cannot have committed transaction {found} after {acknowledged}"
            )));
        }
        unsaid += found - acknowledged;
        model.advance(writer, found);
    }
    compare(store, model)?;
    let report = store.db.check().or_fail(&store.dir)?;
    match report.problems.first() {
        Some(problem) => Err(Failure::Database(format!("DAMAGED: {problem}"))),
        None => Ok(unsaid),
    }
}

/// The last generation of a writer that the database holds.
pub fn generation(store: &Store, writer: u32) -> Result<u64> {
    let Some(table) = store.find_table(TABLES[0])? else { return Ok(0) };
    let Some(text) = table.get(&counter_key(writer)).or_fail(&store.dir)?.map(|value| value.to_vec()) else {
        return Ok(0);
    };
    let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
    number
        .ok_or_else(|| Failure::Database(format!("TORN: writer {writer}'s counter reads {}", escape(&text))))
}

/// Every table holds exactly what the model says.
fn compare(store: &Store, model: &Model) -> Result<()> {
    for (number, name) in TABLES.iter().enumerate() {
        let expected = model.pairs(number);
        let found = match store.find_table(name)? {
            Some(table) => table
                .scan(..)
                .or_fail(&store.dir)?
                .map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())))
                .collect::<ambo::Result<BTreeMap<_, _>>>()
                .or_fail(&store.dir)?,
            None => BTreeMap::new(),
        };
        if let Some(difference) = difference(&expected, &found) {
            return Err(Failure::Database(format!("TORN: table {name}, {difference}")));
        }
    }
    Ok(())
}

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn difference(expected: &Pairs, found: &Pairs) -> Option<String> {
    let show = |pairs: &Pairs, key: &Vec<u8>| match pairs.get(key) {
        Some(value) => format!("{} ({} bytes)", shorten(&escape(value), 20), value.len()),
        None => "nothing".into(),
    };
    let keys = expected.keys().chain(found.keys());
    let mut wrong = keys.filter(|key| expected.get(*key) != found.get(*key));
    let key = wrong.next()?;
    Some(format!("key {}: expected {}, found {}", escape(key), show(expected, key), show(found, key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a comparison that overlooks a missing, a changed or a resurrected key.
    #[test]
    fn every_difference_is_seen() {
        let pairs = |list: &[(&str, &str)]| {
            list.iter().map(|(k, v)| (k.as_bytes().to_vec(), v.as_bytes().to_vec())).collect()
        };
        let whole: Pairs = pairs(&[("a", "1"), ("b", "2")]);
        assert_eq!(difference(&whole, &whole), None);
        for other in [
            pairs(&[("a", "1")]),
            pairs(&[("a", "1"), ("b", "3")]),
            pairs(&[("a", "1"), ("b", "2"), ("c", "3")]),
        ] {
            assert!(difference(&whole, &other).is_some());
        }
    }
}
