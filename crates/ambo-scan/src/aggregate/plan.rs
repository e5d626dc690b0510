//! An aggregation, compiled: which steps there are, what is kept of each group, and how results come from that.

use ambo_codec::Type;
use ambo_types::{Error, Result};

use super::{
    expression::{Aggregate, Expression},
    key_form::KeyForm,
    program::{Domain, Program},
};

/// What is asked of a scan: columns by their places in its projection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AggregatePlan {
    /// The columns whose values make a group; with none, all rows are one group.
    pub group_by: Vec<usize>,
    /// What is computed of each group.
    pub aggregates: Vec<Aggregate>,
}

/// Where an accumulator gets its values from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Input {
    /// Numbers.
    Step(usize),
    /// A column of text or bytes.
    Text(usize),
}

/// What is kept of each group, apart from how many rows it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Accumulator {
    /// How many values.
    Count(Input),
    Sum(usize),
    Least(Input),
    Greatest(Input),
}

impl Accumulator {
    pub(super) fn input(self) -> Input {
        match self {
            Self::Count(input) | Self::Least(input) | Self::Greatest(input) => input,
            Self::Sum(step) => Input::Step(step),
        }
    }
}

/// The accumulator that counts the values of something; none where every row has one.
pub(super) type Counter = Option<usize>;

/// A result, from accumulators by their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Output {
    Count(Counter),
    Sum { sum: usize, count: Counter, ty: Type },
    Extreme { of: usize, count: Counter, ty: Type },
    Average { sum: usize, count: Counter, domain: Domain },
}

/// See the module.
#[derive(Debug)]
pub(super) struct Compiled {
    pub program: Program,
    /// The type of each column of the projection.
    pub columns: Vec<Type>,
    /// Whether it may be NULL.
    nullable: Vec<bool>,
    pub group_by: Vec<usize>,
    /// How the values of a group become a key; none without columns to group by.
    pub key: Option<KeyForm>,
    pub accumulators: Vec<Accumulator>,
    pub outputs: Vec<Output>,
    /// The types of group columns and results.
    pub types: Vec<Type>,
}

impl Compiled {
    /// Compiles a plan for columns of these types, which may be NULL or not.
    ///
    /// # Errors
    /// [`Error::Invalid`]: a column that is not there, or arithmetic that cannot be done.
    pub(super) fn new(plan: &AggregatePlan, columns: &[Type], nullable: &[bool]) -> Result<Self> {
        assert_eq!(columns.len(), nullable.len(), "of each column it is told whether it may be NULL");
        let invalid = |error: ambo_codec::Error| Error::Invalid(error.to_string());
        let mut check = |place: &usize| match *place < columns.len() {
            true => Ok(*place),
            false => Err(Error::Invalid(format!("the scan has no column {place}"))),
        };
        for aggregate in &plan.aggregates {
            aggregate.rename(&mut check)?;
        }
        let group_by = plan.group_by.iter().map(check).collect::<Result<Vec<_>>>()?;
        let types: Vec<Type> = group_by.iter().map(|place| columns[*place]).collect();
        let key = match types.is_empty() {
            true => None,
            false => {
                let columns = group_by.iter().map(|place| (columns[*place], nullable[*place]));
                Some(KeyForm::new(columns.collect()).map_err(invalid)?)
            }
        };
        let mut compiled = Self {
            program: Program::default(),
            columns: columns.to_vec(),
            nullable: nullable.to_vec(),
            group_by,
            key,
            accumulators: Vec::new(),
            outputs: Vec::new(),
            types,
        };
        plan.aggregates.iter().try_for_each(|aggregate| compiled.add(aggregate))?;
        compiled.check_invariants();
        Ok(compiled)
    }

    /// Whether doubles are added up.
    pub(super) fn sums_floats(&self) -> bool {
        self.accumulators.iter().any(|accumulator| {
            matches!(accumulator, Accumulator::Sum(step) if self.program.domain(*step) == Domain::Float)
        })
    }

    /// Checks that what is kept of groups, and what results are made of, is there (in debug builds).
    fn check_invariants(&self) {
        let (columns, steps) = (self.columns.len(), self.program.steps.len());
        debug_assert_eq!(self.nullable.len(), columns, "of each column it is known whether it may be NULL");
        debug_assert_eq!(self.key.is_some(), !self.group_by.is_empty(), "columns to group by make a key");
        let results = self.group_by.len() + self.outputs.len();
        debug_assert_eq!(self.types.len(), results, "each column of the result has a type");
        let is_there = |input: Input| match input {
            Input::Step(step) => step < steps,
            Input::Text(place) => place < columns && self.columns[place].is_variable(),
        };
        debug_assert!(
            self.accumulators.iter().all(|of| is_there(of.input())),
            "accumulators are of steps or text"
        );
        let is_counter =
            |of: Counter| of.is_none_or(|of| matches!(self.accumulators[of], Accumulator::Count(_)));
        let is_sum = |of: usize| matches!(self.accumulators[of], Accumulator::Sum(_));
        let is_made = |output: &Output| match *output {
            Output::Count(count) | Output::Extreme { count, .. } => is_counter(count),
            Output::Sum { sum, count, .. } | Output::Average { sum, count, .. } => {
                is_counter(count) && is_sum(sum)
            }
        };
        debug_assert!(self.outputs.iter().all(is_made), "results are made of accumulators of their kind");
    }

    fn add(&mut self, aggregate: &Aggregate) -> Result<()> {
        let (output, ty) = match aggregate {
            Aggregate::Rows => (Output::Count(None), Type::I64),
            Aggregate::Count(of) => {
                let (input, _) = self.input(of)?;
                let count = match of {
                    Expression::Column(_) => self.counter(input),
                    // It is to be computed, for it may overflow.
                    _ => Some(self.keep(Accumulator::Count(input))),
                };
                (Output::Count(count), Type::I64)
            }
            Aggregate::Sum(of) => {
                let (sum, count, domain) = self.sum(of)?;
                let ty = type_of(domain);
                (Output::Sum { sum, count, ty }, ty)
            }
            Aggregate::Average(of) => {
                let (sum, count, domain) = self.sum(of)?;
                (Output::Average { sum, count, domain }, Type::F64)
            }
            Aggregate::Min(of) => self.extreme(of, Accumulator::Least)?,
            Aggregate::Max(of) => self.extreme(of, Accumulator::Greatest)?,
        };
        self.outputs.push(output);
        self.types.push(ty);
        Ok(())
    }

    fn keep(&mut self, accumulator: Accumulator) -> usize {
        if let Some(known) = self.accumulators.iter().position(|known| *known == accumulator) {
            return known;
        }
        self.accumulators.push(accumulator);
        self.accumulators.len() - 1
    }

    fn counter(&mut self, of: Input) -> Counter {
        let may_be_null = match of {
            Input::Text(place) => self.nullable[place],
            Input::Step(step) => self.program.nullable(|_, place| self.nullable[place])[step],
        };
        may_be_null.then(|| self.keep(Accumulator::Count(of)))
    }

    fn sum(&mut self, of: &Expression) -> Result<(usize, Counter, Domain)> {
        let step = self.program.add(of, &self.columns)?;
        let count = self.counter(Input::Step(step));
        Ok((self.keep(Accumulator::Sum(step)), count, self.program.domain(step)))
    }

    fn extreme(&mut self, of: &Expression, which: fn(Input) -> Accumulator) -> Result<(Output, Type)> {
        let (input, ty) = self.input(of)?;
        let count = self.counter(input);
        Ok((Output::Extreme { of: self.keep(which(input)), count, ty }, ty))
    }

    /// A column of any type, or numbers; and their type.
    fn input(&mut self, of: &Expression) -> Result<(Input, Type)> {
        if let Expression::Column(place) = of {
            let ty = self.columns[*place];
            return Ok(match self.program.column(*place, ty) {
                Some(step) => (Input::Step(step), ty),
                None => (Input::Text(*place), ty),
            });
        }
        let step = self.program.add(of, &self.columns)?;
        Ok((Input::Step(step), type_of(self.program.domain(step))))
    }
}

/// The type of computed numbers.
fn type_of(domain: Domain) -> Type {
    match domain {
        Domain::Exact(scale) => Type::Decimal128 { precision: 38, scale },
        Domain::Float => Type::F64,
    }
}
