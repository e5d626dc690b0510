//! Arrow arrays in and out (`arrow-rs`). Feature `arrow`.

mod import;

pub use import::{buffers, definition, type_of};
