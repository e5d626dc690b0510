//! Queries of all types that DuckDB has, too.
//!
//! What is left out, because the two differ by intention: division by zero, how doubles and decimals are divided, the forms of doubles as
//! text, averages of decimals, `avg` and `sum` of NaN, the distance of days
//! without end, the case of letters that are not Latin.

mod condition;
mod expression;
mod query;
mod schema;
mod sequence;
mod windows;
mod write;

pub use query::Generator;
pub use schema::Schema;
