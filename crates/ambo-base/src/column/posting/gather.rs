//! Gathering the postings of a segment while its rows go by, group by group.

use std::{collections::HashMap, sync::Arc};

use ambo_codec::{Result, Type, ValueRef};
use ambo_scan::buffer::{ColumnBuffer, Values};
use rapidhash::fast::RandomState;
use smallvec::SmallVec;

use super::{
    file::PostingFile,
    keys::{self, IndexSpec, KeyForm},
    writer::{PostingWriter, Whose},
};
use crate::column::segment::SegmentStore;

/// A key with its rows. Those of one index compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key<'a> {
    Number(u64),
    Text(&'a [u8]),
}

/// What was gathered, row by row.
enum Pairs {
    /// Keys of up to 4 bytes: the key above its row.
    Short(Vec<u64>),
    /// Keys of up to 8 bytes.
    Long(Vec<(u64, u32)>),
    /// The number of the key among those that were seen.
    Texts { numbers: HashMap<Box<[u8]>, u32, RandomState>, pairs: Vec<(u32, u32)> },
}

/// Gathers the postings of one index over one segment.
pub(in crate::column) struct Gatherer {
    spec: IndexSpec,
    form: KeyForm,
    columns: u32,
    pairs: Pairs,
    rows: u32,
}

impl Gatherer {
    /// Nothing yet, of segments with columns of these types.
    pub(in crate::column) fn new(spec: &IndexSpec, types: &[Type]) -> Self {
        let form = spec.form(types);
        let pairs = match form.width() {
            0 => Pairs::Texts { numbers: HashMap::default(), pairs: Vec::new() },
            1..=4 => Pairs::Short(Vec::new()),
            _ => Pairs::Long(Vec::new()),
        };
        Self { columns: spec.fingerprint(types), spec: spec.clone(), form, pairs, rows: 0 }
    }

    /// The stored columns that it asks for.
    pub(in crate::column) fn columns(&self) -> &[usize] {
        &self.spec.columns
    }

    /// Takes the rows behind those before: their values in the columns of the index, in its order.
    pub(in crate::column) fn push(&mut self, columns: &[&ColumnBuffer]) -> Result<()> {
        let rows = columns[0].len();
        for row in 0..rows {
            let at = self.rows + row as u32;
            match &self.form {
                KeyForm::Tuple(spec) => {
                    let values: SmallVec<[ValueRef<'_>; 4]> =
                        columns.iter().map(|column| column.get(row)).collect::<Result<_>>()?;
                    let mut key = Vec::new();
                    spec.encode(&values, &mut key)?;
                    self.pairs.push_text(&key, at);
                }
                form => {
                    for (nth, column) in columns.iter().enumerate() {
                        // Under each of its different values once.
                        let is_new = || {
                            columns[..nth].iter().try_fold(true, |new, before| {
                                Ok::<_, ambo_codec::Error>(new && before.get(row)? != column.get(row)?)
                            })
                        };
                        if column.is_valid(row) && (nth == 0 || is_new()?) {
                            self.pairs.push_value(form, column, row, at)?;
                        }
                    }
                }
            }
        }
        self.rows += rows as u32;
        Ok(())
    }

    /// Calls `each` with the keys in their order and the rows of each.
    pub(super) fn finish(self, mut each: impl FnMut(Key<'_>, &[u32])) {
        let mut rows = Vec::new();
        match self.pairs {
            Pairs::Short(mut pairs) => {
                sort(&mut pairs, |pair| pair >> 32);
                for run in pairs.chunk_by(|a, b| a >> 32 == b >> 32) {
                    rows.clear();
                    rows.extend(run.iter().map(|pair| *pair as u32));
                    each(Key::Number(run[0] >> 32), &rows);
                }
            }
            Pairs::Long(mut pairs) => {
                sort(&mut pairs, |pair| pair.0);
                for run in pairs.chunk_by(|a, b| a.0 == b.0) {
                    rows.clear();
                    rows.extend(run.iter().map(|pair| pair.1));
                    each(Key::Number(run[0].0), &rows);
                }
            }
            Pairs::Texts { numbers, mut pairs } => {
                let mut texts: Vec<_> = numbers.into_iter().collect();
                texts.sort_unstable();
                let mut ranks = vec![0u32; texts.len()];
                for (rank, (_, number)) in texts.iter().enumerate() {
                    ranks[*number as usize] = rank as u32;
                }
                pairs.iter_mut().for_each(|pair| pair.0 = ranks[pair.0 as usize]);
                sort(&mut pairs, |pair| pair.0.into());
                for run in pairs.chunk_by(|a, b| a.0 == b.0) {
                    rows.clear();
                    rows.extend(run.iter().map(|pair| pair.1));
                    each(Key::Text(&texts[run[0].0 as usize].0), &rows);
                }
            }
        }
    }

    /// Whose the file is that is made of it.
    fn whose(&self, segment: u64) -> Whose {
        let width = self.form.width();
        Whose { segment, index: self.spec.id.0, rows: self.rows, columns: self.columns, width }
    }

    /// A writer with all of it.
    pub(super) fn writer(self, segment: u64) -> PostingWriter {
        let mut writer = PostingWriter::new(self.whose(segment));
        self.finish(|key, rows| match key {
            Key::Number(number) => writer.push_number(number, rows),
            Key::Text(text) => writer.push_text(text, rows),
        });
        writer
    }

    /// Writes and syncs the file beside a segment, which has these rows. The directory is still to be synced.
    pub(in crate::column) fn write(
        self,
        store: &Arc<SegmentStore>,
        segment: u64,
    ) -> ambo_types::Result<Arc<PostingFile>> {
        self.writer(segment).write(store)
    }
}

impl Pairs {
    fn push_text(&mut self, key: &[u8], row: u32) {
        let Self::Texts { numbers, pairs } = self else { unreachable!("keys of several columns are texts") };
        let number = match numbers.get(key) {
            Some(number) => *number,
            None => {
                let next = numbers.len() as u32;
                numbers.insert(key.into(), next);
                next
            }
        };
        pairs.push((number, row));
    }

    fn push_value(&mut self, form: &KeyForm, column: &ColumnBuffer, index: usize, row: u32) -> Result<()> {
        match self {
            Self::Short(pairs) => pairs.push(number(form, column, index)? << 32 | u64::from(row)),
            Self::Long(pairs) => pairs.push((number(form, column, index)?, row)),
            Self::Texts { .. } => match column.get(index)? {
                ValueRef::Utf8(text) => self.push_text(text.as_bytes(), row),
                ValueRef::Binary(bytes) => self.push_text(bytes, row),
                value => {
                    let key = form.key(value).ok_or_else(|| none(value))?;
                    self.push_text(&key, row);
                }
            },
        }
        Ok(())
    }
}

fn none(value: ValueRef<'_>) -> ambo_codec::Error {
    ambo_codec::Error::invalid(format!("{value:?} is no value of the column of an index"))
}

/// The key of a value as a number.
fn number(form: &KeyForm, column: &ColumnBuffer, row: usize) -> Result<u64> {
    Ok(match column.values() {
        Values::U8(values) => values[row].into(),
        Values::U16(values) => values[row].into(),
        Values::U32(values) => values[row].into(),
        Values::U64(values) => values[row],
        Values::I8(values) => (values[row].cast_unsigned() ^ 1 << 7).into(),
        Values::I16(values) => (values[row].cast_unsigned() ^ 1 << 15).into(),
        Values::I32(values) => (values[row].cast_unsigned() ^ 1 << 31).into(),
        Values::I64(values) => values[row].cast_unsigned() ^ 1 << 63,
        _ => {
            let value = column.get(row)?;
            keys::number(&form.key(value).ok_or_else(|| none(value))?)
        }
    })
}

/// Sorts by keys, digit by digit from the lowest; what has the same key stays as it was.
fn sort<T: Copy>(pairs: &mut Vec<T>, key: impl Fn(&T) -> u64) {
    let Some(first) = pairs.first().map(&key) else { return };
    // Bits in which keys differ.
    let differ = pairs.iter().fold(0, |bits, pair| bits | (key(pair) ^ first));
    let mut other = pairs.clone();
    for digit in (0..8).filter(|digit| differ >> (8 * digit) & 0xFF != 0) {
        let digit_of = |pair: &T| (key(pair) >> (8 * digit)) as u8 as usize;
        let mut starts = [0usize; 256];
        pairs.iter().for_each(|pair| starts[digit_of(pair)] += 1);
        let mut start = 0;
        for place in &mut starts {
            start += std::mem::replace(place, start);
        }
        for pair in &*pairs {
            let place = &mut starts[digit_of(pair)];
            other[*place] = *pair;
            *place += 1;
        }
        std::mem::swap(pairs, &mut other);
    }
    debug_assert!(pairs.is_sorted_by_key(key), "digits were sorted");
}
