//! A unit of a scan that is read column by column: rows that the first columns rule out are never decoded of the others.
//!
//! (Abadi, Myers, DeWitt, Madden: Materialization strategies in a column-oriented DBMS, ICDE 2007.)

use ambo_codec::column::BitsView;
use ambo_engine::scan::{Filter, Morsel, Test};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter;

use super::export::{Batches, refused};
use crate::Result;

/// A question about a column of [`Batches`] or [`RowUnits`](super::RowUnits), made by their `filter`.
#[derive(Clone, Debug)]
pub struct UnitFilter(pub(super) Filter);

/// Rows of a unit of [`Batches`]. Columns are decoded when they are asked for.
///
/// ```
/// use ambo::{Database, Storage, TableDefinition, Type};
/// use arrow_array::{Array, cast::AsArray, types::Int64Type};
/// # let dir = tempfile::tempdir()?;
/// # let db = Database::open(dir.path())?;
/// let squares = TableDefinition::new("squares").column("n", Type::I64).column("square", Type::I64);
/// let squares = db.create_table(squares.primary_key(&["n"]).storage(Storage::Column))?;
/// for n in 0..100i64 {
///     squares.insert_row(&[n.into(), (n * n).into()])?;
/// }
/// let batches = squares.select(&["n", "square"])?.batches()?;
/// let mut unit = batches.unit(0, &[])?.unwrap();
/// let even = unit.columns(&[0])?.column(0).as_primitive::<Int64Type>().values().iter().map(|n| n % 2 == 0).collect();
/// unit.keep(&even)?;
/// let squares = unit.columns(&[1])?; // of fifty rows
/// assert_eq!(squares.column(0).as_primitive::<Int64Type>().values()[3], 36);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Unit<'b> {
    batches: &'b Batches,
    morsel: Morsel<'b>,
    decoded: Vec<Option<ArrayRef>>,
    bytes: usize,
}

impl Batches {
    /// A question about the column at a place of the select, for [`Batches::unit`].
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid): a constant that cannot be compared with values of the column.
    pub fn filter(&self, place: usize, test: Test) -> Result<UnitFilter> {
        Ok(UnitFilter(self.scan.filter(place, test)?))
    }

    /// Whether rows ascend by the sort key, or the primary key, from each unit to the next and within it: in a table that is compacted.
    pub fn is_in_order(&self) -> bool {
        self.scan.lanes().len() <= 1
    }

    /// The rows of a unit that answer `more` questions with yes; `None` if there are none. A limit is not seen here.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) for what cannot be read.
    pub fn unit(&self, unit: usize, more: &[UnitFilter]) -> Result<Option<Unit<'_>>> {
        let Some(morsel) = self.scan.morsel(unit)? else { return Ok(None) };
        let morsel = match more.is_empty() {
            true => Some(morsel),
            false => morsel.narrowed(&more.iter().map(|filter| filter.0.clone()).collect::<Vec<_>>())?,
        };
        let decoded = vec![None; self.schema().fields().len()];
        Ok(morsel.map(|morsel| Unit { batches: self, morsel, decoded, bytes: 0 }))
    }
}

impl Unit<'_> {
    /// How many rows are left.
    pub fn rows(&self) -> usize {
        self.morsel.selected()
    }

    /// How many columns were decoded, and how many bytes they had then.
    pub fn decoded(&self) -> (usize, usize) {
        (self.decoded.iter().flatten().count(), self.bytes)
    }

    /// Columns of the rows that are left, by their places in the select.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) for what cannot be read.
    pub fn columns(&mut self, places: &[usize]) -> Result<RecordBatch> {
        for &place in places {
            if self.decoded[place].is_none() {
                let array = self.batches.array(&self.morsel, place)?;
                self.bytes += array.to_data().get_slice_memory_size().unwrap_or(0);
                self.decoded[place] = Some(array);
            }
        }
        let arrays = places.iter().map(|place| self.decoded[*place].clone().expect("just decoded")).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows()));
        let schema = self.batches.schema().project(places).map_err(refused)?;
        RecordBatch::try_new_with_options(schema.into(), arrays, &options).map_err(refused)
    }

    /// Leaves out the rows that answer a question with no. Returns whether any is left; the unit is of no use if not.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) for what cannot be read.
    pub fn narrow(&mut self, question: &UnitFilter) -> Result<bool> {
        let is_decoded = self.decoded.iter().any(Option::is_some);
        let before = is_decoded.then(|| self.morsel.mask().clone());
        if !self.morsel.narrow(&question.0)? {
            return Ok(false);
        }
        if let Some(before) = before {
            let kept = self.morsel.mask().among(&before);
            self.keep_decoded(BooleanBuffer::new(kept.words().to_vec().into(), 0, kept.len()))?;
        }
        Ok(true)
    }

    /// Leaves out the rows whose bit is not set. REQUIRES: one bit for each row that is left.
    ///
    /// # Errors
    /// None that callers can cause.
    pub fn keep(&mut self, kept: &BooleanBuffer) -> Result<()> {
        let words: Vec<u64> = kept.bit_chunks().iter_padded().collect();
        self.morsel.keep(BitsView::new(&words, kept.len()));
        self.keep_decoded(kept.clone())
    }

    fn keep_decoded(&mut self, kept: BooleanBuffer) -> Result<()> {
        let kept = BooleanArray::new(kept, None);
        for decoded in self.decoded.iter_mut().flatten() {
            *decoded = filter(decoded, &kept).map_err(refused)?;
        }
        Ok(())
    }
}
