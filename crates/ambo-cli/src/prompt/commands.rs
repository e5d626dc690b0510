//! What can be said at the prompt.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::arguments::{ADVISE_ROWS, RangeArguments, ScanArguments};
use crate::index::IndexArguments;
use crate::storage::NewTableArguments;

/// One line at the prompt.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_subcommand = true, disable_help_flag = true)]
pub struct Line {
    /// What to do.
    #[command(subcommand)]
    pub command: PromptCommand,
}

/// The commands of the prompt.
#[derive(Subcommand, Debug)]
pub enum PromptCommand {
    /// Store a value: put KEY VALUE, or one value a column
    Put {
        #[arg(required = true, allow_negative_numbers = true)]
        words: Vec<OsString>,
    },
    /// Show the value of a key: get KEY
    Get {
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<OsString>,
    },
    /// Remove a key: del KEY
    #[command(alias = "delete")]
    Del {
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<OsString>,
    },
    /// Show records: scan [--from K] [--to K] [--prefix P] [-n N] [--reverse]
    Scan(ScanArguments),
    /// Count records: count [--from K] [--to K] [--prefix P]
    Count(RangeArguments),
    /// List the tables
    Tables,
    /// Take up a table: use NAME
    Use {
        /// The table's name
        table: String,
    },
    /// Make a table: create NAME, or create NAME id:bigint,note:text? --key id --storage column
    Create {
        /// The table's name
        table: String,
        /// The columns; without them it is a key-value table
        columns: Option<String>,
        /// The key's columns
        #[arg(short, long, value_delimiter = ',')]
        key: Vec<String>,
        #[command(flatten)]
        new_table: NewTableArguments,
    },
    /// Change a table's storage or compression: alter NAME --storage column, alter NAME --record-compression zstd
    Alter {
        /// The table's name
        table: String,
        #[command(flatten)]
        changes: NewTableArguments,
    },
    /// Make an index: create-index NAME TABLE town,street [--unique] [--hash] [--bitmap]
    CreateIndex(IndexArguments),
    /// Remove an index: drop-index NAME
    DropIndex {
        /// The index's name
        name: String,
    },
    /// Remove a table and all that is in it: drop NAME
    Drop {
        /// The table's name
        table: String,
    },
    /// Give a table another name: rename OLD NEW
    Rename {
        /// The name that it has
        from: String,
        /// The name that it gets
        to: String,
    },
    /// Remove all records of a table: truncate NAME
    Truncate {
        /// The table's name
        table: String,
    },
    /// Begin a transaction
    Begin,
    /// Commit the transaction
    Commit,
    /// Undo the transaction, or what came after a savepoint: rollback, or rollback NAME
    Rollback {
        /// A savepoint of this transaction
        savepoint: Option<String>,
    },
    /// Mark a place in the transaction to go back to: savepoint NAME
    Savepoint {
        /// The name to give it
        name: String,
    },
    /// Show tables, sizes, and figures of files, cache and log
    Info {
        /// Only this table, its columns and how they are encoded
        table: Option<String>,
    },
    /// Measure what each codec would save and cost: advise NAME [--rows N]
    Advise {
        /// The table's name
        table: String,
        /// About so many rows
        #[arg(long, default_value_t = ADVISE_ROWS)]
        rows: u64,
    },
    /// Verify the whole database
    Check,
    /// Write everything to settled pages and segments
    Settle,
    /// Settle everything and give free space back to the file system
    Compact,
    /// List the commands
    Help,
    /// Leave
    #[command(alias = "quit")]
    Exit,
}
