//! From a statement's tree to a plan and its rows, at one moment.

mod alike;
mod ask;
mod asof;
mod chained;
mod clauses;
mod collations;
mod common_meaning;
mod context;
mod culprit;
mod derived;
mod describe;
mod distinct_on;
mod enum_texts;
mod enums;
mod file_functions;
mod frame_bounds;
mod functions;
mod gapfill;
mod given_orders;
mod hidden;
mod json;
mod json_values;
mod keyed;
mod lambdas;
mod limits;
mod macros;
mod mentions;
mod named_windows;
mod nested;
mod null_treatment;
mod once;
mod ordered_aggregates;
mod orders;
mod own;
mod parameters;
mod parts;
mod patterns;
mod pivot;
mod places;
mod positional;
mod postgres;
mod query_functions;
mod recursion;
mod refused;
mod rewrite;
mod rights;
mod row_numbers;
mod row_value;
mod samples;
mod schemas;
mod series;
mod spelling;
mod stars;
mod tables;
mod ties;
mod times;
mod trees;
mod truths;
mod union_orders;
mod unnested;
mod unpivot;
mod using;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::SystemTime,
};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::{DFSchema, ParamValues, ScalarValue, TableReference, metadata::ScalarAndMetadata},
    execution::{SendableRecordBatchStream, SessionState},
    logical_expr::{Expr, ExprSchemable, LogicalPlan, TableSource},
    physical_plan::{ExecutionPlan, execute_stream, stream::RecordBatchStreamAdapter},
    sql::{
        planner::{ParserOptions, SqlToRel},
        sqlparser::{ast, parser::Parser},
    },
};
use futures::TryStreamExt;
use tokio::runtime::Handle;

use crate::{
    Error, ErrorKind, Result,
    databases::{Kind, Seen},
    engine::SqlEngine,
    error::outer,
    logical::is_enum,
    numbers::beside_doubles_in_plan,
    parse::DIALECT,
    pg_catalog,
    session::{Session, machine_time},
    share, stack,
    statement::{SETTINGS, setting},
    times::Zone,
    wait::Interrupter,
    walk::{Walk, WalkMut},
};

use alike::{are_alike, is_about_names, mark_beside_orders, mark_beside_wildcards, name_alike};
use ask::Ask;
use culprit::explained;
pub(crate) use enum_texts::EnumText;
use enum_texts::{is_about_enums, say_texts};
pub(crate) use enums::{EnumOperators, Enums};
pub(crate) use file_functions::file_function_names;
pub(crate) use functions::function_names;
use json_values::{is_about_json, say_json};
pub(crate) use nested::NestedValues;
pub(crate) use orders::{DefaultOrder, NullOrder};
pub(crate) use parameters::count_parameters;
use parameters::with_types;
use postgres::PgCatalog;
pub(crate) use rewrite::{marked, result_schema, schema_of_result, tell_apart};
use schemas::say_schemas;
use spelling::{is_about_spelling, respell};
pub(crate) use tables::{find_table, find_view, has_relation, tables_of};
pub(crate) use truths::Truths;

/// A name of a table, and the database that it is sought in.
/// It is sought for the statement itself or for what that names: what a view may read is not what the statement may.
type Sought = (Option<usize>, bool, TableReference);

/// Plans statements against a view of the database.
pub(crate) struct Planner<'a> {
    engine: &'a SqlEngine,
    /// The databases, the one that the statement is about first.
    places: Vec<Seen<'a>>,
    /// Whether names mean what they mean in that database.
    is_of_home: bool,
    /// Whether what it names may be read whoever asks: what keeps rows of tables together is the tables' matter.
    is_of_owner: bool,
    interrupter: &'a Interrupter,
    session: Session,
    state: SessionState,
    /// Tables that are only there for this statement, by name.
    extra: HashMap<String, Arc<dyn TableSource>>,
    /// Rows that were computed while it was planned, by name.
    computed: Mutex<HashMap<String, Arc<dyn TableSource>>>,
    /// What was found, by name and by the database that it was sought in.
    resolved: Mutex<HashMap<Sought, Arc<dyn TableSource>>>,
    /// Whether tables say what their keys are.
    keys: AtomicBool,
    /// Whether the plan depends on rows that were read while it was made.
    pub(crate) asked: AtomicBool,
    /// The views that are being planned, from the outermost on, and the database that their names are sought in.
    views: Mutex<Vec<(Option<usize>, String)>>,
    /// When the statement began.
    began: SystemTime,
    /// What clients of PostgreSQL see of all, if the statement asks for it.
    pg_catalog: PgCatalog,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        home: Seen<'a>,
        others: Vec<Seen<'a>>,
        interrupter: &'a Interrupter,
        session: &Session,
    ) -> Result<Self> {
        let engine = home.engine;
        let mut state = SessionState::clone(&*engine.state()?);
        engine.settings.apply(&mut state, session.zone);
        let options = state.config_options().clone();
        state.execution_props_mut().mark_start_execution(options);
        state.execution_props_mut().query_execution_start_time = Some(session.now().into());
        Ok(Self {
            engine,
            places: std::iter::once(home).chain(others).collect(),
            is_of_home: false,
            is_of_owner: false,
            interrupter,
            session: session.clone(),
            state,
            extra: HashMap::new(),
            computed: Mutex::new(HashMap::new()),
            resolved: Mutex::new(HashMap::new()),
            keys: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            views: Mutex::new(Vec::new()),
            began: machine_time(),
            pg_catalog: PgCatalog::default(),
        })
    }

    /// The same for texts that are kept in the database that the statement is about: names are sought there alone. What is temporary is
    /// kept for this session, whose names it has.
    pub(crate) fn of_home(self) -> Self {
        Self { is_of_home: self.places[0].kind != Kind::Temporary, ..self }
    }

    /// The same for what is asked for the tables themselves, and not for the role.
    pub(crate) fn of_owner(self) -> Self {
        Self { is_of_owner: true, ..self }
    }

    /// Adds a table that only this statement knows.
    pub(crate) fn add_table(&mut self, name: &str, source: Arc<dyn TableSource>) {
        self.extra.insert(name.to_owned(), source);
    }

    /// The settings, each with its value and what it is.
    pub(crate) fn settings(&self) -> Result<Vec<(&'static str, String, &'static str)>> {
        let with_value = |(name, what): &(&'static str, &'static str)| {
            setting(self.engine, &self.session, name).map(|value| (*name, value, *what))
        };
        SETTINGS.iter().map(with_value).collect()
    }

    pub(crate) fn zone(&self) -> Zone {
        self.session.zone
    }

    pub(crate) fn state(&self) -> &SessionState {
        &self.state
    }

    fn to_relation(&self) -> SqlToRel<'_, Self> {
        SqlToRel::new_with_options(self, ParserOptions::from(&self.state.config_options().sql_parser))
    }

    /// The plan of a statement, with values for its parameters. Its columns have the names of [`result_schema`].
    pub(crate) fn plan(&self, statement: ast::Statement, params: &[ScalarValue]) -> Result<LogicalPlan> {
        self.bind(self.unbound(statement, params)?, params)
    }

    /// The plan of a statement whose parameters have the types of these values.
    pub(crate) fn unbound(
        &self,
        mut statement: ast::Statement,
        params: &[ScalarValue],
    ) -> Result<LogicalPlan> {
        self.as_meant(&mut statement, params)?;
        match self.understood(statement.clone(), params) {
            Err(error) if is_about_spelling(&error) => {
                let error = match row_numbers::write_out(&mut statement, self) {
                    true => match self.understood(statement.clone(), params) {
                        Err(error) if error.kind() == ErrorKind::NotFound => error,
                        understood => return understood,
                    },
                    false => error,
                };
                match respell(&mut statement, &Ask { planner: self, params })? {
                    true => self.understood(statement, params),
                    false => Err(error),
                }
            }
            understood => understood,
        }
    }

    /// The plan of a statement that is written as it is meant.
    fn understood(&self, statement: ast::Statement, params: &[ScalarValue]) -> Result<LogicalPlan> {
        match self.planned(statement.clone(), params) {
            Err(error) if is_about_enums(&error) => {
                let mut texts = statement;
                match say_texts(&mut texts, &error) {
                    true => self.understood(texts, params),
                    false => Err(error),
                }
            }
            Err(error) if is_about_json(&error) => {
                let mut cast = statement;
                if say_json(&mut cast) { self.understood(cast, params) } else { Err(error) }
            }
            // What follows from a key need not stand in GROUP BY. The planner adds it there, so other statements are planned without keys.
            Err(error) if clauses::has_groups(&statement) && !is_about_names(&error) => {
                self.with_keys(|| self.planned(statement, params)).map_err(|_| error)
            }
            Err(error) if is_about_names(&error) => self.told_apart(statement, params, error),
            Ok(plan) if are_alike(&plan)? => {
                let mut named = statement;
                if name_alike(&mut named) { self.planned(named, params) } else { Ok(plan) }
            }
            planned => planned,
        }
    }

    /// The plan of a statement in which the planner takes two things for one.
    fn told_apart(
        &self,
        mut statement: ast::Statement,
        params: &[ScalarValue],
        error: Error,
    ) -> Result<LogicalPlan> {
        if name_alike(&mut statement) {
            match self.planned(statement.clone(), params) {
                Err(error) if is_about_names(&error) => {}
                planned => return planned,
            }
        }
        let is_beside_order = mark_beside_orders(&mut statement);
        if !mark_beside_wildcards(&mut statement) && !is_beside_order {
            return Err(error);
        }
        match self.planned(statement.clone(), params) {
            // What is around knows the columns without marks.
            Err(_) if respell(&mut statement, &Ask { planner: self, params })? => {
                self.planned(statement, params)
            }
            planned => planned,
        }
        .map_err(|_| error)
    }

    fn planned(&self, statement: ast::Statement, params: &[ScalarValue]) -> Result<LogicalPlan> {
        let mut context = with_types(params);
        let planned = || self.to_relation().sql_statement_to_plan_with_context(statement, &mut context);
        // So that columns have the types that they will have.
        Ok(stack::with_enough(|| beside_doubles_in_plan(planned()?))?)
    }

    fn as_meant<T: Walk + WalkMut>(&self, tree: &mut T, params: &[ScalarValue]) -> Result<()> {
        pg_catalog::as_meant(tree, self.session.postgres.is_some());
        self.as_meant_within(tree, params, 0)
    }

    /// `depth`: within how many queries that are looked at by themselves this one is.
    fn as_meant_within<T: Walk + WalkMut>(
        &self,
        tree: &mut T,
        params: &[ScalarValue],
        depth: usize,
    ) -> Result<()> {
        self.write_out_functions(tree)?;
        query_functions::say_queries(tree)?;
        keyed::say_keyed(tree, &Ask { planner: self, params })?;
        file_functions::say_files(tree)?;
        say_schemas(tree, self)?;
        gapfill::say_gaps(tree, &Ask { planner: self, params })?;
        orders::say_defaults(tree, self.session.order);
        let columns = |factor: &ast::TableFactor, with| self.columns(factor, with, params, depth);
        let schema_of = |query: ast::Query| {
            let plan = self.planned(ast::Statement::Query(Box::new(query)), params).ok()?;
            Some(plan.schema().clone())
        };
        rewrite::as_meant(
            tree,
            &columns,
            &schema_of,
            &|name| self.is_scalar(name),
            &Ask { planner: self, params },
        )
    }

    /// The names of the columns that a table of FROM has, if these common table expressions are in sight; `None` if that cannot be told
    /// without the tables around it.
    fn columns(
        &self,
        factor: &ast::TableFactor,
        with: Option<ast::With>,
        params: &[ScalarValue],
        depth: usize,
    ) -> Option<Vec<String>> {
        // A common table that names itself would be looked at for ever.
        const DEPTH_MAX: usize = 2;

        let mut query = Parser::new(&DIALECT).try_with_sql("SELECT * FROM it").ok()?.parse_query().ok()?;
        let ast::SetExpr::Select(select) = query.body.as_mut() else { return None };
        select.from[0].relation = factor.clone();
        query.with = with;
        let plan = self.planned(ast::Statement::Query(query.clone()), params).or_else(|error| {
            if depth == DEPTH_MAX {
                return Err(error);
            }
            // What is within is not yet written as it is meant.
            self.as_meant_within(&mut query, params, depth + 1)?;
            self.understood(ast::Statement::Query(query), params)
        });
        Some(plan.ok()?.schema().fields().iter().map(|field| field.name().clone()).collect())
    }

    /// Does something while tables say what their keys are.
    fn with_keys<R>(&self, act: impl FnOnce() -> R) -> R {
        let forget = || self.resolved.lock().unwrap_or_else(PoisonError::into_inner).clear();
        forget();
        self.keys.store(true, Ordering::Relaxed);
        let done = act();
        self.keys.store(false, Ordering::Relaxed);
        forget();
        done
    }

    /// An expression over rows of a schema. Parameters in it are still to be bound.
    pub(crate) fn expr(
        &self,
        mut expr: ast::Expr,
        schema: &DFSchema,
        params: &[ScalarValue],
    ) -> Result<Expr> {
        self.as_meant(&mut expr, params)?;
        loop {
            let planned = self.to_relation().sql_to_expr(expr.clone(), schema, &mut with_types(params));
            let planned = planned?;
            if !schema.fields().iter().any(|field| is_enum(field.data_type())) {
                return Ok(planned);
            }
            // What it returns is known of the types of what it is given.
            match planned.get_type(schema).map_err(Error::from) {
                Err(error) if is_about_enums(&error) && say_texts(&mut expr, &error) => {}
                _ => return Ok(planned),
            }
        }
    }

    /// The plan of a query.
    pub(crate) fn plan_query(&self, query: &ast::Query, params: &[ScalarValue]) -> Result<LogicalPlan> {
        self.plan(ast::Statement::Query(Box::new(query.clone())), params)
    }

    /// The plan with values for its parameters.
    pub(crate) fn bind(&self, plan: LogicalPlan, params: &[ScalarValue]) -> Result<LogicalPlan> {
        let wanted = plan.get_parameter_names()?;
        if wanted.is_empty() {
            return Ok(plan);
        }
        for name in &wanted {
            let number = name.trim_start_matches('$').parse::<usize>().unwrap_or(0);
            if number == 0 || number > params.len() {
                let given = params.len();
                return Err(Error::invalid(format!(
                    "there is no value for the parameter {name}; {given} were given"
                )));
            }
        }
        let values = params.iter().cloned().map(ScalarAndMetadata::from).collect();
        Ok(plan.with_param_values(ParamValues::List(values))?)
    }

    /// The operators of a plan.
    pub(crate) fn physical(&self, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
        let _threads = self.engine.runtime()?.enter();
        Ok(self.interrupter.wait(self.state.create_physical_plan(plan))??)
    }

    /// The rows of a plan.
    pub(crate) fn stream(&self, plan: &LogicalPlan) -> Result<SendableRecordBatchStream> {
        self.run(self.physical(plan)?, plan)
    }

    /// The rows of operators for a plan, which errors are explained by.
    fn run(&self, physical: Arc<dyn ExecutionPlan>, plan: &LogicalPlan) -> Result<SendableRecordBatchStream> {
        let _threads = self.engine.runtime()?.enter();
        self.interrupter.note(&physical);
        let context = share::context(&self.state, self.session.statement_memory);
        let rows = stack::with_enough(|| execute_stream(physical.clone(), context))?;
        let (schema, plan) = (rows.schema(), plan.clone());
        let rows = rows.map_err(move |error| {
            // The operators are there as long as their rows: who asks how far they are asks them.
            let _running = &physical;
            outer(explained(error, &plan))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    /// The rows of a plan, with what is needed to wait for them when the planner is gone.
    pub(crate) fn stream_with(
        &self,
        plan: &LogicalPlan,
    ) -> Result<(SendableRecordBatchStream, Interrupter, Handle)> {
        Ok((self.stream(plan)?, self.interrupter.clone(), self.engine.runtime()?.clone()))
    }

    /// A plan that the optimizer has made better.
    pub(crate) fn optimized(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        Ok(stack::with_enough(|| self.state.optimize(plan))?)
    }

    /// As [`Planner::stream_with`], of an optimized plan.
    pub(crate) fn stream_optimized(
        &self,
        plan: &LogicalPlan,
    ) -> Result<(SendableRecordBatchStream, Interrupter, Handle)> {
        let threads = self.engine.runtime()?;
        let physical = {
            let _threads = threads.enter();
            self.interrupter.wait(self.state.query_planner().create_physical_plan(plan, &self.state))??
        };
        Ok((self.run(physical, plan)?, self.interrupter.clone(), threads.clone()))
    }

    /// All rows of a plan.
    pub(crate) fn collect(&self, plan: &LogicalPlan) -> Result<Vec<RecordBatch>> {
        Ok(self.collect_named(plan)?.1)
    }

    /// All rows of a plan, and its columns under the names that were asked for.
    pub(crate) fn collect_named(&self, plan: &LogicalPlan) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        let stream = self.stream(plan)?;
        let schema = schema_of_result(plan, &stream.schema());
        let _threads = self.engine.runtime()?.enter();
        Ok((schema, self.interrupter.wait(datafusion::physical_plan::common::collect(stream))??))
    }
}
