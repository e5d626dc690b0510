//! A connection.

use std::{collections::HashSet, sync::Arc};

use adbc_core::{
    CancelHandle, Connection, Optionable,
    constants::{
        ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, ADBC_OPTION_ISOLATION_LEVEL_READ_COMMITTED,
        ADBC_OPTION_ISOLATION_LEVEL_REPEATABLE_READ, ADBC_OPTION_ISOLATION_LEVEL_SERIALIZABLE,
        ADBC_OPTION_ISOLATION_LEVEL_SNAPSHOT,
    },
    options::{InfoCode, ObjectDepth, OptionConnection, OptionValue},
    schemas::{GET_STATISTIC_NAMES_SCHEMA, GET_TABLE_TYPES_SCHEMA},
};
use ambo_face::Opened;
use arrow_array::{RecordBatch, RecordBatchReader, StringArray};
use arrow_schema::Schema;

use crate::{
    AmboStatement,
    error::{Result, argument, missing, no_option, state, text, told_sql, truth},
    info,
    objects::{self, Asked},
    result::made,
    session::{Cancel, Session},
    statement::quoted,
};

/// The only catalog.
pub(crate) const CATALOG: &str = "ambo";
/// The schema of names without one.
pub(crate) const MAIN: &str = "main";

/// Kinds of tables, as ADBC and as `information_schema` names them.
pub(crate) const KINDS: [(&str, &str); 3] =
    [("TABLE", "BASE TABLE"), ("VIEW", "VIEW"), ("SYSTEM VIEW", "SYSTEM VIEW")];

/// Levels of isolation, as ADBC and as SQL names them.
const LEVELS: [(&str, &str); 5] = [
    (ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, "REPEATABLE READ"),
    (ADBC_OPTION_ISOLATION_LEVEL_SNAPSHOT, "SNAPSHOT"),
    (ADBC_OPTION_ISOLATION_LEVEL_REPEATABLE_READ, "REPEATABLE READ"),
    (ADBC_OPTION_ISOLATION_LEVEL_READ_COMMITTED, "READ COMMITTED"),
    (ADBC_OPTION_ISOLATION_LEVEL_SERIALIZABLE, "SERIALIZABLE"),
];

type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// A connection. Its statements share it, and its transaction.
pub struct AmboConnection {
    session: Arc<Session>,
}

impl AmboConnection {
    pub(crate) fn new(opened: &Arc<Opened>, reads_only: bool) -> Result<Self> {
        Ok(Self { session: Session::new(opened, reads_only)? })
    }

    fn end(&self, how: &str) -> Result<()> {
        if self.session.settings().autocommit {
            return Err(state(format!("{how}: statements commit by themselves; turn autocommit off first")));
        }
        self.session.end(how)
    }
}

impl Connection for AmboConnection {
    type StatementType = AmboStatement;

    fn new_statement(&mut self) -> Result<AmboStatement> {
        Ok(AmboStatement::new(&self.session))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        Box::new(Cancel(self.session.interrupter().clone()))
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        info::reader(codes)
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: Option<&str>,
        table_type: Option<Vec<&str>>,
        column_name: Option<&str>,
    ) -> Result<Reader> {
        objects::reader(
            &self.session,
            &Asked { depth, catalog, db_schema, table_name, table_type, column_name },
        )
    }

    fn get_table_schema(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table_name: &str,
    ) -> Result<Schema> {
        require_catalog(catalog)?;
        let query = format!("SELECT * FROM {}.{}", quoted(db_schema.unwrap_or(MAIN)), quoted(table_name));
        self.session.with(|connection| {
            let prepared = connection.prepare(&query).map_err(told_sql)?;
            let described = connection.describe(&prepared).map_err(told_sql)?;
            Ok(described.schema.map_or_else(Schema::empty, |schema| schema.as_ref().clone()))
        })
    }

    fn get_table_types(&self) -> Result<Reader> {
        let kinds = StringArray::from_iter_values(KINDS.iter().map(|(kind, _)| kind));
        let schema = GET_TABLE_TYPES_SCHEMA.clone();
        let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(kinds)]);
        Ok(made(schema, vec![batch.map_err(|error| state(error.to_string()))?]))
    }

    /// There are none but those that ADBC names.
    fn get_statistic_names(&self) -> Result<Reader> {
        Ok(made(GET_STATISTIC_NAMES_SCHEMA.clone(), Vec::new()))
    }

    fn get_statistics(&self, _: Option<&str>, _: Option<&str>, _: Option<&str>, _: bool) -> Result<Reader> {
        Err(missing("statistics of tables: ambo_catalog.tables has them"))
    }

    fn commit(&mut self) -> Result<()> {
        self.end("COMMIT")
    }

    fn rollback(&mut self) -> Result<()> {
        self.end("ROLLBACK")
    }

    fn read_partition(&self, _partition: impl AsRef<[u8]>) -> Result<Reader> {
        Err(missing("results have no partitions"))
    }
}

pub(crate) fn require_catalog(catalog: Option<&str>) -> Result<()> {
    match catalog {
        None | Some("" | CATALOG) => Ok(()),
        Some(other) => Err(argument(format!("there is no catalog \"{other}\", only {CATALOG}"))),
    }
}

impl Optionable for AmboConnection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        let name = key.as_ref().to_owned();
        match key {
            OptionConnection::AutoCommit => {
                let autocommit = truth(&name, value)?;
                if autocommit {
                    self.session.end("COMMIT")?;
                }
                self.session.set(|settings| settings.autocommit = autocommit);
            }
            OptionConnection::ReadOnly => {
                let reads_only = truth(&name, value)?;
                self.session.set(|settings| settings.reads_only = reads_only);
            }
            OptionConnection::IsolationLevel => {
                let wanted = text(&name, value)?;
                let known = LEVELS.iter().find(|(level, _)| *level == wanted);
                let (_, level) =
                    known.ok_or_else(|| missing(format!("there is no isolation level {wanted}")))?;
                self.session.set(|settings| settings.level = level);
            }
            OptionConnection::CurrentCatalog => require_catalog(Some(&text(&name, value)?))?,
            OptionConnection::CurrentSchema if text(&name, value.clone())? == MAIN => {}
            OptionConnection::CurrentSchema => {
                return Err(missing(format!("the schema of names without one is {MAIN}")));
            }
            _ => return Err(missing(format!("there is no option \"{name}\" of connections"))),
        }
        Ok(())
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        let settings = self.session.settings();
        Ok(match key {
            OptionConnection::AutoCommit => settings.autocommit.to_string(),
            OptionConnection::ReadOnly => settings.reads_only.to_string(),
            OptionConnection::CurrentCatalog => CATALOG.to_owned(),
            OptionConnection::CurrentSchema => MAIN.to_owned(),
            OptionConnection::IsolationLevel => {
                let known = LEVELS.iter().skip(1).find(|(_, level)| *level == settings.level);
                known.map_or(ADBC_OPTION_ISOLATION_LEVEL_DEFAULT, |(level, _)| level).to_owned()
            }
            other => return Err(no_option(other.as_ref())),
        })
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        Err(no_option(key.as_ref()))
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        Err(no_option(key.as_ref()))
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        Err(no_option(key.as_ref()))
    }
}
