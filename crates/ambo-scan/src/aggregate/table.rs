//! What is kept of each group, in a hash table by the values that make it.

use std::cmp::Ordering;

use ambo_codec::{Type, Value};
use ambo_types::{Error, Result, parts::fold_parts};

use crate::float_sum::FloatSum;

use super::{
    evaluate::to_float,
    key_form::KeyForm,
    key_list::KeyList,
    keys::Keys,
    plan::{Accumulator, Compiled, Counter, Input, Output},
    program::Domain,
    text_numbers::TextNumbers,
};

/// A thread that makes results makes so many at a time.
const FINISHED_TOGETHER: usize = 8 << 10;

/// One accumulator's state of all groups.
#[derive(Debug)]
pub(super) enum States {
    Counts(Vec<u64>),
    Exact(Vec<i128>),
    /// Sums of doubles.
    Sums(Vec<FloatSum>),
    /// The least or the greatest doubles.
    Floats(Vec<f64>),
    Texts(Vec<Option<Vec<u8>>>),
}

/// Groups and their states.
#[derive(Debug)]
pub(super) struct Table {
    keys: Keys,
    /// Of each column that is grouped by, where keys have it by its number.
    text_numbers: Vec<TextNumbers>,
    /// Rows of each group.
    rows: Vec<u64>,
    states: Vec<States>,
}

fn overflow() -> Error {
    Error::Invalid("a sum that 128 bits cannot hold".into())
}

/// The order of [`Value`]: NaN is the greatest. Of zeros that with a sign is the less, so that it does not matter which came first.
pub(super) fn compare_floats(a: f64, b: f64) -> Ordering {
    match a.partial_cmp(&b) {
        Some(Ordering::Equal) => b.is_sign_negative().cmp(&a.is_sign_negative()),
        Some(order) => order,
        None => a.is_nan().cmp(&b.is_nan()),
    }
}

impl Table {
    pub(super) fn new(compiled: &Compiled) -> Self {
        let is_float = |step: usize| compiled.program.domain(step) == Domain::Float;
        let states = compiled.accumulators.iter().map(|accumulator| match accumulator {
            Accumulator::Count(_) => States::Counts(Vec::new()),
            Accumulator::Sum(step) if is_float(*step) => States::Sums(Vec::new()),
            Accumulator::Sum(step)
            | Accumulator::Least(Input::Step(step))
            | Accumulator::Greatest(Input::Step(step)) => {
                if is_float(*step) {
                    States::Floats(Vec::new())
                } else {
                    States::Exact(Vec::new())
                }
            }
            Accumulator::Least(Input::Text(_)) | Accumulator::Greatest(Input::Text(_)) => {
                States::Texts(Vec::new())
            }
        });
        let list = compiled.key.as_ref().map(KeyForm::list).unwrap_or_default();
        let text_numbers = compiled.key.as_ref().map(KeyForm::text_numbers).unwrap_or_default();
        Self { keys: Keys::new(list), text_numbers, rows: Vec::new(), states: states.collect() }
    }

    /// Blocks of other rows are at hand from now on.
    pub(super) fn next_blocks(&mut self) {
        self.text_numbers.iter_mut().for_each(TextNumbers::next_block);
    }

    /// The numbers of text of a column that is grouped by.
    pub(super) fn text_numbers(&mut self, column: usize) -> &mut TextNumbers {
        &mut self.text_numbers[column]
    }

    /// The numbers of the groups with these keys, of which some may be new, in the place of others.
    pub(super) fn number(&mut self, keys: &KeyList, accumulators: &[Accumulator], numbers: &mut Vec<u32>) {
        self.keys.number(keys, numbers);
        self.grow(accumulators);
    }

    /// Makes the one group of all rows, where there are no columns to group by.
    pub(super) fn push_only(&mut self, accumulators: &[Accumulator]) {
        self.keys.number(&KeyList::Bytes { bytes: Vec::new(), ends: vec![0] }, &mut Vec::new());
        self.grow(accumulators);
    }

    /// Room for groups that are new.
    fn grow(&mut self, accumulators: &[Accumulator]) {
        let len = self.keys.len();
        debug_assert!(self.rows.len() <= len, "groups stay");
        debug_assert_eq!(self.states.len(), accumulators.len());
        self.rows.resize(len, 0);
        for (states, accumulator) in self.states.iter_mut().zip(accumulators) {
            match (states, accumulator) {
                (States::Counts(counts), _) => counts.resize(len, 0),
                (States::Exact(values), Accumulator::Least(_)) => values.resize(len, i128::MAX),
                (States::Exact(values), Accumulator::Greatest(_)) => values.resize(len, i128::MIN),
                (States::Exact(values), _) => values.resize(len, 0),
                (States::Sums(sums), _) => sums.resize(len, FloatSum::default()),
                // NaN is the greatest double.
                (States::Floats(values), Accumulator::Least(_)) => values.resize(len, f64::NAN),
                (States::Floats(values), Accumulator::Greatest(_)) => values.resize(len, f64::NEG_INFINITY),
                (States::Floats(_), _) => unreachable!("doubles of which there is one of many"),
                (States::Texts(values), _) => values.resize(len, None),
            }
        }
        self.check_invariants();
    }

    /// Checks that each group has a key, and a state of each accumulator (in debug builds).
    fn check_invariants(&self) {
        let groups = self.keys.len();
        debug_assert_eq!(self.rows.len(), groups, "the rows of each group are counted");
        let len = |states: &States| match states {
            States::Counts(counts) => counts.len(),
            States::Exact(values) => values.len(),
            States::Sums(sums) => sums.len(),
            States::Floats(values) => values.len(),
            States::Texts(texts) => texts.len(),
        };
        debug_assert!(
            self.states.iter().all(|of| len(of) == groups),
            "each group has a state of each accumulator"
        );
    }

    /// Adds rows to groups by their numbers.
    pub(super) fn add_rows(&mut self, found: impl Iterator<Item = (u32, u64)>) {
        found.for_each(|(number, rows)| self.rows[number as usize] += rows);
    }

    /// Adds to an accumulator that counts.
    pub(super) fn add_counts(&mut self, index: usize, found: impl Iterator<Item = (u32, u64)>) {
        let States::Counts(counts) = &mut self.states[index] else { unreachable!("it counts") };
        found.for_each(|(number, count)| counts[number as usize] += count);
    }

    /// Adds to an accumulator of exact numbers.
    ///
    /// # Errors
    /// A sum that 128 bits cannot hold.
    pub(super) fn add_exact(
        &mut self,
        index: usize,
        accumulator: Accumulator,
        mut found: impl Iterator<Item = (u32, i128)>,
    ) -> Result<()> {
        let States::Exact(values) = &mut self.states[index] else { unreachable!("its numbers are exact") };
        match accumulator {
            Accumulator::Sum(_) => found.try_for_each(|(number, value)| {
                let sum = &mut values[number as usize];
                *sum = sum.checked_add(value).ok_or_else(overflow)?;
                Ok(())
            })?,
            Accumulator::Least(_) => found.for_each(|(number, value)| {
                values[number as usize] = values[number as usize].min(value);
            }),
            _ => found.for_each(|(number, value)| {
                values[number as usize] = values[number as usize].max(value);
            }),
        }
        Ok(())
    }

    /// Adds to an accumulator of doubles.
    pub(super) fn add_floats(
        &mut self,
        index: usize,
        accumulator: Accumulator,
        found: impl Iterator<Item = (u32, f64)>,
    ) {
        let values = match &mut self.states[index] {
            States::Sums(sums) => return found.for_each(|(number, value)| sums[number as usize].add(value)),
            States::Floats(values) => values,
            other => unreachable!("{other:?} are no doubles"),
        };
        let wanted = order_of(accumulator);
        for (number, value) in found {
            if compare_floats(value, values[number as usize]) == wanted {
                values[number as usize] = value;
            }
        }
    }

    /// Adds to an accumulator of text or bytes.
    pub(super) fn add_texts<'t>(
        &mut self,
        index: usize,
        accumulator: Accumulator,
        found: impl Iterator<Item = (u32, Option<&'t [u8]>)>,
    ) {
        let States::Texts(values) = &mut self.states[index] else { unreachable!("it has text") };
        let wanted = order_of(accumulator);
        for (number, text) in found {
            let best = &mut values[number as usize];
            if let Some(text) = text
                && best.as_deref().is_none_or(|best| text.cmp(best) == wanted)
            {
                *best = Some(text.to_vec());
            }
        }
    }

    /// Adds the groups of another table.
    pub(super) fn merge(&mut self, other: &Self, compiled: &Compiled) -> Result<()> {
        let accumulators = &compiled.accumulators[..];
        let numbers = match compiled.key.as_ref().filter(|form| form.has_any_numbers()) {
            None => self.keys.number_all(&other.keys),
            Some(form) => {
                let texts = self.text_numbers.iter_mut().zip(&other.text_numbers);
                let here: Vec<Vec<u32>> = texts.map(|(texts, others)| texts.number_all(others)).collect();
                let mut numbers = Vec::new();
                self.keys.number(&form.renumbered(other.keys.list(), &here), &mut numbers);
                numbers
            }
        };
        self.grow(accumulators);
        debug_assert_eq!(numbers.len(), other.rows.len(), "each group of the other has a number here");
        assert!(self.rows.len() >= other.rows.len(), "groups of the other are groups here, each its own");
        let numbers = || numbers.iter().copied();
        self.add_rows(numbers().zip(other.rows.iter().copied()));
        for (index, accumulator) in accumulators.iter().copied().enumerate() {
            match &other.states[index] {
                States::Counts(counts) => self.add_counts(index, numbers().zip(counts.iter().copied())),
                States::Exact(values) => {
                    self.add_exact(index, accumulator, numbers().zip(values.iter().copied()))?;
                }
                States::Sums(of_other) => {
                    let States::Sums(sums) = &mut self.states[index] else { unreachable!("of one plan") };
                    numbers().zip(of_other).for_each(|(number, sum)| sums[number as usize].merge(sum));
                }
                States::Floats(values) => {
                    self.add_floats(index, accumulator, numbers().zip(values.iter().copied()));
                }
                States::Texts(texts) => {
                    self.add_texts(index, accumulator, numbers().zip(texts.iter().map(Option::as_deref)));
                }
            }
        }
        Ok(())
    }

    /// Gives up memory that is of use to more rows alone.
    pub(super) fn seal(&mut self) {
        self.keys.seal();
        self.text_numbers.iter_mut().for_each(TextNumbers::seal);
        self.rows.shrink_to_fit();
        for states in &mut self.states {
            match states {
                States::Counts(counts) => counts.shrink_to_fit(),
                States::Exact(values) => values.shrink_to_fit(),
                States::Sums(sums) => sums.shrink_to_fit(),
                States::Floats(values) => values.shrink_to_fit(),
                States::Texts(texts) => texts.shrink_to_fit(),
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn bytes_taken(&self) -> usize {
        let of_states = |states: &States| match states {
            States::Counts(counts) => size_of_val(&**counts),
            States::Exact(values) => size_of_val(&**values),
            States::Sums(sums) => size_of_val(&**sums) + sums.iter().map(FloatSum::bytes).sum::<usize>(),
            States::Floats(values) => size_of_val(&**values),
            States::Texts(texts) => {
                size_of_val(&**texts) + texts.iter().flatten().map(Vec::capacity).sum::<usize>()
            }
        };
        let texts = self.text_numbers.iter().map(TextNumbers::bytes_taken).sum::<usize>();
        let states = self.states.iter().map(of_states).sum::<usize>();
        size_of::<Self>() + self.keys.bytes_taken() + texts + size_of_val(&*self.rows) + states
    }

    /// The results, a row for each group, in the order of their keys.
    ///
    /// # Errors
    /// A sum of more than 38 digits; text that is not UTF-8, which only damaged blocks yield.
    pub(super) fn finish(&self, compiled: &Compiled, threads: usize) -> Result<Vec<Vec<Value>>> {
        let order = match compiled.key.as_ref().filter(|form| form.has_any_numbers()) {
            None => self.keys.list().order(threads),
            Some(form) => {
                let ranks: Vec<Vec<u32>> =
                    self.text_numbers.iter().map(|texts| texts.ranks(threads)).collect();
                form.renumbered(self.keys.list(), &ranks).order(threads)
            }
        };
        debug_assert_eq!(order.len(), self.rows.len(), "each group is a row of the result");
        let parts: Vec<&[u32]> = order.chunks(FINISHED_TOGETHER).collect();
        let done =
            fold_parts(parts.len(), threads, Vec::new, |done: &mut Vec<(usize, Vec<Vec<Value>>)>, part| {
                done.push((part, self.rows(compiled, parts[part])?));
                Ok(())
            })?;
        let mut done: Vec<_> = done.into_iter().flatten().collect();
        done.sort_unstable_by_key(|(part, _)| *part);
        Ok(done.into_iter().flat_map(|(_, rows)| rows).collect())
    }

    /// What made groups, and their results: column by column, so that what is waited for in memory is asked for by many groups together.
    fn rows(&self, compiled: &Compiled, numbers: &[u32]) -> Result<Vec<Vec<Value>>> {
        let mut rows: Vec<Vec<Value>> =
            numbers.iter().map(|_| Vec::with_capacity(compiled.types.len())).collect();
        let mut numbered = |push: &dyn Fn(usize, &mut Vec<Value>) -> Result<()>| {
            numbers.iter().zip(&mut rows).try_for_each(|(number, row)| push(*number as usize, row))
        };
        if let Some(form) = &compiled.key {
            numbered(&|number, row| {
                let decoded = form.decode(self.keys.list(), number, &self.text_numbers, row);
                decoded.map_err(|error| Error::Invalid(error.to_string()))
            })?;
        }
        for output in &compiled.outputs {
            numbered(&|number, row| {
                row.push(self.result(*output, number)?);
                Ok(())
            })?;
        }
        debug_assert!(rows.iter().all(|row| row.len() == compiled.types.len()), "a value of each type");
        Ok(rows)
    }

    fn result(&self, output: Output, number: usize) -> Result<Value> {
        let count = |of: Counter| match of.map(|index| &self.states[index]) {
            None => self.rows[number],
            Some(States::Counts(counts)) => counts[number],
            Some(other) => unreachable!("{other:?} are no counts"),
        };
        match output {
            Output::Count(index) => Ok(Value::I64(count(index) as i64)),
            Output::Sum { count: of, .. }
            | Output::Average { count: of, .. }
            | Output::Extreme { count: of, .. }
                if count(of) == 0 =>
            {
                Ok(Value::Null)
            }
            Output::Sum { sum, ty, .. } => self.value(ty, sum, number),
            Output::Extreme { of, ty, .. } => self.value(ty, of, number),
            Output::Average { sum, count: of, domain } => {
                let of = count(of) as f64;
                Ok(Value::F64(match (&self.states[sum], domain) {
                    (States::Exact(sums), Domain::Exact(scale)) => to_float(sums[number] as f64 / of, scale),
                    (States::Sums(sums), _) => sums[number].total() / of,
                    (other, _) => unreachable!("{other:?} are no sums"),
                }))
            }
        }
    }

    /// A state of a group as a value of a type.
    fn value(&self, ty: Type, index: usize, number: usize) -> Result<Value> {
        match &self.states[index] {
            States::Exact(values) => exact_of(ty, values[number]),
            States::Sums(sums) => Ok(Value::F64(sums[number].total())),
            // Of what is no number there is one.
            States::Floats(values) => {
                let value = if values[number].is_nan() { f64::NAN } else { values[number] };
                Ok(if ty == Type::F32 { Value::F32(value as f32) } else { Value::F64(value) })
            }
            States::Texts(texts) => text_of(ty, texts[number].as_deref().unwrap_or_default()),
            other => unreachable!("{other:?} are of no type"),
        }
    }
}

/// How a better extreme compares with the one before.
pub(super) fn order_of(accumulator: Accumulator) -> Ordering {
    match accumulator {
        Accumulator::Least(_) => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// The value of a type that an exact number stands for.
fn exact_of(ty: Type, value: i128) -> Result<Value> {
    Ok(match ty {
        Type::Decimal128 { scale, .. } => {
            if value.unsigned_abs() >= 10u128.pow(38) {
                return Err(Error::Invalid("a result of more than 38 digits".into()));
            }
            Value::Decimal128 { unscaled: value, scale }
        }
        Type::Bool => Value::Bool(value != 0),
        Type::I8 => Value::I8(value as i8),
        Type::I16 => Value::I16(value as i16),
        Type::I32 => Value::I32(value as i32),
        Type::I64 => Value::I64(value as i64),
        Type::U8 => Value::U8(value as u8),
        Type::U16 => Value::U16(value as u16),
        Type::U32 => Value::U32(value as u32),
        Type::U64 => Value::U64(value as u64),
        Type::Date32 => Value::Date32(value as i32),
        Type::Time64 => Value::Time64(value as i64),
        Type::Timestamp => Value::Timestamp(value as i64),
        Type::TimestampTz => Value::TimestampTz(value as i64),
        other => unreachable!("{other} is no exact number"),
    })
}

/// Text, or bytes.
fn text_of(ty: Type, bytes: &[u8]) -> Result<Value> {
    match (ty, std::str::from_utf8(bytes)) {
        (Type::Binary, _) => Ok(Value::Binary(bytes.to_vec())),
        (_, Ok(text)) => Ok(Value::Utf8(text.into())),
        (_, Err(_)) => Err(Error::Invalid("damaged text: it is not UTF-8".into())),
    }
}
