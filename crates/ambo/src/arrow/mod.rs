//! Arrow arrays in and out (`arrow-rs`). Feature `arrow`.

mod export;
mod import;
mod order;
mod rows;
mod types;
mod unit;

pub use export::{Batches, Stream};
pub use import::{buffers, definition, type_of};
pub(crate) use import::{buffers_of, numbers};
pub use order::{Lane, Ordered};
pub use rows::{RowBatches, RowUnits, array};
pub use types::{data_type, field, schema};
pub use unit::{Unit, UnitFilter};
