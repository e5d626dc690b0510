//! How a database is opened, by names and texts: nothing that a language binds is frozen.

use std::{collections::BTreeMap, time::Duration};

#[cfg(feature = "sql")]
use ambo::Storage;
use ambo::{Sync, nearest};
#[cfg(feature = "sql")]
use ambo_sql::SqlOptions;

use crate::{Class, Error, Result};

/// Options by name.
///
/// | name | value |
/// |---|---|
/// | `read_only`, `beside`, `create`, `log_compression`, `background_merge`, `keep_partials` | `true` or `false` |
/// | `sync` | `commit`, `off`, or an interval such as `100ms` |
/// | `cache_bytes`, `memtable_bytes`, `memory_bytes`, `transaction_bytes_max` | a size such as `256MiB` |
/// | `keep_log_bytes` | a size: how much of the log is kept for those who follow changes |
/// | `archive` | a directory: the log is archived there from now on, by whoever opens the database |
/// | `archive_wait_bytes` | a size: how much of the log may wait for an archive that cannot be written to, before commits are refused |
/// | `page_size` | a size: a power of two from 4 KiB to 64 KiB |
/// | `lock_timeout` | a time such as `500ms`; a number is of seconds |
/// | `key_file`, `key_environment`, `passphrase_environment` | the key of an encrypted database: a file, or an environment variable |
/// | `plugin_directory` | from where UQI may load libraries |
/// | `threads` | how many threads work on a statement |
/// | `default_storage` | the storage of tables whose CREATE TABLE does not say |
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Options {
    given: BTreeMap<&'static str, String>,
}

const NAMES: [&str; 22] = [
    "archive",
    "archive_wait_bytes",
    "background_merge",
    "beside",
    "cache_bytes",
    "create",
    "default_storage",
    "keep_log_bytes",
    "keep_partials",
    "key_environment",
    "key_file",
    "lock_timeout",
    "log_compression",
    "memory_bytes",
    "memtable_bytes",
    "page_size",
    "passphrase_environment",
    "plugin_directory",
    "read_only",
    "sync",
    "threads",
    "transaction_bytes_max",
];

/// Those that say where the key is: one of them at most is given.
const KEYS: [&str; 3] = ["key_environment", "key_file", "passphrase_environment"];

/// Those that are of SQL alone.
#[cfg(not(feature = "sql"))]
const OF_SQL: [&str; 3] = ["default_storage", "memory_bytes", "threads"];

/// What the store and SQL are opened with.
#[cfg(feature = "sql")]
pub(crate) type Parts = (ambo::Options, SqlOptions);
#[cfg(not(feature = "sql"))]
pub(crate) type Parts = (ambo::Options, ());

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives an option a value.
    ///
    /// # Errors
    /// [`Class::Request`]: no such option, or no value of it. [`Class::NotSupported`]: it is of SQL, which is not there.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let Some(known) = NAMES.iter().find(|known| **known == name) else {
            let error = Error::new(Class::Request, format!("there is no option \"{name}\""));
            return Err(match nearest(name, NAMES.into_iter()) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => error.with_hint(format!("there are {}", NAMES.join(", "))),
            });
        };
        #[cfg(not(feature = "sql"))]
        if OF_SQL.contains(known) {
            let message = format!("option {name} is of SQL, which this library is built without");
            return Err(Error::new(Class::NotSupported, message));
        }
        // So that what is wrong is said where it is given.
        let _checked = Self { given: BTreeMap::from([(*known, value.to_owned())]) }.parts()?;
        self.given.insert(known, value.to_owned());
        Ok(())
    }

    /// The name of the first option in which two differ, with both values.
    pub(crate) fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let value = |of: &Self, name| of.given.get(name).cloned().unwrap_or_else(|| "the default".to_owned());
        let name = NAMES.into_iter().find(|name| self.given.get(name) != other.given.get(name))?;
        Some((name, value(self, name), value(other, name)))
    }

    /// What the store and SQL are opened with.
    pub(crate) fn parts(&self) -> Result<Parts> {
        let mut store = ambo::Options::new();
        #[cfg(feature = "sql")]
        let mut sql = SqlOptions::new();
        #[cfg(not(feature = "sql"))]
        let sql = ();
        let mut keys = KEYS.iter().filter(|key| self.given.contains_key(**key));
        if let (Some(one), Some(other)) = (keys.next(), keys.next()) {
            return Err(Error::new(
                Class::Request,
                format!("options {one} and {other} are two keys; give one"),
            ));
        }
        for (name, value) in &self.given {
            match *name {
                "archive" => store = store.archive(value),
                "archive_wait_bytes" => store = store.archive_wait_bytes(size(name, value)? as u64),
                "background_merge" => store = store.background_merge(truth(name, value)?),
                "beside" => store = store.beside(truth(name, value)?),
                "keep_partials" => store = store.keep_partials(truth(name, value)?),
                "cache_bytes" => store = store.cache_bytes(size(name, value)?),
                "create" => store = store.create(truth(name, value)?),
                #[cfg(feature = "sql")]
                "default_storage" => {
                    let storage = Storage::named(value).ok_or_else(|| {
                        let known: Vec<_> = Storage::ALL.iter().map(|storage| storage.name()).collect();
                        wrong(name, value, &format!("one of {}", known.join(", ")))
                    })?;
                    sql = sql.default_storage(storage);
                }
                "keep_log_bytes" => store = store.keep_log_bytes(size(name, value)? as u64),
                "key_environment" => {
                    if std::env::var_os(value).is_none() {
                        return Err(wrong(name, value, "an environment variable that is set"));
                    }
                    store = store.key_environment(value);
                }
                "key_file" => {
                    if !std::path::Path::new(value).is_file() {
                        return Err(wrong(name, value, "a file"));
                    }
                    store = store.key_file(value);
                }
                "lock_timeout" => store = store.lock_timeout(time(name, value)?),
                "log_compression" => store = store.log_compression(truth(name, value)?),
                #[cfg(feature = "sql")]
                "memory_bytes" => sql = sql.memory_bytes(size(name, value)?),
                "memtable_bytes" => store = store.memtable_bytes(size(name, value)?),
                "page_size" => store = store.page_size(size(name, value)?),
                "passphrase_environment" => {
                    let passphrase = std::env::var(value)
                        .map_err(|_| wrong(name, value, "an environment variable that is set"))?;
                    store = store.passphrase(passphrase);
                }
                "plugin_directory" => {
                    if !std::path::Path::new(value).is_dir() {
                        return Err(wrong(name, value, "a directory"));
                    }
                    store = store.plugin_directory(value);
                }
                "read_only" => store = store.read_only(truth(name, value)?),
                "sync" => {
                    store = store.sync(match value.as_str() {
                        "commit" => Sync::Commit,
                        "off" => Sync::Off,
                        "interval" => Sync::Interval(DEFAULT_INTERVAL),
                        value => Sync::Interval(time(name, value)?),
                    });
                }
                #[cfg(feature = "sql")]
                "threads" => {
                    let threads = value.parse::<usize>().ok().filter(|threads| *threads > 0);
                    sql = sql.threads(threads.ok_or_else(|| wrong(name, value, "a number from 1 on"))?);
                }
                _ => store = store.transaction_bytes_max(size(name, value)?),
            }
        }
        Ok((store, sql))
    }
}

/// What `sync=interval` means without a time.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);

fn wrong(name: &str, value: &str, wanted: &str) -> Error {
    Error::new(Class::Request, format!("option {name}: \"{value}\" is not {wanted}"))
}

fn truth(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err(wrong(name, value, "true or false")),
    }
}

/// A number with a unit behind it: the number, and the unit in small letters.
fn split(value: &str) -> Option<(f64, String)> {
    let value = value.trim();
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let number: f64 = value[..end].parse().ok()?;
    (number.is_finite() && number >= 0.0).then(|| (number, value[end..].trim().to_ascii_lowercase()))
}

fn size(name: &str, value: &str) -> Result<usize> {
    let wanted = || wrong(name, value, "a size such as 256MiB");
    let (number, unit) = split(value).ok_or_else(wanted)?;
    let unit: u64 = match unit.as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "kb" => 1000,
        "m" | "mib" => 1 << 20,
        "mb" => 1_000_000,
        "g" | "gib" => 1 << 30,
        "gb" => 1_000_000_000,
        "t" | "tib" => 1 << 40,
        "tb" => 1_000_000_000_000,
        _ => return Err(wanted()),
    };
    let bytes = number * unit as f64;
    // Exact below 2^53, and there is no memory beyond.
    if bytes >= (1u64 << 53) as f64 { Err(wanted()) } else { Ok(bytes as usize) }
}

fn time(name: &str, value: &str) -> Result<Duration> {
    let wanted = || wrong(name, value, "a time such as 500ms or 2s");
    let (number, unit) = split(value).ok_or_else(wanted)?;
    let seconds = match unit.as_str() {
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        _ => return Err(wanted()),
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| wanted())
}

#[cfg(all(test, feature = "sql"))]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(size("n", "4096").unwrap(), 4096);
        assert_eq!(size("n", "64 MiB").unwrap(), 64 << 20);
        assert_eq!(size("n", "1.5g").unwrap(), 3 << 29);
        assert_eq!(size("n", "2MB").unwrap(), 2_000_000);
        assert_eq!(time("n", "0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(time("n", "20ms").unwrap(), Duration::from_millis(20));
        for value in ["", "MiB", "-1", "1x", "1e9", "99999999TB"] {
            let error = size("n", value).unwrap_err();
            assert_eq!(error.message, format!("option n: \"{value}\" is not a size such as 256MiB"));
        }
    }

    #[test]
    fn each_option_is_known_and_checked_where_it_is_given() {
        let values = [
            "archive",
            "4GiB",
            "true",
            "false",
            "64MiB",
            "true",
            "btree",
            "1GiB",
            "true",
            "PATH",
            "Cargo.toml",
            "1s",
            "false",
            "1GiB",
            "1MiB",
            "4KiB",
            "PATH",
            ".",
            "true",
            "50ms",
            "2",
            "1GiB",
        ];
        assert_eq!(NAMES.len(), values.len());
        let mut options = Options::new();
        for (name, value) in NAMES.into_iter().zip(values) {
            options.set(name, value).unwrap();
            // Any path will do.
            if name == "archive" {
                continue;
            }
            let error = options.set(name, "neither").unwrap_err();
            assert!(error.message.starts_with(&format!("option {name}: \"neither\" is not ")), "{error}");
        }
        let error = options.parts().err().unwrap();
        assert!(error.message.contains("are two keys"), "{error}");
        for name in ["key_environment", "key_file"] {
            options.given.remove(name);
        }
        let _parts = options.parts().unwrap();
        let error = options.set("cache_byte", "1").unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("did you mean \"cache_bytes\"?"));
    }
}
