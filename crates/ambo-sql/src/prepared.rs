//! Statements that were read once: with their trees, and with what they do where that needs no planner.

use std::{
    collections::HashMap,
    hash::BuildHasher,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use ambo::{Database, Datum};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::sql::sqlparser::ast;

use crate::{
    Connection, Description, Error, ErrorKind, Result, Rows,
    convert::Params,
    fast::{FastPlan, recognise},
    kept::KeptPlan,
    parse::{Statement, parse_with_names},
    pg_catalog::{self, PostgresColumn},
    planner::count_parameters,
    rows::plain_schema,
    stack,
    statement::is_show,
};

/// What is said of a text that is several statements.
pub(crate) const SEVERAL: &str = "there is more than one statement";

/// A statement whose text was read.
pub(crate) struct Known {
    pub statement: Statement,
    /// How many parameters it has.
    pub parameters: usize,
    /// Those of its parameters that have names, by their places; empty for one that has none.
    pub names: Vec<String>,
    /// What it does, if that needs no planner.
    pub fast: Option<FastPlan>,
    /// Its plan, if that is kept.
    pub kept: Option<KeptPlan>,
    /// What it takes and returns, if it needs no planner and was asked for that.
    pub described: OnceLock<Description>,
    /// Its text, if it asks for that.
    pub text: Option<Arc<str>>,
}

/// The function that is the text of a statement.
const CURRENT_QUERY: &[u8] = b"current_query";

impl Known {
    /// The one statement of a text.
    pub(crate) fn new(db: &Database, text: &str) -> Result<Self> {
        let mut all = parse_with_names(text)?;
        match (all.pop(), all.is_empty()) {
            (Some((statement, names)), true) => {
                let asks = text
                    .as_bytes()
                    .windows(CURRENT_QUERY.len())
                    .any(|part| part.eq_ignore_ascii_case(CURRENT_QUERY));
                let text = asks.then(|| text.trim().trim_end_matches(';').into());
                Ok(Self { names, text, ..Self::of(db, statement)? })
            }
            (None, _) => Err(Error::new(ErrorKind::Syntax, "there is no statement")),
            (Some(_), false) => Err(Error::new(ErrorKind::Syntax, SEVERAL)
                .with_hint("statements with values for parameters are run one by one")),
        }
    }

    /// What is to be known of a statement.
    pub(crate) fn of(db: &Database, statement: Statement) -> Result<Self> {
        let (mut parameters, mut fast) = (0, None);
        match &statement {
            // The parameters of a statement that is only named are not its own.
            Statement::Sql(tree) if matches!(**tree, ast::Statement::Prepare { .. }) => {}
            Statement::Sql(tree) => {
                parameters = count_parameters(tree);
                fast = recognise(db, tree);
            }
            Statement::CreateTable(create, _) => parameters = count_parameters(create),
            Statement::AlterTable(..) | Statement::Maintain(_) => {}
            Statement::CreateSequence(_) | Statement::CreateFunction(_) | Statement::DropFunctions(_) => {}
            Statement::Rename { .. } | Statement::RenameConstraint { .. } | Statement::AlterSequence(_) => {}
            Statement::CreateType(_) | Statement::RenameView { .. } | Statement::AlterField(_) => {}
            Statement::Attach(_) | Statement::Detach { .. } | Statement::Use(_) => {}
            Statement::Grant(_) | Statement::Role(_) | Statement::SetOwner(_) => {}
            Statement::AddIdentity(_) => {}
        }
        let kept = KeptPlan::of(&statement);
        Ok(Self {
            text: None,
            statement,
            parameters,
            names: Vec::new(),
            fast,
            kept,
            described: OnceLock::new(),
        })
    }

    /// Whether what it does is right for the tables as they are now.
    pub(crate) fn is_current(&self) -> bool {
        self.fast.as_ref().is_none_or(FastPlan::is_current)
    }
}

/// Statements by their texts, for all connections to a database. One is kept when its text comes again: texts with values in them mostly do
/// not, and trees of a thousand of them would only be in the way of what processors and allocators have at hand.
#[derive(Default)]
pub(crate) struct KnownStatements(Mutex<Statements>);

struct Statements {
    kept: HashMap<Box<str>, Arc<Known>>,
    /// Hashes of texts that came, each in its place: the last of those that share one.
    seen: Box<[u64; TEXTS_SEEN]>,
}

impl Default for Statements {
    fn default() -> Self {
        Self { kept: HashMap::new(), seen: Box::new([0; TEXTS_SEEN]) }
    }
}

/// With more statements than these all are forgotten: programs have fewer, and others do not come back to theirs.
const STATEMENTS_MAX: usize = 1024;
/// Longer statements are not kept: they are data.
const TEXT_MAX: usize = 4096;
const TEXTS_SEEN: usize = 4096;

impl KnownStatements {
    /// The statement of a text.
    ///
    /// # Errors
    /// [`ErrorKind::Syntax`], also for no statement or several.
    pub(crate) fn get(&self, db: &Database, text: &str) -> Result<Arc<Known>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().kept.get(text)
            && known.is_current()
        {
            return Ok(known.clone());
        }
        let known = Arc::new(stack::for_text(text, || Known::new(db, text))?);
        if text.len() <= TEXT_MAX {
            lock().note(text, &known);
        }
        Ok(known)
    }
}

impl Statements {
    fn note(&mut self, text: &str, known: &Arc<Known>) {
        let hash = self.kept.hasher().hash_one(text);
        let seen = &mut self.seen[hash as usize % TEXTS_SEEN];
        if std::mem::replace(seen, hash) != hash {
            return;
        }
        if self.kept.len() >= STATEMENTS_MAX {
            self.kept.clear();
        }
        self.kept.insert(text.into(), known.clone());
    }
}

/// A statement that is read once and run often, on any connection to its database.
///
/// ```
/// let db = ambo_sql::Database::in_memory()?;
/// let mut connection = db.connect();
/// connection.script("create table t (id int primary key, name text)")?;
/// let mut insert = connection.prepare("insert into t values ($1, $2)")?;
/// for (id, name) in [(1, "one"), (2, "two")] {
///     insert.execute(&mut connection, (id, name))?;
/// }
/// let mut select = connection.prepare("select name from t where id = ?")?;
/// let name: String = select.query(&mut connection, (2,))?.single()?.into_values()?;
/// assert_eq!(name, "two");
/// # Ok::<(), ambo_sql::Error>(())
/// ```
#[derive(Clone)]
pub struct PreparedStatement {
    text: Arc<str>,
    known: Arc<Known>,
}

impl PreparedStatement {
    pub(crate) fn new(text: &str, known: Arc<Known>) -> Self {
        Self { text: text.into(), known }
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.known.parameters
    }

    /// Runs it with values for its parameters.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn query<'c>(&mut self, connection: &'c mut Connection, params: impl Params) -> Result<Rows<'c>> {
        self.run(connection, params)
    }

    /// Runs it with values for its parameters, for rows that need the connection no longer.
    ///
    /// # Errors
    /// As [`Connection::run`].
    pub fn run(&mut self, connection: &mut Connection, params: impl Params) -> Result<Rows<'static>> {
        if !self.known.is_current() {
            self.known = connection.known(&self.text)?;
        }
        Ok(connection.run_known(&self.known, params.values())?.keeping(connection.engine()))
    }

    /// The names of its parameters, first to last, for those that are written as `$name` or `:name`.
    pub fn parameter_names(&self) -> impl Iterator<Item = Option<&str>> {
        let name = |place: usize| self.known.names.get(place).map(String::as_str);
        (0..self.known.parameters).map(move |place| name(place).filter(|name| !name.is_empty()))
    }

    /// Whether it may change something in a transaction, rows or definitions. A query does not, nor does what begins and ends transactions,
    /// what is of the session alone, or what cares for the whole database.
    pub fn writes(&self) -> bool {
        use ast::Statement as S;
        let Statement::Sql(tree) = &self.known.statement else {
            return !matches!(
                self.known.statement,
                Statement::Maintain(_) | Statement::Attach(_) | Statement::Detach { .. } | Statement::Use(_)
            );
        };
        match tree.as_ref() {
            S::Query(query) => query_writes(query),
            S::Explain { analyze, statement, .. } => {
                *analyze && !matches!(&**statement, S::Query(query) if !query_writes(query))
            }
            S::Copy { to, .. } => !*to,
            S::StartTransaction { .. }
            | S::Commit { .. }
            | S::Rollback { .. }
            | S::Savepoint { .. }
            | S::ReleaseSavepoint { .. }
            | S::Set(_)
            | S::Pragma { .. }
            | S::Reset(_)
            | S::Prepare { .. }
            | S::Deallocate { .. }
            | S::Vacuum(_)
            | S::ExplainTable { .. } => false,
            other if is_show(other) => false,
            _ => true,
        }
    }

    /// The columns of the rows of a statement that writes, where they are known without its being planned: none without RETURNING.
    pub fn known_rows(&self) -> Option<SchemaRef> {
        use ast::Statement as S;
        let Statement::Sql(tree) = &self.known.statement else { return None };
        let has_none = match tree.as_ref() {
            S::Insert(insert) => insert.returning.is_none() && insert.output.is_none(),
            S::Update(update) => update.returning.is_none() && update.output.is_none(),
            S::Delete(delete) => delete.returning.is_none() && delete.output.is_none(),
            _ => return None,
        };
        match (has_none, &self.known.fast) {
            (true, _) => Some(Schema::empty().into()),
            (false, Some(fast)) if fast.is_current() => {
                fast.returning().map(|output| plain_schema(output.schema.clone()))
            }
            (false, _) => None,
        }
    }

    /// Whether it is no part of a transaction: it cares for the whole database, changes what all connections share, or works with files or
    /// other databases.
    pub fn is_maintenance(&self) -> bool {
        fn is_one(tree: &ast::Statement) -> bool {
            use ast::Statement as S;
            match tree {
                S::Copy { .. } | S::Pragma { .. } | S::Vacuum(_) | S::Analyze(_) => true,
                S::Explain { statement, .. } | S::Prepare { statement, .. } => is_one(statement),
                _ => false,
            }
        }
        match &self.known.statement {
            Statement::Sql(tree) => is_one(tree),
            other => matches!(
                other,
                Statement::Maintain(_) | Statement::Attach(_) | Statement::Detach { .. } | Statement::Use(_)
            ),
        }
    }

    /// PostgreSQL's numbers of the types of parameters, each with its place: of those that say one which the engine has by another name.
    pub fn postgres_parameters(&self) -> Vec<(usize, u32)> {
        match &self.known.statement {
            Statement::Sql(tree) => pg_catalog::parameters_of(tree),
            _ => Vec::new(),
        }
    }

    /// What PostgreSQL makes of the columns of its rows: those before a `*` in its list, and those behind it if there is one. `None` for a
    /// statement whose columns are called as the engine calls them.
    pub fn postgres_columns(&self) -> Option<(Vec<PostgresColumn>, Option<Vec<PostgresColumn>>)> {
        match &self.known.statement {
            Statement::Sql(tree) => pg_catalog::columns_of(tree),
            _ => None,
        }
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn statement(&self) -> &Statement {
        &self.known.statement
    }

    /// Runs it and returns how many rows it inserted, changed or deleted.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn execute(&mut self, connection: &mut Connection, params: impl Params) -> Result<u64> {
        self.query(connection, params)?.finish()
    }
}

fn query_writes(query: &ast::Query) -> bool {
    use ast::SetExpr;
    let is_write = |body: &SetExpr| {
        matches!(body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
    };
    let within = query.with.iter().flat_map(|with| &with.cte_tables).any(|table| query_writes(&table.query));
    is_write(&query.body) || within || !query.locks.is_empty()
}

/// Checks that there are as many values as parameters.
pub(crate) fn check_parameters(known: &Known, values: &[Datum]) -> Result<()> {
    let (wanted, given) = (known.parameters, values.len());
    if let Statement::Sql(tree) = &known.statement
        && matches!(**tree, ast::Statement::Explain { analyze: false, .. })
    {
        // What is not run needs no values where the way does not depend on them.
        return Ok(());
    }
    if given < wanted {
        let first = given + 1;
        return Err(Error::invalid(format!(
            "there is no value for the parameter ${first}; {given} were given"
        )));
    }
    match given == wanted {
        true => Ok(()),
        false => {
            Err(Error::invalid(format!("the statement has {wanted} parameters, {given} values were given")))
        }
    }
}
