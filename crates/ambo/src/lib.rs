//! **Ambo**: one embedded store for both halves of an application's data. This crate is what applications depend on.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("db");
//! let db = ambo::Database::open(&path)?;
//! let users = db.key_value("users")?;
//! users.put(b"ada", b"Ada Lovelace")?;
//! assert_eq!(users.get(b"ada")?.unwrap(), b"Ada Lovelace");
//!
//! // Several writes, all or none.
//! let mut tx = db.begin()?;
//! tx.put(&users, b"grace", b"Grace Hopper")?;
//! tx.delete(&users, b"ada")?;
//! tx.commit()?;
//!
//! for row in users.scan(..)? {
//!     let (key, value) = row?;
//!     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! * [`Database`]: open, tables, transactions, compacting, checking.
//! * [`Table`]: single operations; keys and values as bytes, or rows of typed columns.
//! * [`Transaction`] and [`Snapshot`]: several operations at one moment; [`Read`]: what all views have in common.
//! * [`Cursor`] and [`Scan`]: ordered reading, both ways.
//! * [`Select`] and [`Query`]: reading column tables by column, and aggregates of them.
//! * [`uqi`]: aggregates of keys and records by a small language, with plug-ins.
//! * [`Load`]: columns straight into the segments of a column table; [`Ingest`]: again and again, with how far their source has come.
//!
//! Errors are of few kinds, each documented by what to do next: [`Error`]. All handles are `Send`, and all but transactions and
//! cursors `Sync`; clone them freely.

mod aggregate;
mod alter;
mod archive;
#[cfg(feature = "arrow")]
pub mod arrow;
mod backup;
mod batch;
#[cfg(doctest)]
mod book;
mod bulk_change;
mod bulk_load;
mod changed_rows;
mod changes;
mod check;
mod database;
mod define;
mod definitions;
mod duplicates;
mod index;
mod ingest;
mod load;
#[cfg(feature = "arrow")]
mod load_batches;
mod moment;
mod options;
mod picked;
mod primary;
mod published;
mod range;
mod read;
mod records;
mod rows;
mod scan;
mod select;
mod statistics;
mod sum;
mod table;
mod transaction;
mod typed;
mod upsert;
pub mod uqi;
mod r#where;

pub use ambo_codec::calendar;
pub use ambo_codec::column::{Compare, KeySet, KeySetBuilder, Mask, Sum, arithmetic::Operator};
pub use ambo_codec::{
    Type, Value as Datum, ValueRef as DatumRef, integer::IntegerCodec, record::RecordCodec, successor,
};
pub use ambo_engine::{
    Error, Result,
    catalog::{
        Bits, Check, Column, DEFAULT_SCHEMA, Enum, Expiry, Geometry, IndexDefinition, IndexKind, Interval,
        Logical, Object, ObjectKind, Part, Point, RecordWidth, Records, Retention, Shape, Storage,
        StorageTraits, TableChange, TableDefinition, TableOptions, View, logical::uuid_text, nearest,
        qualify,
    },
    database::{
        Advice, ArchiveInfo, ArchiveReport, BackupReport, BulkChange, CatalogEdit, CheckReport,
        ColumnFigures, ColumnSpace, ColumnStatistics, Cursor, Duplicates, Estimate, Figure, FilterInfo,
        FilteredRow, Info, LoadOptions, Loaded, MemoryUse, PartialsKept, PartialsUsed, PointReport,
        PostingFigures, Publication, PublishOptions, PublishReport, ReadersInfo, RecordChoice,
        RecoveryReport, RestorePoint, RestoredKey, RowFilter, Savepoint, Seek, Sync, TableHold, TableInfo,
        TableScan, TableStatistics, VacuumReport, Value, ValueReader, ValueWriter,
    },
    id::Timestamp,
    priority::give_way,
    scan::{ColumnBuffer, Groups, Morsel, Test},
    seal::{Key, KeySource, Passphrase},
};
pub use ambo_query::predicate;

pub use aggregate::{Aggregate, Expression, GroupBy, Query, col, lit};
pub use batch::Batch;
pub use bulk_change::{BULK_PATIENCE, BULK_ROWS};
pub use bulk_load::BulkLoad;
pub use bytes::Bytes;
pub use changed_rows::ChangedRow;
pub use changes::{Changes, Committed, CommittedRange, CommittedRow, Fate};
pub use database::{Database, SchemaStamp};
pub use definitions::Definitions;
pub use duplicates::Place;
pub use index::{Index, IndexRows};
pub use ingest::{Ingest, IngestWriter, Ingested};
pub use load::{Load, LoadWriter};
pub use options::Options;
pub use picked::PickedColumns;
pub use published::Published;
pub use range::{Bounds, KeyRange};
pub use read::Read;
pub use rows::{Row, Rows};
pub use scan::Scan;
pub use select::Select;
pub use table::Table;
pub use transaction::{Snapshot, Transaction};
pub use typed::{Native, TypedTable};
pub use r#where::{MatchingRows, RowChanges};
