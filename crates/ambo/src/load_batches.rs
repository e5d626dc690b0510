//! Loads of all batches of one reader, in several threads.

use std::{
    fmt::Display,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_schema::DataType;

use crate::{Error, Load, LoadOptions, LoadWriter, Loaded, Result, Table};

/// Rows that one thread takes at a time: those of a segment.
const TURN_ROWS: usize = 1 << 20;

impl Table {
    /// Loads all batches of a reader. It is read by one thread at a time, a segment's worth; meanwhile others sort, encode and
    /// write what they have read.
    ///
    /// ```
    /// # #[cfg(feature = "arrow")] {
    /// use std::sync::Arc;
    /// use ambo::{LoadOptions, Storage, arrow};
    /// use arrow_array::{Int64Array, RecordBatch, StringArray};
    /// use arrow_schema::ArrowError;
    ///
    /// let ids = Arc::new(Int64Array::from(vec![3, 1, 2]));
    /// let names = Arc::new(StringArray::from(vec![Some("c"), Some("a"), None]));
    /// let batch = RecordBatch::try_from_iter([("id", ids as _), ("name", names as _)])?;
    ///
    /// let db = ambo::Database::in_memory()?;
    /// let definition = arrow::definition("people", batch.schema_ref(), &["id"])?;
    /// let people = db.create_table(definition.storage(Storage::Column))?;
    /// let loaded = people.load_batches([Ok::<_, ArrowError>(batch)].into_iter(), LoadOptions::default())?;
    /// assert_eq!(loaded.rows, 3);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Load::finish`] and [`LoadWriter::push_batch`]; an error of the reader is [`Error::Invalid`].
    pub fn load_batches<E: Display>(
        &self,
        batches: impl Iterator<Item = Result<RecordBatch, E>> + Send,
        options: LoadOptions,
    ) -> Result<Loaded> {
        let (threads, memory) = (options.threads, options.memory_bytes);
        self.load(options)?.take(batches, threads, memory, LoadWriter::push_batch_numbered)
    }
}

impl Load {
    /// Takes all batches of a reader with `push`, which is told the number of the first row of each, and finishes.
    pub(crate) fn take<E: Display>(
        self,
        batches: impl Iterator<Item = Result<RecordBatch, E>> + Send,
        threads: usize,
        memory_bytes: u64,
        push: impl Fn(&mut LoadWriter, &RecordBatch, u64) -> Result<()> + Sync,
    ) -> Result<Loaded> {
        let threads = threads.max(1);
        let turn_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX) / (4 * threads);
        let reader = Mutex::new(Reader { batches, rows: 0, turn_bytes });
        let has_failed = AtomicBool::new(false);
        let work = || -> Result<()> {
            while !has_failed.load(Ordering::Relaxed) {
                let turn = reader.lock().unwrap_or_else(PoisonError::into_inner).take(&self);
                let stored = turn.and_then(|(batches, writer)| match batches.is_empty() {
                    true => writer.finish().map(|()| false),
                    false => store(batches, writer, &push).map(|()| true),
                });
                match stored {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(error) => {
                        has_failed.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                }
            }
            Ok(())
        };
        let worked = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let joined = others
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            joined.fold(own, Result::and)
        });
        worked?;
        self.finish()
    }
}

fn store(
    batches: Vec<(u64, RecordBatch)>,
    mut writer: LoadWriter,
    push: impl Fn(&mut LoadWriter, &RecordBatch, u64) -> Result<()>,
) -> Result<()> {
    for (first, batch) in batches {
        push(&mut writer, &batch, first)?;
    }
    writer.finish()
}

/// Bytes of the rows of an array itself. Its buffers may hold those of many others: batches are often parts of one, or of one message.
fn bytes_of(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Dictionary(..) => bytes_of(array.as_any_dictionary().keys()),
        DataType::Utf8View => {
            size_of::<u128>() * array.len() + array.as_string_view().total_buffer_bytes_used()
        }
        DataType::BinaryView => {
            size_of::<u128>() * array.len() + array.as_binary_view().total_buffer_bytes_used()
        }
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

struct Reader<I> {
    batches: I,
    /// Rows so far.
    rows: u64,
    turn_bytes: usize,
}

impl<I: Iterator<Item = Result<RecordBatch, E>>, E: Display> Reader<I> {
    /// The next batches, each with the number of its first row, and a writer that stands behind those before.
    fn take(&mut self, load: &Load) -> Result<(Vec<(u64, RecordBatch)>, LoadWriter)> {
        let writer = load.writer();
        let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
        while rows < TURN_ROWS && bytes < self.turn_bytes.max(1) {
            let Some(batch) = self.batches.next() else { break };
            let batch = batch.map_err(|error| {
                Error::Invalid(format!("reading the batch behind row {}: {error}", self.rows))
            })?;
            rows += batch.num_rows();
            bytes += batch.columns().iter().map(|column| bytes_of(column)).sum::<usize>();
            let first = self.rows + 1;
            self.rows += batch.num_rows() as u64;
            batches.push((first, batch));
        }
        Ok((batches, writer))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, DictionaryArray, Int64Array, StringArray, StringViewArray, types::Int32Type,
    };

    use super::*;
    use crate::{Database, Storage, TableDefinition, Type};

    // Keeps away: a part of a large batch that counts as all of it.
    #[test]
    fn parts_count_their_own_bytes() {
        let long = "more than the twelve bytes of a view";
        let texts: Vec<_> = (0..1000).map(|n| format!("{long} {n:04}")).collect();
        let arrays: [(ArrayRef, std::ops::Range<usize>); 4] = [
            (Arc::new(Int64Array::from_iter_values(0..1000)), 80..90),
            (Arc::new(StringArray::from_iter_values(&texts)), 450..460),
            (Arc::new(StringViewArray::from_iter_values(&texts)), 560..580),
            (
                Arc::new(
                    texts.iter().map(|text| Some(text.as_str())).collect::<DictionaryArray<Int32Type>>(),
                ),
                40..50,
            ),
        ];
        for (array, expected) in arrays {
            let part = array.slice(500, 10);
            let bytes = bytes_of(&part);
            assert!(expected.contains(&bytes), "{}: {bytes} bytes", array.data_type());
            assert!(bytes_of(&array) > 50 * bytes, "{}", array.data_type());
        }
    }

    // Keeps away: a segment for each part of a large batch.
    #[test]
    fn parts_of_one_batch_become_one_segment() {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..100_000));
        let whole = RecordBatch::try_from_iter([("id", ids)]).unwrap();
        let parts: Vec<_> = (0..100_000).step_by(1000).map(|at| whole.slice(at, 1000)).collect();
        let db = Database::in_memory().unwrap();
        let table = TableDefinition::new("t").column("id", Type::I64).primary_key(&["id"]);
        let table = db.create_table(table.storage(Storage::Column)).unwrap();
        let options = LoadOptions { memory_bytes: 4 << 20, threads: 1, ..LoadOptions::default() };
        let load = table.load(options).unwrap();
        let mut reader =
            Reader { batches: parts.into_iter().map(Ok::<_, Error>), rows: 0, turn_bytes: 1 << 20 };
        let (batches, writer) = reader.take(&load).unwrap();
        assert_eq!(batches.len(), 100);
        store(batches, writer, LoadWriter::push_batch_numbered).unwrap();
        assert_eq!(load.finish().unwrap().rows, 100_000);
        assert!(db.check().unwrap().is_sound());
    }
}
