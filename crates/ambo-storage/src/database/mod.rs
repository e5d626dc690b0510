//! The database: versions of tables, the threads that settle them, and what users hold in hand.
//!
//! | file | idea |
//! |---|---|
//! | `engine` | what all handles share; single reads |
//! | `version` | what a reader sees, as one immutable value |
//! | `commit` | the steps of a commit |
//! | `snapshot`, `transaction`, `cursor`, `count`, `value` | reading at a moment, writing together |
//! | `checkpoint`, `settle`, `governor`, `workers` | from deltas to packed trees, at a pace |
//! | `open`, `ddl`, `blobs`, `table` | recovery, definitions, long values, typed rows |

mod blobs;
mod checkpoint;
mod commit;
mod count;
mod cursor;
mod ddl;
mod engine;
mod governor;
mod open;
mod options;
mod settle;
mod snapshot;
mod table;
mod transaction;
mod value;
mod version;

pub use blobs::{ValueReader, ValueWriter};
pub use cursor::Seek;
pub use engine::Engine;
pub use open::RecoveryReport;
pub use options::{Options, Sync};
pub use snapshot::{Cursor, Snapshot};
pub use table::{RowFormat, TableRef};
pub use transaction::{Isolation, Transaction};
pub use value::Value;
