//! The storage engine of Ambo.
//!
//! Folders show the layers; each uses only those before it:
//! `io` → `page`, `log` → `base`, `memtable` → `transaction` → `catalog` → `index` → `database`.

pub mod base;
pub mod budget;
pub mod catalog;
pub mod database;
pub mod error;
pub mod id;
pub mod index;
pub mod io;
pub mod log;
pub mod memtable;
pub mod page;
pub mod priority;
pub mod record;
pub mod transaction;

mod checksum;
mod parts;
mod samples;
mod sync;

pub use error::{Error, Result};
