//! What all layers of the store speak of: ids, records, definitions of tables, errors.
//!
//! Knows values and how they are encoded (`ambo-codec`), and nothing of files, locks or transactions. Besides, how work is cut into parts
//! for several threads ([`parts`]).

mod definition;
pub mod encoding;
mod error;
pub mod id;
mod index;
pub mod logical;
pub mod names;
mod options;
pub mod parts;
pub mod record;

pub use definition::{
    COLUMNS_MAX, Check, Column, Expiry, KeyWidth, RecordWidth, Records, Retention, Slot, Storage,
    StorageTraits, StoredIn, TableDefinition,
};
pub use error::{Error, Result};
pub use index::{INDEX_COLUMNS_MAX, IndexDefinition, IndexKind, IndexOf};
pub use logical::{Bits, Enum, Geometry, Interval, Logical, Part, Point, Shape};
pub use names::{DEFAULT_SCHEMA, nearest, qualify};
pub use options::TableOptions;
