//! The database: versions of tables, the threads that compact them, and what users hold in hand.
//!
//! | file | idea |
//! |---|---|
//! | `engine`, `access` | what all handles share; single reads and writes |
//! | `version`, `version_edit`, `apply`, `verify` | what a reader sees, as one immutable value; what changes from one to the next, the one way there, and what always holds |
//! | `commit` | the steps of a commit |
//! | `snapshot`, `transaction`, `cursor`, `count`, `value` | reading at a moment, writing together |
//! | `ranges`, `own_ranges` | deleting ranges of keys as a whole |
//! | `not_null` | making a column refuse NULL |
//! | `checkpoint`, `compact`, `bulk`, `vacuum`, `reshape`, `relocate`, `governor`, `pace`, `memtables`, `workers` | from memtables to packed trees, at a pace |
//! | `retention`, `expiry`, `purge` | rows that are kept for a time; rows that expire: which are seen, and how they go |
//! | `filters` | functions of the program that say which rows go, and how they do |
//! | `encryption` | the key of an encrypted database |
//! | `room` | what becomes of a full disk |
//! | `load`, `load_publish`, `bulk_change` | columns straight into segments; so are rows changed and deleted that are many |
//! | `backup`, `backup_mark`, `backup_target` | copies of a database in use: the moment, how a copy is told from a database, its directory |
//! | `published`, `whole_file` | publications of a database in use, of files that are never edited; small files that are replaced as a whole |
//! | `readers`, `beside` | readers in other processes: what a writer does for them; how a reader follows a writer |
//! | `open`, `blobs`, `table` | recovery, long values, typed rows |
//! | `changed_rows`, `changes` | what a transaction has changed since a moment in it; what all have committed since one, from the log |
//! | `catalog_edit`, `ddl`, `own_definitions`, `definition_commit` | changes of definitions, in commits of their own or in a transaction with others |
//! | `scan`, `scan_results`, `scan_partials`, `lanes`, `fresh` | column tables column by column, in any order or in that of keys, with what is newer; what segments came to is kept |
//! | `find`, `choose`, `path`, `scanned` | rows by conditions, and which path or scan leads to them |
//! | `row_scan`, `walk`, `cuts` | rows by conditions as columns, in parts that threads take: ranges of keys |
//! | `distinct` | the different values of a column in the order of an index |
//! | `indexes`, `index_writes`, `index_scan`, `index_loads`, `index_check`, `entry_sums` | building indexes, writing their entries, finding rows by them, loading with them, comparing them with rows |
//! | `damage` | tables that cannot be read |
//! | `lineage` | how long replaced versions are read |
//! | `check`, `info`, `advise`, `statistics` | what is wrong, what is there, what codecs would make of it, what plans are chosen by |

mod access;
mod advise;
mod ahead;
mod apply;
mod archive;
mod archive_mark;
mod backup;
mod backup_mark;
mod backup_target;
mod beside;
mod blobs;
mod bulk;
mod bulk_change;
mod catalog_edit;
mod changed_rows;
mod changes;
mod check;
mod checkpoint;
mod choose;
mod commit;
mod compact;
mod compression;
mod count;
mod cursor;
mod cuts;
mod damage;
mod ddl;
mod definition_commit;
mod distinct;
mod encryption;
mod engine;
mod entry_sums;
mod expiry;
mod filters;
mod find;
mod fresh;
mod governor;
mod index_check;
mod index_loads;
mod index_rows;
mod index_scan;
mod index_writes;
mod indexes;
mod info;
mod kept_table;
mod lanes;
mod lineage;
mod load;
mod load_publish;
mod memtables;
mod not_null;
mod notes;
mod open;
mod options;
mod own_definitions;
mod own_ranges;
mod pace;
mod path;
mod point;
mod postings;
mod published;
mod purge;
mod ranges;
mod readers;
mod relocate;
mod reshape;
mod retention;
mod room;
mod row_scan;
mod scan;
mod scan_partials;
mod scan_results;
mod scanned;
mod signals;
mod snapshot;
mod statistics;
mod table;
mod table_hold;
mod transaction;
mod vacuum;
mod value;
mod verify;
mod version;
mod version_edit;
mod walk;
mod whole_file;
mod workers;

pub use advise::{Advice, Estimate, RecordChoice};
pub use ambo_base::btree::{KeySum, TreeSpace};
pub use ambo_base::column::{ColumnFigures, ColumnSpace, Duplicates, PartialsKept, PostingFigures};
pub use ambo_pages::budget::MemoryUse;
pub use archive::{ArchiveInfo, ArchiveReport};
pub use backup::BackupReport;
pub use blobs::{ValueReader, ValueWriter};
pub use bulk::BulkLoad;
pub use bulk_change::BulkChange;
pub use catalog_edit::CatalogEdit;
pub use changed_rows::ChangedRow;
pub use changes::{Change, ChangeFeed, ChangedValue, RangeChange, RowChange};
pub use check::CheckReport;
pub use cursor::Seek;
pub use distinct::DistinctScan;
pub use encryption::RestoredKey;
pub use engine::Engine;
pub use expiry::Moment;
pub use filters::{FilterInfo, FilteredRow, Filters, RowFilter};
pub use find::FoundRows;
pub use index_scan::{IndexRange, IndexScan};
pub use index_writes::Replaced;
pub use indexes::TableIndex;
pub use info::{Info, TableInfo};
pub use load::{ColumnLoad, LoadOptions, LoadWriter, Loaded};
pub use open::RecoveryReport;
pub use options::{Options, Sync};
pub use point::{PointReport, RestorePoint};
pub use published::{Publication, PublishOptions, PublishReport, newest_publication, publications};
pub use readers::ReadersInfo;
pub use row_scan::{RowScan, UnitRows};
pub use scan::{ScanPlan, TableScan};
pub use scan_partials::{PartialStates, PartialsUsed};
pub use snapshot::{Cursor, Snapshot};
pub use statistics::{ColumnStatistics, Figure, TableStatistics};
pub use table::{Picked, RowFormat};
pub use table_hold::TableHold;
pub use transaction::{Isolation, Savepoint, Transaction};
pub use vacuum::VacuumReport;
pub use value::Value;
pub use version::TableShared;
pub use workers::Running;
