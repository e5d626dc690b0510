//! Expressions as a list of steps, each of which is computed once, and the width that each needs for the rows at hand.

use ambo_codec::{Type, Value, column::arithmetic::Operator};
use ambo_types::{Error, Result};

use super::{super::filter::Test, expression::Expression};

/// The most digits behind the point, or zeros in front of it, as in [`Type::Decimal128`].
const SCALE_MAX: i32 = 38;

/// How a number is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Domain {
    /// An integer, in units of ten to the power of minus this.
    Exact(i8),
    /// A double.
    Float,
}

/// A step; operands are the numbers of earlier steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// A column, by its place in the projection.
    Column(usize),
    Constant(i128),
    ConstantFloat(f64),
    Arithmetic(Operator, usize, usize),
    /// An exact number as a double: its integer divided by ten to this power.
    ToFloat(usize, i8),
    /// The answer to a question, by its number in the program: one for yes.
    Holds(usize),
    /// The second where the first is neither zero nor NULL, else the third, or NULL.
    Choice(usize, usize, Option<usize>),
}

/// A question about a column, by its place in the projection.
#[derive(Debug, PartialEq)]
pub(super) struct Question {
    pub place: usize,
    pub test: Test,
}

/// Steps, operands first. Equal steps are there once.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub steps: Vec<Step>,
    domains: Vec<Domain>,
    pub questions: Vec<Question>,
}

impl Step {
    /// The steps that this one is computed from.
    pub(super) fn operands(self) -> impl Iterator<Item = usize> {
        let operands = match self {
            Self::Column(_) | Self::Constant(_) | Self::ConstantFloat(_) | Self::Holds(_) => [None; 3],
            Self::ToFloat(of, _) => [Some(of), None, None],
            Self::Arithmetic(_, left, right) => [Some(left), Some(right), None],
            Self::Choice(condition, then, other) => [Some(condition), Some(then), other],
        };
        operands.into_iter().flatten()
    }
}

/// In how many bits a step's numbers are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// In 64, which hold everything between these.
    Narrow(i64, i64),
    /// In 128, with a look at each for overflow.
    Wide,
    Float,
}

fn is_number(ty: Type) -> bool {
    !matches!(ty, Type::Bool | Type::Date32 | Type::Time64 | Type::Timestamp | Type::TimestampTz)
        && !ty.is_variable()
}

/// How the stored numbers of a column are to be read; none of text.
fn domain_of(ty: Type) -> Option<Domain> {
    match ty {
        Type::F32 | Type::F64 => Some(Domain::Float),
        Type::Decimal128 { scale, .. } => Some(Domain::Exact(scale)),
        Type::Utf8 | Type::Binary => None,
        _ => Some(Domain::Exact(0)),
    }
}

impl Program {
    /// The domain of a step.
    pub(super) fn domain(&self, step: usize) -> Domain {
        self.domains[step]
    }

    /// Whether the numbers of each step may be NULL, if those of a step that is a column, by its place, may be as told.
    pub(super) fn nullable(&self, of_column: impl Fn(usize, usize) -> bool) -> Vec<bool> {
        let mut nullable: Vec<bool> = Vec::with_capacity(self.steps.len());
        for (index, step) in self.steps.iter().enumerate() {
            nullable.push(match *step {
                Step::Column(place) => of_column(index, place),
                Step::Choice(_, _, None) => true,
                Step::Choice(_, then, Some(other)) => nullable[then] || nullable[other],
                step => step.operands().any(|operand| nullable[operand]),
            });
        }
        nullable
    }

    fn push(&mut self, step: Step, domain: Domain) -> usize {
        debug_assert_eq!(self.steps.len(), self.domains.len(), "each step has a domain");
        debug_assert!(
            step.operands().all(|of| of < self.steps.len()),
            "operands come before what is made of them"
        );
        let known = self.steps.iter().zip(&self.domains);
        if let Some(known) = known.clone().position(|(one, of)| *one == step && *of == domain) {
            return known;
        }
        self.steps.push(step);
        self.domains.push(domain);
        self.steps.len() - 1
    }

    /// The step of a column that is not text.
    pub(super) fn column(&mut self, place: usize, ty: Type) -> Option<usize> {
        domain_of(ty).map(|domain| self.push(Step::Column(place), domain))
    }

    /// Adds the steps of an expression on columns of these types, and returns its last.
    ///
    /// # Errors
    /// Arithmetic on what are no numbers, or with scales beyond 38; a question whose constants do not fit the column.
    pub(super) fn add(&mut self, expression: &Expression, types: &[Type]) -> Result<usize> {
        match expression {
            Expression::Column(place) => match types[*place] {
                ty if is_number(ty) => Ok(self.column(*place, ty).expect("numbers have a domain")),
                ty => Err(Error::Invalid(format!("arithmetic on a column of type {ty}"))),
            },
            Expression::Constant(value) => self.constant(value),
            Expression::Arithmetic(operator, left, right) => {
                let (left, right) = (self.add(left, types)?, self.add(right, types)?);
                self.arithmetic(*operator, left, right)
            }
            Expression::Holds(place, test) => self.question(*place, test, types[*place]),
            Expression::Choice(condition, then, other) => {
                let (condition, then) = (self.add(condition, types)?, self.add(then, types)?);
                let other = other.as_ref().map(|other| self.add(other, types)).transpose()?;
                self.choice(condition, then, other)
            }
        }
    }

    fn question(&mut self, place: usize, test: &Test, ty: Type) -> Result<usize> {
        let test = test.clone().fit(ty).map_err(|error| Error::Invalid(error.to_string()))?;
        let question = Question { place, test };
        let number = self.questions.iter().position(|known| *known == question).unwrap_or_else(|| {
            self.questions.push(question);
            self.questions.len() - 1
        });
        Ok(self.push(Step::Holds(number), Domain::Exact(0)))
    }

    fn choice(&mut self, condition: usize, then: usize, other: Option<usize>) -> Result<usize> {
        let is = |step: usize, value: i128| {
            self.steps[step] == Step::Constant(value) && self.domain(step) == Domain::Exact(0)
        };
        let is_question = matches!(self.steps[condition], Step::Holds(_));
        if is_question && is(then, 1) && other.is_some_and(|other| is(other, 0)) {
            return Ok(condition);
        }
        let domains = (self.domain(then), self.domain(other.unwrap_or(then)));
        let (Domain::Exact(of_then), Domain::Exact(of_other)) = domains else {
            let (then, other) = (self.float(then), other.map(|other| self.float(other)));
            return Ok(self.push(Step::Choice(condition, then, other), Domain::Float));
        };
        let common = of_then.max(of_other);
        let then = self.rescale(then, of_then, common)?;
        let other = other.map(|other| self.rescale(other, of_other, common)).transpose()?;
        let is_common = |step: usize| self.domain(step) == Domain::Exact(common);
        assert!(is_common(then) && other.is_none_or(is_common), "what is chosen from has one scale");
        Ok(self.push(Step::Choice(condition, then, other), Domain::Exact(common)))
    }

    fn constant(&mut self, value: &Value) -> Result<usize> {
        let (step, domain) = match *value {
            Value::F32(value) => (Step::ConstantFloat(value.into()), Domain::Float),
            Value::F64(value) => (Step::ConstantFloat(value), Domain::Float),
            _ => {
                let scale = if let Value::Decimal128 { scale, .. } = value { *scale } else { 0 };
                let is_exact = !matches!(
                    value,
                    Value::Bool(_)
                        | Value::Date32(_)
                        | Value::Time64(_)
                        | Value::Timestamp(_)
                        | Value::TimestampTz(_)
                );
                let exact = exact(value)
                    .filter(|_| is_exact)
                    .ok_or_else(|| Error::Invalid(format!("arithmetic with {value}, which is no number")))?;
                (Step::Constant(exact), Domain::Exact(scale))
            }
        };
        Ok(self.push(step, domain))
    }

    fn arithmetic(&mut self, operator: Operator, left: usize, right: usize) -> Result<usize> {
        let (Domain::Exact(of_left), Domain::Exact(of_right)) = (self.domain(left), self.domain(right))
        else {
            let (left, right) = (self.float(left), self.float(right));
            return Ok(self.push(Step::Arithmetic(operator, left, right), Domain::Float));
        };
        if operator == Operator::Multiply {
            let scale = scale(i32::from(of_left) + i32::from(of_right))?;
            return Ok(self.push(Step::Arithmetic(operator, left, right), Domain::Exact(scale)));
        }
        let common = of_left.max(of_right);
        let (left, right) = (self.rescale(left, of_left, common)?, self.rescale(right, of_right, common)?);
        assert_eq!(self.domain(left), self.domain(right), "what is added has one scale");
        Ok(self.push(Step::Arithmetic(operator, left, right), Domain::Exact(common)))
    }

    /// The same number in smaller units.
    fn rescale(&mut self, step: usize, from: i8, to: i8) -> Result<usize> {
        if from == to {
            return Ok(step);
        }
        assert!(from < to, "a number keeps its digits behind the point");
        let digits = (i32::from(to) - i32::from(from)) as u32;
        let factor = 10i128.checked_pow(digits).ok_or_else(|| too_many_digits(i32::from(to)))?;
        if let Step::Constant(value) = self.steps[step]
            && let Some(value) = value.checked_mul(factor)
        {
            return Ok(self.push(Step::Constant(value), Domain::Exact(to)));
        }
        let factor = self.push(Step::Constant(factor), Domain::Exact(to));
        Ok(self.push(Step::Arithmetic(Operator::Multiply, step, factor), Domain::Exact(to)))
    }

    fn float(&mut self, step: usize) -> usize {
        match self.domain(step) {
            Domain::Float => step,
            Domain::Exact(scale) => self.push(Step::ToFloat(step, scale), Domain::Float),
        }
    }

    /// What each step needs where the values of columns lie between what `bounds` says.
    pub(super) fn lanes(&self, bounds: impl Fn(usize) -> (i128, i128), out: &mut Vec<Lane>) {
        out.clear();
        for (step, domain) in self.steps.iter().zip(&self.domains) {
            let range = match *step {
                _ if *domain == Domain::Float => None,
                Step::Column(place) => Some(bounds(place)),
                Step::Constant(value) => Some((value, value)),
                Step::Arithmetic(operator, left, right) => range_of(operator, out[left], out[right]),
                Step::Holds(_) => Some((0, 1)),
                Step::Choice(_, then, other) => hull(out[then], out[other.unwrap_or(then)]),
                Step::ConstantFloat(_) | Step::ToFloat(..) => None,
            };
            let narrow =
                range.and_then(|(low, high)| Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?)));
            out.push(match (domain, narrow) {
                (Domain::Float, _) => Lane::Float,
                (Domain::Exact(_), Some((low, high))) => Lane::Narrow(low, high),
                (Domain::Exact(_), None) => Lane::Wide,
            });
        }
        assert_eq!(out.len(), self.steps.len(), "each step has a width");
    }
}

/// Between what the results of an operation on narrow operands lie.
fn range_of(operator: Operator, left: Lane, right: Lane) -> Option<(i128, i128)> {
    let (Lane::Narrow(a, b), Lane::Narrow(c, d)) = (left, right) else { return None };
    let [a, b, c, d] = [a, b, c, d].map(i128::from);
    Some(match operator {
        Operator::Add => (a + c, b + d),
        Operator::Subtract => (a - d, b - c),
        Operator::Multiply => {
            // 126 bits at most.
            let corners = [a * c, a * d, b * c, b * d];
            (corners.into_iter().min()?, corners.into_iter().max()?)
        }
    })
}

/// Between what the numbers of either of two steps lie.
fn hull(one: Lane, other: Lane) -> Option<(i128, i128)> {
    let (Lane::Narrow(a, b), Lane::Narrow(c, d)) = (one, other) else { return None };
    Some((a.min(c).into(), b.max(d).into()))
}

fn scale(scale: i32) -> Result<i8> {
    match scale.abs() <= SCALE_MAX {
        true => Ok(scale as i8),
        false => Err(too_many_digits(scale)),
    }
}

fn too_many_digits(scale: i32) -> Error {
    Error::Invalid(format!(
        "arithmetic whose result would have a scale of {scale}, and {SCALE_MAX} is the most; make one side a double"
    ))
}

/// The integer that stands for a value that is no float and no text.
pub fn exact(value: &Value) -> Option<i128> {
    Some(match *value {
        Value::Bool(value) => value.into(),
        Value::I8(value) => value.into(),
        Value::I16(value) => value.into(),
        Value::I32(value) | Value::Date32(value) => value.into(),
        Value::I64(value) | Value::Time64(value) | Value::Timestamp(value) | Value::TimestampTz(value) => {
            value.into()
        }
        Value::U8(value) => value.into(),
        Value::U16(value) => value.into(),
        Value::U32(value) => value.into(),
        Value::U64(value) => value.into(),
        Value::Decimal128 { unscaled, .. } => unscaled,
        _ => return None,
    })
}

/// The least and greatest integers that stand for values of a type.
pub(super) fn range_of_type(ty: Type) -> (i128, i128) {
    match ty {
        Type::Bool => (0, 1),
        Type::I8 => (i8::MIN.into(), i8::MAX.into()),
        Type::I16 => (i16::MIN.into(), i16::MAX.into()),
        Type::I32 | Type::Date32 => (i32::MIN.into(), i32::MAX.into()),
        Type::I64 | Type::Time64 | Type::Timestamp | Type::TimestampTz => (i64::MIN.into(), i64::MAX.into()),
        Type::U8 => (0, u8::MAX.into()),
        Type::U16 => (0, u16::MAX.into()),
        Type::U32 => (0, u32::MAX.into()),
        Type::U64 => (0, u64::MAX.into()),
        Type::Decimal128 { precision, .. } => {
            let bound = 10i128.pow(precision.into()) - 1;
            (-bound, bound)
        }
        Type::F32 | Type::F64 | Type::Utf8 | Type::Binary => (0, 0),
    }
}
