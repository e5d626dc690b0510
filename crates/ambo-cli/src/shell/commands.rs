//! What can be said at the prompt beside SQL: a dot and a command.

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use super::settings::{MaxRows, Mode, Switch};
use crate::arguments::{ADVISE_ROWS, RangeArguments, ScanArguments};
use crate::index::IndexArguments;
use crate::storage::NewTableArguments;

/// A command, without its dot.
#[derive(Parser, Debug)]
#[command(no_binary_name = true, disable_help_subcommand = true, disable_help_flag = true)]
pub struct Line {
    /// What to do.
    #[command(subcommand)]
    pub command: DotCommand,
}

/// The commands of the prompt.
#[derive(Subcommand, Debug)]
pub enum DotCommand {
    /// List the tables
    Tables,
    /// Show a table's columns, key and indexes: .describe NAME
    Describe {
        /// The table's name
        table: String,
    },
    /// Show the statements that make the tables and views, or one: .schema, or .schema NAME
    Schema {
        /// The table's name
        table: Option<String>,
    },
    /// List the indexes
    Indexes,
    /// List the schemas
    Schemas,
    /// Load a CSV, JSON lines or Parquet file into a table, which is made when it is not there: `.import FILE [TABLE] [--key id …]`
    Import {
        /// The file
        file: OsString,
        /// The table [default: the file's name], and what `ambo load` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Write a table or the rows of a query to a file: .export FILE.csv|.jsonl|.parquet|.arrow|.md QUERY-OR-TABLE
    Export {
        /// The file
        file: OsString,
        /// A table, or a query
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        what: Vec<OsString>,
    },
    /// Run the statements and commands of a file: .read FILE
    Read {
        /// The file
        file: OsString,
    },
    /// Write rows to a file from here on, or to the terminal again: .output FILE, or .output
    Output {
        /// The file
        file: Option<OsString>,
    },
    /// The form of rows: .mode table|line|list|csv|json|markdown|arrow
    Mode {
        /// The form; without it, the one in use is told
        mode: Option<Mode>,
    },
    /// From tables to a column a line, and back
    #[command(hide = true)]
    ToggleLines,
    /// How many rows of a table are shown on a terminal: .maxrows N, or .maxrows all
    Maxrows {
        /// The number, or all
        rows: MaxRows,
    },
    /// Whether times are shown: .timer on|off
    Timer {
        /// Without it, the other way round
        switch: Option<Switch>,
    },
    /// Whether a query's plan is shown before its rows: .explain on|off
    Explain {
        /// Without it, the other way round
        switch: Option<Switch>,
    },
    /// Whether a script ends with the first statement that fails: .bail on|off
    Bail {
        /// Without it, the other way round
        switch: Option<Switch>,
    },
    /// Store a value: .put KEY VALUE, or one value a column
    Put {
        #[arg(required = true, allow_negative_numbers = true)]
        words: Vec<OsString>,
    },
    /// Show the value of a key: .get KEY
    Get {
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<OsString>,
    },
    /// Remove a key: .del KEY
    #[command(alias = "delete")]
    Del {
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<OsString>,
    },
    /// Show records: .scan [--from K] [--to K] [--prefix P] [-n N] [--reverse]
    Scan(ScanArguments),
    /// Count records: .count [--from K] [--to K] [--prefix P]
    Count(RangeArguments),
    /// Compute an aggregate of keys and records: .uqi SUM($key) FROM TABLE [WHERE CONDITION]
    Uqi {
        /// The query
        #[arg(required = true, allow_hyphen_values = true)]
        query: String,
    },
    /// Take up a table for the commands that work on keys: .use NAME
    Use {
        /// The table's name
        table: String,
    },
    /// Make a key-value table, or one with columns: .create NAME, or .create NAME id:bigint,note:text? --key id --storage column
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
    /// Change a table's storage or compression: .alter NAME --storage column, .alter NAME --record-compression zstd
    Alter {
        /// The table's name
        table: String,
        #[command(flatten)]
        changes: NewTableArguments,
    },
    /// Make an index: .create-index NAME TABLE town,street [--unique] [--hash]
    CreateIndex(IndexArguments),
    /// Remove an index: .drop-index NAME
    DropIndex {
        /// The index's name
        name: String,
    },
    /// Remove a table and all that is in it: .drop NAME
    Drop {
        /// The table's name
        table: String,
    },
    /// Give a table another name: .rename OLD NEW
    Rename {
        /// The name that it has
        from: String,
        /// The name that it gets
        to: String,
    },
    /// Remove all records of a table: .truncate NAME
    Truncate {
        /// The table's name
        table: String,
    },
    /// Show tables, sizes, and figures of files, cache and log
    Info {
        /// Only this table, its columns and how they are encoded
        table: Option<String>,
    },
    /// Measure what each codec would save and cost: .advise NAME [--rows N]
    Advise {
        /// The table's name
        table: String,
        /// About so many rows
        #[arg(long, default_value_t = ADVISE_ROWS)]
        rows: u64,
    },
    /// Verify the whole database
    Check,
    /// Write everything to compacted pages and segments
    Compact,
    /// Compact everything and give free space back to the file system
    Vacuum,
    /// List the commands, or explain one: .help, or .help NAME
    Help {
        /// The command
        command: Option<String>,
    },
    /// Leave
    #[command(alias = "exit")]
    Quit,
}

/// Whether there is a command of this name, so that SQL that begins with it may have been meant as one.
pub fn is_name(word: &str) -> bool {
    Line::command()
        .get_subcommands()
        .any(|command| command.get_name() == word || command.get_all_aliases().any(|alias| alias == word))
}
