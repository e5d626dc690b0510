//! Some columns of rows as they are stored, of those rows that answer all filters: from the bytes of key and record into buffers, with
//! nothing between.

use ambo_codec::{
    KeySpec, Projection, RowSpec,
    column::{Kind, ValueTest},
};
use ambo_types::{Error, Result};

use super::schema::ColumnSchema;
use ambo_scan::{Filter, buffer::ColumnBuffer};

/// See the module.
#[derive(Clone, Debug)]
pub struct RowReader {
    keys: KeySpec,
    rows: RowSpec,
    /// Whether a record is the one value column as it is.
    is_raw: bool,
    of_key: PartsAsked<Vec<usize>>,
    of_row: PartsAsked<Projection>,
    scratch: Vec<u8>,
}

/// What is wanted of the key, or of the record.
#[derive(Clone, Debug)]
struct PartsAsked<P> {
    /// The columns of the tests.
    tested: P,
    tests: Vec<ValueTest>,
    /// The columns to hand out.
    taken: P,
    /// Their buffers.
    places: Vec<usize>,
}

impl<P> PartsAsked<P> {
    fn is_nothing(&self) -> bool {
        self.tests.is_empty() && self.places.is_empty()
    }
}

impl RowReader {
    /// A reader of these stored columns; all filters are of stored columns, too.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a constant that cannot be compared with its column.
    pub fn new(schema: &ColumnSchema, columns: &[usize], filters: &[Filter]) -> Result<Self> {
        let invalid = |error: ambo_codec::Error| Error::Invalid(error.to_string());
        let keys = schema.key_columns();
        let mut tests = Vec::with_capacity(filters.len());
        for Filter { column, test } in filters {
            let kind = Kind::of(schema.types()[*column]);
            let test = test.with(|predicate| ValueTest::new(*predicate, kind)).map_err(invalid)?;
            tests.push((*column, test));
        }
        let taken: Vec<_> = columns.iter().copied().zip(0..).collect();
        let (key_tests, row_tests) = parted(tests, keys);
        let (key_taken, row_taken) = parted(taken, keys);
        let projection = |columns: &[usize]| match schema.is_raw() {
            // The one column stands for the record.
            true => RowSpec::new(Vec::new()).and_then(|rows| rows.projection(&[])),
            false => schema.rows().projection(columns),
        };
        Ok(Self {
            keys: schema.keys().clone(),
            rows: schema.rows().clone(),
            is_raw: schema.is_raw(),
            of_row: PartsAsked {
                tested: projection(&row_tests.0).map_err(invalid)?,
                tests: row_tests.1,
                taken: projection(&row_taken.0).map_err(invalid)?,
                places: row_taken.1,
            },
            of_key: PartsAsked {
                tested: key_tests.0,
                tests: key_tests.1,
                taken: key_taken.0,
                places: key_taken.1,
            },
            scratch: Vec::new(),
        })
    }

    /// Whether it looks at keys.
    pub fn needs_keys(&self) -> bool {
        !self.of_key.is_nothing()
    }

    /// Whether it looks at records.
    pub fn needs_records(&self) -> bool {
        !self.of_row.is_nothing()
    }

    /// Appends the columns of a row to `buffers`, one for each column that was asked for, unless it answers a filter with no. Returns
    /// whether it did. A key or a record that it does not need may be empty.
    ///
    /// # Errors
    /// Bytes that no encoder wrote. Some buffers may have the row then, and others not.
    #[inline]
    pub fn read(
        &mut self,
        key: &[u8],
        record: &[u8],
        buffers: &mut [ColumnBuffer],
    ) -> ambo_codec::Result<bool> {
        debug_assert_eq!(
            buffers.len(),
            self.of_key.places.len() + self.of_row.places.len(),
            "a buffer for each column"
        );
        if !self.is_selected(key, record)? {
            return Ok(false);
        }
        let PartsAsked { taken, places, .. } = &self.of_key;
        if !places.is_empty() {
            self.keys.visit_columns(key, taken, &mut self.scratch, |index, value| {
                buffers[places[index]].push(value)
            })?;
        }
        let PartsAsked { taken, places, .. } = &self.of_row;
        match self.is_raw {
            _ if places.is_empty() => {}
            true => places.iter().try_for_each(|place| buffers[*place].push(record.into()))?,
            false => self
                .rows
                .visit_projection(taken, record, |index, value| buffers[places[index]].push(value))?,
        }
        Ok(true)
    }

    /// Whether a row answers all filters with yes.
    #[inline]
    fn is_selected(&mut self, key: &[u8], record: &[u8]) -> ambo_codec::Result<bool> {
        let mut is_selected = true;
        let PartsAsked { tested, tests, .. } = &self.of_key;
        if !tests.is_empty() {
            self.keys.visit_columns(key, tested, &mut self.scratch, |index, value| {
                is_selected &= tests[index].is_answered_by(value);
                Ok(())
            })?;
        }
        let PartsAsked { tested, tests, .. } = &self.of_row;
        match self.is_raw {
            _ if tests.is_empty() || !is_selected => {}
            true => is_selected = tests.iter().all(|test| test.is_answered_by(record.into())),
            false => self.rows.visit_projection(tested, record, |index, value| {
                is_selected &= tests[index].is_answered_by(value);
                Ok(())
            })?,
        }
        Ok(is_selected)
    }
}

/// Columns, and what belongs to each.
type Columns<T> = (Vec<usize>, Vec<T>);

/// The columns, and what belongs to each, that are of the key's first `keys`, and the others, by their places in the row. In the order of
/// the columns.
fn parted<T>(mut all: Vec<(usize, T)>, keys: usize) -> (Columns<T>, Columns<T>) {
    all.sort_by_key(|(column, _)| *column);
    let (of_key, of_row): (Vec<_>, Vec<_>) = all.into_iter().partition(|(column, _)| *column < keys);
    let of_row = of_row.into_iter().map(|(column, of)| (column - keys, of));
    (of_key.into_iter().unzip(), of_row.unzip())
}
