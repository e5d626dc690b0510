//! Questions to the engine that need no SQL.
//!
//! * [`predicate`]: conditions on rows, as one typed tree with evaluators of one meaning. It knows values alone, neither files nor tables.
//! * [`uqi`]: aggregates of keys and records in the manner of upscaledb's query interface, with plug-ins.

pub mod predicate;
pub mod uqi;
