//! The driver, and a database that it opened.

use std::sync::Arc;

use adbc_core::{
    Database, Driver, Optionable,
    options::{OptionConnection, OptionDatabase, OptionValue},
};
use ambo_face::{MEMORY, Opened, Options};

use crate::{
    AmboConnection,
    error::{Result, argument, caught, missing, no_option, text, told},
};

/// The driver.
#[derive(Default)]
pub struct AmboDriver;

/// A database. Those in memory are shared by its connections alone.
pub struct AmboDatabase {
    opened: Arc<Opened>,
    uri: String,
    reads_only: bool,
}

/// What stands before the name of an option of Ambo's.
const OWN: &str = "ambo.";

impl Driver for AmboDriver {
    type DatabaseType = AmboDatabase;

    fn new_database(&mut self) -> Result<AmboDatabase> {
        self.new_database_with_opts([])
    }

    fn new_database_with_opts(
        &mut self,
        opts: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<AmboDatabase> {
        let (mut options, mut uri) = (Options::new(), MEMORY.to_owned());
        let mut reads_only = false;
        for (name, value) in opts {
            let name = name.as_ref().to_owned();
            let value = text(&name, value)?;
            match name.as_str() {
                "uri" | "path" => uri = value,
                "username" | "password" => {
                    return Err(missing(format!("a database has no users: there is no option \"{name}\"")));
                }
                own => {
                    let own = own.strip_prefix(OWN).unwrap_or(own);
                    options.set(own, &value).map_err(told)?;
                    reads_only |= own == "read_only" && value == "true";
                }
            }
        }
        let path = path_of(&uri)?;
        let opened = caught(|| ambo_face::open(&path, &options).map_err(told))?;
        Ok(AmboDatabase { opened: Arc::new(opened), uri, reads_only })
    }
}

/// The path of an address: `ambo:///path`, `file:///path`, a path, or one of memory.
fn path_of(uri: &str) -> Result<String> {
    let path = match uri.split_once("://") {
        Some(("ambo" | "file", path)) => path,
        Some((scheme, _)) => {
            return Err(argument(format!("\"{scheme}\" is no scheme of Ambo's: ambo:///path is")));
        }
        None => uri.strip_prefix("ambo:").unwrap_or(uri),
    };
    Ok(if path.is_empty() { MEMORY.to_owned() } else { path.to_owned() })
}

impl Database for AmboDatabase {
    type ConnectionType = AmboConnection;

    fn new_connection(&self) -> Result<AmboConnection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        opts: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<AmboConnection> {
        let mut connection = caught(|| AmboConnection::new(&self.opened, self.reads_only))?;
        for (name, value) in opts {
            connection.set_option(name, value)?;
        }
        Ok(connection)
    }
}

impl Optionable for AmboDatabase {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, _value: OptionValue) -> Result<()> {
        Err(crate::error::state(format!("option \"{}\" is said before the database is opened", key.as_ref())))
    }

    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        match key {
            OptionDatabase::Uri => Ok(self.uri.clone()),
            other => Err(no_option(other.as_ref())),
        }
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        Err(no_option(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        Err(no_option(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        Err(no_option(key.as_ref()))
    }
}
