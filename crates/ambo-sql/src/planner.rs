//! From a statement's tree to a plan and its rows, at one moment.

mod alike;
mod derived;
mod functions;
mod rewrite;
mod row_value;
mod using;

use std::{
    collections::HashMap,
    ops::ControlFlow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use ambo::{Database, Snapshot, Transaction};
use arrow::datatypes::{DataType, Field};
use datafusion::{
    catalog::TableFunctionArgs,
    common::{
        DFSchema, ParamValues, Result as PlanResult, ScalarValue, TableReference, config::ConfigOptions,
        file_options::file_type::FileType, metadata::ScalarAndMetadata,
    },
    datasource::{cte_worktable::CteWorkTable, file_format::format_as_file_type, provider_as_source},
    error::DataFusionError,
    execution::{SendableRecordBatchStream, SessionState},
    logical_expr::{
        AggregateUDF, Expr, HigherOrderUDF, LogicalPlan, ScalarUDF, TableSource, WindowUDF,
        planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner},
    },
    physical_plan::{ExecutionPlan, execute_stream},
    sql::{
        planner::{ParserOptions, PlannerContext, SqlToRel},
        sqlparser::{
            ast::{self, Visit, Visitor},
            parser::Parser,
        },
    },
};

use tokio::runtime::Handle;

use crate::{
    Error, Result,
    engine::SqlEngine,
    error::outer,
    files::{Format, listing},
    names,
    parse::DIALECT,
    table::StoredTable,
    wait::Interrupter,
};

use alike::{are_alike, is_about_names, mark_beside_wildcards, name_alike};
pub(crate) use rewrite::{marked, result_schema, tell_apart};

/// Plans statements against a view of the database.
pub(crate) struct Planner<'a> {
    engine: &'a SqlEngine,
    view: Arc<Snapshot>,
    /// The transaction whose view it is: a serializable one has to know what is read.
    transaction: Option<&'a Transaction>,
    interrupter: &'a Interrupter,
    state: SessionState,
    /// Tables that are only there for this statement, by name.
    extra: HashMap<String, Arc<dyn TableSource>>,
    resolved: Mutex<HashMap<String, Arc<dyn TableSource>>>,
    /// Whether tables say what their keys are.
    keys: AtomicBool,
    /// The views that are being planned, from the outermost on.
    views: Mutex<Vec<String>>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(
        engine: &'a SqlEngine,
        view: Arc<Snapshot>,
        transaction: Option<&'a Transaction>,
        interrupter: &'a Interrupter,
    ) -> Result<Self> {
        let mut state = engine.state()?.clone();
        let options = state.config_options().clone();
        state.execution_props_mut().mark_start_execution(options);
        engine.settings.apply(&mut state);
        Ok(Self {
            engine,
            view,
            transaction,
            interrupter,
            state,
            extra: HashMap::new(),
            resolved: Mutex::new(HashMap::new()),
            keys: AtomicBool::new(false),
            views: Mutex::new(Vec::new()),
        })
    }

    /// Adds a table that only this statement knows.
    pub(crate) fn add_table(&mut self, name: &str, source: Arc<dyn TableSource>) {
        self.extra.insert(name.to_owned(), source);
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
        rewrite::as_meant(&mut statement, &|factor, with| self.columns(factor, with, params))?;
        match self.planned(statement.clone(), params) {
            // What follows from a key need not stand in GROUP BY. The planner adds it there, so other statements are planned without keys.
            Err(error) if error.message().contains("GROUP BY") => {
                self.with_keys(|| self.planned(statement, params))
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
        match mark_beside_wildcards(&mut statement) {
            true => self.planned(statement, params).map_err(|_| error),
            false => Err(error),
        }
    }

    fn planned(&self, statement: ast::Statement, params: &[ScalarValue]) -> Result<LogicalPlan> {
        let mut context = with_types(params);
        Ok(self.to_relation().sql_statement_to_plan_with_context(statement, &mut context)?)
    }

    /// The names of the columns that a table of FROM has, if these common table expressions are in sight; `None` if that cannot be told without
    /// the tables around it.
    fn columns(
        &self,
        factor: &ast::TableFactor,
        with: Option<ast::With>,
        params: &[ScalarValue],
    ) -> Option<Vec<String>> {
        let mut query = Parser::new(&DIALECT).try_with_sql("SELECT * FROM it").ok()?.parse_query().ok()?;
        let ast::SetExpr::Select(select) = query.body.as_mut() else { return None };
        select.from[0].relation = factor.clone();
        query.with = with;
        let plan = self.planned(ast::Statement::Query(query), params).ok()?;
        Some(plan.schema().fields().iter().map(|field| field.name().clone()).collect())
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
        rewrite::as_meant(&mut expr, &|factor, with| self.columns(factor, with, params))?;
        Ok(self.to_relation().sql_to_expr(expr, schema, &mut with_types(params))?)
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
        self.run(self.physical(plan)?)
    }

    fn run(&self, physical: Arc<dyn ExecutionPlan>) -> Result<SendableRecordBatchStream> {
        let _threads = self.engine.runtime()?.enter();
        Ok(execute_stream(physical, self.state.task_ctx())?)
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
        Ok(self.state.optimize(plan)?)
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
        Ok((self.run(physical)?, self.interrupter.clone(), threads.clone()))
    }

    /// All rows of a plan.
    pub(crate) fn collect(&self, plan: &LogicalPlan) -> Result<Vec<arrow::array::RecordBatch>> {
        let stream = self.stream(plan)?;
        let _threads = self.engine.runtime()?.enter();
        Ok(self.interrupter.wait(datafusion::physical_plan::common::collect(stream))??)
    }

    fn source(&self, name: &TableReference) -> Result<Arc<dyn TableSource>> {
        let qualified = match name {
            TableReference::Bare { table } => table.to_string(),
            TableReference::Partial { schema, table } => format!("{schema}.{table}"),
            TableReference::Full { .. } => {
                return Err(Error::invalid(format!(
                    "\"{name}\" is no name of a table: those are table or schema.table"
                )));
            }
        };
        if let Some(source) = self.extra.get(&qualified) {
            return Ok(source.clone());
        }
        if let Some(source) = self.resolved.lock().unwrap_or_else(PoisonError::into_inner).get(&qualified) {
            return Ok(source.clone());
        }
        let source = self.find(&qualified)?;
        self.resolved.lock().unwrap_or_else(PoisonError::into_inner).insert(qualified, source.clone());
        Ok(source)
    }

    /// What has this name: a stored table, a table of the catalog, a view, a file.
    fn find(&self, name: &str) -> Result<Arc<dyn TableSource>> {
        let missing = match find_table(&self.engine.db, name) {
            Ok(table) => {
                if let Some(transaction) = self.transaction {
                    transaction.note_scan(&table);
                }
                let table = StoredTable::new(table, self.view.clone(), false);
                let with_key = self.keys.load(Ordering::Relaxed);
                let table = if with_key { table.with_key() } else { table };
                return Ok(provider_as_source(Arc::new(table)));
            }
            Err(error) => error,
        };
        if let Some(source) = self.derived(name)? {
            return Ok(source);
        }
        let Some(format) = Format::of(name) else { return Err(missing) };
        let _threads = self.engine.runtime()?.enter();
        Ok(provider_as_source(self.interrupter.wait(listing(&self.state, name, &format))??))
    }
}

/// The stored table of a name.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] with the nearest name that is there; [`crate::ErrorKind::Invalid`] for the name of a view.
pub(crate) fn find_table(db: &Database, name: &str) -> Result<ambo::Table> {
    match db.table(name) {
        Err(ambo::Error::NotFound(_)) if db.view(name).is_ok() => {
            Err(Error::invalid(format!("\"{name}\" is a view, not a table")))
        }
        Err(ambo::Error::NotFound(_)) => {
            Err(Error::not_found("table", name, db.tables().iter().map(|name| names::shown(name))))
        }
        found => Ok(found?),
    }
}

/// A context in which parameters have the types of their values.
fn with_types(params: &[ScalarValue]) -> PlannerContext {
    let field = |value: &ScalarValue| Some(Arc::new(Field::new("", value.data_type(), true)));
    PlannerContext::new().with_prepare_param_data_types(params.iter().map(field).collect())
}

impl ContextProvider for Planner<'_> {
    fn get_table_source(&self, name: TableReference) -> PlanResult<Arc<dyn TableSource>> {
        self.source(&name).map_err(outer)
    }

    fn get_file_type(&self, extension: &str) -> PlanResult<Arc<dyn FileType>> {
        let format = self.state.get_file_format_factory(extension).ok_or_else(|| {
            DataFusionError::Plan(format!("there is no format of files with the ending \"{extension}\""))
        })?;
        Ok(format_as_file_type(format))
    }

    fn get_table_function_source(&self, name: &str, args: Vec<Expr>) -> PlanResult<Arc<dyn TableSource>> {
        let functions = self.state.table_functions();
        let Some(function) = functions.get(name) else {
            let known = functions.keys().map(String::as_str);
            return Err(outer(Error::not_found("table function", name, known)));
        };
        if let Some(column) = args.iter().find(|arg| !arg.column_refs().is_empty() || arg.contains_outer()) {
            return Err(outer(
                Error::invalid(format!("{name}() in FROM takes constants, and {column} is another value in each row"))
                    .with_hint(format!(
                        "give it constants that are enough for all rows, and say in ON which are meant: FROM t JOIN {name}(1, 1000) AS g (n) ON n <= t.k"
                    )),
            ));
        }
        let args = TableFunctionArgs::new(&args, &self.state);
        Ok(provider_as_source(function.create_table_provider_with_args(args)?))
    }

    fn create_cte_work_table(
        &self,
        name: &str,
        schema: arrow::datatypes::SchemaRef,
    ) -> PlanResult<Arc<dyn TableSource>> {
        Ok(provider_as_source(Arc::new(CteWorkTable::new(name, schema))))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        self.state.relation_planners()
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        None
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.state.scalar_functions().get(name).cloned().or_else(|| alike::function(name))
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state.higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state.aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.state.window_functions().get(name).cloned()
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    fn udf_names(&self) -> Vec<String> {
        self.state.scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state.higher_order_functions().keys().cloned().collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state.aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state.window_functions().keys().cloned().collect()
    }
}

/// Gives the parameters `?` of a statement numbers, first to last. Returns how many parameters there are.
///
/// # Errors
/// `?` and `$1` in one statement.
pub(crate) fn number_parameters(statement: &mut ast::Statement) -> Result<usize> {
    struct Numbering {
        marks: usize,
        greatest: usize,
    }
    impl ast::VisitorMut for Numbering {
        type Break = ();
        fn pre_visit_value(&mut self, value: &mut ast::ValueWithSpan) -> ControlFlow<()> {
            if let ast::Value::Placeholder(name) = &mut value.value {
                if name == "?" {
                    self.marks += 1;
                    *name = format!("${}", self.marks);
                } else if let Ok(number) = name.trim_start_matches('$').parse() {
                    self.greatest = self.greatest.max(number);
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut numbering = Numbering { marks: 0, greatest: 0 };
    let _ = ast::VisitMut::visit(statement, &mut numbering);
    match (numbering.marks, numbering.greatest) {
        (marks, 0) => Ok(marks),
        (0, greatest) => Ok(greatest),
        _ => Err(Error::invalid("a statement has its parameters as ? or as $1, $2 …, not both")),
    }
}

/// The tables that a query names, CTEs among them.
pub(crate) fn tables_of(statement: &impl Visit) -> Vec<String> {
    struct Relations(Vec<String>);
    impl Visitor for Relations {
        type Break = ();
        fn pre_visit_relation(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
            if let Ok(name) = names::object(name)
                && !self.0.contains(&name)
            {
                self.0.push(name);
            }
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations(Vec::new());
    let _ = statement.visit(&mut relations);
    relations.0
}
