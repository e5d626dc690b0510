//! Arrow arrays in and out (`arrow-rs`). Feature `arrow`.

mod export;
mod types;

pub use export::{Batches, Stream};
pub use types::{data_type, field};
