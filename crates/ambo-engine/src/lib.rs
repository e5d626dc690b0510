//! The storage engine: memtables, transactions, the catalog, indexes, and the database that ties them to bases and files.
//!
//! Crates are the layers; each knows only those before it:
//! `ambo-codec` → `ambo-types` → `ambo-pages`, `ambo-scan` → `ambo-base` → this one. Within it, folders are layers, too:
//! `memtable` → `transaction` → `catalog` → `index` → `database`.
//!
//! What the layers below show to those who use the engine stands here, too, so that these need one name.

pub mod catalog;
pub mod database;
pub mod index;
pub mod memtable;
pub mod transaction;

mod samples;

pub use ambo_base as base;
pub use ambo_pages::{budget, io, log, page, priority, seal};
pub use ambo_scan as scan;
pub use ambo_types::{Error, Result, id, record};
