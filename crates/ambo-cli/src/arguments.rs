//! What the shell's user can say.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::command::PublishArguments;
use crate::engine::Tuning;
use crate::index::IndexArguments;
use crate::storage::NewTableArguments;
use crate::{dump, load, role, serve};

/// Ambo: one embedded store for rows and columns.
///
/// `ambo DIR` opens a SQL prompt on the database in DIR and makes it when there is none; `.help` tells there what else it takes. Bytes that
/// are not readable text are written \xNN, here and in what is printed. A key or value that begins with a dash stands behind --.
#[derive(Parser, Debug)]
#[command(name = "ambo", version, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 not found, 2 wrong request or input file, 3 the database refused, \
                        4 check found damage, 130 stopped by Ctrl-C."
)]
pub struct Arguments {
    /// The database's directory, or `:memory:`: opens a prompt, or runs the statements that come from a pipe
    pub dir: Option<PathBuf>,
    /// How the prompt and scripts work.
    #[command(flatten)]
    pub shell: ShellArguments,
    /// What to do without a prompt
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Print JSON for programs: one document, or one line a record
    #[arg(long, global = true)]
    pub json: bool,
    /// Tuning.
    #[command(flatten)]
    pub tuning: Tuning,
}

/// What `ambo DIR` takes.
#[derive(Args, Clone, Debug, Default)]
pub struct ShellArguments {
    /// Run these statements, or this prompt command, instead of asking; may be repeated
    #[arg(short = 'c', long = "command", value_name = "SQL", requires = "dir", allow_hyphen_values = true)]
    pub commands: Vec<String>,
    /// Print rows as CSV, with a line of names
    #[arg(long, requires = "dir", conflicts_with_all = ["json", "arrow"])]
    pub csv: bool,
    /// Print rows as an Arrow IPC stream
    #[arg(long, requires = "dir", conflicts_with = "json")]
    pub arrow: bool,
    /// Only read, as several processes may at once
    #[arg(long, requires = "dir")]
    pub read_only: bool,
    /// Go on after a statement that fails; the exit code is that of the first
    #[arg(long, requires = "dir")]
    pub keep_going: bool,
}

/// Which table of which database.
#[derive(Args, Clone, Debug)]
pub struct TableArgument {
    /// The database's directory
    pub dir: PathBuf,
    /// The table [default: `default`, or the only one]
    #[arg(short, long)]
    pub table: Option<String>,
}

/// Which keys.
#[derive(Args, Clone, Debug, Default)]
pub struct RangeArguments {
    /// From this key on
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub from: Option<OsString>,
    /// Up to this key, without it
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub to: Option<OsString>,
    /// Only keys that begin with this; with typed columns, whose first column is this, once for each column
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub prefix: Vec<OsString>,
}

/// Which records, and in which order.
#[derive(Args, Clone, Debug, Default)]
pub struct ScanArguments {
    /// Which keys.
    #[command(flatten)]
    pub range: RangeArguments,
    /// At most so many records
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<u64>,
    /// From the last to the first
    #[arg(short, long)]
    pub reverse: bool,
}

/// Rows of a sample for advice.
pub const ADVISE_ROWS: u64 = 32_768;

/// The commands.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Store a value under a key, or a row with one value a column
    Put {
        #[command(flatten)]
        place: TableArgument,
        /// KEY VALUE, or one value a column (NULL for none)
        #[arg(required = true, allow_negative_numbers = true, value_name = "KEY VALUE")]
        words: Vec<OsString>,
        /// Take the value from this file, of any size
        #[arg(short, long)]
        file: Option<PathBuf>,
    },
    /// Show the value of a key, or a row
    Get {
        #[command(flatten)]
        place: TableArgument,
        /// The key, one word for each of its columns
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<OsString>,
        /// The value's bytes as they are, without escapes and without a line end
        #[arg(long)]
        raw: bool,
    },
    /// Remove a key
    Del {
        #[command(flatten)]
        place: TableArgument,
        /// The key, one word for each of its columns
        #[arg(required = true, allow_negative_numbers = true)]
        key: Vec<OsString>,
    },
    /// Show the records of a range of keys
    Scan {
        #[command(flatten)]
        place: TableArgument,
        #[command(flatten)]
        scan: ScanArguments,
    },
    /// Count the records of a range of keys
    Count {
        #[command(flatten)]
        place: TableArgument,
        #[command(flatten)]
        range: RangeArguments,
    },
    /// Compute an aggregate of keys and records: ambo uqi DIR 'SUM($key) FROM numbers WHERE $record > 5'
    Uqi {
        /// The database's directory
        dir: PathBuf,
        /// [DISTINCT] FUNCTION($key | $record | COLUMN) FROM (TABLE | DATABASE N) [WHERE CONDITION] [LIMIT N]
        query: String,
        /// The directory of libraries with functions and predicates, which are code in this process
        #[arg(long, value_name = "DIR")]
        plugins: Option<PathBuf>,
    },
    /// Load a CSV or JSON lines file into a table
    Load(load::LoadArguments),
    /// Write a table as CSV or JSON lines
    Dump(dump::DumpArguments),
    /// Show tables, sizes, and figures of files, cache and log; of one table its columns and how they are encoded
    Info {
        #[command(flatten)]
        place: TableArgument,
    },
    /// Serve the database to other programs, by the protocol of PostgreSQL and by HTTP, until Ctrl-C
    Serve(serve::ServeArguments),
    /// Say who may come in where the database is served
    Role(role::RoleArguments),
    /// Verify every page and segment, checksum, key order and count
    Check {
        /// The database's directory
        dir: PathBuf,
    },
    /// Compact everything, in the form that the tables' options ask for, and give free space back to the file system
    Vacuum {
        /// The database's directory
        dir: PathBuf,
    },
    /// Make a directory a backup of a database that no other process has open; an earlier backup there becomes the new one
    Backup {
        /// The database's directory
        dir: PathBuf,
        /// The directory of the backup: an empty one, a new one, or that of an earlier backup
        to: PathBuf,
        /// Check the backup afterwards, as `ambo check` does
        #[arg(long)]
        verify: bool,
    },
    /// Publish a database in a directory, for readers anywhere: of files that are never edited, and one that says which publication is the
    /// newest. `ambo DIR --read-only` opens it
    Publish(PublishArguments),
    /// Archive the log of a database that no other process has open, from now on and whoever opens it; or what was committed until now
    Archive {
        /// The database's directory
        dir: PathBuf,
        /// The directory of the archive: an empty one, a new one, or the archive of this database. Without it what was committed until now
        /// is archived
        to: Option<PathBuf>,
        /// Do not archive any more
        #[arg(long, conflicts_with = "to")]
        stop: bool,
    },
    /// Make a database of a backup, in another directory; with an archive of the log, as it was at any moment since
    Restore {
        /// The directory of the backup
        from: PathBuf,
        /// The directory of the database: an empty one, or a new one
        to: PathBuf,
        #[command(flatten)]
        new_key: NewKeyArguments,
        /// Let the database not be encrypted, though the backup is
        #[arg(long, conflicts_with_all = ["new_key_file", "new_key_environment", "new_passphrase_environment"])]
        plain: bool,
        #[command(flatten)]
        point: PointArguments,
    },
    /// Let another key open an encrypted database, which no other process has open
    Rekey {
        /// The database's directory
        dir: PathBuf,
        #[command(flatten)]
        new_key: NewKeyArguments,
    },
    /// Write a new key, of random bytes, to a file
    NewKey {
        /// The file, which must not be there
        file: PathBuf,
    },
    /// Change a table's storage, or how it is compressed
    Alter {
        /// The database's directory
        dir: PathBuf,
        /// The table
        table: String,
        #[command(flatten)]
        changes: NewTableArguments,
    },
    /// Create an index, and build it
    CreateIndex {
        /// The database's directory
        dir: PathBuf,
        #[command(flatten)]
        index: IndexArguments,
    },
    /// Drop an index
    DropIndex {
        /// The database's directory
        dir: PathBuf,
        /// The index
        name: String,
    },
    /// Measure on a sample of a table what each codec would save and cost
    Advise {
        /// The database's directory
        dir: PathBuf,
        /// The table
        table: String,
        /// About so many rows
        #[arg(long, value_name = "N", default_value_t = ADVISE_ROWS, value_parser = clap::value_parser!(u64).range(1..))]
        rows: u64,
    },
}

/// A key that a database gets.
#[derive(Args, Clone, Debug)]
pub struct NewKeyArguments {
    /// The file of the new key
    #[arg(long, value_name = "FILE")]
    pub new_key_file: Option<PathBuf>,
    /// An environment variable that has the new key, as 64 hexadecimal digits
    #[arg(long, value_name = "VARIABLE", conflicts_with = "new_key_file")]
    pub new_key_environment: Option<String>,
    /// An environment variable that has the new passphrase
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["new_key_file", "new_key_environment"])]
    pub new_passphrase_environment: Option<String>,
}

/// Up to where a database is restored.
#[derive(Args, Clone, Debug)]
pub struct PointArguments {
    /// The archive of the log since the backup; all of it, if no point is given
    #[arg(long, value_name = "DIR")]
    pub archive: Option<PathBuf>,
    /// Up to this time, as '2026-01-31 12:00:00' in UTC or with an offset
    #[arg(long = "to", value_name = "TIME", requires = "archive")]
    pub time: Option<String>,
    /// Up to this commit, by its number
    #[arg(long = "to-commit", value_name = "N", requires = "archive", conflicts_with = "time")]
    pub commit: Option<u64>,
}

impl NewKeyArguments {
    /// Where the new key comes from, if one is given.
    pub fn source(&self) -> Option<ambo::KeySource> {
        crate::engine::key_of(
            self.new_key_file.as_deref(),
            self.new_key_environment.as_deref(),
            self.new_passphrase_environment.as_deref(),
        )
    }
}
