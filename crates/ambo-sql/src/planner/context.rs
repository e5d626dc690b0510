//! What a statement names: tables, views, files and functions, looked up for the planner.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use arrow::datatypes::DataType;
use datafusion::{
    catalog::TableFunctionArgs,
    common::{
        Result as PlanResult, TableReference, config::ConfigOptions, file_options::file_type::FileType,
    },
    datasource::{cte_worktable::CteWorkTable, file_format::format_as_file_type, provider_as_source},
    error::DataFusionError,
    logical_expr::{
        AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF,
        planner::{ContextProvider, ExprPlanner, RelationPlanner, TypePlanner},
    },
};

use super::{Planner, alike, tables::find_table};
use crate::{
    Error, Result,
    catalog::familiar,
    error::outer,
    files,
    functions::CurrentSetting,
    names::of_default_schema,
    optimizer::has_once,
    sequences::{Number, SequenceFunction},
    table::StoredTable,
    times::{TimeTypes, functions::statement_timestamp},
    user_types::UserTypes,
};

impl Planner<'_> {
    fn source(&self, name: &TableReference) -> Result<Arc<dyn TableSource>> {
        if let TableReference::Bare { table } = name
            && let Some(source) = self.extra.get(table.as_ref())
        {
            return Ok(source.clone());
        }
        let qualified = match name {
            TableReference::Bare { table } => of_default_schema(table),
            TableReference::Partial { schema, table } => format!("{schema}.{table}"),
            TableReference::Full { .. } => {
                return Err(Error::invalid(format!(
                    "\"{name}\" is no name of a table: those are table or schema.table"
                )));
            }
        };
        if let Some(source) = self.resolved.lock().unwrap_or_else(PoisonError::into_inner).get(&qualified) {
            return Ok(source.clone());
        }
        let source = self.find(&qualified, name.table())?;
        // What a view computes once it computes once for each mention of it, so each is planned for itself.
        let is_of_mention = match source.get_logical_plan() {
            Some(plan) => has_once(&plan)?,
            None => false,
        };
        if !is_of_mention {
            self.resolved.lock().unwrap_or_else(PoisonError::into_inner).insert(qualified, source.clone());
        }
        Ok(source)
    }

    /// What has this name: a stored table, a table of the catalog, a view, rows of the application, a file, which is called as it is
    /// written.
    fn find(&self, name: &str, written: &str) -> Result<Arc<dyn TableSource>> {
        let missing = match find_table(&self.definitions(), name) {
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
        if let Some(source) = self.session.sources.find(name)? {
            return Ok(source);
        }
        let Some(format) = ambo_files::Format::of(written) else { return Err(missing) };
        let _threads = self.engine.runtime()?.enter();
        Ok(provider_as_source(files::table(&self.state, self.interrupter, written, &format)?))
    }
}

impl Planner<'_> {
    /// Whether a function of this name returns a value for each row, and neither for groups nor for windows.
    pub(super) fn is_scalar(&self, name: &str) -> bool {
        self.get_function_meta(name).is_some()
            && self.get_aggregate_meta(name).is_none()
            && self.get_window_meta(name).is_none()
    }
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
        let argument = |arg: &Expr| match arg {
            Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_owned),
            _ => None,
        };
        let query = match &args[..] {
            [] => familiar::query(name).map(str::to_owned),
            [arg] => argument(arg).and_then(|argument| familiar::query_of(name, &argument)),
            _ => None,
        };
        if let Some(query) = query {
            return self.of_query(name, &query).map_err(outer);
        }
        let functions = self.state.table_functions();
        let Some(function) = functions.get(&name.to_lowercase()) else {
            let known = functions.keys().map(String::as_str).chain(familiar::names());
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
        Some(Arc::new(TimeTypes(UserTypes::of(&self.definitions()))))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        if let Some(what) = Number::named(name) {
            let (sequences, definitions) = (&self.engine.sequences, self.definitions());
            return Some(Arc::new(SequenceFunction::function(
                what,
                sequences,
                &self.session.taken,
                &definitions,
            )));
        }
        if name == "current_setting" {
            let settings = self.settings().ok()?.into_iter().map(|(name, value, _)| (name, value));
            return Some(Arc::new(CurrentSetting::function(settings.collect())));
        }
        if name == "statement_timestamp" {
            return Some(Arc::new(statement_timestamp(self.began)));
        }
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
