//! Columns of a table's rows, in parts that threads take, from any storage.

use std::sync::Arc;

use ambo_codec::Type;
use ambo_engine::{
    database::{RowFormat, RowScan, ScanPlan, Snapshot, TableScan},
    scan::{ColumnBuffer, Filter, Morsel, Test, Values},
};
use ambo_types::{Error, Result, TableDefinition, id::TableId};

use crate::predicate::{Column, Compare, Data, Nulls};

/// Rows of a batch: the columns of a query stay in the caches that are near.
const BATCH_ROWS: usize = 8 << 10;
/// Parts of tables that are stored as rows have about so many.
const PART_ROWS: u64 = 64 << 10;
/// What tells the parts in positions: none has so many rows.
const PART_BITS: u32 = 40;

/// A range of stored keys: from one on, and below another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range<'k> {
    pub(super) lower: Option<&'k [u8]>,
    pub(super) upper: Option<&'k [u8]>,
}

/// See the module.
pub(super) enum Reader {
    Rows(Arc<RowScan>),
    Columns { scan: Box<TableScan>, types: Vec<Type> },
}

/// The columns of some rows.
pub(super) struct Held {
    pub(super) rows: usize,
    pub(super) position: u64,
    columns: Vec<(Type, Values, Option<Vec<u64>>)>,
}

impl Reader {
    /// Reads these columns, by their places in the definition, of the rows in a range that answer all tests with yes.
    pub(super) fn new(
        snapshot: &Snapshot,
        (table, definition): (TableId, &Arc<TableDefinition>),
        columns: &[usize],
        tests: Vec<(usize, Test)>,
        range: Range<'_>,
    ) -> Result<Self> {
        let filters = tests.into_iter().map(|(place, test)| Filter { column: columns[place], test });
        let mut plan = ScanPlan { columns: columns.to_vec(), filters: Vec::new(), ..ScanPlan::default() };
        if definition.storage.traits().by_column {
            plan.filters = filters.chain(key_filters(definition, range)?).collect();
            let scan = Box::new(snapshot.scan_columns(table, &plan)?);
            let types = columns.iter().map(|column| type_of(definition, *column)).collect();
            return Ok(Self::Columns { scan, types });
        }
        let scan = match range {
            Range { lower: None, upper: None } => {
                // Numbers of rows are not asked of the storage.
                plan.filters = filters.filter(|filter| filter.column < definition.columns.len()).collect();
                snapshot.clone().into_row_scan(table, &plan)?
            }
            Range { lower, upper } => {
                snapshot.clone().into_range_scan(table, &plan, lower.unwrap_or_default(), upper)?
            }
        };
        Ok(Self::Rows(Arc::new(scan.with_unit_rows(PART_ROWS))))
    }

    /// How many parts there are.
    pub(super) fn parts(&self) -> Result<usize> {
        match self {
            Self::Rows(scan) => scan.units(),
            Self::Columns { scan, .. } => Ok(scan.units()),
        }
    }

    /// Gives the rows of a part to `act`, some at a time.
    pub(super) fn read(&self, part: usize, mut act: impl FnMut(&Held) -> Result<()>) -> Result<()> {
        let mut position = (part as u64) << PART_BITS;
        match self {
            Self::Rows(scan) => {
                let mut rows = scan.unit(part, &[])?;
                while let Some((buffers, rows)) = rows.next_columns(BATCH_ROWS)? {
                    act(&Held::new(buffers, rows, position))?;
                    position += rows as u64;
                }
            }
            Self::Columns { scan, .. } => {
                if let Some(morsel) = scan.morsel(part)? {
                    self.read_morsel(part, &morsel, act)?;
                }
            }
        }
        Ok(())
    }

    /// The scan of a table that is stored by column.
    pub(super) fn scan(&self) -> Option<&TableScan> {
        match self {
            Self::Columns { scan, .. } => Some(scan),
            Self::Rows(_) => None,
        }
    }

    /// Gives the selected rows of a morsel, which is a part, to `act`. REQUIRES: the table is stored by column.
    pub(super) fn read_morsel(
        &self,
        part: usize,
        morsel: &Morsel<'_>,
        mut act: impl FnMut(&Held) -> Result<()>,
    ) -> Result<()> {
        let Self::Columns { types, .. } = self else {
            unreachable!("morsels are of tables stored by column")
        };
        let rows = morsel.selected_rows();
        let buffer = |(column, ty): (&usize, &Type)| morsel.buffer(*column, *ty, &rows);
        let buffers = morsel.projection().iter().zip(types).map(buffer).collect::<Result<Vec<_>>>()?;
        act(&Held::new(buffers, morsel.selected(), (part as u64) << PART_BITS))
    }
}

/// The type of a column; behind all stands the number of the row.
pub(super) fn type_of(definition: &TableDefinition, column: usize) -> Type {
    definition.columns.get(column).map_or(Type::U64, |column| column.kind)
}

/// A range of keys as questions about the one column of the key.
fn key_filters(definition: &Arc<TableDefinition>, range: Range<'_>) -> Result<Vec<Filter>> {
    let mut filters = Vec::new();
    for (bound, by) in [(range.lower, Compare::GreaterEqual), (range.upper, Compare::Less)] {
        let Some(bound) = bound else { continue };
        let [column] = definition.key[..] else {
            return Err(Error::Invalid(format!(
                "table \"{}\" is of storage column, and a range of it needs a key of one column",
                definition.name
            )));
        };
        let key = RowFormat::new(definition.clone())?.decode_key(bound)?;
        let value = key.into_iter().next().ok_or_else(|| Error::Invalid("a key without a column".into()))?;
        filters.push(Filter { column, test: Test::Compare(by, value) });
    }
    Ok(filters)
}

impl Held {
    fn new(buffers: Vec<ColumnBuffer>, rows: usize, position: u64) -> Self {
        let column = |buffer: ColumnBuffer| {
            let ty = buffer.ty();
            let (values, valid) = buffer.into_parts();
            (ty, as_bytes_each(values, rows), valid)
        };
        Self { rows, position, columns: buffers.into_iter().map(column).collect() }
    }

    /// The columns, in the order in which they were asked for.
    pub(super) fn columns(&self) -> Vec<Column<'_>> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (ty, values, valid) in &self.columns {
            let nulls = valid.as_deref().map_or(Nulls::None, Nulls::Valid);
            columns.push(Column { ty: *ty, data: data(values), nulls });
        }
        columns
    }
}

/// Booleans as a byte each; others as they are.
fn as_bytes_each(values: Values, rows: usize) -> Values {
    match values {
        Values::Bool(words) => {
            let bit = |row: usize| words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1);
            Values::U8((0..rows).map(|row| u8::from(bit(row))).collect())
        }
        others => others,
    }
}

fn data(values: &Values) -> Data<'_> {
    macro_rules! strided {
        ($($kind:ident)*) => {
            match values {
                $(Values::$kind(vector) => numbers(vector),)*
                Values::Bytes { offsets, data } => Data::Texts { offsets, data },
                // Bytes since they came.
                Values::Bool(_) => Data::Strided { bytes: &[], offset: 0, stride: 1 },
            }
        };
    }
    strided!(I8 I16 I32 I64 U8 U16 U32 U64 F32 F64 I128)
}

/// Numbers as their bytes, which are little-endian on all systems that Ambo runs on.
fn numbers<T: Copy>(vector: &[T]) -> Data<'_> {
    const { assert!(cfg!(target_endian = "little"), "columns are given out as they lie") };
    // SAFETY: they are numbers, without bytes between them, and any byte is one.
    let bytes = unsafe { std::slice::from_raw_parts(vector.as_ptr().cast::<u8>(), size_of_val(vector)) };
    Data::Strided { bytes, offset: 0, stride: size_of::<T>() }
}
