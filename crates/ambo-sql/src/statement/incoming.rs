//! Rows on their way into a table: batches as they come, and as rows of the table, with its types, defaults and rules.

use ambo::{Column, DatumRef, Logical, TableDefinition, arrow::column_type};
use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt64Array},
    datatypes::{DataType, SchemaRef},
};
use datafusion::{execution::SendableRecordBatchStream, logical_expr::LogicalPlan};
use futures::StreamExt;
use tokio::runtime::Handle;

use crate::{
    Error, ErrorKind, Result,
    error::type_in_sql,
    files::LINE,
    functions::json_values,
    logical::is_enum,
    nested::is_nested,
    planner::{Planner, schema_of_result},
    times::Zone,
    value,
    wait::Interrupter,
};

pub(super) use super::expression::row_schema;
use super::{
    cast::{is_assignable, strict_cast},
    generated,
    rules::Rules,
};
pub(super) use crate::files::Batches;

/// The batches of a plan, as they are computed.
pub(super) struct Stream {
    stream: SendableRecordBatchStream,
    interrupter: Interrupter,
    threads: Handle,
}

impl Stream {
    pub(super) fn new(planner: &Planner<'_>, plan: &LogicalPlan) -> Result<Self> {
        let (stream, interrupter, threads) = planner.stream_with(plan)?;
        Ok(Self { stream, interrupter, threads })
    }

    /// The columns of the plan that the batches are of.
    pub(super) fn schema(&self, plan: &LogicalPlan) -> SchemaRef {
        schema_of_result(plan, &self.stream.schema())
    }

    /// Checks that results are of types that columns of a table may be set to, also where there are no rows. `pairs` has the place of each
    /// result and that of its column.
    ///
    /// # Errors
    /// Both types of the first pair that does not fit.
    pub(super) fn fits(
        &self,
        definition: &TableDefinition,
        pairs: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<()> {
        let schema = self.stream.schema();
        pairs.into_iter().try_for_each(|(result, column)| {
            fits(schema.field(result).data_type(), &definition.columns[column])
        })
    }
}

impl Iterator for Stream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let _threads = self.threads.enter();
        match self.interrupter.wait(self.stream.next()) {
            Ok(None) => None,
            Ok(Some(batch)) => Some(batch.map_err(Error::from)),
            Err(cancelled) => Some(Err(cancelled)),
        }
    }
}

/// What rows are called in messages.
pub(super) enum Labels<'a> {
    /// By their numbers, from this one on.
    Numbers(u64),
    /// By their numbers in a file.
    InFile(&'a str, u64),
    /// By the lines of a file.
    Lines(&'a str, &'a UInt64Array),
}

impl Labels<'_> {
    fn of(&self, row: usize) -> String {
        match self {
            Self::Numbers(first) => format!("row {}", first + row as u64),
            Self::InFile(file, first) => format!("{file}: row {}", first + row as u64),
            Self::Lines(file, lines) => format!("{file}: line {}", lines.value(row)),
        }
    }
}

/// Whole rows of a table from values for some of its columns; the others have their defaults, and the rules of the table are kept.
/// Messages count rows from `first`, or name the lines of a file if the batch has them.
///
/// # Errors
/// A value that does not fit its column, with both and the row; what [`check`] finds.
pub(super) fn complete(
    definition: &TableDefinition,
    rules: &Rules,
    columns: &[usize],
    batch: &RecordBatch,
    first: u64,
    file: Option<&str>,
) -> Result<RecordBatch> {
    let lines = batch.schema().fields().last().is_some_and(|field| field.name() == LINE);
    let given = batch.num_columns() - usize::from(lines);
    let labels = match lines {
        true => Labels::Lines(file.unwrap_or_default(), batch.column(given).as_primitive()),
        false => match file {
            Some(file) => Labels::InFile(file, first),
            None => Labels::Numbers(first),
        },
    };
    // A row without any value is one of DEFAULT VALUES.
    let columns = if given == 0 { &[] } else { columns };
    if given != columns.len() {
        return Err(Error::invalid(format!("a row has {given} values for {} columns", columns.len())));
    }
    let whole = definition.columns.iter().enumerate().map(|(place, column)| {
        match columns.iter().position(|named| *named == place) {
            Some(nth)
                if column.generated().is_some()
                    && batch.column(nth).logical_null_count() < batch.num_rows() =>
            {
                Err(generated::given(column))
            }
            Some(nth) => assign(batch.column(nth), column, &labels, rules.zone()),
            None => rules.default(place, batch.num_rows()),
        }
    });
    let whole = whole.collect::<Result<Vec<_>>>()?;
    let rows = rows_of(rules.schema().clone(), whole, batch.num_rows())?;
    held(definition, rules, rows, &labels)
}

/// Columns as a batch, which may have none.
pub(super) fn rows_of(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(value::wrong)
}

/// Rows as they are written, with what generated columns are computed to, held to the rules of the table.
///
/// # Errors
/// As [`check`].
pub(super) fn held(
    definition: &TableDefinition,
    rules: &Rules,
    rows: RecordBatch,
    labels: &Labels<'_>,
) -> Result<RecordBatch> {
    let generated = rules.generated(&rows)?;
    let rows = match generated.is_empty() {
        true => rows,
        false => {
            let mut columns = rows.columns().to_vec();
            for (place, values) in generated {
                columns[place] = assign(&values, &definition.columns[place], labels, rules.zone())?;
            }
            rows_of(rows.schema(), columns, rows.num_rows())?
        }
    };
    check(definition, rules, &rows, labels)?;
    Ok(rows)
}

/// What every row that is written has to be: **the one place where the rules of a table are checked**.
///
/// # Errors
/// [`ErrorKind::Constraint`] with the column and the row.
fn check(definition: &TableDefinition, rules: &Rules, rows: &RecordBatch, labels: &Labels<'_>) -> Result<()> {
    for (place, column) in definition.columns.iter().enumerate() {
        let array = rows.column(place);
        if column.nullable || definition.numbers_itself(place) || array.null_count() == 0 {
            continue;
        }
        let row = labels.of((0..array.len()).find(|row| array.is_null(*row)).unwrap_or(0));
        return Err(Error::new(
            ErrorKind::Constraint,
            format!("{row}: column \"{}\" of table \"{}\" cannot be NULL", column.name, rules.table()),
        ));
    }
    rules.check(rows)
}

/// Whether values of a type may be put into a column.
fn fits(ty: &DataType, column: &Column) -> Result<()> {
    match is_assignable(ty, &column_type(column)) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "column \"{}\" is of type {}, the values are of type {}",
            column.name,
            type_in_sql(&column_type(column)),
            type_in_sql(ty)
        ))),
    }
}

/// Values as those of a column. Numbers are rounded to the digits that the column has; what does not fit is an error.
pub(super) fn assign(array: &ArrayRef, column: &Column, labels: &Labels<'_>, zone: Zone) -> Result<ArrayRef> {
    let to = column_type(column);
    if array.data_type() == &to {
        return meant(array.clone(), column, labels);
    }
    fits(array.data_type(), column)?;
    // Lists, structs and maps are arrays and objects of JSON.
    if column.logical == Some(Logical::Json) && is_nested(array.data_type()) && !is_enum(array.data_type()) {
        return Ok(json_values(array)?);
    }
    let whole = match strict_cast(array, &to, zone) {
        Ok(whole) => return meant(whole, column, labels),
        Err(error) => error,
    };
    // Which row is it?
    for row in 0..array.len() {
        if let Err(error) = strict_cast(&array.slice(row, 1), &to, zone) {
            let row = labels.of(row);
            return Err(Error::invalid(format!("{row}: column \"{}\": {}", column.name, error.message())));
        }
    }
    Err(whole)
}

/// Values of a column's type in statements, held to what it means besides: a text of a column of JSON is JSON.
fn meant(array: ArrayRef, column: &Column, labels: &Labels<'_>) -> Result<ArrayRef> {
    if column.logical == Some(Logical::Json) {
        for (row, text) in array.as_string::<i32>().iter().enumerate() {
            let text = text.map_or(DatumRef::Null, DatumRef::Utf8);
            if let Err(what) = column.check(text) {
                return Err(Error::invalid(format!(
                    "{}: column \"{}\": {what}",
                    labels.of(row),
                    column.name
                )));
            }
        }
    }
    Ok(array)
}
