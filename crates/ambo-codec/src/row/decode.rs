//! Row bytes to values: all of them, one, or a projection. The bytes may be hostile.

use super::code::{NULL, ODD, PADDING, PAIR_WIDTH};
use super::{RowSpec, field};
use crate::{Error, Result, Value, ValueRef, varint};

/// The columns of a projection, sorted once so that each row is walked once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Column and place in the output, by column.
    columns: Vec<(usize, usize)>,
}

impl Projection {
    /// The number of values that it yields.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether it yields no values.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}

impl RowSpec {
    /// A projection to these columns, in this order; a column may stand in it more than once.
    pub fn projection(&self, columns: &[usize]) -> Result<Projection> {
        if let Some(wrong) = columns.iter().find(|column| **column >= self.columns.len()) {
            return Err(Error::invalid(format!(
                "a row of {} columns has no column {wrong}",
                self.columns.len()
            )));
        }
        let mut columns: Vec<_> =
            columns.iter().enumerate().map(|(place, column)| (*column, place)).collect();
        columns.sort_unstable();
        Ok(Projection { columns })
    }

    /// How many fields a row stores: more than there are columns if it was written when there were more.
    pub fn stored_count(row: &[u8]) -> Result<usize> {
        Ok(Cursor::open(row)?.count)
    }

    /// Appends the values of all columns to `out`. On an error `out` may hold a part.
    pub fn decode<'a>(&'a self, row: &'a [u8], out: &mut Vec<ValueRef<'a>>) -> Result<()> {
        let mut cursor = Cursor::open(row)?;
        out.reserve(self.columns.len());
        let (stored, missing) = self.columns.split_at(cursor.count.min(self.columns.len()));
        for (index, column) in stored.iter().enumerate() {
            cursor.index = index;
            // The commonest field of a sparse row, and the shortest way.
            if cursor.code() == NULL && column.nullable {
                out.push(ValueRef::Null);
                continue;
            }
            cursor.at = field::read_to(column, cursor.code(), row, cursor.at, |value| {
                out.push(value);
                Ok(())
            })?;
        }
        cursor.index = stored.len();
        cursor.expect_end()?;
        for index in 0..missing.len() {
            out.push(self.missing_value(stored.len() + index, row.len())?);
        }
        Ok(())
    }

    /// The values of all columns, owned.
    pub fn decode_values(&self, row: &[u8]) -> Result<Vec<Value>> {
        self.fields(row)?.map(|value| value.map(ValueRef::to_value)).collect()
    }

    /// The values of all columns, one by one; for loops that keep no array of borrowed values.
    pub fn fields<'a>(&'a self, row: &'a [u8]) -> Result<Fields<'a>> {
        let mut fields = Fields { spec: self, cursor: Cursor::open(row)?, done: false };
        if fields.cursor.count == 0 || self.columns.is_empty() {
            fields.cursor.expect_end()?;
        }
        Ok(fields)
    }

    /// The value of one column. REQUIRES: `column` is one of the spec's.
    pub fn decode_column<'a>(&'a self, row: &'a [u8], column: usize) -> Result<ValueRef<'a>> {
        Cursor::open(row)?.value_of(self, column)
    }

    /// Appends the values of a projection, made by this spec, to `out`, in the projection's order. On an error
    /// `out` may hold a part.
    pub fn decode_projection<'a>(
        &'a self,
        projection: &Projection,
        row: &'a [u8],
        out: &mut Vec<ValueRef<'a>>,
    ) -> Result<()> {
        let mut cursor = Cursor::open(row)?;
        let start = out.len();
        out.resize(start + projection.len(), ValueRef::Null);
        let mut last = None;
        for &(column, place) in &projection.columns {
            let value = match last {
                Some((same, value)) if same == column => value,
                _ => cursor.value_of(self, column)?,
            };
            out[start + place] = value;
            last = Some((column, value));
        }
        Ok(())
    }

    /// Gives the values of a projection, made by this spec, to `put` by their places in it, in the order of the columns. Ends with the
    /// first error, that of `put` too.
    #[inline]
    pub fn visit_projection<'a>(
        &'a self,
        projection: &Projection,
        row: &'a [u8],
        mut put: impl FnMut(usize, ValueRef<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = Cursor::open(row)?;
        // Where the field is that was read last: a column may be asked for again.
        let mut last = (0, 0);
        for &(column, place) in &projection.columns {
            if column >= cursor.count {
                put(place, self.missing_value(column, row.len())?)?;
                continue;
            }
            if column < cursor.index {
                (cursor.index, cursor.at) = last;
            }
            cursor.skip_to(column)?;
            last = (cursor.index, cursor.at);
            let (column, code) = (&self.columns[column], cursor.code());
            cursor.at = field::read_to(column, code, row, cursor.at, |value| put(place, value))?;
            cursor.index += 1;
        }
        Ok(())
    }

    fn missing_value(&self, column: usize, at: usize) -> Result<ValueRef<'_>> {
        self.missing(column).ok_or(Error::malformed(at, "a row without a field that has no default"))
    }
}

/// A place in a row: before field `index`, whose payload begins at `at`.
#[derive(Clone, Debug)]
struct Cursor<'a> {
    row: &'a [u8],
    codes: &'a [u8],
    count: usize,
    index: usize,
    at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn open(row: &'a [u8]) -> Result<Self> {
        let (count, used) = varint::decode(row).ok_or(Error::malformed(0, "the field count of a row"))?;
        // Two codes take a byte.
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count / 2 <= row.len())
            .ok_or(Error::malformed(0, "a row with more fields than it has bytes for"))?;
        let at = used + count.div_ceil(2);
        let codes = row.get(used..at).ok_or(Error::malformed(used, "a row is cut off in its codes"))?;
        if count % 2 == 1 && codes[count / 2] >> 4 != PADDING {
            return Err(Error::malformed(at - 1, "a code behind the last field of a row"));
        }
        Ok(Self { row, codes, count, index: 0, at })
    }

    #[inline]
    fn code(&self) -> u8 {
        self.codes[self.index / 2] >> (4 * (self.index % 2)) & 15
    }

    fn skip_one(&mut self) -> Result<()> {
        self.at = field::skip(self.row, self.at, self.code())?;
        self.index += 1;
        Ok(())
    }

    /// Steps over fields up to `column`, two at a time. REQUIRES: `index` ≤ `column` ≤ `count`.
    #[inline]
    fn skip_to(&mut self, column: usize) -> Result<()> {
        if self.index % 2 == 1 && self.index < column {
            self.skip_one()?;
        }
        while self.index + 2 <= column {
            let width = PAIR_WIDTH[usize::from(self.codes[self.index / 2])];
            if width == ODD {
                self.skip_one()?;
                self.skip_one()?;
            } else {
                self.at += usize::from(width);
                self.index += 2;
            }
        }
        if self.index < column {
            self.skip_one()?;
        }
        Ok(())
    }

    /// The next field. REQUIRES: `index` < `count`.
    #[inline]
    fn next(&mut self, spec: &'a RowSpec) -> Result<ValueRef<'a>> {
        let (value, at) = field::read(&spec.columns[self.index], self.code(), self.row, self.at)?;
        self.at = at;
        self.index += 1;
        Ok(value)
    }

    /// That the row ends with its fields. Those that no column was there for yet are stepped over.
    fn expect_end(&mut self) -> Result<()> {
        self.skip_to(self.count)?;
        if self.at == self.row.len() {
            return Ok(());
        }
        Err(Error::malformed(self.at, "bytes behind the last field of a row"))
    }

    fn value_of(&mut self, spec: &'a RowSpec, column: usize) -> Result<ValueRef<'a>> {
        if column >= self.count {
            return spec.missing_value(column, self.row.len());
        }
        self.skip_to(column)?;
        self.next(spec)
    }
}

/// What a row stores behind its first fields: codes and payloads, as they are.
#[derive(Clone, Debug)]
pub(super) struct Tail<'a> {
    pub codes: Vec<u8>,
    pub payloads: &'a [u8],
}

/// The fields of a row from field `first` on; none if there are none.
pub(super) fn tail(row: &[u8], first: usize) -> Result<Option<Tail<'_>>> {
    let mut cursor = Cursor::open(row)?;
    if cursor.count <= first {
        return Ok(None);
    }
    cursor.skip_to(first)?;
    let start = cursor.at;
    let mut codes = Vec::with_capacity(cursor.count - first);
    while cursor.index < cursor.count {
        codes.push(cursor.code());
        cursor.skip_one()?;
    }
    cursor.expect_end()?;
    let payloads = row.get(start..).ok_or(Error::malformed(start, "a row is cut off"))?;
    Ok(Some(Tail { codes, payloads }))
}

/// The values of a row's columns, in order. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    spec: &'a RowSpec,
    cursor: Cursor<'a>,
    done: bool,
}

impl<'a> Fields<'a> {
    fn step(&mut self) -> Result<ValueRef<'a>> {
        let cursor = &mut self.cursor;
        let column = cursor.index;
        if column >= cursor.count {
            cursor.index += 1;
            return self.spec.missing_value(column, cursor.row.len());
        }
        let value = cursor.next(self.spec)?;
        if cursor.index == cursor.count {
            cursor.expect_end()?;
        } else if cursor.index == self.spec.columns.len() {
            cursor.clone().expect_end()?;
        }
        Ok(value)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<ValueRef<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.done || self.cursor.index >= self.spec.columns.len() {
            return None;
        }
        let value = self.step();
        self.done = value.is_err();
        Some(value)
    }
}
