//! Ingestion: rows that go past the log and the memtables, with checkpoints that say how far their source has come.

use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use ambo_engine::catalog::{Object, ObjectKind};

use crate::{ColumnBuffer, Database, Error, Load, LoadOptions, LoadWriter, Result, Table};

/// The longest token.
const TOKEN_BYTES_MAX: usize = 64 << 10;

/// A source of rows of a table that is stored by column, best of storage `append`: any number of threads bring rows, which become extents
/// (or segments) at once, and nothing of them is seen until a checkpoint. A checkpoint publishes all that was pushed before it as one
/// commit, and with it a *token* of the caller's: how far the source has come. After a crash both are there or neither, so a source that
/// goes on where its last token says brings each row exactly once.
///
/// ```
/// use ambo::{ColumnBuffer, LoadOptions, Storage, TableDefinition, Type};
/// let db = ambo::Database::in_memory()?;
/// let points = TableDefinition::new("points").column("x", Type::I64).storage(Storage::Append);
/// let points = db.create_table(points)?;
///
/// let ingest = points.ingest("sensor", LoadOptions::default())?;
/// assert_eq!(ingest.token(), None);
/// let mut writer = ingest.writer();
/// let mut x = ColumnBuffer::new(Type::I64);
/// (0..1000i64).try_for_each(|n| x.push(n.into()))?;
/// writer.push(vec![x])?;
/// assert_eq!(points.len()?, 0);
/// assert_eq!(ingest.checkpoint(b"offset 1000")?.rows, 1000);
/// assert_eq!(points.len()?, 1000);
/// assert_eq!(db.ingest_token("sensor")?, Some(b"offset 1000".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ingest {
    shared: Arc<Shared>,
}

/// Takes the rows of one thread of an [`Ingest`], over any number of checkpoints.
pub struct IngestWriter {
    shared: Arc<Shared>,
    slot: Arc<Slot>,
}

/// The writer of a thread since the last checkpoint, if it has pushed anything.
type Slot = Mutex<Option<LoadWriter>>;

struct Shared {
    table: Table,
    name: String,
    options: LoadOptions,
    /// Shared by whoever pushes, held by a checkpoint.
    state: RwLock<State>,
    slots: Mutex<Vec<Arc<Slot>>>,
}

struct State {
    /// What was pushed since the last checkpoint; none after one that failed.
    load: Option<Load>,
    token: Option<Vec<u8>>,
}

/// What a checkpoint published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ingested {
    /// Rows that are there now.
    pub rows: u64,
}

impl Table {
    /// Begins, or goes on with, the ingestion of a source of this name: `name`, or `schema.name`. Rows that were pushed and not published
    /// by a checkpoint before are not there. There is to be one ingest of a name at a time.
    ///
    /// # Errors
    /// As [`Table::load`].
    pub fn ingest(&self, name: &str, options: LoadOptions) -> Result<Ingest> {
        let name = crate::qualify(name)?;
        let token = self.database().ingest_token(&name)?;
        let load = Some(self.load(options.clone())?);
        let state = RwLock::new(State { load, token });
        let shared = Shared { table: self.clone(), name, options, state, slots: Mutex::default() };
        Ok(Ingest { shared: Arc::new(shared) })
    }
}

impl Database {
    /// What the last checkpoint of an ingest of this name said; none if there was none.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is none.
    pub fn ingest_token(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let current = self.engine().current();
        match current.catalog.find_object(ObjectKind::Feed, name) {
            Ok(feed) => bytes(&feed.text).map(Some),
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Ingest {
    /// What the last checkpoint said, this one's or one before it: where the source is to go on. None if there was none.
    pub fn token(&self) -> Option<Vec<u8>> {
        self.shared.state.read().token.clone()
    }

    /// A writer, for one thread. Rows of a writer keep their order; those of several come in any.
    pub fn writer(&self) -> IngestWriter {
        let slot = Arc::new(Slot::default());
        self.shared.slots.lock().push(slot.clone());
        IngestWriter { shared: self.shared.clone(), slot }
    }

    /// Publishes all that was pushed before, as one commit that is durable, and `token` in the same moment: both, or neither. Whoever
    /// pushes meanwhile waits.
    ///
    /// # Errors
    /// As [`Load::finish`], and [`Error::Invalid`] for a token that is too long. After an error of the load nothing of what was pushed
    /// since the last checkpoint is there, and the ingest is of no use: begin another, which says where to go on.
    pub fn checkpoint(&self, token: &[u8]) -> Result<Ingested> {
        if token.len() > TOKEN_BYTES_MAX {
            let len = token.len();
            return Err(Error::Invalid(format!("a token of {len} bytes; {TOKEN_BYTES_MAX} are possible")));
        }
        let shared = &self.shared;
        let mut state = shared.state.write();
        let load = state.load.take().ok_or_else(|| shared.broken())?;
        let mut slots = shared.slots.lock();
        // Writers that are gone have no other owner.
        slots.iter().filter_map(|slot| slot.lock().take()).try_for_each(LoadWriter::finish)?;
        slots.retain(|slot| Arc::strong_count(slot) > 1);
        drop(slots);
        let told =
            Object { kind: ObjectKind::Feed, name: shared.name.clone(), text: digits(token), comment: None };
        let rows = load.finish_telling(told)?.rows;
        state.token = Some(token.to_vec());
        state.load = Some(shared.table.load(shared.options.clone())?);
        Ok(Ingested { rows })
    }
}

impl Shared {
    fn broken(&self) -> Error {
        Error::Invalid(format!(
            "a checkpoint of the ingest \"{}\" failed; begin another, which says where the source is to go on",
            self.name
        ))
    }
}

impl IngestWriter {
    /// Takes rows: a buffer for each column of the table, in its order.
    ///
    /// # Errors
    /// As [`LoadWriter::push`]. The next checkpoint fails then, too: none of the rows since the last one can be told apart.
    pub fn push(&mut self, columns: Vec<ColumnBuffer>) -> Result<()> {
        self.with_writer(|writer| writer.push(columns))
    }

    /// Takes the rows of an Arrow batch, whose columns have the names of the table's.
    ///
    /// # Errors
    /// As [`IngestWriter::push`].
    #[cfg(feature = "arrow")]
    pub fn push_batch(&mut self, batch: &arrow_array::RecordBatch) -> Result<()> {
        self.with_writer(|writer| writer.push_batch(batch))
    }

    pub(crate) fn with_writer(&mut self, push: impl FnOnce(&mut LoadWriter) -> Result<()>) -> Result<()> {
        let state = self.shared.state.read();
        let load = state.load.as_ref().ok_or_else(|| self.shared.broken())?;
        let mut slot = self.slot.lock();
        push(slot.get_or_insert_with(|| load.writer()))
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(digits: &str) -> Result<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok().filter(|_| pair.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    });
    pairs.collect::<Option<_>>().ok_or_else(|| Error::Invalid("the token of an ingest is not one".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Storage, TableDefinition, Type};

    fn numbers(range: std::ops::Range<i64>) -> Vec<ColumnBuffer> {
        let mut column = ColumnBuffer::new(Type::I64);
        range.for_each(|n| column.push(n.into()).unwrap());
        vec![column]
    }

    // Keeps away: rows without their token or a token without its rows, rows that are seen before a checkpoint, and rows that an ingest
    // that was left alone leaves behind.
    #[test]
    fn rows_and_their_token_are_there_together() {
        let path = tempfile::tempdir().unwrap();
        let path = path.path().join("db");
        let table = TableDefinition::new("t").column("x", Type::I64).storage(Storage::Append);
        {
            let db = Options::new().open(&path).unwrap();
            let t = db.create_table(table).unwrap();
            let ingest = t.ingest("feed", LoadOptions::default()).unwrap();
            let mut writers = [ingest.writer(), ingest.writer()];
            std::thread::scope(|scope| {
                for (place, writer) in (0..).zip(&mut writers) {
                    scope.spawn(move || {
                        for part in 0..10 {
                            let first = place * 100_000 + part * 1000;
                            writer.push(numbers(first..first + 1000)).unwrap();
                        }
                    });
                }
            });
            assert_eq!((t.len().unwrap(), db.ingest_token("feed").unwrap()), (0, None));
            assert_eq!(ingest.checkpoint(b"one").unwrap(), Ingested { rows: 20_000 });
            writers[0].push(numbers(0..5)).unwrap();
            assert_eq!(ingest.checkpoint(b"two").unwrap().rows, 5);
            assert_eq!(ingest.checkpoint(b"three, without rows").unwrap().rows, 0);
            assert_eq!(ingest.token().unwrap(), b"three, without rows");
            writers[1].push(numbers(0..7)).unwrap();
            assert_eq!(t.len().unwrap(), 20_005);
            assert!(ingest.checkpoint(&[0; TOKEN_BYTES_MAX + 1]).is_err());
        }
        let db = Options::new().open(&path).unwrap();
        let t = db.table("t").unwrap();
        assert_eq!(t.len().unwrap(), 20_005);
        let ingest = t.ingest("main.feed", LoadOptions::default()).unwrap();
        assert_eq!(ingest.token().unwrap(), b"three, without rows");
        assert_eq!(db.ingest_token("another").unwrap(), None);
        // A push that fails takes with it what came since the last checkpoint.
        let mut writer = ingest.writer();
        writer.push(numbers(0..3)).unwrap();
        let mut wrong = numbers(0..3);
        wrong.push(ColumnBuffer::new(Type::I64));
        assert!(writer.push(wrong).is_err());
        assert!(ingest.checkpoint(b"four").is_err());
        assert!(writer.push(numbers(0..3)).unwrap_err().to_string().contains("begin another"));
        assert!(ingest.checkpoint(b"four").unwrap_err().to_string().contains("begin another"));
        assert_eq!(t.len().unwrap(), 20_005);
        let ingest = t.ingest("feed", LoadOptions::default()).unwrap();
        assert_eq!(ingest.token().unwrap(), b"three, without rows");
        ingest.writer().push(numbers(0..3)).unwrap();
        assert_eq!(ingest.checkpoint(b"four").unwrap().rows, 3);
        assert_eq!(t.len().unwrap(), 20_008);
        assert!(db.check().unwrap().is_sound());
    }
}
