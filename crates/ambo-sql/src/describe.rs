//! What a statement takes and returns, without running it.

use std::{ops::ControlFlow, sync::Arc};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::{
    common::tree_node::{TreeNode, TreeNodeRecursion},
    logical_expr::{Expr as PlanExpr, ExprSchemable, LogicalPlan},
    sql::sqlparser::ast::{self, Expr, SelectItem, SetExpr, TableFactor, TableWithJoins, Value},
};

use crate::{
    Connection, PreparedStatement, Result,
    functions::is_quantified,
    logical::plain_type,
    names::ident,
    optimizer::schema_of_rows,
    parse::Statement,
    planner::{Planner, result_schema},
    rows::plain_schema,
    statement::{Parts, is_show, writes},
    walk::each_expr,
};

/// What a statement takes and returns.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Description {
    /// The columns of its rows, none for a statement without rows; `None` where only running it tells.
    pub schema: Option<SchemaRef>,
    /// The types that its parameters have where they stand, first to last; `None` where any may be given.
    pub parameters: Vec<Option<DataType>>,
}

impl Connection {
    /// What a statement takes and returns, as tables are now, without running it. A column that is a parameter alone has the type `Null`.
    ///
    /// ```
    /// use arrow::datatypes::DataType;
    /// let db = ambo_sql::Database::in_memory()?;
    /// let mut connection = db.connect();
    /// connection.script("create table t (id int primary key, name text)")?;
    /// let statement = connection.prepare("select name from t where id = :id")?;
    /// assert_eq!(statement.parameter_names().collect::<Vec<_>>(), [Some("id")]);
    /// let described = connection.describe(&statement)?;
    /// assert_eq!(described.schema.expect("of a query").field(0).name(), "name");
    /// assert_eq!(described.parameters, [Some(DataType::Int32)]);
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with the statement, as far as that shows before it runs.
    pub fn describe(&mut self, statement: &PreparedStatement) -> Result<Description> {
        let known = statement.known();
        // Clients ask again and again. It is true as long as the plan is that was made for the schema.
        let is_kept = known.is_current() && self.fast(known, &[]).is_some();
        if let Some(described) = known.described.get().filter(|_| is_kept) {
            return Ok(described.clone());
        }
        let described = self.describe_anew(statement)?;
        Ok(if is_kept { known.described.get_or_init(|| described).clone() } else { described })
    }

    fn describe_anew(&mut self, statement: &PreparedStatement) -> Result<Description> {
        self.look_for_sources(statement.statement())?;
        let mut described = Description { schema: None, parameters: vec![None; statement.parameters()] };
        let Statement::Sql(tree) = statement.statement() else {
            described.schema = Some(nothing());
            return Ok(described);
        };
        let planner = self.reader()?;
        match tree.as_ref() {
            ast::Statement::Query(query) => describe_query(&planner, query, &mut described)?,
            ast::Statement::Insert(insert) => describe_insert(&planner, insert, &mut described)?,
            ast::Statement::Update(update) => {
                let relation = &update.table;
                for assignment in &update.assignments {
                    if let ast::AssignmentTarget::ColumnName(column) = &assignment.target {
                        let column = column.0.last().and_then(|part| part.as_ident()).map(ident);
                        let ty = column.and_then(|column| column_type(&planner, relation, &column));
                        note(&assignment.value, ty, &mut described);
                    }
                }
                let mut from = vec![relation.clone()];
                if let Some(
                    ast::UpdateTableFromKind::AfterSet(more) | ast::UpdateTableFromKind::BeforeSet(more),
                ) = &update.from
                {
                    from.extend(more.iter().cloned());
                }
                describe_values(&planner, &from, &update.assignments, &mut described)?;
                let returning = update.returning.as_deref();
                describe_rows(&planner, from, update.selection.as_ref(), returning, &mut described)?;
            }
            ast::Statement::Delete(delete) => {
                let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                    &delete.from;
                let from = from.iter().chain(delete.using.iter().flatten()).cloned().collect();
                let returning = delete.returning.as_deref();
                describe_rows(&planner, from, delete.selection.as_ref(), returning, &mut described)?;
            }
            ast::Statement::Explain { .. }
            | ast::Statement::ExplainTable { .. }
            | ast::Statement::Execute { .. }
            | ast::Statement::Merge(_) => {}
            other if is_show(other) => {}
            _ => described.schema = Some(nothing()),
        }
        // Others know enums as texts.
        described.schema = described.schema.map(plain_schema);
        described.parameters.iter_mut().flatten().for_each(|ty| *ty = plain_type(ty));
        Ok(described)
    }
}

fn nothing() -> SchemaRef {
    Schema::empty().into()
}

/// A query. Those that write within WITH say what they return when they have written.
fn describe_query(planner: &Planner<'_>, query: &ast::Query, described: &mut Description) -> Result<()> {
    if writes(query) {
        return Ok(());
    }
    let mut query = query.clone();
    query.locks.clear();
    let plan = planner.unbound(ast::Statement::Query(Box::new(query)), &[])?;
    for (name, ty) in plan.get_parameter_types()? {
        set(&name, ty, described);
    }
    describe_others(&plan, described)?;
    described.schema = Some(result_schema(&plan));
    Ok(())
}

/// The parameters whose types the planner (DataFusion 55) does not tell: `$1::int[]`, and the list of `x = ANY ($1)`.
fn describe_others(plan: &LogicalPlan, described: &mut Description) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let schema = schema_of_rows(node);
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                match expr {
                    PlanExpr::Cast(cast) => {
                        if let PlanExpr::Placeholder(parameter) = cast.expr.as_ref() {
                            set(&parameter.id, Some(cast.field.data_type().clone()), described);
                        }
                    }
                    PlanExpr::ScalarFunction(function) if is_quantified(function.name()) => {
                        if let [value, PlanExpr::Placeholder(parameter)] = &function.args[..]
                            && let Ok(item) = value.get_type(&schema)
                        {
                            let list = DataType::List(Arc::new(Field::new_list_field(item, true)));
                            set(&parameter.id, Some(list), described);
                        }
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(())
}

fn describe_insert(planner: &Planner<'_>, insert: &ast::Insert, described: &mut Description) -> Result<()> {
    let ast::TableObject::TableName(name) = &insert.table else { return Ok(()) };
    let table = planner.stored(name)?;
    let definition = table.definition();
    let named =
        insert.columns.iter().map(|column| column.0.last().and_then(|part| part.as_ident()).map(ident));
    let columns: Vec<_> = match insert.columns.is_empty() {
        true => {
            let columns = definition.columns.iter().filter(|column| column.generated().is_none());
            columns.map(|column| column.name.clone()).collect()
        }
        false => named.map(Option::unwrap_or_default).collect(),
    };
    if let Some(source) = &insert.source {
        match &*source.body {
            SetExpr::Values(rows) => {
                for row in &rows.rows {
                    for (value, column) in row.iter().zip(&columns) {
                        let place = definition.column_index(column);
                        let ty = place.map(|place| ambo::arrow::column_type(&definition.columns[place]));
                        note(value, ty, described);
                    }
                }
            }
            _ => describe_query(planner, source, described)?,
        }
    }
    if insert.returning.is_none() {
        // Who may insert need not be one who may read.
        described.schema = Some(nothing());
        return Ok(());
    }
    let mut relation = crate::statement::relation(&definition.name);
    if let TableFactor::Table { name: of, alias, .. } = &mut relation.relation {
        of.clone_from(name);
        *alias = insert.table_alias.as_ref().map(|alias| crate::statement::table_alias(&ident(&alias.alias)));
    }
    describe_rows(planner, vec![relation], None, insert.returning.as_deref(), described)
}

/// What a statement that writes returns of the rows of these tables, and the parameters of the condition that chooses them.
fn describe_rows(
    planner: &Planner<'_>,
    from: Vec<TableWithJoins>,
    selection: Option<&Expr>,
    returning: Option<&[SelectItem]>,
    described: &mut Description,
) -> Result<()> {
    let items = match returning {
        Some(items) => items.to_vec(),
        None => vec![crate::statement::item(Expr::value(Value::Null), "nothing")],
    };
    let query = Parts { items, from, selection: selection.cloned(), ..Parts::default() }.query();
    describe_query(planner, &query, described)?;
    if returning.is_none() {
        described.schema = Some(nothing());
    }
    Ok(())
}

/// The parameters within the values that columns are set to: `SET n = n + $1`. Those that are a value alone have the types of their
/// columns.
fn describe_values(
    planner: &Planner<'_>,
    from: &[TableWithJoins],
    assignments: &[ast::Assignment],
    described: &mut Description,
) -> Result<()> {
    let has_within = |value: &Expr| {
        let is_parameter =
            |expr: &Expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)));
        !is_parameter(value)
            && each_expr(value, |expr| match is_parameter(expr) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
            .is_break()
    };
    let values = assignments.iter().map(|assignment| &assignment.value).filter(|value| has_within(value));
    let named =
        values.enumerate().map(|(nth, value)| crate::statement::item(value.clone(), &format!("value {nth}")));
    let items: Vec<_> = named.collect();
    if items.is_empty() {
        return Ok(());
    }
    describe_query(planner, &Parts { items, from: from.to_vec(), ..Parts::default() }.query(), described)
}

/// The type of a column of the table that a statement writes to.
fn column_type(planner: &Planner<'_>, relation: &TableWithJoins, column: &str) -> Option<DataType> {
    let TableFactor::Table { name, .. } = &relation.relation else { return None };
    let table = planner.stored(name).ok()?;
    let place = table.definition().column_index(column)?;
    Some(ambo::arrow::column_type(&table.definition().columns[place]))
}

/// Takes note of the type of a value that is a parameter.
fn note(value: &Expr, ty: Option<DataType>, described: &mut Description) {
    if let Expr::Value(value) = value
        && let Value::Placeholder(name) = &value.value
    {
        set(name, ty, described);
    }
}

fn set(parameter: &str, ty: Option<DataType>, described: &mut Description) {
    let place =
        parameter.trim_start_matches('$').parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(known) = place.and_then(|place| described.parameters.get_mut(place))
        && known.is_none()
    {
        *known = ty;
    }
}
