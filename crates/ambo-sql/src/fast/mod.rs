//! Statements on a key that need no planner: rows by their key or by the values of a unique index, a few keys, a short range of them, how
//! many rows a table has, and rows put in, changed or deleted by their key.
//!
//! A statement is recognised by its tree once; what it does then is a [`FastPlan`], kept with the text of the statement. Where a value
//! turns out to need more than is known here (a cast that loses something, arithmetic that is not exact), running the plan says so and the
//! statement goes the planner's way.

mod condition;
mod expression;
mod moment;
mod plan;
mod ranged;
mod read;
mod recognise;
mod target;
mod write;

pub(crate) use expression::{Expression, cast};
pub(crate) use plan::FastPlan;
pub(crate) use recognise::recognise;
