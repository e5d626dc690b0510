//! Settings of PostgreSQL that are not the engine's: what clients are told, and what they set without which nothing would be another.

use std::collections::BTreeMap;

use super::{
    command::{Isolation, Modes},
    failure::Failure,
    message::{write, write_text},
};

/// The version of PostgreSQL whose ways are followed: clients choose by it what they ask.
pub(super) const VERSION: &str = "15.13";

/// What `version()` says.
pub(super) fn version() -> String {
    let (own, machine, os) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS);
    format!("PostgreSQL {VERSION} (Ambo {own}) on {machine}-{os}, {}-bit", usize::BITS)
}

/// Settings, each with its value at first and whether clients are told of it.
const KNOWN: [(&str, &str, bool); 68] = [
    ("application_name", "", true),
    ("array_nulls", "on", false),
    ("backslash_quote", "safe_encoding", false),
    ("block_size", "8192", false),
    ("bytea_output", "hex", false),
    ("check_function_bodies", "on", false),
    ("client_encoding", "UTF8", true),
    ("client_min_messages", "notice", false),
    ("cluster_name", "", false),
    ("constraint_exclusion", "partition", false),
    ("cursor_tuple_fraction", "0.1", false),
    ("datestyle", "ISO, MDY", true),
    ("debug_assertions", "off", false),
    ("default_statistics_target", "100", false),
    ("default_table_access_method", "heap", false),
    ("default_tablespace", "", false),
    ("default_text_search_config", "pg_catalog.english", false),
    ("default_toast_compression", "pglz", false),
    ("default_transaction_deferrable", "off", false),
    ("default_transaction_isolation", "read committed", false),
    ("default_transaction_read_only", "off", true),
    ("enable_bitmapscan", "on", false),
    ("enable_hashjoin", "on", false),
    ("enable_indexscan", "on", false),
    ("enable_mergejoin", "on", false),
    ("enable_nestloop", "on", false),
    ("enable_seqscan", "on", false),
    ("escape_string_warning", "on", false),
    ("extra_float_digits", "1", false),
    ("geqo", "on", false),
    ("hot_standby", "on", false),
    ("idle_in_transaction_session_timeout", "0", false),
    ("idle_session_timeout", "0", false),
    ("in_hot_standby", "off", true),
    ("integer_datetimes", "on", true),
    ("intervalstyle", "postgres", true),
    ("is_superuser", "on", true),
    ("jit", "off", false),
    ("lc_collate", "C", false),
    ("lc_ctype", "C.UTF-8", false),
    ("lc_messages", "C", false),
    ("lc_monetary", "C", false),
    ("lc_numeric", "C", false),
    ("lc_time", "C", false),
    ("log_statement", "none", false),
    ("max_function_args", "100", false),
    ("max_identifier_length", "63", false),
    ("max_index_keys", "32", false),
    ("max_parallel_workers_per_gather", "0", false),
    ("max_prepared_transactions", "0", false),
    ("password_encryption", "scram-sha-256", false),
    ("plan_cache_mode", "auto", false),
    ("quote_all_identifiers", "off", false),
    ("role", "none", false),
    ("row_security", "on", false),
    ("server_encoding", "UTF8", true),
    ("server_version", VERSION, true),
    ("server_version_num", "150013", false),
    ("session_authorization", "", true),
    ("standard_conforming_strings", "on", true),
    ("synchronize_seqscans", "on", false),
    ("synchronous_commit", "on", false),
    ("track_commit_timestamp", "off", false),
    ("transaction_deferrable", "off", false),
    ("wal_level", "replica", false),
    ("work_mem", "4MB", false),
    ("xmlbinary", "base64", false),
    ("xmloption", "content", false),
];

/// Settings that cannot be other than they are.
const FIXED: [&str; 17] = [
    "block_size",
    "debug_assertions",
    "hot_standby",
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "lc_collate",
    "lc_ctype",
    "max_function_args",
    "max_identifier_length",
    "max_index_keys",
    "max_prepared_transactions",
    "server_encoding",
    "server_version",
    "server_version_num",
    "track_commit_timestamp",
    "wal_level",
];

/// How the names are written of which clients are told.
const SPELLED: [(&str, &str); 3] =
    [("datestyle", "DateStyle"), ("intervalstyle", "IntervalStyle"), ("timezone", "TimeZone")];

/// The settings of a session.
pub(super) struct Settings {
    values: BTreeMap<String, String>,
    user: String,
    /// How often one was set.
    pub changes: u64,
    /// What is as before when the transaction ends, or when it is rolled back.
    undo: Vec<(String, Option<String>, bool)>,
}

impl Settings {
    pub fn new(user: &str) -> Self {
        let mut all = Self { values: BTreeMap::new(), user: user.to_owned(), changes: 0, undo: Vec::new() };
        all.reset_all();
        all
    }

    pub fn reset_all(&mut self) {
        self.changes += 1;
        let user = self.user.clone();
        self.values =
            KNOWN.iter().map(|(name, value, _)| ((*name).to_owned(), (*value).to_owned())).collect();
        self.values.insert("session_authorization".to_owned(), user);
    }

    /// The value of a setting; `None` if it is not one of these.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The role of the session.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Sets a setting; whether it is one of these. One with a dot in its name is an application's own.
    ///
    /// # Errors
    /// A value that it cannot have.
    pub fn set(
        &mut self,
        name: &str,
        value: &str,
        is_local: bool,
        in_transaction: bool,
    ) -> Result<bool, Failure> {
        if !self.values.contains_key(name) && !name.contains('.') {
            return Ok(false);
        }
        let refused = |why: &str| {
            Err(Failure::new("22023", format!("invalid value for parameter \"{name}\": \"{value}\""))
                .with_hint(why))
        };
        let value = match name {
            _ if FIXED.contains(&name) => {
                return Err(Failure::new("55P02", format!("parameter \"{name}\" cannot be changed")));
            }
            "client_encoding" => match value.to_lowercase().replace(['-', '_', '\''], "").as_str() {
                "utf8" | "unicode" | "default" => "UTF8",
                _ => return refused("texts are UTF8"),
            },
            "datestyle" if !value.to_lowercase().contains("iso") && value != "default" => {
                return refused("dates are written as ISO 8601 has them: ISO, MDY");
            }
            "datestyle" => "ISO, MDY",
            "intervalstyle" if value != "postgres" && value != "default" => {
                return refused("intervals are in postgres style");
            }
            "standard_conforming_strings" if matches!(value, "off" | "false" | "0") => {
                return refused("a backslash in a text is a backslash; E'…' has escapes");
            }
            "bytea_output" if value != "hex" && value != "default" => {
                return refused("bytes are written as hex");
            }
            "default_transaction_isolation" => match Isolation::of(value) {
                Some(isolation) => isolation.name(),
                None => return refused("read committed, repeatable read or serializable"),
            },
            _ if value == "default" => self.first(name),
            _ => value,
        };
        self.changes += 1;
        let value = value.to_owned();
        let before = self.values.insert(name.to_owned(), value);
        if in_transaction {
            self.undo.push((name.to_owned(), before, is_local));
        }
        Ok(true)
    }

    fn first(&self, name: &str) -> &'static str {
        KNOWN.iter().find(|(known, ..)| *known == name).map_or("", |(_, value, _)| value)
    }

    /// Sets one back; whether it is one of these.
    pub fn reset(&mut self, name: &str, in_transaction: bool) -> Result<bool, Failure> {
        match FIXED.contains(&name) {
            true => Ok(true),
            false => self.set(name, "default", false, in_transaction),
        }
    }

    /// A transaction has ended: what was set for it alone is as before, and if it was rolled back all is.
    pub fn end_transaction(&mut self, committed: bool) {
        while let Some((name, before, is_local)) = self.undo.pop() {
            self.changes += 1;
            if committed && !is_local {
                continue;
            }
            match before {
                Some(before) => drop(self.values.insert(name, before)),
                None => drop(self.values.remove(&name)),
            }
        }
    }

    /// How transactions are of which nothing else is said.
    pub fn modes(&self) -> Modes {
        Modes {
            isolation: self.get("default_transaction_isolation").and_then(Isolation::of),
            read_only: Some(
                self.get("default_transaction_read_only")
                    .is_some_and(|value| matches!(value, "on" | "true" | "1")),
            ),
        }
    }

    /// Tells the client of a setting, if it is one of which clients are told.
    pub fn tell(&self, name: &str, out: &mut Vec<u8>) {
        if let Some((_, _, true)) = KNOWN.iter().find(|(known, ..)| *known == name) {
            tell(name, self.get(name).unwrap_or_default(), out);
        }
    }

    /// Tells all of which clients are told.
    pub fn tell_all(&self, out: &mut Vec<u8>) {
        KNOWN.iter().for_each(|(name, ..)| self.tell(name, out));
    }
}

/// Tells the client the value of a setting.
pub(super) fn tell(name: &str, value: &str, out: &mut Vec<u8>) {
    let spelled = SPELLED.iter().find(|(known, _)| *known == name).map_or(name, |(_, spelled)| spelled);
    write(out, b'S', |out| {
        write_text(out, spelled);
        write_text(out, value);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_in_a_transaction_ends_with_it() {
        let mut settings = Settings::new("ada");
        assert!(settings.set("application_name", "a", false, true).unwrap());
        assert!(settings.set("extra_float_digits", "3", true, true).unwrap());
        settings.end_transaction(true);
        assert_eq!(
            (settings.get("application_name"), settings.get("extra_float_digits")),
            (Some("a"), Some("1"))
        );
        assert!(settings.set("application_name", "b", false, true).unwrap());
        assert!(settings.set("my.own", "b", false, true).unwrap());
        settings.end_transaction(false);
        assert_eq!((settings.get("application_name"), settings.get("my.own")), (Some("a"), None));
        assert!(!settings.set("no_such", "b", false, false).unwrap());
        assert_eq!(settings.set("client_encoding", "latin1", false, false).unwrap_err().code, "22023");
        assert_eq!(settings.set("server_version", "1", false, false).unwrap_err().code, "55P02");
    }
}
