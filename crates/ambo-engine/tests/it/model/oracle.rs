//! What the database should hold, and what it may hold after a crash.
//!
//! | rule | |
//! |---|---|
//! | M1 | an acknowledged commit is seen by every later read, until a crash |
//! | M2 | after a crash the logged tables hold the effects of the first *k* commits, in commit order; *k* covers all that were acknowledged as synced, and all before the last completed flush |
//! | M3 | after the death of the process alone *k* covers every acknowledged commit |
//! | M4 | tables without a log hold the effects of the first *j* commits, *j* between the last completed flush and *k*, the same for all of them |
//! | M5 | a commit that failed for another reason than an unknown outcome is in no *k*. One of unknown outcome is the last before a reopening, whole or absent |
//! | M6 | memory tables are empty after opening |

use std::collections::BTreeMap;

use super::plan::{Compression, Keys, Kind};

/// A value by length and hash: states are compared and copied often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    pub len: usize,
    pub hash: u64,
}

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        // FNV-1a over words: fast, and not one that the engine uses.
        let fold = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01B3).rotate_left(23);
        let chunks = bytes.chunks_exact(8);
        let rest =
            chunks.remainder().iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| fold(hash, u64::from(*byte)));
        let hash =
            chunks.fold(rest, |hash, word| fold(hash, u64::from_le_bytes(word.try_into().expect("8 bytes"))));
        Self { len: bytes.len(), hash }
    }
}

pub type Rows = BTreeMap<Vec<u8>, Digest>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Tells a table from others that had its name.
    pub birth: u64,
    pub kind: Kind,
    pub keys: Keys,
    pub compression: Compression,
    /// Its columns and what is said about it, in words.
    pub shape: String,
    pub rows: Rows,
}

/// All tables by name.
pub type State = BTreeMap<String, Table>;

/// One effect of a commit.
#[derive(Clone, Debug)]
pub enum Change {
    Row { table: String, key: Vec<u8>, value: Option<Digest> },
    Create { name: String, table: Table },
    Drop { name: String },
    Rename { from: String, to: String },
    Alter { name: String, compression: Compression },
    Truncate { name: String, birth: u64 },
    Columns { name: String, shape: String },
    Reshape { name: String, kind: Kind, compression: Compression },
}

pub fn apply(state: &mut State, changes: &[Change]) {
    for change in changes {
        match change.clone() {
            Change::Row { table, key, value } => {
                let rows =
                    &mut state.get_mut(&table).expect("the model writes to tables that are there").rows;
                match value {
                    Some(value) => rows.insert(key, value),
                    None => rows.remove(&key),
                };
            }
            Change::Create { name, table } => {
                assert!(state.insert(name, table).is_none());
            }
            Change::Drop { name } => {
                state.remove(&name).expect("it was there");
            }
            Change::Rename { from, to } => {
                let table = state.remove(&from).expect("it was there");
                assert!(state.insert(to, table).is_none());
            }
            Change::Alter { name, compression } => {
                state.get_mut(&name).expect("it was there").compression = compression;
            }
            Change::Columns { name, shape } => {
                state.get_mut(&name).expect("it was there").shape = shape;
            }
            Change::Reshape { name, kind, compression } => {
                let table = state.get_mut(&name).expect("it was there");
                (table.kind, table.compression) = (kind, compression);
            }
            Change::Truncate { name, birth } => {
                let table = state.get_mut(&name).expect("it was there");
                table.birth = birth;
                table.rows.clear();
            }
        }
    }
}

/// What has happened since the last opening, and how much of it is certain.
#[derive(Default)]
pub struct Oracle {
    /// What the opening found.
    base: State,
    /// Commits in their order. Of unknown outcome is at most the last.
    history: Vec<Vec<Change>>,
    /// What reads see.
    pub now: State,
    /// So many commits were acknowledged.
    acknowledged: usize,
    /// So many survive a crash.
    durable: usize,
    /// So many are in a completed flush.
    flushed: usize,
}

/// Why the database has stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Process,
    Power,
}

impl Oracle {
    /// A commit was acknowledged; durable at once if it was `synced`.
    pub fn commit(&mut self, changes: Vec<Change>, synced: bool) {
        assert_eq!(self.acknowledged, self.history.len(), "nothing is committed after an unknown outcome");
        apply(&mut self.now, &changes);
        self.history.push(changes);
        self.acknowledged += 1;
        if synced {
            self.durable = self.acknowledged;
        }
    }

    /// A commit whose outcome the next opening tells.
    pub fn perhaps(&mut self, changes: Vec<Change>) {
        assert_eq!(self.acknowledged, self.history.len(), "only the last outcome is unknown");
        self.history.push(changes);
    }

    /// Everything acknowledged is in a checkpoint.
    pub fn flushed(&mut self) {
        self.flushed = self.acknowledged;
        self.durable = self.acknowledged;
    }

    /// Compares what an opening found with what it may find, and goes on from there.
    pub fn reopened(&mut self, end: End, found: &State) -> Result<(), String> {
        let least = match end {
            End::Process => self.acknowledged,
            End::Power => self.durable,
        };
        let mut states = vec![self.base.clone()];
        for changes in &self.history {
            let mut next = states.last().expect("at least the base").clone();
            apply(&mut next, changes);
            states.push(next);
        }
        for k in (least..states.len()).rev() {
            for j in (self.flushed.min(k)..=k).rev() {
                let state = survives(&states[k], &states[j]);
                if is_same(&state, found) {
                    *self = Self { base: state.clone(), now: state, ..Self::default() };
                    return Ok(());
                }
            }
        }
        let pairs = (least..states.len()).flat_map(|k| (self.flushed.min(k)..=k).map(move |j| (k, j)));
        let differences = pairs
            .map(|(k, j)| (difference(&survives(&states[k], &states[j]), found), k, j))
            .collect::<Vec<_>>();
        let (what, k, j) =
            differences.into_iter().min_by_key(|(what, ..)| what.len()).expect("at least the base");
        Err(format!(
            "after {end:?}: no k in {least}..={} (flushed {}) gives what was found; against the nearest, {k} and {j}: {what}",
            self.history.len(),
            self.flushed,
        ))
    }
}

/// Whether the tables look alike. What was born when, the database does not say.
fn is_same(expected: &State, found: &State) -> bool {
    expected.len() == found.len()
        && expected.iter().zip(found).all(|((name, table), (other_name, other))| {
            let options = |table: &Table| (table.kind, table.keys, table.compression);
            let same = name == other_name && options(table) == options(other);
            same && table.shape == other.shape && table.rows == other.rows
        })
}

/// The logged tables of one state and the others of an earlier one.
fn survives(logged: &State, flushed: &State) -> State {
    let mut out = logged.clone();
    for table in out.values_mut() {
        match table.kind {
            Kind::Logged | Kind::Column => {}
            Kind::Memory => table.rows.clear(),
            Kind::LogOff => {
                let before = flushed.values().find(|before| before.birth == table.birth);
                table.rows = before.map(|before| before.rows.clone()).unwrap_or_default();
            }
        }
    }
    out
}

/// What differs, in words.
pub fn difference(expected: &State, found: &State) -> String {
    let names = |state: &State| state.keys().cloned().collect::<Vec<_>>();
    if names(expected) != names(found) {
        return format!("tables {:?} expected, {:?} found", names(expected), names(found));
    }
    let mut out = String::new();
    for (name, table) in expected {
        let other = &found[name];
        if table.kind != other.kind {
            out += &format!("{name}: {:?} expected, {:?} found; ", table.kind, other.kind);
        }
        if table.compression != other.compression {
            out += &format!("{name}: {:?} expected, {:?} found; ", table.compression, other.compression);
        }
        if table.shape != other.shape {
            out += &format!("{name}: {} expected, {} found; ", table.shape, other.shape);
        }
        out += &rows_difference(name, &table.rows, &other.rows);
    }
    out
}

pub fn rows_difference(name: &str, expected: &Rows, found: &Rows) -> String {
    let show = |key: &[u8]| String::from_utf8_lossy(&key[..key.len().min(12)]).into_owned();
    let mut out = String::new();
    for (key, value) in expected {
        match found.get(key) {
            None => out += &format!("{name}[{}] of {} bytes is missing; ", show(key), value.len),
            Some(other) if other != value => {
                out += &format!(
                    "{name}[{}] has {} bytes expected, other {} found; ",
                    show(key),
                    value.len,
                    other.len
                );
            }
            Some(_) => {}
        }
    }
    for (key, value) in found.iter().filter(|(key, _)| !expected.contains_key(*key)) {
        out += &format!("{name}[{}] of {} bytes should not be there; ", show(key), value.len);
    }
    out
}
