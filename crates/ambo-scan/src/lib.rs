//! The vocabulary of scans, which all storages share: what is asked of columns, buffers of values, aggregates.
//!
//! Knows values and encoded blocks. Knows neither files nor tables: whoever has rows shows them as a [`RowGroup`].

mod aggregate;
pub mod bounds;
pub mod buffer;
mod filter;
mod float_sum;
mod gather;
mod group;
mod identity;
pub mod key_words;
mod morsel;
pub mod stretch;
mod strided;
mod strings;

pub use aggregate::{
    Aggregate, AggregatePlan, Aggregation, Aggregator, CountedColumn, Expression, Groups, PartialGroups,
    ValueCounts,
};
pub use bounds::Bounds;
pub use buffer::{ColumnBuffer, Values};
pub use filter::{Filter, Test};
pub use float_sum::FloatSum;
pub use group::RowGroup;
pub use identity::Identity;
pub use morsel::Morsel;
pub use strings::Strings;
