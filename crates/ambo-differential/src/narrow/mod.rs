//! Queries of integers, texts and truth, which SQLite means as Ambo does.
//!
//! What the generator leaves out, because the two differ by intention: division by zero, implicit casts, case of LIKE, values out of range.

mod definition;
mod expression;
mod query;
mod schema;

pub use query::Generator;
pub use schema::Schema;
