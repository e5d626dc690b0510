//! Tests of predicates and of UQI.

mod predicates;
mod rows;
mod texts;
