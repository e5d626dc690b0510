//! What is kept of each group, in a hash table by the values that make it.

use std::cmp::Ordering;

use ambo_codec::{Type, Value};

use super::{
    evaluate::to_float,
    keys::Keys,
    plan::{Accumulator, Compiled, Input, Output},
    program::Domain,
};
use crate::{Error, Result};

/// One accumulator's state of all groups.
#[derive(Debug)]
pub(super) enum States {
    Counts(Vec<u64>),
    Exact(Vec<i128>),
    Floats(Vec<f64>),
    Texts(Vec<Option<Vec<u8>>>),
}

/// One accumulator's state of one group.
#[derive(Clone, Debug)]
pub(super) enum State<'a> {
    Count(u64),
    Exact(i128),
    Float(f64),
    Text(Option<&'a [u8]>),
}

/// Groups and their states.
#[derive(Debug)]
pub(super) struct Table {
    keys: Keys,
    /// Rows of each group.
    rows: Vec<u64>,
    states: Vec<States>,
}

fn overflow() -> Error {
    Error::Invalid("a sum that 128 bits cannot hold".into())
}

/// The order of [`Value`]: NaN is the greatest.
pub(super) fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl Table {
    pub(super) fn new(compiled: &Compiled) -> Self {
        let is_float = |step: usize| compiled.program.domain(step) == Domain::Float;
        let states = compiled.accumulators.iter().map(|accumulator| match accumulator {
            Accumulator::Count(_) => States::Counts(Vec::new()),
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
        Self { keys: Keys::default(), rows: Vec::new(), states: states.collect() }
    }

    /// The number of the group with this key, which may be new.
    pub(super) fn number(&mut self, key: &[u8], accumulators: &[Accumulator]) -> u32 {
        let (number, is_new) = self.keys.number(key);
        if is_new {
            self.push(accumulators);
        }
        number as u32
    }

    /// Room for one more group.
    fn push(&mut self, accumulators: &[Accumulator]) {
        self.rows.push(0);
        for (states, accumulator) in self.states.iter_mut().zip(accumulators) {
            match (states, accumulator) {
                (States::Counts(counts), _) => counts.push(0),
                (States::Exact(values), Accumulator::Least(_)) => values.push(i128::MAX),
                (States::Exact(values), Accumulator::Greatest(_)) => values.push(i128::MIN),
                (States::Exact(values), _) => values.push(0),
                // NaN is the greatest double.
                (States::Floats(values), Accumulator::Least(_)) => values.push(f64::NAN),
                (States::Floats(values), Accumulator::Greatest(_)) => values.push(f64::NEG_INFINITY),
                (States::Floats(values), _) => values.push(0.0),
                (States::Texts(values), _) => values.push(None),
            }
        }
    }

    pub(super) fn add_rows(&mut self, number: u32, rows: u64) {
        self.rows[number as usize] += rows;
    }

    /// Adds what was found of some rows of a group.
    ///
    /// # Errors
    /// A sum that 128 bits cannot hold.
    pub(super) fn add(
        &mut self,
        index: usize,
        accumulator: Accumulator,
        number: u32,
        found: State<'_>,
    ) -> Result<()> {
        let number = number as usize;
        match (&mut self.states[index], accumulator, found) {
            (States::Counts(counts), _, State::Count(count)) => counts[number] += count,
            (States::Exact(values), Accumulator::Sum(_), State::Exact(value)) => {
                values[number] = values[number].checked_add(value).ok_or_else(overflow)?;
            }
            (States::Exact(values), Accumulator::Least(_), State::Exact(value)) => {
                values[number] = values[number].min(value);
            }
            (States::Exact(values), _, State::Exact(value)) => values[number] = values[number].max(value),
            (States::Floats(values), Accumulator::Sum(_), State::Float(value)) => values[number] += value,
            (States::Floats(values), accumulator, State::Float(value)) => {
                let wanted = order_of(accumulator);
                if compare_floats(value, values[number]) == wanted {
                    values[number] = value;
                }
            }
            (States::Texts(values), accumulator, State::Text(text)) => {
                let wanted = order_of(accumulator);
                if let Some(text) = text
                    && values[number].as_deref().is_none_or(|best| text.cmp(best) == wanted)
                {
                    values[number] = Some(text.to_vec());
                }
            }
            (states, accumulator, found) => unreachable!("{found:?} for {accumulator:?} in {states:?}"),
        }
        Ok(())
    }

    fn get(&self, index: usize, number: usize) -> State<'_> {
        match &self.states[index] {
            States::Counts(counts) => State::Count(counts[number]),
            States::Exact(values) => State::Exact(values[number]),
            States::Floats(values) => State::Float(values[number]),
            States::Texts(values) => State::Text(values[number].as_deref()),
        }
    }

    /// Adds the groups of another table.
    pub(super) fn merge(&mut self, other: &Self, accumulators: &[Accumulator]) -> Result<()> {
        for from in 0..other.keys.len() {
            let (number, is_new) = self.keys.number_of(&other.keys, from);
            if is_new {
                self.push(accumulators);
            }
            self.add_rows(number as u32, other.rows[from]);
            for (index, accumulator) in accumulators.iter().enumerate() {
                self.add(index, *accumulator, number as u32, other.get(index, from))?;
            }
        }
        Ok(())
    }

    /// The results, a row for each group, in the order of their keys.
    ///
    /// # Errors
    /// A sum of more than 38 digits; text that is not UTF-8, which only damaged blocks yield.
    pub(super) fn finish(&self, compiled: &Compiled) -> Result<Vec<Vec<Value>>> {
        let mut groups: Vec<_> = (0..self.keys.len()).map(|number| (self.keys.get(number), number)).collect();
        groups.sort_unstable();
        let mut rows = Vec::with_capacity(groups.len());
        for (key, number) in groups {
            let mut row = match &compiled.key {
                Some(spec) => spec.decode(key).map_err(|error| Error::Invalid(error.to_string()))?,
                None => Vec::new(),
            };
            for output in &compiled.outputs {
                row.push(self.result(*output, number)?);
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn result(&self, output: Output, number: usize) -> Result<Value> {
        let count = |index: usize| match self.get(index, number) {
            State::Count(count) => count,
            other => unreachable!("{other:?} is no count"),
        };
        match output {
            Output::Rows => Ok(Value::I64(self.rows[number] as i64)),
            Output::Count(index) => Ok(Value::I64(count(index) as i64)),
            Output::Sum { count: of, .. }
            | Output::Average { count: of, .. }
            | Output::Extreme { count: of, .. }
                if count(of) == 0 =>
            {
                Ok(Value::Null)
            }
            Output::Sum { sum, ty, .. } => value_of(ty, self.get(sum, number)),
            Output::Extreme { of, ty, .. } => value_of(ty, self.get(of, number)),
            Output::Average { sum, count: of, domain } => {
                let of = count(of) as f64;
                Ok(Value::F64(match (self.get(sum, number), domain) {
                    (State::Exact(sum), Domain::Exact(scale)) => to_float(sum as f64 / of, scale),
                    (State::Float(sum), _) => sum / of,
                    (other, _) => unreachable!("{other:?} is no sum"),
                }))
            }
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

/// The value of a type that a state stands for.
fn value_of(ty: Type, state: State<'_>) -> Result<Value> {
    Ok(match (ty, state) {
        (Type::Decimal128 { scale, .. }, State::Exact(unscaled)) => {
            if unscaled.unsigned_abs() >= 10u128.pow(38) {
                return Err(Error::Invalid("a result of more than 38 digits".into()));
            }
            Value::Decimal128 { unscaled, scale }
        }
        (Type::Bool, State::Exact(value)) => Value::Bool(value != 0),
        (Type::I8, State::Exact(value)) => Value::I8(value as i8),
        (Type::I16, State::Exact(value)) => Value::I16(value as i16),
        (Type::I32, State::Exact(value)) => Value::I32(value as i32),
        (Type::I64, State::Exact(value)) => Value::I64(value as i64),
        (Type::U8, State::Exact(value)) => Value::U8(value as u8),
        (Type::U16, State::Exact(value)) => Value::U16(value as u16),
        (Type::U32, State::Exact(value)) => Value::U32(value as u32),
        (Type::U64, State::Exact(value)) => Value::U64(value as u64),
        (Type::Date32, State::Exact(value)) => Value::Date32(value as i32),
        (Type::Time64, State::Exact(value)) => Value::Time64(value as i64),
        (Type::Timestamp, State::Exact(value)) => Value::Timestamp(value as i64),
        (Type::F32, State::Float(value)) => Value::F32(value as f32),
        (Type::F64, State::Float(value)) => Value::F64(value),
        (Type::Binary, State::Text(Some(bytes))) => Value::Binary(bytes.to_vec()),
        (Type::Utf8, State::Text(Some(bytes))) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::Utf8(text.into()),
            Err(_) => return Err(Error::Invalid("damaged text: it is not UTF-8".into())),
        },
        (ty, state) => unreachable!("{state:?} of type {ty}"),
    })
}
