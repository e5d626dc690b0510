//! Settings of a session, which are partly the engine's.

use super::{
    client::{Block, Client},
    failure::Failure,
};

/// The engine's, which PostgreSQL has too.
const ENGINE: [&str; 4] = ["search_path", "timezone", "statement_timeout", "lock_timeout"];

impl Client {
    /// Sets a setting.
    pub fn set(&mut self, name: &str, values: &[String], is_local: bool) -> Result<(), Failure> {
        let in_transaction = self.block != Block::Idle;
        let value = values.join(", ");
        if self.settings.set(name, &value, is_local, in_transaction)? {
            return Ok(());
        }
        match name {
            "transaction_isolation" | "transaction_read_only" => Err(Failure::new(
                "25001",
                format!("{name} is said by BEGIN, or by SET TRANSACTION before the first query"),
            )),
            _ if is_local && in_transaction && ENGINE.contains(&name) => {
                let before = self.setting(name)?;
                self.set_in_engine(name, &value)?;
                self.back.push((name.to_owned(), before));
                Ok(())
            }
            // For the transaction alone, where there is none, is for nothing.
            _ if is_local => Ok(()),
            _ => self.set_in_engine(name, &value),
        }
    }

    /// Takes note whether the search path has a schema: the engine seeks in one in any case.
    fn note_path(&mut self, is_pathless: bool) {
        if self.is_pathless != is_pathless {
            self.is_pathless = is_pathless;
            self.settings.changes += 1;
        }
    }

    fn set_in_engine(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        if name == "search_path" {
            let mut schemas = value.split(',').map(|name| name.trim().trim_matches('"'));
            self.note_path(schemas.all(|name| name.is_empty() || name == "pg_catalog"));
        }
        let value = match name {
            // Tables that have no other schema are in one that is called main, and public by clients.
            "search_path" => {
                let names = value.split(',').map(|name| name.trim().trim_matches('"'));
                let names = names.filter(|name| !matches!(*name, "$user" | "pg_catalog"));
                let names: Vec<_> = names.map(|name| if name == "public" { "main" } else { name }).collect();
                names.join(",")
            }
            "timezone" if value.eq_ignore_ascii_case("default") || value.eq_ignore_ascii_case("local") => {
                "UTC".to_owned()
            }
            _ => value.to_owned(),
        };
        let text = format!("SET {} = '{}'", quoted(name), value.replace('\'', "''"));
        self.engine(&text).map_err(|failure| match failure.code {
            "42704" => Failure::new("42704", format!("unrecognized configuration parameter \"{name}\"")),
            _ => failure,
        })
    }

    /// Sets one setting back, or all.
    pub fn reset(&mut self, name: Option<&str>) -> Result<(), Failure> {
        let Some(name) = name else {
            self.settings.reset_all();
            self.note_path(false);
            return self.engine("RESET ALL");
        };
        if name == "search_path" {
            self.note_path(false);
        }
        match self.settings.reset(name, self.block != Block::Idle)? {
            true => Ok(()),
            false => self.engine(&format!("RESET {}", quoted(name))),
        }
    }

    /// The value of a setting.
    pub fn setting(&mut self, name: &str) -> Result<String, Failure> {
        if let Some(value) = self.settings.get(name) {
            return Ok(value.to_owned());
        }
        let modes = self.just_begun.unwrap_or_default();
        let session = self.settings.modes();
        match name {
            "transaction_isolation" => {
                let isolation = modes.isolation.or(session.isolation);
                return Ok(isolation.map_or("read committed", |isolation| isolation.name()).to_owned());
            }
            "transaction_read_only" => {
                let read_only = modes.read_only.or(session.read_only).unwrap_or(false);
                return Ok(if read_only { "on" } else { "off" }.to_owned());
            }
            _ => {}
        }
        if name == "search_path" && self.is_pathless {
            return Ok(String::new());
        }
        let asked = format!("SELECT current_setting('{}')", name.replace('\'', "''"));
        let value =
            self.session.connection.sql(&asked).and_then(|rows| rows.single()?.into_values::<String>());
        let value = value
            .map_err(|_| Failure::new("42704", format!("unrecognized configuration parameter \"{name}\"")))?;
        Ok(match name {
            "search_path" => {
                let names =
                    value.split(',').map(|name| if name.trim() == "main" { "public" } else { name.trim() });
                names.collect::<Vec<_>>().join(", ")
            }
            _ => value,
        })
    }

    /// Has settings of the engine be as before that were set for a transaction which is over.
    pub fn settings_back(&mut self) {
        while let Some((name, before)) = self.back.pop() {
            // It was so before.
            let _set = self.set_in_engine(&name, &before);
        }
    }
}

fn quoted(name: &str) -> String {
    match name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
