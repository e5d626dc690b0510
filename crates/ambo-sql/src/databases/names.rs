//! What names mean where there are several databases: `table`, `schema.table`, `database.table`, `database.schema.table`.

use ambo::{DEFAULT_SCHEMA, Definitions};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use super::{Kind, place::MAIN};
use crate::{
    Error, Result, catalog,
    names::{ident, of_default_schema},
    planner,
};

/// Where names are sought that do not say it, in this order; temporary objects before all. What is created is in the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SearchPath(pub Vec<Step>);

/// A schema of the search path, and its database if that is not the connection's own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub database: Option<String>,
    pub schema: String,
}

impl Default for SearchPath {
    fn default() -> Self {
        Self(vec![Step { database: None, schema: DEFAULT_SCHEMA.to_owned() }])
    }
}

impl SearchPath {
    pub(crate) fn is_default(&self) -> bool {
        matches!(&self.0[..], [Step { database: None, schema }] if schema == DEFAULT_SCHEMA)
    }

    pub(crate) fn first(&self) -> &Step {
        &self.0[0]
    }

    /// The name of the database in which things are created.
    pub(crate) fn database(&self) -> &str {
        self.first().database.as_deref().unwrap_or(MAIN)
    }

    /// As SET takes it.
    pub(crate) fn text(&self) -> String {
        let step = |step: &Step| match &step.database {
            Some(database) => format!("{database}.{}", step.schema),
            None => step.schema.clone(),
        };
        self.0.iter().map(step).collect::<Vec<_>>().join(",")
    }
}

/// What PostgreSQL calls the schema that is always there.
const PUBLIC: &str = "public";

/// The schema that is called so: `public` is the one that is always there, unless there is another of that name.
pub(crate) fn meant_schema<'s>(definitions: &Definitions<'_>, schema: &'s str) -> &'s str {
    match schema {
        PUBLIC if !has_schema(definitions, PUBLIC) => DEFAULT_SCHEMA,
        schema => schema,
    }
}

/// Something by its whole name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    /// Which of the databases.
    pub place: usize,
    pub schema: String,
    pub name: String,
}

impl Named {
    /// Its name in its database.
    pub(crate) fn local(&self) -> String {
        local(&self.schema, &self.name)
    }
}

/// A name in its database as the database is asked for it.
pub(crate) fn local(schema: &str, name: &str) -> String {
    match schema {
        DEFAULT_SCHEMA => of_default_schema(name),
        schema => format!("{schema}.{name}"),
    }
}

/// The databases that there are, and where names are sought that do not say it.
pub(crate) struct Names<'a> {
    pub places: &'a [(&'a str, Kind)],
    pub path: &'a SearchPath,
}

impl Names<'_> {
    /// The database of this name. The connection's own is found as `memory`, too, which is what DuckDB calls it.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        let is =
            |(known, kind): &(&str, Kind)| *known == name || *kind == Kind::Temporary && name == "pg_temp";
        let found = self.places.iter().position(is);
        found.or_else(|| (name == "memory").then(|| self.main()))
    }

    fn main(&self) -> usize {
        self.places.iter().position(|(_, kind)| *kind == Kind::Main).unwrap_or(0)
    }

    fn temporary(&self) -> Option<usize> {
        self.places.iter().position(|(_, kind)| *kind == Kind::Temporary)
    }

    /// Where things are created, and functions, types and sequences are.
    pub(crate) fn first(&self) -> Result<usize> {
        self.of_step(self.path.first())
    }

    fn of_step(&self, step: &Step) -> Result<usize> {
        match &step.database {
            None => Ok(self.main()),
            Some(name) => self.place(name).ok_or_else(|| self.no_database(name)),
        }
    }

    /// What a name means of which there is nothing yet.
    pub(crate) fn of_new<'n>(&self, candidates: &'n [Named]) -> Result<&'n Named> {
        let is_temporary = |named: &&Named| self.places[named.place].1 == Kind::Temporary;
        let new = candidates.iter().find(|named| !is_temporary(named)).or(candidates.first());
        new.ok_or_else(|| Error::invalid("there is no schema that a name could be in"))
    }

    fn no_database(&self, name: &str) -> Error {
        Error::not_found("database", name, self.places.iter().map(|(name, _)| *name))
    }

    /// What a name may mean, in the order in which it is sought.
    ///
    /// # Errors
    /// There is no such database; the name is that of a schema and of a database.
    pub(crate) fn candidates(
        &self,
        parts: &[String],
        has_schema: impl Fn(usize, &str) -> bool,
    ) -> Result<Vec<Named>> {
        let named = |place, schema: &str, name: &str| Named {
            place,
            schema: schema.to_owned(),
            name: name.to_owned(),
        };
        match parts {
            [name] => {
                let temporary = self.temporary().map(|place| named(place, DEFAULT_SCHEMA, name));
                let steps = self.path.0.iter().map(|step| Ok(named(self.of_step(step)?, &step.schema, name)));
                let mut all: Vec<_> = temporary.into_iter().map(Ok).chain(steps).collect::<Result<_>>()?;
                // As in DuckDB the schema that is always there comes last.
                let last = named(self.first()?, DEFAULT_SCHEMA, name);
                if !all.contains(&last) {
                    all.push(last);
                }
                Ok(all)
            }
            [first, _] if first.contains('.') => Err(Error::not_found("schema", first, std::iter::empty())),
            [first, name] => {
                let here = self.first()?;
                // What is called so in PostgreSQL.
                let first = match first.as_str() {
                    PUBLIC if !has_schema(here, PUBLIC) => DEFAULT_SCHEMA,
                    first => first,
                };
                match self.place(first) {
                    Some(place) if has_schema(here, first) && place != here => Err(Error::invalid(format!(
                        "\"{first}\" is ambiguous: there are a database and a schema of this name"
                    ))
                    .with_hint(format!(
                        "name all parts: {first}.{DEFAULT_SCHEMA}.{name}, or {}.{first}.{name}",
                        self.places[here].0
                    ))),
                    Some(place) if !has_schema(here, first) => Ok(vec![named(place, DEFAULT_SCHEMA, name)]),
                    _ => Ok(vec![named(here, first, name)]),
                }
            }
            [database, schema, name] => {
                let place = self.place(database).ok_or_else(|| self.no_database(database))?;
                let schema = match schema.as_str() {
                    PUBLIC if !has_schema(place, PUBLIC) => DEFAULT_SCHEMA,
                    schema => schema,
                };
                Ok(vec![named(place, schema, name)])
            }
            _ => Err(Error::invalid(format!(
                "\"{}\" is no name: those are name, schema.name or database.schema.name",
                parts.join(".")
            ))),
        }
    }
}

pub(super) fn parts(name: &ObjectName) -> Result<Vec<String>> {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident().map(ident)).collect();
    parts.ok_or_else(|| Error::invalid(format!("{name} is no name")))
}

pub(crate) fn has_schema(definitions: &Definitions<'_>, schema: &str) -> bool {
    catalog::SCHEMAS.contains(&schema) || definitions.schemas().iter().any(|known| known == schema)
}

/// Whether there is a table or a view of this name.
pub(super) fn has_relation(definitions: &Definitions<'_>, named: &Named) -> bool {
    planner::has_relation(definitions, &named.local())
}

/// Makes a name that of its database.
pub(super) fn localize(name: &mut ObjectName, schema: &str) {
    let Some(last) = name.0.pop() else { return };
    let is_dotted = last.as_ident().is_some_and(|last| last.value.contains('.'));
    let first = name.0.first().unwrap_or(&last).as_ident().cloned();
    name.0.clear();
    if schema != DEFAULT_SCHEMA || is_dotted {
        let span = first.map_or_else(datafusion::sql::sqlparser::tokenizer::Span::empty, |first| first.span);
        name.0.push(ObjectNamePart::Identifier(Ident::with_quote_and_span('"', span, schema)));
    }
    name.0.push(last);
}
