//! What KeksDB's clients speak: its commands, over HTTP (`http.rs`) and over what it calls Thrift (`thrift.rs`).
//!
//! 1. A database of KeksDB is a schema, a table is a table of keys and values in it. Names are the same in large and small letters, and
//!    told in large ones.
//! 2. Whether KeksDB would have made a B+tree or an LSM tree (`ENGINE_NAME`) is kept with the table's properties, as its comment, and
//!    told again.
//! 3. A key and a value have at least a byte. A key that is not there has an empty value.

pub(crate) mod http;
mod records;
pub(crate) mod thrift;

use std::{collections::BTreeMap, ops::Bound};

use ambo::{Read, Table};
use ambo_sql::{Access, Database};
use serde_json::Value as Json;

use crate::{roles::Visitor, server::Shared};

/// What is wrong, with the name of the class that KeksDB's clients know.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub class: &'static str,
    pub message: String,
}

impl Wrong {
    fn new(message: impl Into<String>) -> Self {
        Self { class: "org.kv.kvdb.exceptions.DatabaseException", message: message.into() }
    }
}

impl From<ambo_sql::Error> for Wrong {
    fn from(error: ambo_sql::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<ambo::Error> for Wrong {
    fn from(error: ambo::Error) -> Self {
        Self::new(error.to_string())
    }
}

type Done<T> = Result<T, Wrong>;

/// Properties of a request or of a table.
pub(crate) type Properties = BTreeMap<String, String>;

/// The commands, on a database.
pub(crate) struct Commands<'a> {
    db: &'a Database,
    visitor: &'a Visitor,
}

/// What begins the comment of a table that came from here, in front of its properties.
const MARK: &str = "KeksDB ";

impl<'a> Commands<'a> {
    pub(crate) fn new(shared: &'a Shared, visitor: &'a Visitor) -> Self {
        Self { db: &shared.database, visitor }
    }

    fn require(&self, name: &str, access: Access) -> Done<()> {
        Ok(self.db.require(&self.visitor.role, name, access)?)
    }

    fn may_write(&self) -> Done<()> {
        match self.visitor.is_read_only {
            false => Ok(()),
            true => Err(Wrong::new("this role may only read")),
        }
    }

    fn schema(&self, database: &str) -> Done<String> {
        let found = self.db.schemas().into_iter().find(|schema| schema.eq_ignore_ascii_case(database));
        found.ok_or_else(|| Wrong::new(format!("Database: {} is not found", database.to_uppercase())))
    }

    /// The name of a table as it is stored, whether or not it is there.
    fn name(&self, database: &str, table: &str) -> Done<String> {
        let wanted = format!("{}.{table}", self.schema(database)?);
        let found = self.db.tables().into_iter().find(|name| name.eq_ignore_ascii_case(&wanted));
        Ok(found.unwrap_or_else(|| wanted.to_lowercase()))
    }

    fn table(&self, database: &str, table: &str, access: Access) -> Done<Table> {
        let name = self.name(database, table)?;
        self.require(&name, access)?;
        let found = self.db.table(&name);
        let found = found.map_err(|_| {
            Wrong::new(format!("Table: {} is not found in {}", table.to_uppercase(), database.to_uppercase()))
        })?;
        match found.definition().is_raw() {
            true => Ok(found),
            false => Err(Wrong::new(format!("Table: {} has columns", table.to_uppercase()))),
        }
    }

    pub(crate) fn create_db(&self, database: &str) -> Done<()> {
        self.may_write()?;
        self.require("", Access::All)?;
        if database.is_empty() {
            return Err(Wrong::new("a database has a name"));
        }
        if self.schema(database).is_ok() {
            return Err(Wrong::new(format!("Database: {} already exists", database.to_uppercase())));
        }
        Ok(self.db.create_schema(&database.to_lowercase())?)
    }

    /// Drops a database with its tables.
    pub(crate) fn drop_db(&self, database: &str) -> Done<()> {
        self.may_write()?;
        self.require("", Access::All)?;
        let schema = self.schema(database)?;
        let of_it = |name: &String| name.split_once('.').is_some_and(|(of, _)| of == schema);
        for table in self.db.tables().iter().filter(|name| of_it(name)) {
            self.db.drop_table(table)?;
        }
        Ok(self.db.drop_schema(&schema)?)
    }

    pub(crate) fn databases(&self) -> Vec<String> {
        self.db.schemas().iter().map(|schema| schema.to_uppercase()).collect()
    }

    pub(crate) fn create_table(
        &self,
        database: &str,
        table: &str,
        engine: &str,
        properties: Properties,
    ) -> Done<()> {
        self.may_write()?;
        if table.is_empty() || table.contains('.') {
            return Err(Wrong::new(format!("\"{table}\" is no name of a table")));
        }
        if !["bplus", "lsm"].iter().any(|known| engine.eq_ignore_ascii_case(known)) {
            return Err(Wrong::new(format!("there is no engine \"{engine}\"; there are bplus and lsm")));
        }
        let name = self.name(database, table)?;
        self.require(&name, Access::Create)?;
        if self.db.table(&name).is_ok() {
            return Err(Wrong::new(format!("Table: {} already exists", table.to_uppercase())));
        }
        let is_logged =
            !properties.get("KV_TABLE_ENABLE_WAL").is_some_and(|value| value.eq_ignore_ascii_case("false"));
        let mut kept = properties;
        kept.insert("ENGINE_NAME".into(), engine.to_lowercase());
        let kept = serde_json::to_string(&kept).map_err(|error| Wrong::new(error.to_string()))?;
        let definition =
            ambo::TableDefinition::key_value(&name).log(is_logged).comment(format!("{MARK}{kept}"));
        self.db.create_table(definition)?;
        Ok(self.db.own(&self.visitor.role, &name)?)
    }

    pub(crate) fn drop_table(&self, database: &str, table: &str) -> Done<()> {
        self.may_write()?;
        let table = self.table(database, table, Access::Own)?;
        Ok(self.db.drop_table(&table.definition().name)?)
    }

    pub(crate) fn tables(&self, database: &str) -> Done<Vec<String>> {
        let schema = self.schema(database)?;
        let of_it = |name: &String| {
            let (of, table) = name.split_once('.')?;
            (of == schema && self.db.shows(&self.visitor.role, name)).then(|| table.to_uppercase())
        };
        Ok(self.db.tables().iter().filter_map(of_it).collect())
    }

    pub(crate) fn parameters(&self, database: &str, table: &str) -> Done<Properties> {
        let table = self.table(database, table, Access::Read)?;
        let kept = table.definition().comment.as_deref().and_then(|comment| comment.strip_prefix(MARK));
        Ok(kept.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_default())
    }

    pub(crate) fn put(&self, database: &str, table: &str, key: &[u8], value: &[u8]) -> Done<()> {
        self.put_all(database, table, &[(key.to_vec(), value.to_vec())])
    }

    /// Puts entries, all or none.
    pub(crate) fn put_all(&self, database: &str, table: &str, entries: &[(Vec<u8>, Vec<u8>)]) -> Done<()> {
        self.may_write()?;
        let table = self.table(database, table, Access::Write)?;
        if entries.iter().any(|(key, value)| key.is_empty() || value.is_empty()) {
            return Err(Wrong::new("a key and a value have at least a byte"));
        }
        if let [(key, value)] = entries {
            return Ok(table.put(key, value)?);
        }
        let mut batch = self.db.batch();
        for (key, value) in entries {
            batch.put(&table, key, value);
        }
        Ok(batch.commit()?)
    }

    pub(crate) fn get(&self, database: &str, table: &str, key: &[u8]) -> Done<Vec<u8>> {
        Ok(self.table(database, table, Access::Read)?.get_with(key, <[u8]>::to_vec)?.unwrap_or_default())
    }

    pub(crate) fn remove(&self, database: &str, table: &str, key: &[u8]) -> Done<()> {
        self.may_write()?;
        Ok(self.table(database, table, Access::Delete)?.delete(key)?)
    }

    pub(crate) fn records(
        &self,
        database: &str,
        table: &str,
        query: &Query,
    ) -> Done<Vec<(Vec<u8>, Vec<u8>)>> {
        let table = self.table(database, table, Access::Read)?;
        let rows = self.db.snapshot().scan(&table, query.bounds())?.take(query.limit);
        let own = |row: ambo::Result<(ambo::Bytes, ambo::Bytes)>| {
            row.map(|(key, value)| (key.to_vec(), value.to_vec()))
        };
        Ok(rows.map(own).collect::<ambo::Result<_>>()?)
    }

    pub(crate) fn count(&self, database: &str, table: &str, query: &Query) -> Done<u64> {
        let table = self.table(database, table, Access::Read)?;
        Ok(self.db.snapshot().count(&table, query.bounds())?.min(query.limit as u64))
    }

    /// Merges what can be merged, of all tables.
    pub(crate) fn optimize(&self, database: &str, table: &str) -> Done<()> {
        self.may_write()?;
        self.table(database, table, Access::All)?;
        Ok(self.db.compact()?)
    }

    /// Writes what is in memory to pages.
    pub(crate) fn flush(&self, database: &str, table: &str) -> Done<()> {
        self.may_write()?;
        self.table(database, table, Access::All)?;
        Ok(self.db.flush()?)
    }

    pub(crate) fn checkpoint(&self) -> Done<()> {
        self.may_write()?;
        self.require("", Access::All)?;
        Ok(self.db.flush()?)
    }
}

/// Which records are asked for.
#[derive(Debug)]
pub(crate) struct Query {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    limit: usize,
}

impl Query {
    fn bounds(&self) -> ambo::Bounds {
        (self.lower.clone(), self.upper.clone())
    }

    /// From the fields `MIN_VALUE`, `IS_MIN_INCLUSIVE`, `MAX_VALUE`, `IS_MAX_INCLUSIVE`, `LIMIT`.
    pub(crate) fn of(field: impl Fn(&str) -> Option<String>) -> Done<Self> {
        let bound = |name: &str, inclusive: &str| match field(name).filter(|key| !key.is_empty()) {
            None => Bound::Unbounded,
            Some(key) if field(inclusive).is_some_and(|value| value.eq_ignore_ascii_case("true")) => {
                Bound::Included(key.into_bytes())
            }
            Some(key) => Bound::Excluded(key.into_bytes()),
        };
        let limit = field("LIMIT").and_then(|limit| limit.trim().parse().ok());
        Ok(Self {
            lower: bound("MIN_VALUE", "IS_MIN_INCLUSIVE"),
            upper: bound("MAX_VALUE", "IS_MAX_INCLUSIVE"),
            limit: limit.ok_or_else(|| Wrong::new("LIMIT is missing, or is no number"))?,
        })
    }

    /// From the JSON of the body of a request of HTTP.
    pub(crate) fn of_json(body: &[u8]) -> Done<Self> {
        let json: Json = serde_json::from_slice(body)
            .map_err(|error| Wrong::new(format!("the query is no JSON: {error}")))?;
        Self::of(|name| match json.get(name)? {
            Json::String(text) => Some(text.clone()),
            Json::Null => None,
            other => Some(other.to_string()),
        })
    }
}
