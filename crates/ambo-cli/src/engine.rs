//! Opening databases and finding tables, with errors that say what to do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ambo::{Database, Key, KeySource, Options, Passphrase, Sync, Table, TableDefinition};
use clap::ValueEnum;

use crate::failure::{Failure, Result, plain};
use crate::output::remark;
use crate::schema::short_name;

/// The table that is meant when none is named.
pub const DEFAULT_TABLE: &str = "default";

/// Stands for a database in memory, as for SQLite and DuckDB.
pub const IN_MEMORY: &str = ":memory:";

/// What is to be done with the database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Only reads, as several processes may at once.
    Read,
    /// Writes to a database that is there.
    Write,
    /// Writes, and makes the database when there is none.
    Create,
}

/// When a commit counts as done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Durability {
    /// When it is on the disk.
    Commit,
    /// When the operating system has it; power loss may cost the last moments, a crash of the process nothing.
    Off,
}

impl From<Durability> for Sync {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Commit => Self::Commit,
            Durability::Off => Self::Off,
        }
    }
}

/// Options that every command takes.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Tuning {
    /// Memory for cached pages, such as 256M or 2G
    #[arg(long, value_name = "SIZE", value_parser = parse_size, global = true, help_heading = "Tuning")]
    pub cache: Option<usize>,
    /// Memory for rows not yet compacted to pages, such as 64M
    #[arg(long, value_name = "SIZE", value_parser = parse_size, global = true, help_heading = "Tuning")]
    pub memtable: Option<usize>,
    /// When a commit counts as done
    #[arg(long, value_name = "WHEN", global = true, help_heading = "Tuning")]
    pub sync: Option<Durability>,
    /// Read beside the process that writes: what is seen is a second old at most, and CHECKPOINT asks for what is newest
    #[arg(long, global = true, help_heading = "Tuning")]
    pub beside: bool,
    /// Of a directory of publications, read the one of this number, not the newest
    #[arg(long, value_name = "N", global = true, help_heading = "Tuning")]
    pub publication: Option<u64>,
    /// Compress the log (LZ4) where that makes it smaller
    #[arg(long, global = true, help_heading = "Tuning")]
    pub log_compression: bool,
    /// The key of an encrypted database: a file of 32 bytes or 64 hexadecimal digits. A new database is encrypted by it
    #[arg(long, value_name = "FILE", global = true, help_heading = "Encryption")]
    pub key_file: Option<PathBuf>,
    /// An environment variable that has the key, as 64 hexadecimal digits
    #[arg(
        long,
        value_name = "VARIABLE",
        global = true,
        help_heading = "Encryption",
        conflicts_with = "key_file"
    )]
    pub key_environment: Option<String>,
    /// An environment variable that has the passphrase
    #[arg(
        long,
        value_name = "VARIABLE",
        global = true,
        help_heading = "Encryption",
        conflicts_with_all = ["key_file", "key_environment"]
    )]
    pub passphrase_environment: Option<String>,
}

impl Tuning {
    /// Where the key comes from, if one is given.
    pub fn key(&self) -> Option<KeySource> {
        key_of(
            self.key_file.as_deref(),
            self.key_environment.as_deref(),
            self.passphrase_environment.as_deref(),
        )
    }

    /// The engine's options with these wishes.
    pub fn options(&self) -> Options {
        let mut options = Options::new();
        if let Some(bytes) = self.cache {
            options = options.cache_bytes(bytes);
        }
        if let Some(bytes) = self.memtable {
            options = options.memtable_bytes(bytes);
        }
        if let Some(sync) = self.sync {
            options = options.sync(sync.into());
        }
        if let Some(key) = self.key() {
            options = options.key(key);
        }
        if let Some(number) = self.publication {
            options = options.publication(number);
        }
        options.log_compression(self.log_compression).beside(self.beside)
    }
}

/// A key in a file, in a variable, or of a passphrase in a variable: one that is not set has the empty passphrase, which is refused.
pub fn key_of(file: Option<&Path>, environment: Option<&str>, passphrase: Option<&str>) -> Option<KeySource> {
    if let Some(file) = file {
        let file = file.to_path_buf();
        return Some(KeySource::Call(Arc::new(move || Key::from_file(&file))));
    }
    if let Some(name) = environment {
        let name = name.to_owned();
        return Some(KeySource::Call(Arc::new(move || Key::from_environment(&name))));
    }
    let passphrase = std::env::var(passphrase?).unwrap_or_default();
    Some(Passphrase::new(passphrase).into())
}

/// An open database and where it is, for messages.
#[derive(Clone)]
pub struct Store {
    /// The directory as the user named it.
    pub dir: PathBuf,
    /// The engine's handle.
    pub db: Database,
}

/// The engine's answers as this program's.
pub trait OrFail<T> {
    /// The answer about the database in `dir`.
    fn or_fail(self, dir: &Path) -> Result<T>;
}

impl<T> OrFail<T> for ambo::Result<T> {
    fn or_fail(self, dir: &Path) -> Result<T> {
        self.map_err(|error| Failure::engine(dir, error))
    }
}

impl Store {
    /// Opens the database in `dir`. What recovery had to cut is told on standard error.
    pub fn open(dir: &Path, access: Access, tuning: &Tuning) -> Result<Self> {
        if dir == Path::new(IN_MEMORY) {
            return Err(Failure::usage(format!(
                "{IN_MEMORY} is a new database that is gone at the end of the prompt (`ambo {IN_MEMORY}`): name a directory"
            )));
        }
        if tuning.beside && access != Access::Read {
            return Err(Failure::usage("--beside only reads: leave it out to write".to_owned()));
        }
        let found = look_at(dir)?;
        match (found, access) {
            (Found::Other, _) => return Err(not_a_database(dir)),
            (Found::Nothing, Access::Read | Access::Write) => return Err(no_database(dir)),
            (Found::Nothing, Access::Create) => remark(&format!("new database in {}", dir.display())),
            (Found::Database, _) => {}
        }
        let options = tuning.options().create(access == Access::Create).read_only(access == Access::Read);
        let db = options.open(dir).map_err(|error| match error {
            // The engine has looked into the file and seen that it is another's.
            ambo::Error::Invalid(what) if what.contains("not an Ambo database") => not_a_database(dir),
            ambo::Error::Io { ref source, .. }
                if source.kind() == std::io::ErrorKind::PermissionDenied
                    && found == Found::Database
                    && access != Access::Read =>
            {
                Failure::Database(format!(
                    "{}: you may not write there: {}; `ambo {0} --read-only` only reads",
                    dir.display(),
                    plain(source)
                ))
            }
            error => Failure::engine(dir, error),
        })?;
        if let Some(cut) = &db.recovery().cut {
            remark(&format!(
                "{}: the end of {} was torn by a crash; {} bytes of a transaction that was never acknowledged were cut \
                 at byte {}",
                dir.display(),
                cut.file,
                cut.bytes_dropped,
                cut.offset
            ));
        }
        Ok(Self { dir: dir.to_path_buf(), db })
    }

    /// A new database whose rows are gone at the end.
    pub fn in_memory(tuning: &Tuning) -> Result<Self> {
        let dir = PathBuf::from(IN_MEMORY);
        let db = tuning.options().open_in_memory().or_fail(&dir)?;
        Ok(Self { dir, db })
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Result<Table> {
        self.db.table(name).or_fail(&self.dir)
    }

    /// The table of that name, if there is one.
    pub fn find_table(&self, name: &str) -> Result<Option<Table>> {
        match self.db.table(name) {
            Ok(table) => Ok(Some(table)),
            Err(ambo::Error::NotFound(_)) => Ok(None),
            Err(error) => Err(Failure::engine(&self.dir, error)),
        }
    }

    /// The table to read: the named one, else the default one, else the only one.
    pub fn table_to_read(&self, name: Option<&str>) -> Result<Table> {
        if let Some(name) = name {
            return self.table(name);
        }
        let names = self.table_names();
        match names.as_slice() {
            [] => Err(Failure::Negative(format!("{}: the database has no tables yet", self.dir.display()))),
            [only] => self.table(only),
            names if names.iter().any(|name| name == DEFAULT_TABLE) => self.table(DEFAULT_TABLE),
            names => {
                Err(Failure::usage(format!("which table? say --table with one of: {}", names.join(", "))))
            }
        }
    }

    /// The table to write to: the named one, which is made when it is not there, else the one to read, else a new
    /// default one.
    pub fn table_to_write(&self, name: Option<&str>) -> Result<Table> {
        if name.is_none() && !self.table_names().is_empty() {
            return self.table_to_read(None);
        }
        let name = name.unwrap_or(DEFAULT_TABLE);
        if let Some(table) = self.find_table(name)? {
            return Ok(table);
        }
        let table = self.db.create_table(TableDefinition::key_value(name)).or_fail(&self.dir)?;
        remark(&format!("new key-value table {name}"));
        Ok(table)
    }

    /// The names of all tables.
    pub fn table_names(&self) -> Vec<String> {
        self.db.tables().iter().map(|name| short_name(name).to_string()).collect()
    }

    /// Closes the database, so that a failure to do so is heard.
    pub fn close(self) -> Result<()> {
        self.db.close().or_fail(&self.dir)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Database,
    Nothing,
    Other,
}

fn look_at(dir: &Path) -> Result<Found> {
    match std::fs::metadata(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(Failure::file(dir, &error)),
        Ok(metadata) if !metadata.is_dir() => return Ok(Found::Other),
        // A lock file that is not empty names a database whose pages are lost: the engine says so.
        Ok(_) if dir.join("pages").exists() || is_filled(&dir.join("lock")) => return Ok(Found::Database),
        Ok(_) => {}
    }
    // A crash in the middle of making a database leaves these behind; the engine knows what to do with them.
    // So does a backup that was broken off. And it knows publications.
    if ["backup", "publication"].iter().any(|name| dir.join(name).exists()) {
        return Ok(Found::Database);
    }
    let ours = |name: &str| name == "lock" || name.starts_with("log-") || name.starts_with("pages");
    let mut entries = std::fs::read_dir(dir).map_err(|error| Failure::file(dir, &error))?;
    let only_ours =
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(ours)));
    Ok(if only_ours { Found::Nothing } else { Found::Other })
}

fn is_filled(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|metadata| metadata.len() > 0)
}

fn no_database(dir: &Path) -> Failure {
    Failure::Database(format!(
        "{0}: no database there; `ambo {0}` makes one, as do put and load",
        dir.display()
    ))
}

fn not_a_database(dir: &Path) -> Failure {
    Failure::Database(format!(
        "{}: not an Ambo database (a directory with a file `pages`); name another directory",
        dir.display()
    ))
}

/// `64M`, `64MiB`, `2g`, `4096`.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let lower = text.trim().to_ascii_lowercase();
    let number = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &lower[number.len()..] {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        other => return Err(format!("unknown unit {other}; there are K, M and G")),
    };
    let number: usize = number.trim().parse().map_err(|_| format!("{text} is no size, such as 64M"))?;
    number.checked_mul(unit).ok_or_else(|| format!("{text} is more than this machine can count"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a misread unit: 64M as 64 bytes.
    #[test]
    fn sizes() {
        assert_eq!(["4096", "1k", "64MiB", "2G"].map(parse_size), [4096, 1024, 64 << 20, 2 << 30].map(Ok));
        for text in ["", "M", "1T", "-1", "99999999999999999999", "99999999999G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
