//! Arrow arrays in and out (`arrow-rs`). Feature `arrow`.

mod decode;
mod encode;
mod export;
mod import;
mod logical;
mod order;
mod rows;
mod types;
mod unit;

pub use export::{Batches, Stream};
pub use import::{buffers, definition, type_of};
pub(crate) use import::{buffers_of, numbers};
pub use logical::{
    collated, collation_of, enum_of, enum_type, from_stored, logical_of, logical_type, part_of, part_type,
    short_bytes, to_stored,
};
pub use order::{Lane, Ordered};
pub use rows::{RowBatches, RowUnits, array};
pub use types::{column_type, data_type, field, schema};
pub use unit::{Unit, UnitFilter};
