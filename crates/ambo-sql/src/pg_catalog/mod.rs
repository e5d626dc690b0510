//! The catalog that clients of PostgreSQL ask: the schema `pg_catalog`, with functions and casts about it, and `information_schema` as
//! PostgreSQL has it, for sessions that speak as those clients do.
//!
//! | file | what |
//! |---|---|
//! | `shape`, `data/` | the tables with their columns, and the rows that are PostgreSQL's own, as PostgreSQL 15 has them |
//! | `gather` | what there is in the database, with numbers |
//! | `rows`, `information` | the rows of the tables |
//! | `types` | which of PostgreSQL's types a column has |
//! | `texts` | what definitions say, as PostgreSQL can read it |
//! | `sequence` | a sequence as a table of one row |
//! | `functions`, `expand`, `filled` | functions |
//! | `syntax` | what clients write of which the planner knows nothing, written so that it does |
//! | `rights` | roles and rights |
//! | `names` | what columns are called that have no name |
//!
//! 1. All is made when a statement asks for it, of what its transaction sees, once a statement. A statement that does not ask pays for a
//!    look at its tree.
//! 2. Columns say in their fields what they are in PostgreSQL ([`PG_TYPE`]), where their values do not.

mod enums;
mod expand;
mod filled;
mod functions;
mod gather;
mod information;
mod names;
mod rights;
mod rows;
mod sequence;
mod shape;
mod syntax;
mod tableoid;
mod texts;
mod types;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use datafusion::{catalog::TableProvider, datasource::MemTable, logical_expr::ScalarUDF};

use gather::{Gathered, Path};
use shape::{CATALOG, INFORMATION, Shape};

pub use names::PostgresColumn;
pub(crate) use names::{of_statement as columns_of, parameters_of};
pub(crate) use sequence::table as sequence;
pub use shape::PG_TYPE;
pub(crate) use syntax::{as_meant, list};

use crate::{Error, Result, planner::Planner};

/// The schema's name.
pub(crate) const SCHEMA: &str = "pg_catalog";

/// What `pg_get_keywords()` returns.
const KEYWORDS: &str = "pg_get_keywords";

/// What a client of PostgreSQL is told of its session.
#[derive(Clone, Debug, Default)]
pub struct PostgresSession {
    /// The role.
    pub user: String,
    /// What the client calls the database.
    pub database: String,
    /// The number by which the session is cancelled.
    pub pid: i32,
    /// What `version()` is.
    pub version: String,
    /// Settings with their values.
    pub settings: Vec<(String, String)>,
    /// What its statements want to be set.
    pub wishes: Wishes,
    /// Whether its search path has no schema: names are told with theirs.
    pub is_pathless: bool,
}

/// What statements want to be set, by `set_config`: whoever runs them sets it when they have run. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Wishes(Arc<Mutex<Vec<Wish>>>);

/// The name, the value, and whether it is for the transaction alone.
type Wish = (String, String, bool);

impl Wishes {
    pub(crate) fn add(&self, name: &str, value: &str, is_local: bool) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((name.to_owned(), value.to_owned(), is_local));
    }

    /// All that are new: a name, a value, and whether it is for the transaction alone.
    pub fn take(&self) -> Vec<(String, String, bool)> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The same, with what is the engine's.
pub(crate) struct Session {
    is_client: bool,
    user: String,
    database: String,
    pid: i32,
    version: String,
    settings: Vec<(String, String)>,
    wishes: Wishes,
    /// Where names are sought.
    path: Vec<String>,
}

impl Session {
    fn of(planner: &Planner<'_>) -> Result<Self> {
        let is_public = |schema: &String| {
            if schema == ambo::DEFAULT_SCHEMA { "public".to_owned() } else { schema.clone() }
        };
        let of_engine = |(name, value, _): (&str, String, &str)| (name.to_owned(), value);
        let is_pathless = planner.postgres().is_some_and(|client| client.is_pathless);
        let path: Vec<_> = match is_pathless {
            true => Vec::new(),
            false => planner.path().iter().map(is_public).collect(),
        };
        let mut settings: Vec<_> = planner.settings()?.into_iter().map(of_engine).collect();
        let client = planner.postgres();
        if let Some(client) = client {
            settings.retain(|(name, _)| client.settings.iter().all(|(other, _)| other != name));
            settings.extend(client.settings.iter().cloned());
            for (name, value) in &mut settings {
                if name == "search_path" {
                    *value = path.join(", ");
                }
            }
        }
        settings.sort();
        Ok(Self {
            is_client: client.is_some(),
            user: match (client, planner.restricted()) {
                (Some(client), _) => client.user.clone(),
                (None, Some(role)) => role.name().to_owned(),
                (None, None) => "ambo".to_owned(),
            },
            database: client.map_or("ambo", |client| &client.database).to_owned(),
            pid: client.map_or(i32::try_from(std::process::id()).unwrap_or(0), |client| client.pid),
            version: client.map_or(String::new(), |client| client.version.clone()),
            settings,
            wishes: client.map(|client| client.wishes.clone()).unwrap_or_default(),
            path,
        })
    }
}

/// What a statement sees of the catalog.
pub(crate) struct Catalog {
    all: Gathered,
    session: Session,
    database: ambo::Database,
    sizes: OnceLock<HashMap<String, (u64, u64, u64)>>,
}

impl Catalog {
    /// Of what a planner sees. Views have their columns unless one is being planned for them.
    pub(crate) fn of(planner: &Planner<'_>, with_views: bool) -> Result<Self> {
        let session = Session::of(planner)?;
        Ok(Self {
            all: Gathered::of(planner, with_views, &session.user, Path::new(session.path.clone()))?,
            session,
            database: planner.place(planner.catalogs()[0]).engine.db.clone(),
            sizes: OnceLock::new(),
        })
    }

    /// Rows, pages and bytes of each table.
    fn sizes(&self) -> &HashMap<String, (u64, u64, u64)> {
        self.sizes.get_or_init(|| {
            let Ok(info) = self.database.info() else { return HashMap::new() };
            let row = |table: &ambo::TableInfo| {
                let pages = table.leaf_pages + table.inner_pages + table.blob_pages;
                (table.definition.name.clone(), (table.rows, pages, table.stored_bytes(info.page_size)))
            };
            info.tables.iter().map(row).collect()
        })
    }

    /// Rows and bytes of a table.
    fn size(&self, name: &str) -> Option<(u64, u64)> {
        self.sizes().get(name).map(|(rows, _, bytes)| (*rows, *bytes))
    }

    /// Bytes of the database.
    fn bytes(&self) -> i64 {
        self.database
            .info()
            .map_or(0, |info| i64::try_from(info.file_bytes + info.segment_bytes).unwrap_or(i64::MAX))
    }

    fn temporary_schema(&self) -> i64 {
        let has = self.all.namespaces.iter().any(|(oid, _)| *oid == gather::TEMPORARY);
        if has { gather::TEMPORARY } else { 0 }
    }

    /// Where names are sought.
    fn schemas(&self, with_implicit: bool) -> Vec<String> {
        let mut all = Vec::new();
        if with_implicit {
            if self.temporary_schema() != 0 {
                all.push("pg_temp_1".to_owned());
            }
            all.push(SCHEMA.to_owned());
        }
        all.extend(self.session.path.iter().cloned());
        all
    }

    /// The number of a relation, by a name that may have its schema before it.
    fn relation_named(&self, name: &str) -> Option<i64> {
        let parts = parts(name)?;
        let (schema, name) = match &parts[..] {
            [name] => (None, name),
            [schema, name] | [_, schema, name] => (Some(schema.as_str()), name),
            _ => return None,
        };
        let own = |schema: &str| {
            let all = if schema == SCHEMA { &*CATALOG } else { &*INFORMATION };
            all.iter().find(|shape| shape.name == name).map(|shape| shape.oid)
        };
        let users = |schema: &str| {
            let found = self.all.relations.iter().find(|of| of.name == *name && of.schema == schema);
            found.map(|of| of.oid)
        };
        match schema {
            Some(schema @ (SCHEMA | "information_schema")) => own(schema),
            Some(schema) => users(if schema == ambo::DEFAULT_SCHEMA { "public" } else { schema }),
            None => users("pg_temp_1")
                .or_else(|| self.session.path.iter().find_map(|schema| users(schema)))
                .or_else(|| users("public"))
                .or_else(|| own(SCHEMA)),
        }
    }

    /// The number of a type.
    fn type_named(&self, name: &str) -> Option<i64> {
        if let Some(own) = types::by_name(name) {
            return Some(own);
        }
        let (item, is_array) = name.strip_suffix("[]").map_or((name, false), |item| (item, true));
        let parts = parts(item)?;
        let last = parts.last()?;
        let is_schema = |schema: &str| parts.len() < 2 || parts[parts.len() - 2] == schema;
        let users = self.all.types.iter().find(|ty| ty.name == *last && is_schema(&ty.schema));
        let users = users.map(|ty| (ty.oid, ty.array));
        let rows = || {
            let found = self
                .all
                .relations
                .iter()
                .find(|of| of.types.is_some() && of.name == *last && is_schema(&of.schema));
            found.and_then(|of| of.types)
        };
        users.or_else(rows).map(|(oid, array)| if is_array { array } else { oid })
    }

    fn schema_named(&self, name: &str) -> Option<i64> {
        let parts = parts(name)?;
        self.all.namespaces.iter().find(|(_, known)| parts == [known.as_str()]).map(|(oid, _)| *oid)
    }

    fn relation_shown(&self, oid: i64) -> Option<String> {
        let users = self.all.relation(oid).map(|of| self.all.path.shown(&of.schema, &of.name));
        users
            .or_else(|| CATALOG.iter().find(|shape| shape.oid == oid).map(|shape| shape.name.to_owned()))
            .or_else(|| {
                let found = INFORMATION.iter().find(|shape| shape.oid == oid);
                found.map(|shape| format!("information_schema.{}", shape.name))
            })
    }

    fn type_shown(&self, oid: i64, modifier: Option<i64>) -> Option<String> {
        if let Some(own) = types::formatted(oid, modifier) {
            return Some(own);
        }
        let users = self.all.types.iter().find_map(|ty| match oid {
            oid if oid == ty.oid => Some(self.all.path.shown(&ty.schema, &ty.name)),
            oid if oid == ty.array => Some(format!("{}[]", self.all.path.shown(&ty.schema, &ty.name))),
            _ => None,
        });
        users.or_else(|| {
            self.all.relations.iter().find_map(|of| match of.types {
                Some((rows, _)) if rows == oid => Some(self.all.path.shown(&of.schema, &of.name)),
                Some((_, arrays)) if arrays == oid => {
                    Some(format!("{}[]", self.all.path.shown(&of.schema, &of.name)))
                }
                _ => None,
            })
        })
    }

    fn schema_shown(&self, oid: i64) -> Option<String> {
        self.all.namespaces.iter().find(|(known, _)| *known == oid).map(|(_, name)| gather::quoted(name))
    }

    /// Whether something is found by its name alone; `None` for what is not there.
    fn is_visible(&self, oid: i64) -> Option<bool> {
        let in_path = |schema: &str| self.all.path.leads_to(schema);
        let relation = self.all.relation(oid).map(|of| in_path(&of.schema));
        relation
            .or_else(|| CATALOG.iter().any(|shape| shape.oid == oid).then_some(true))
            .or_else(|| INFORMATION.iter().any(|shape| shape.oid == oid).then_some(false))
            .or_else(|| types::OWN.contains_key(&oid).then_some(true))
            .or_else(|| {
                self.all
                    .types
                    .iter()
                    .find(|ty| ty.oid == oid || ty.array == oid)
                    .map(|ty| in_path(&ty.schema))
            })
            .or_else(|| {
                let is_of = |of: &&gather::Relation| {
                    of.types.is_some_and(|(rows, arrays)| rows == oid || arrays == oid)
                };
                self.all.relations.iter().find(is_of).map(|of| in_path(&of.schema))
            })
    }
}

/// The parts of a name as a text has them: quoted ones as they are, others in small letters.
pub(crate) fn parts(name: &str) -> Option<Vec<String>> {
    let (mut all, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut chars = name.trim().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                part.push('"');
            }
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => all.push(std::mem::take(&mut part)),
            c if is_quoted => part.push(c),
            c => part.extend(c.to_lowercase()),
        }
    }
    all.push(part);
    (!is_quoted && all.iter().all(|part| !part.is_empty())).then_some(all)
}

/// The table of a whole name, if it is one of these.
///
/// # Errors
/// There is none of this name in `pg_catalog`; what goes wrong while it is made.
pub(crate) fn table(planner: &Planner<'_>, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
    let (schema, last) = crate::names::split(name);
    let (is_own, shapes): (bool, &[Shape]) = match schema {
        SCHEMA => (true, &CATALOG),
        // Names without a schema are sought here, too.
        ambo::DEFAULT_SCHEMA if last.starts_with("pg_") => (false, &CATALOG),
        "information_schema" if planner.postgres().is_some() => (false, &INFORMATION),
        _ => return Ok(None),
    };
    if last == KEYWORDS && schema == SCHEMA {
        return keywords().map(Some);
    }
    let Some(shape) = shapes.iter().find(|shape| shape.name == last) else {
        let known = || shapes.iter().map(|shape| shape.name);
        return if is_own { Err(Error::not_found("table", name, known())) } else { Ok(None) };
    };
    let catalog = planner.pg_catalog()?;
    let of = rows::Telling {
        all: &catalog.all,
        session: &catalog.session,
        sizes: &|name| catalog.sizes().get(name).map(|(rows, pages, _)| (*rows, *pages)),
    };
    let rows = match schema {
        "information_schema" => information::rows(shape, &of),
        _ => rows::rows(shape, &of),
    };
    Ok(Some(Arc::new(MemTable::try_new(shape.schema(), vec![vec![shape.batch(&rows)?]])?)))
}

fn keywords() -> Result<Arc<dyn TableProvider>> {
    let columns = [
        ("word", "text"),
        ("catcode", "char"),
        ("barelabel", "bool"),
        ("catdesc", "text"),
        ("baredesc", "text"),
    ];
    let columns = columns.map(|(name, ty)| shape::Column { name, ty }).into();
    let shape = Shape { name: KEYWORDS, oid: 0, kind: "r", columns };
    let rows: Vec<_> =
        include_str!("data/pg_get_keywords.tsv").lines().map(|line| shape.parsed(line)).collect();
    Ok(Arc::new(MemTable::try_new(shape.schema(), vec![vec![shape.batch(&rows)?]])?))
}

/// The function of a name, if it is one about the catalog.
pub(crate) fn function(planner: &Planner<'_>, name: &str) -> Option<ScalarUDF> {
    match name {
        expand::NAME => return Some(expand::function()),
        filled::NAME => return Some(filled::function()),
        _ => {}
    }
    if !functions::is_known(name, planner.postgres().is_some()) {
        return None;
    }
    functions::function(&planner.pg_catalog().ok()?, name)
}
