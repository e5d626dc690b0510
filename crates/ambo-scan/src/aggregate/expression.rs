//! What is computed of a row, and what is computed of many: small trees that a caller builds.

use std::ops;

use ambo_codec::{Value, column::arithmetic::Operator};

use crate::filter::Test;

/// Arithmetic on the columns of a row. `C` is what columns are called.
///
/// Integers and decimals are computed exactly, in up to 128 bits: a sum or difference has the longer scale of the two, a product both
/// scales added. With a float the other side becomes a double. NULL on either side makes NULL.
///
/// ```
/// use ambo_codec::column::Compare;
/// use ambo_scan::{Expression, Test};
/// let [price, discount]: [Expression; 2] = [0, 1].map(Expression::Column);
/// let paid = price * (Expression::constant(1) - discount);
/// let much = Expression::holds(2, Test::Compare(Compare::Greater, 100.into()));
/// let _paid_for_much = much.choose(paid, Expression::constant(0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Expression<C = usize> {
    /// The value of a column.
    Column(C),
    /// The same for each row.
    Constant(Value),
    /// Two values combined.
    Arithmetic(Operator, Box<Self>, Box<Self>),
    /// One where the answer to a question about a column is yes, zero where it is not. Never NULL.
    Holds(C, Test),
    /// The second where the first is neither zero nor NULL, and elsewhere the third, or NULL where there is none. Both have the longer
    /// scale of the two, or are doubles if one is. Both are computed for every row: an overflow of either is an error.
    Choice(Box<Self>, Box<Self>, Option<Box<Self>>),
}

impl<C> Expression<C> {
    /// A constant.
    pub fn constant(value: impl Into<Value>) -> Self {
        Self::Constant(value.into())
    }

    /// Two values combined.
    pub fn combine(self, operator: Operator, right: impl Into<Self>) -> Self {
        Self::Arithmetic(operator, Box::new(self), Box::new(right.into()))
    }

    /// See [`Expression::Holds`].
    pub fn holds(column: C, test: Test) -> Self {
        Self::Holds(column, test)
    }

    /// `then` where this is neither zero nor NULL, else `other`. See [`Expression::Choice`].
    pub fn choose(self, then: impl Into<Self>, other: impl Into<Self>) -> Self {
        Self::Choice(Box::new(self), Box::new(then.into()), Some(Box::new(other.into())))
    }

    /// `then` where this is neither zero nor NULL, else NULL. See [`Expression::Choice`].
    pub fn choose_or_null(self, then: impl Into<Self>) -> Self {
        Self::Choice(Box::new(self), Box::new(then.into()), None)
    }

    /// The same with other names of the columns.
    pub fn rename<D, E>(&self, name: &mut impl FnMut(&C) -> Result<D, E>) -> Result<Expression<D>, E> {
        let mut inner = |of: &Self| of.rename(name).map(Box::new);
        Ok(match self {
            Self::Constant(value) => Expression::Constant(value.clone()),
            Self::Arithmetic(operator, left, right) => {
                Expression::Arithmetic(*operator, inner(left)?, inner(right)?)
            }
            Self::Choice(condition, then, other) => Expression::Choice(
                inner(condition)?,
                inner(then)?,
                other.as_ref().map(|other| inner(other)).transpose()?,
            ),
            Self::Column(column) => Expression::Column(name(column)?),
            Self::Holds(column, test) => Expression::Holds(name(column)?, test.clone()),
        })
    }
}

macro_rules! operators {
    ($($operator:ident, $method:ident, $trait:ident);*) => {$(
        impl<C, R: Into<Self>> ops::$trait<R> for Expression<C> {
            type Output = Self;

            fn $method(self, right: R) -> Self {
                self.combine(Operator::$operator, right)
            }
        }
    )*};
}

operators!(Add, add, Add; Subtract, sub, Sub; Multiply, mul, Mul);

macro_rules! constants {
    ($($rust:ty),*) => {$(
        impl<C> From<$rust> for Expression<C> {
            fn from(value: $rust) -> Self {
                Self::constant(value)
            }
        }
    )*};
}

constants!(i32, i64, f64, Value);

/// A column by its name.
impl From<&str> for Expression<String> {
    fn from(name: &str) -> Self {
        Self::Column(name.into())
    }
}

/// What is computed of all rows, or of all rows of a group. NULLs are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregate<C = usize> {
    /// How many rows: a `bigint`.
    Rows,
    /// How many rows have a value there: a `bigint`. Of a column of any type, or of numbers.
    Count(Expression<C>),
    /// The sum of numbers: a decimal of 38 digits for integers and decimals, a double for floats. NULL if there is no value.
    Sum(Expression<C>),
    /// The least value, in the order of [`Value`]. NULL if there is none. Of a column of any type, or of numbers.
    Min(Expression<C>),
    /// The greatest value.
    Max(Expression<C>),
    /// The mean of numbers: a double, computed from the exact sum of integers and decimals. NULL if there is no value.
    Average(Expression<C>),
}

impl<C> Aggregate<C> {
    /// See [`Aggregate::Count`].
    pub fn count(of: impl Into<Expression<C>>) -> Self {
        Self::Count(of.into())
    }

    /// See [`Aggregate::Sum`].
    pub fn sum(of: impl Into<Expression<C>>) -> Self {
        Self::Sum(of.into())
    }

    /// See [`Aggregate::Min`].
    pub fn min(of: impl Into<Expression<C>>) -> Self {
        Self::Min(of.into())
    }

    /// See [`Aggregate::Max`].
    pub fn max(of: impl Into<Expression<C>>) -> Self {
        Self::Max(of.into())
    }

    /// See [`Aggregate::Average`].
    pub fn average(of: impl Into<Expression<C>>) -> Self {
        Self::Average(of.into())
    }

    /// The same with other names of the columns.
    pub fn rename<D, E>(&self, name: &mut impl FnMut(&C) -> Result<D, E>) -> Result<Aggregate<D>, E> {
        Ok(match self {
            Self::Rows => Aggregate::Rows,
            Self::Count(of) => Aggregate::Count(of.rename(name)?),
            Self::Sum(of) => Aggregate::Sum(of.rename(name)?),
            Self::Min(of) => Aggregate::Min(of.rename(name)?),
            Self::Max(of) => Aggregate::Max(of.rename(name)?),
            Self::Average(of) => Aggregate::Average(of.rename(name)?),
        })
    }
}
