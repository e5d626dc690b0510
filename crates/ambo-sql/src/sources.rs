//! Rows of the application's own as tables: Arrow batches, and readers of them, under a name that the connection knows.
//!
//! 1. What is stored comes first: a source answers where no table, view or table of the catalog has the name.
//! 2. Columns have the types that columns of tables have, whatever kind of text, decimal or timestamp the source holds.
//! 3. A reader is foreign code, which may block, and may want a lock that its caller holds: each is read by a thread of its own, which no
//!    statement waits for but for its rows. A reader that panics is an error, not the end of its rows.

mod provider;

use std::{collections::HashMap, fmt, sync::Arc};

use arrow::{
    array::{RecordBatch, RecordBatchReader},
    datatypes::SchemaRef,
    error::ArrowError,
};
use datafusion::{catalog::TableProvider, datasource::provider_as_source, logical_expr::TableSource};

use crate::{Connection, Error, ErrorKind, Result, names::shown, parse::Statement, planner::tables_of};

/// A reader of Arrow batches.
pub type Reader = Box<dyn RecordBatchReader + Send>;

/// What makes a reader of some columns, by their places; of all without any.
pub type OpenReader = dyn Fn(Option<&[usize]>) -> Result<Reader, ArrowError> + Send + Sync;

/// Rows that are not stored.
pub enum Source {
    /// Batches in memory.
    Batches(SchemaRef, Vec<RecordBatch>),
    /// A reader, which one scan takes.
    Once(Reader),
    /// What makes a reader for each scan; with the schema of all columns.
    Again(SchemaRef, Arc<OpenReader>),
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batches(schema, batches) => {
                f.debug_tuple("Batches").field(schema).field(&batches.len()).finish()
            }
            Self::Once(reader) => f.debug_tuple("Once").field(&reader.schema()).finish(),
            Self::Again(schema, _) => f.debug_tuple("Again").field(schema).finish(),
        }
    }
}

/// The sources that a connection knows.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    registered: HashMap<String, Arc<dyn TableProvider>>,
    /// Of the statement that runs.
    passing: HashMap<String, Arc<dyn TableProvider>>,
}

impl Sources {
    /// The source of a name: the one that has it, or else the one that has it but for large and small letters.
    ///
    /// # Errors
    /// Several have it but for large and small letters.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        let name = shown(name);
        let all = || self.passing.iter().chain(&self.registered);
        if let Some((_, found)) = all().find(|(known, _)| *known == name) {
            return Ok(Some(provider_as_source(found.clone())));
        }
        let wanted = name.to_lowercase();
        let alike: Vec<_> = all().filter(|(known, _)| known.to_lowercase() == wanted).collect();
        match &alike[..] {
            [] => Ok(None),
            [(_, found)] => Ok(Some(provider_as_source((*found).clone()))),
            [(one, _), (other, _), ..] => {
                Err(Error::invalid(format!("\"{name}\" is ambiguous: there are \"{one}\" and \"{other}\"")))
            }
        }
    }
}

/// Finds sources for names that nothing has.
pub(crate) type OnMissing = Box<dyn FnMut(&str) -> Option<Source> + Send>;

impl Connection {
    /// Has the statements of this connection read rows of the application under a name, until [`Connection::unregister`]; instead of those
    /// that it was registered for before.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ambo_sql::Source;
    /// use arrow::array::{Int64Array, RecordBatch};
    ///
    /// let db = ambo_sql::Database::in_memory()?;
    /// let mut connection = db.connect();
    /// let numbers = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// let batch = RecordBatch::try_from_iter([("n", numbers as _)])?;
    /// connection.register("numbers", Source::Batches(batch.schema(), vec![batch]))?;
    /// let sum: i64 = connection.sql("select sum(n)::bigint from numbers")?.single()?.into_values()?;
    /// assert_eq!(sum, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Constraint`] if a table or a view has the name; two columns of one name, or none.
    pub fn register(&mut self, name: &str, source: Source) -> Result<()> {
        if self.has_relation(&[name.to_owned()])? {
            return Err(Error::new(
                ErrorKind::Constraint,
                format!("there is a table or a view \"{name}\", which statements would read"),
            )
            .with_hint("register the rows under another name"));
        }
        let provider = provider::provider(source, self.engine().options.threads)?;
        Arc::make_mut(self.sources_mut()).registered.insert(name.to_owned(), provider);
        Ok(())
    }

    /// Forgets what was registered under a name. Returns whether there was something.
    pub fn unregister(&mut self, name: &str) -> bool {
        Arc::make_mut(self.sources_mut()).registered.remove(name).is_some()
    }

    /// Has `find` called for each name of a table that nothing has, once for each statement and before it is planned; what it returns is
    /// the table for that statement. It is called by the thread that runs the statement.
    pub fn on_missing_table(&mut self, find: impl FnMut(&str) -> Option<Source> + Send + 'static) {
        *self.on_missing_mut() = Some(Box::new(find));
    }

    /// Asks for what a statement names and nothing has.
    pub(crate) fn look_for_sources(&mut self, statement: &Statement) -> Result<()> {
        if !self.sources_mut().passing.is_empty() {
            Arc::make_mut(self.sources_mut()).passing.clear();
        }
        let Some(mut find) = self.on_missing_mut().take() else { return Ok(()) };
        let found = self.find_missing(statement, &mut *find);
        *self.on_missing_mut() = Some(find);
        for (name, provider) in found? {
            self.pass(name, provider);
        }
        Ok(())
    }

    fn find_missing(
        &self,
        statement: &Statement,
        find: &mut dyn FnMut(&str) -> Option<Source>,
    ) -> Result<Vec<(String, Arc<dyn TableProvider>)>> {
        let names = match statement {
            Statement::Sql(tree) => tables_of(tree),
            Statement::CreateTable(create, _) => tables_of(create),
            _ => return Ok(Vec::new()),
        };
        let mut found = Vec::new();
        for name in names {
            let is_known = name.contains('.')
                || self.has_relation(std::slice::from_ref(&name))?
                || self.sources().find(&name)?.is_some();
            if !is_known && let Some(source) = find(&name) {
                found.push((name, provider::provider(source, self.engine().options.threads)?));
            }
        }
        Ok(found)
    }

    /// Has the next statement, and no other, know a source.
    fn pass(&mut self, name: String, provider: Arc<dyn TableProvider>) {
        Arc::make_mut(self.sources_mut()).passing.insert(name, provider);
    }

    /// Runs a statement that reads a source under a name.
    pub(crate) fn run_with(
        &mut self,
        name: &str,
        source: Source,
        statement: &str,
    ) -> Result<crate::Rows<'static>> {
        let provider = provider::provider(source, self.engine().options.threads)?;
        Arc::make_mut(self.sources_mut()).registered.insert(name.to_owned(), provider);
        let rows = self.run(statement, ());
        Arc::make_mut(self.sources_mut()).registered.remove(name);
        rows
    }
}
