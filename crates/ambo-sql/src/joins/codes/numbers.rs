//! Numbers of combinations of values, and the values that numbers stand for.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arrow::{
    array::{Array, ArrayRef, Int64Array, UInt64Array, new_empty_array},
    buffer::NullBuffer,
    compute::{concat, take},
    datatypes::{DataType, Field, Schema, SchemaRef},
};
use datafusion::{
    common::Result,
    error::DataFusionError,
    execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation},
    physical_plan::aggregates::{
        group_values::{GroupValues, new_group_values},
        order::GroupOrdering,
    },
};

/// Combinations of values, each with the number that it was given when it came first. They are only added: a number stays what it is,
/// whoever asks, and however often the plan is computed.
pub(super) struct Numbers {
    schema: SchemaRef,
    known: Mutex<Known>,
}

struct Known {
    numbers: Box<dyn GroupValues>,
    /// The values of the columns, by number, in pieces.
    values: Vec<Vec<ArrayRef>>,
    count: usize,
    /// Of the values.
    bytes: usize,
    memory: Option<MemoryReservation>,
}

impl fmt::Debug for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Numbers")
    }
}

impl Numbers {
    pub(super) fn new(types: &[DataType]) -> Result<Self> {
        let fields = types.iter().enumerate();
        let fields: Vec<_> =
            fields.map(|(place, ty)| Field::new(place.to_string(), ty.clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let numbers = new_group_values(schema.clone(), &GroupOrdering::None)?;
        let values = vec![Vec::new(); types.len()];
        Ok(Self { schema, known: Mutex::new(Known { numbers, values, count: 0, bytes: 0, memory: None }) })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of rows of these columns, which are as many as there are types; NULL where all columns are.
    ///
    /// # Errors
    /// Memory does not suffice.
    pub(super) fn of(&self, columns: &[ArrayRef], memory: &Arc<dyn MemoryPool>) -> Result<Int64Array> {
        let mut known = self.lock();
        let known = &mut *known;
        let mut numbers = Vec::new();
        known.numbers.intern(columns, &mut numbers)?;
        if known.keep(columns, &numbers)? {
            let consumer = || MemoryConsumer::new("numbers of groups").register(memory);
            let memory = known.memory.get_or_insert_with(consumer);
            memory.try_resize(known.numbers.size() + known.bytes)?;
        }
        let numbers = numbers.into_iter().map(|number| number as i64).collect::<Vec<_>>();
        Ok(Int64Array::new(numbers.into(), any_value(columns)))
    }

    /// The values of each column, by number: of all numbers that were given so far.
    pub(super) fn values(&self) -> Result<Vec<ArrayRef>> {
        let mut known = self.lock();
        let columns = self.schema.fields().iter().zip(&mut known.values);
        columns
            .map(|(field, pieces)| {
                let whole = match &pieces[..] {
                    [] => new_empty_array(field.data_type()),
                    [piece] => piece.clone(),
                    pieces => concat(&pieces.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?,
                };
                *pieces = vec![whole.clone()];
                Ok(whole)
            })
            .collect()
    }
}

impl Known {
    /// Keeps the values of numbers that are new; whether there are any.
    fn keep(&mut self, columns: &[ArrayRef], numbers: &[usize]) -> Result<bool> {
        let mut rows = vec![None; self.numbers.len() - self.count];
        for (row, number) in numbers.iter().enumerate() {
            if let Some(place) = number.checked_sub(self.count) {
                rows[place].get_or_insert(row as u64);
            }
        }
        if rows.is_empty() {
            return Ok(false);
        }
        let rows: UInt64Array = rows.into();
        if rows.null_count() > 0 {
            return Err(DataFusionError::Internal("a number of no row".to_owned()));
        }
        for (column, pieces) in columns.iter().zip(&mut self.values) {
            let values = take(column, &rows, None)?;
            self.bytes += values.get_array_memory_size();
            pieces.push(values);
        }
        self.count = self.numbers.len();
        Ok(true)
    }
}

/// Which rows have a value in any column; `None` if all have.
fn any_value(columns: &[ArrayRef]) -> Option<NullBuffer> {
    let mut nulls = columns.iter().map(|column| column.logical_nulls());
    let first = nulls.next()??;
    let mut any = first.into_inner();
    for nulls in nulls {
        any = &any | nulls?.inner();
    }
    Some(NullBuffer::new(any)).filter(|nulls| nulls.null_count() > 0)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, StringArray};
    use datafusion::execution::memory_pool::{GreedyMemoryPool, UnboundedMemoryPool};

    use super::*;

    fn columns(rows: &[(Option<&str>, Option<i32>)]) -> Vec<ArrayRef> {
        let texts: StringArray = rows.iter().map(|(text, _)| *text).collect();
        let numbers: Int32Array = rows.iter().map(|(_, number)| *number).collect();
        vec![Arc::new(texts), Arc::new(numbers)]
    }

    /// Keeps away: a number of two combinations, or a combination of two numbers; numbers that change when more come.
    #[test]
    fn each_combination_has_one_number() {
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let numbers = Numbers::new(&[DataType::Utf8, DataType::Int32]).unwrap();
        assert_eq!(numbers.values().unwrap()[0].len(), 0);
        let rows: Vec<_> = (0..5_000_i32)
            .map(|row| {
                (
                    (row % 7 != 0).then_some(["a", "b", ""][row as usize % 3]),
                    (row % 11 != 0).then_some(row % 50),
                )
            })
            .collect();
        let mut given = Vec::new();
        for rows in rows.chunks(333) {
            given.extend(numbers.of(&columns(rows), &pool).unwrap().iter());
        }
        let values = numbers.values().unwrap();
        let (texts, ints) = (
            values[0].as_any().downcast_ref::<StringArray>(),
            values[1].as_any().downcast_ref::<Int32Array>(),
        );
        let (texts, ints) = (texts.unwrap(), ints.unwrap());
        let mut of_numbers = std::collections::HashMap::new();
        for (row, number) in rows.iter().zip(&given) {
            assert_eq!(number.is_none(), *row == (None, None));
            let Some(number) = number else { continue };
            let place = *number as usize;
            let value = (
                texts.is_valid(place).then(|| texts.value(place)),
                ints.is_valid(place).then(|| ints.value(place)),
            );
            assert_eq!(value, *row);
            assert_eq!(of_numbers.entry(*row).or_insert(*number), number);
        }
    }

    /// Keeps away: memory that nobody counts.
    #[test]
    fn memory_is_asked_for() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(10_000));
        let numbers = Numbers::new(&[DataType::Utf8]).unwrap();
        let many: StringArray = (0..10_000).map(|row| Some(format!("text {row}"))).collect();
        let error = numbers.of(&[Arc::new(many)], &pool).unwrap_err();
        assert!(error.to_string().contains("numbers of groups"), "{error}");
    }
}
