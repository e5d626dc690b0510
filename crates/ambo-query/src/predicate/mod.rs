//! Conditions on rows: one typed tree, and evaluators of one meaning.
//!
//! | evaluator | what it does | for |
//! |---|---|---|
//! | [`walk`] | goes through the tree for each row, value by value | what it says is right; rows that others leave to it |
//! | [`Vectors`] | one loop for each condition over 1,024 rows, which leaves a mask | many rows: records, columns |
//! | [`Program`] | bytecode of four kinds of instructions | one row at a time, of one relation or several |
//!
//! # What a condition means
//! 1. As in SQL: a comparison with NULL is neither true nor false, AND, OR and NOT go on with that, and a row is taken if all is true.
//! 2. Numbers are compared exactly, whatever their types are: 300 is greater than every `u8`, and 0.1 is no `f32`. NaN equals NaN and is
//!    above all numbers; -0.0 equals 0.0. Decimals are compared with decimals and integers.
//! 3. Arithmetic on integers is exact in 128 bits. What has no result there (an overflow, a division by zero, a shift by less than 0 or
//!    more than 63) is an error, unless the row is answered without it: AND is false if any part is, OR is true if any part is, and else
//!    both are unknown if any part is, in whatever order parts stand.
//! 4. Errors and rare cases are made in one place, the tree walk: others leave such a row to it.

mod bind;
mod bytecode;
mod display;
mod floor;
mod instructions;
mod layout;
mod normal;
mod numbers;
mod vector_numbers;
mod vectors;
mod walk;

pub use ambo_codec::column::Compare;
pub use bytecode::{Program, can_represent};
pub use layout::{Column, Data, Field, Layout, Nulls};
pub(crate) use layout::{bytes_of, width};
pub use vectors::Vectors;
pub use walk::walk;

use ambo_codec::Value;

/// What is done with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`; integers are cut towards zero.
    Divide,
    /// `%`, with the sign of the left side.
    Remainder,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

/// A side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A column of the row of a relation.
    Column {
        /// Which of the rows that are looked at together; 0 where there is one.
        relation: u8,
        /// Its place among the columns of that relation.
        column: usize,
    },
    /// A constant.
    Literal(Value),
    /// A constant that is given later: see [`Predicate::with_parameters`].
    Parameter(usize),
    /// A number made of two.
    Arithmetic(Box<Operand>, Arithmetic, Box<Operand>),
}

/// What is asked of text or bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum TextTest {
    /// They begin so.
    Prefix(Vec<u8>),
    /// They have these in them.
    Contains(Vec<u8>),
    /// As SQL's LIKE: `%` is any bytes, `_` one character; a backslash takes the character behind it as it is.
    Like(Vec<u8>),
}

/// A condition on rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// How two operands compare.
    Compare(Compare, Operand, Operand),
    /// Whether it is equal to one of these.
    In(Operand, Vec<Value>),
    /// Whether it is at least the first and at most the second.
    Between(Operand, Operand, Operand),
    /// Whether it is NULL.
    IsNull(Operand),
    /// What text is like.
    Text(Operand, TextTest),
    /// All of these; of none it is true.
    And(Vec<Predicate>),
    /// One of these at least; of none it is false.
    Or(Vec<Predicate>),
    /// Not this.
    Not(Box<Predicate>),
}

impl Operand {
    /// A column of the one relation there is.
    pub fn column(column: usize) -> Self {
        Self::Column { relation: 0, column }
    }

    /// A constant.
    pub fn literal(value: impl Into<Value>) -> Self {
        Self::Literal(value.into())
    }

    /// This and another, combined.
    #[must_use]
    pub fn with(self, what: Arithmetic, other: Self) -> Self {
        Self::Arithmetic(Box::new(self), what, Box::new(other))
    }
}

impl Predicate {
    /// A comparison of a column with a constant.
    pub fn column(column: usize, compare: Compare, value: impl Into<Value>) -> Self {
        Self::Compare(compare, Operand::column(column), Operand::literal(value))
    }

    /// The opposite.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "what stands there is the word of SQL")]
    pub fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}
