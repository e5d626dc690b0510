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

use super::{
    Planner, alike,
    file_functions::is_file_function,
    tables::{find_table, find_view},
};
use crate::{
    Error, ErrorKind, Result,
    catalog::{self, familiar},
    databases::{MAIN, Named},
    error::{instead_of_table_function, outer},
    files,
    functions::{CurrentQuery, CurrentSetting, pg_sleep},
    optimizer::has_once,
    pg_catalog,
    sequences::{Number, SequenceFunction},
    table::StoredTable,
    times::{
        TimeTypes,
        functions::{moment_called, statement_timestamp},
    },
};

/// When the database was opened, by PostgreSQL's name.
const POSTMASTER: &str = "pg_postmaster_start_time";

impl Planner<'_> {
    fn source(&self, name: &TableReference) -> Result<Arc<dyn TableSource>> {
        if let TableReference::Bare { table } = name
            && let Some(source) = self.extra.get(table.as_ref())
        {
            return Ok(source.clone());
        }
        if let TableReference::Bare { table } = name
            && let Some(source) =
                self.computed.lock().unwrap_or_else(PoisonError::into_inner).get(table.as_ref())
        {
            return Ok(source.clone());
        }
        if let TableReference::Bare { table } = name
            && let Some(numbered) = self.numbered(table)
        {
            return numbered;
        }
        let key = (self.within(), self.is_checked(), name.clone());
        if let Some(source) = self.resolved.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(source.clone());
        }
        let source = self.find(name)?;
        // What a view computes once it computes once for each mention of it, so each is planned for itself.
        let is_of_mention = match source.get_logical_plan() {
            Some(plan) => has_once(&plan)?,
            None => false,
        };
        if !is_of_mention {
            self.resolved.lock().unwrap_or_else(PoisonError::into_inner).insert(key, source.clone());
        }
        Ok(source)
    }

    /// What has this name: a stored table, a table of the catalog, a view, rows of the application, a file, which is called as it is
    /// written.
    fn find(&self, name: &TableReference) -> Result<Arc<dyn TableSource>> {
        let candidates = self.candidates(name)?;
        for named in &candidates {
            if let Some(source) = self.find_in(named.place, &named.local())? {
                return Ok(source);
            }
        }
        let named = self.new_name(&candidates)?;
        if let Some(source) = self.session.sources.find(&named.local())? {
            return Ok(source);
        }
        let Some(format) = ambo_files::Format::of(name.table()) else {
            let missing = find_table(&self.place(named.place).definitions(), &named.local());
            return Err(missing.err().unwrap_or_else(|| Error::invalid(format!("{name} is no table"))));
        };
        self.require_file(name.table())?;
        let _threads = self.engine.runtime()?.enter();
        Ok(provider_as_source(files::table(&self.state, self.interrupter, name.table(), &format)?))
    }

    /// The query that describes a table.
    fn query_of_table(&self, name: &str) -> Result<String> {
        let parts: Vec<_> = name.split('.').map(str::to_owned).collect();
        let candidates = self.candidates_of(&parts)?;
        let is_there = |named: &&Named| {
            let definitions = self.place(named.place).definitions();
            find_table(&definitions, &named.local()).is_ok()
                || find_view(&definitions, &named.local()).is_ok_and(|view| view.is_some())
        };
        let named = match candidates.iter().find(is_there) {
            Some(named) => named.clone(),
            None => self.new_name(&candidates)?,
        };
        // Tables of the catalog are those of the connection's own database.
        let database = if catalog::SCHEMAS.contains(&named.schema.as_str()) {
            MAIN
        } else {
            self.place(named.place).name
        };
        Ok(familiar::query_of_table([database, &named.schema, &named.name]))
    }

    /// What a database has of this name.
    fn find_in(&self, place: usize, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        let seen = self.place(place);
        let Ok(table) = find_table(&seen.definitions(), name) else { return self.derived(place, name) };
        self.require_read(place, &table.definition().name, "table")?;
        if let Some(transaction) = seen.transaction {
            transaction.note_scan(&table);
        }
        let hidden = self.hidden(table.definition());
        let table = StoredTable::new(table, seen.view.clone(), false).with_hidden(hidden);
        let with_key = self.keys.load(Ordering::Relaxed);
        Ok(Some(provider_as_source(Arc::new(if with_key { table.with_key() } else { table }))))
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
            [arg] if name == familiar::OF_TABLE => match argument(arg) {
                Some(table) => Some(self.query_of_table(&table).map_err(outer)?),
                None => None,
            },
            _ => None,
        };
        if let Some(query) = query {
            return self.of_query(name, &query).map_err(outer);
        }
        if is_file_function(&name.to_lowercase()) {
            self.require_files().map_err(outer)?;
        }
        if let Some(files) = self.file_function(name, &args).map_err(outer)? {
            return Ok(files);
        }
        if let Some(instead) = instead_of_table_function(name) {
            let missing = Error::new(ErrorKind::NotFound, format!("not supported: {name}() in FROM"));
            return Err(outer(missing.with_hint(instead)));
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
        // A name that is not there is told where it is used.
        Some(Arc::new(TimeTypes(self.types().unwrap_or_default())))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        if let Some(function) = pg_catalog::function(self, name) {
            return Some(Arc::new(function));
        }
        if let Some(what) = Number::named(name) {
            let there = self.sequences(what).ok()?;
            return Some(Arc::new(SequenceFunction::function(what, &self.session.taken, there)));
        }
        if name == "current_setting" {
            let settings = self.settings().ok()?.into_iter().map(|(name, value, _)| (name, value));
            let path = &self.session.path;
            let here = [("database", path.database().to_owned()), ("schema", path.first().schema.clone())];
            return Some(Arc::new(CurrentSetting::function(settings.chain(here).collect())));
        }
        if name == "statement_timestamp" {
            return Some(Arc::new(statement_timestamp(self.began)));
        }
        match name {
            "pg_postmaster_start_time" => {
                return Some(Arc::new(moment_called(POSTMASTER, self.engine.opened)));
            }
            "current_query" => return Some(Arc::new(CurrentQuery::function(self.session.text.as_deref()))),
            "pg_sleep" => return Some(Arc::new(pg_sleep(self.engine.runtime().ok()?))),
            _ => {}
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
