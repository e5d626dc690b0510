//! Statements that are fast, by their trees.

use std::{collections::HashSet, sync::Arc};

use ambo::{Database, Datum, PickedColumns, Table, Type};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::{self, Expr, SelectItem, SetExpr};

use super::{
    expression::Expression,
    moment::{Assigned, Moment},
    plan::{Action, FastPlan, Insert, KeyBounds, Lookup, OnConflict, Output, Search, Update},
    ranged::{Ranged, Then},
    target::{Target, is_ordered},
};
use crate::{
    hidden::seen,
    names::{ident, written},
    parse::parse_expression,
    value::{field_of, scalar},
};

/// More rows than these are not read one by one out of a column table.
const ROWS_MAX: u64 = 1000;

/// The plan of a statement, if it is a fast one.
pub(crate) fn recognise(db: &Database, statement: &ast::Statement) -> Option<FastPlan> {
    let stamp = db.schema_stamp();
    let (table, action) = match statement {
        ast::Statement::Query(query) => select(db, query)?,
        ast::Statement::Insert(insert) => insert_values(db, insert)?,
        ast::Statement::Update(update) => update_row(db, update)?,
        ast::Statement::Delete(delete) => delete_row(db, delete)?,
        _ => return None,
    };
    Some(FastPlan::new(stamp, table, action))
}

fn select(db: &Database, query: &ast::Query) -> Option<(Table, Action)> {
    let ast::Query {
        with: None,
        body,
        order_by,
        limit_clause,
        fetch: None,
        locks,
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators,
    } = query
    else {
        return None;
    };
    let SetExpr::Select(select) = &**body else { return None };
    if !locks.is_empty() || !pipe_operators.is_empty() || !is_plain(select) {
        return None;
    }
    let [from] = &select.from[..] else { return None };
    let target = Target::of(db, from)?;
    let Some(condition) = &select.selection else {
        let is_whole = order_by.is_none() && limit_clause.is_none() && select.distinct.is_none();
        return is_whole.then(|| count(target, &select.projection)).flatten();
    };
    let Some(mut search) = target.search(condition) else {
        let bounds = target.bounds(Some(condition)).filter(|bounds| !bounds.bounds.is_empty())?;
        return limit_clause.is_none().then(|| range(target, bounds, select, order_by.as_ref())).flatten();
    };
    if select.distinct.is_some() {
        return None;
    }
    let wanted_limit = match limit_clause {
        None => None,
        Some(clause) => Some(limit(clause)?),
    };
    match &mut search.lookup {
        Lookup::Prefix { values, reverse, limit } => {
            if let Some(order) = order_by {
                *reverse = key_order(&target, order, values.len())?;
            }
            *limit = wanted_limit;
            let is_short = limit.is_some_and(|limit| limit <= ROWS_MAX);
            if target.definition().storage.traits().by_column && !is_short {
                return None;
            }
        }
        Lookup::Key(_) | Lookup::Unique(..) => {
            if order_by.is_some() || wanted_limit == Some(0) {
                return None;
            }
        }
        Lookup::Keys(_) => {
            if order_by.is_some() || wanted_limit.is_some() {
                return None;
            }
        }
    }
    let is_by_key = matches!(search.lookup, Lookup::Key(_) | Lookup::Keys(_));
    let output = output(&target, is_by_key && search.rest.is_empty(), &select.projection)?;
    Some((target.table, Action::Read { search, output }))
}

/// Whether a SELECT is no more than columns, one table and a condition; it may say DISTINCT.
fn is_plain(select: &ast::Select) -> bool {
    let no_groups = matches!(&select.group_by, ast::GroupByExpr::Expressions(by, with) if by.is_empty() && with.is_empty());
    no_groups
        && select.top.is_none()
        && select.exclude.is_none()
        && select.into.is_none()
        && select.lateral_views.is_empty()
        && select.prewhere.is_none()
        && select.connect_by.is_empty()
        && select.cluster_by.is_empty()
        && select.distribute_by.is_empty()
        && select.sort_by.is_empty()
        && select.having.is_none()
        && select.named_window.is_empty()
        && select.qualify.is_none()
        && select.value_table_mode.is_none()
        && select.optimizer_hints.is_empty()
        && select.select_modifiers.is_none()
}

/// What is read of a range of keys.
fn range(
    target: Target,
    bounds: KeyBounds,
    select: &ast::Select,
    order_by: Option<&ast::OrderBy>,
) -> Option<(Table, Action)> {
    let is_different = match &select.distinct {
        None | Some(ast::Distinct::All) => false,
        Some(ast::Distinct::Distinct) => true,
        Some(ast::Distinct::On(_)) => return None,
    };
    if let Some(output) = sum(&target, &select.projection) {
        let is_alone = !is_different && order_by.is_none();
        return is_alone.then(|| (target.table, Action::Range(Ranged::new(bounds, output, Then::Sum))));
    }
    let output = output(&target, false, &select.projection)?;
    let is_plain = |column: &Expression| match column {
        Expression::Column(column) => {
            !target.definition().columns[*column].nullable && is_ordered(target.definition(), *column)
        }
        _ => false,
    };
    if is_different && !output.columns.iter().all(is_plain) {
        return None;
    }
    let order = match order_by {
        None => Vec::new(),
        // Names of the output come before those of columns.
        Some(_) if select.projection.iter().any(|item| matches!(item, SelectItem::ExprWithAlias { .. })) => {
            return None;
        }
        Some(order) => {
            let order = output_order(&target, &output, order)?;
            order.iter().all(|(place, _)| is_plain(&output.columns[*place])).then_some(order)?
        }
    };
    let then = if is_different { Then::Different(order) } else { Then::Rows(order) };
    Some((target.table, Action::Range(Ranged::new(bounds, output, then))))
}

/// The places in the output of what it is sorted by, and whether backwards.
fn output_order(target: &Target, output: &Output, order: &ast::OrderBy) -> Option<Vec<(usize, bool)>> {
    let ast::OrderBy { kind: ast::OrderByKind::Expressions(by), interpolate: None } = order else {
        return None;
    };
    let place = |order: &ast::OrderByExpr| {
        if order.with_fill.is_some() || order.options.nulls_first.is_some() {
            return None;
        }
        let Expression::Column(column) = target.expression(&order.expr)? else { return None };
        let is_it = |other: &Expression| matches!(other, Expression::Column(other) if *other == column);
        Some((output.columns.iter().position(is_it)?, order.options.asc == Some(false)))
    };
    by.iter().map(place).collect()
}

/// `SELECT sum(c)` of a column whose sum needs no more than a bigint.
fn sum(target: &Target, projection: &[SelectItem]) -> Option<Output> {
    let (expr, name) = match projection {
        [SelectItem::UnnamedExpr(expr)] => (expr, None),
        [SelectItem::ExprWithAlias { expr, alias }] => (expr, Some(ident(alias))),
        _ => return None,
    };
    let Expr::Function(function) = expr else { return None };
    let argument = argument_of(function, "sum")?;
    let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(Expr::Identifier(column))) = argument else {
        return None;
    };
    let column = target.column(&[&ident(column)])?;
    let of = &target.definition().columns[column];
    let is_short = matches!(of.kind, Type::I8 | Type::I16 | Type::I32) && of.logical.is_none();
    let name = name.unwrap_or_else(|| format!("sum({})", of.name));
    let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, true)]));
    is_short.then(|| Output { columns: vec![Expression::Column(column)], schema, picked: None })
}

/// The argument of a plain call of an aggregate.
fn argument_of<'a>(function: &'a ast::Function, name: &str) -> Option<&'a ast::FunctionArg> {
    let ast::Function {
        name: called,
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(args),
        filter: None,
        null_treatment: None,
        over: None,
        within_group,
    } = function
    else {
        return None;
    };
    let is_plain = written(called).ok()? == name
        && within_group.is_empty()
        && args.duplicate_treatment.is_none()
        && args.clauses.is_empty();
    match &args.args[..] {
        [argument] if is_plain => Some(argument),
        _ => None,
    }
}

/// `LIMIT n`.
fn limit(clause: &ast::LimitClause) -> Option<u64> {
    let ast::LimitClause::LimitOffset { limit: Some(Expr::Value(value)), offset: None, limit_by } = clause
    else {
        return None;
    };
    match &value.value {
        ast::Value::Number(number, _) if limit_by.is_empty() => number.parse().ok(),
        _ => None,
    }
}

/// Whether rows are wanted backwards, if the order is that of the key behind its first `fixed` columns.
fn key_order(target: &Target, order: &ast::OrderBy, fixed: usize) -> Option<bool> {
    let ast::OrderBy { kind: ast::OrderByKind::Expressions(by), interpolate: None } = order else {
        return None;
    };
    let key = target.definition().primary_columns();
    let mut next = fixed;
    let mut backwards = None;
    for order in by {
        let Expression::Column(column) = target.expression(&order.expr)? else { return None };
        if order.with_fill.is_some() || order.options.nulls_first.is_some() {
            return None;
        }
        // The first columns are the same in all rows.
        if key[..fixed].contains(&column) {
            continue;
        }
        let is_backwards = order.options.asc == Some(false);
        if key.get(next) != Some(&column) || *backwards.get_or_insert(is_backwards) != is_backwards {
            return None;
        }
        next += 1;
    }
    Some(backwards.unwrap_or(false))
}

/// `SELECT count(*) FROM t`.
fn count(target: Target, projection: &[SelectItem]) -> Option<(Table, Action)> {
    let (expr, name) = match projection {
        [SelectItem::UnnamedExpr(expr)] => (expr, "count(*)".to_owned()),
        [SelectItem::ExprWithAlias { expr, alias }] => (expr, ident(alias)),
        _ => return None,
    };
    let Expr::Function(function) = expr else { return None };
    let argument = argument_of(function, "count")?;
    let is_count = matches!(argument, ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard));
    let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, false)]));
    is_count.then_some((target.table, Action::Count { schema }))
}

/// What RETURNING says, if there is one: `None` if that takes the planner.
fn returning(target: &Target, items: Option<&[SelectItem]>) -> Option<Option<Output>> {
    match items {
        None => Some(None),
        Some(items) => output(target, false, items).map(Some),
    }
}

/// What is handed out of rows, which may be `picked` where they are looked up by their keys alone.
fn output(target: &Target, is_by_key: bool, projection: &[SelectItem]) -> Option<Output> {
    let definition = target.definition();
    let (mut columns, mut fields) = (Vec::new(), Vec::new());
    let field = |column: usize, name: Option<String>| {
        let of = &definition.columns[column];
        let field = field_of(of);
        match name {
            Some(name) => field.with_name(name),
            None => field,
        }
    };
    for item in projection {
        match item {
            SelectItem::Wildcard(options) if *options == ast::WildcardAdditionalOptions::default() => {
                columns.extend(seen(definition).map(Expression::Column));
                fields.extend(seen(definition).map(|column| field(column, None)));
            }
            SelectItem::UnnamedExpr(expr) => {
                let Expression::Column(column) = target.expression(expr)? else { return None };
                columns.push(Expression::Column(column));
                fields.push(field(column, None));
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                let name = ident(alias);
                let expression = target.expression(expr)?;
                fields.push(match &expression {
                    Expression::Column(column) => field(*column, Some(name)),
                    Expression::Constant(value) => {
                        Field::new(name, scalar(value).data_type(), matches!(value, Datum::Null))
                    }
                    Expression::Parameter(_) | Expression::Arithmetic(..) => return None,
                });
                columns.push(expression);
            }
            _ => return None,
        }
    }
    let picked = match is_by_key {
        true => picked(&target.table, &columns),
        false => None,
    };
    Some(Output { columns, schema: Arc::new(Schema::new(fields)), picked })
}

/// The columns that are handed out, if there is nothing else.
fn picked(table: &Table, output: &[Expression]) -> Option<PickedColumns> {
    let columns = &table.definition().columns;
    let name = |expression: &Expression| match expression {
        Expression::Column(column) => Some(&*columns[*column].name),
        _ => None,
    };
    table.pick(&output.iter().map(name).collect::<Option<Vec<_>>>()?).ok()
}

fn insert_values(db: &Database, insert: &ast::Insert) -> Option<(Table, Action)> {
    let ast::TableObject::TableName(name) = &insert.table else { return None };
    let is_plain = insert.table_alias.is_none()
        && insert.assignments.is_empty()
        && insert.partitioned.is_none()
        && insert.after_columns.is_empty()
        && insert.output.is_none()
        && insert.insert_alias.is_none()
        && insert.settings.is_none()
        && insert.format_clause.is_none()
        && insert.multi_table_insert_type.is_none()
        && !insert.overwrite;
    let target = is_plain.then(|| Target::new(db, name, None)).flatten()?;
    let mut columns: Vec<usize> = match insert.columns.is_empty() {
        true => (0..target.definition().columns.len()).collect(),
        false => {
            let column = |name: &ast::ObjectName| target.column(&[&ident(name.0.last()?.as_ident()?)]);
            insert.columns.iter().map(column).collect::<Option<_>>()?
        }
    };
    if has_twice(columns.iter()) {
        return None;
    }
    let source = insert.source.as_deref()?;
    let SetExpr::Values(values) = &*source.body else { return None };
    if source.order_by.is_some() || source.limit_clause.is_some() || source.with.is_some() {
        return None;
    }
    let row = |row: &ast::Parens<Vec<Expr>>| -> Option<Vec<Assigned>> {
        let of = |(expr, column): (&Expr, &usize)| target.given(*column, expr);
        (row.content.len() == columns.len()).then_some(())?;
        row.content.iter().zip(&columns).map(of).collect()
    };
    let mut rows = values.rows.iter().map(row).collect::<Option<Vec<_>>>()?;
    for (place, column) in target.definition().columns.iter().enumerate() {
        if let Some(text) = &column.default_expression
            && !columns.contains(&place)
        {
            let moment = Moment::of(&parse_expression(text).ok()?, column.kind)?;
            rows.iter_mut().for_each(|row| row.push(Assigned::Moment(moment)));
            columns.push(place);
        }
    }
    let conflict = on_conflict(&target, insert)?;
    let checks = target.checks()?;
    let returning = returning(&target, insert.returning.as_deref())?;
    if returning.is_some() && !matches!(conflict, OnConflict::Refuse) {
        return None;
    }
    Some((target.table, Action::Insert(Insert { rows, columns, conflict, checks, returning })))
}

/// Whether a column is named twice, which the planner has something to say about.
fn has_twice<'c>(columns: impl Iterator<Item = &'c usize>) -> bool {
    let mut seen = HashSet::new();
    columns.into_iter().any(|column| !seen.insert(column))
}

fn on_conflict(target: &Target, insert: &ast::Insert) -> Option<OnConflict> {
    let by_word = match (&insert.or, insert.ignore, insert.replace_into) {
        (None, false, false) => None,
        (Some(ast::SqliteOnConflict::Replace), false, false) | (None, false, true) => {
            Some(OnConflict::Replace)
        }
        (Some(ast::SqliteOnConflict::Ignore), false, false) | (None, true, false) => Some(OnConflict::Ignore),
        _ => return None,
    };
    let Some(on) = &insert.on else { return Some(by_word.unwrap_or(OnConflict::Refuse)) };
    let ast::OnInsert::OnConflict(on) = on else { return None };
    if by_word.is_some() {
        return None;
    }
    let key: Vec<&str> = target
        .definition()
        .primary_columns()
        .iter()
        .map(|&column| target.definition().columns[column].name.as_str())
        .collect();
    let is_key = match &on.conflict_target {
        None => false,
        Some(ast::ConflictTarget::Columns(columns)) => {
            let columns: Vec<_> = columns.iter().map(ident).collect();
            columns.len() == key.len() && key.iter().all(|key| columns.iter().any(|column| column == key))
        }
        Some(ast::ConflictTarget::OnConstraint(_)) => return None,
    };
    match &on.action {
        // Without other unique values there is but one thing to be in conflict with.
        ast::OnConflictAction::DoNothing if on.conflict_target.is_none() => Some(OnConflict::Ignore),
        ast::OnConflictAction::DoNothing if is_key && target.unique_indexes().next().is_none() => {
            Some(OnConflict::Ignore)
        }
        ast::OnConflictAction::DoUpdate(update)
            if is_key && update.selection.is_none() && target.definition().check_updates().is_ok() =>
        {
            let width = target.definition().columns.len();
            let column = |name: &[&str]| match name {
                ["excluded", column] => Some(width + target.definition().column_index(column)?),
                name => target.column(name),
            };
            let set = |assignment: &ast::Assignment| target.set(assignment, &column);
            update.assignments.iter().map(set).collect::<Option<_>>().map(OnConflict::Update)
        }
        _ => None,
    }
}

fn update_row(db: &Database, update: &ast::Update) -> Option<(Table, Action)> {
    let is_plain = update.from.is_none()
        && update.output.is_none()
        && update.or.is_none()
        && update.order_by.is_empty()
        && update.limit.is_none();
    let target = is_plain.then(|| Target::of(db, &update.table)).flatten()?;
    target.definition().check_updates().ok()?;
    let search = one_row(target.search(update.selection.as_ref()?)?)?;
    let sets: Vec<_> = update
        .assignments
        .iter()
        .map(|set| target.set(set, &|name| target.column(name)))
        .collect::<Option<_>>()?;
    if has_twice(sets.iter().map(|(column, _)| column)) {
        return None;
    }
    let checks = target.checks()?;
    let returning = returning(&target, update.returning.as_deref())?;
    Some((target.table, Action::Update(Update { search, sets, checks, returning })))
}

fn delete_row(db: &Database, delete: &ast::Delete) -> Option<(Table, Action)> {
    let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
    let is_plain = delete.tables.is_empty()
        && delete.using.is_none()
        && delete.output.is_none()
        && delete.order_by.is_empty()
        && delete.limit.is_none();
    let [from] = &from[..] else { return None };
    let target = is_plain.then(|| Target::of(db, from)).flatten()?;
    let search = delete.selection.as_ref().and_then(|condition| target.search(condition)).and_then(one_row);
    let returning = returning(&target, delete.returning.as_deref())?;
    let action = match search {
        Some(search) => Action::Delete { search, returning },
        None if returning.is_some() => return None,
        None => Action::DeleteRange(target.key_bounds(delete.selection.as_ref())?),
    };
    Some((target.table, action))
}

/// A search that finds one row at most.
fn one_row(search: Search) -> Option<Search> {
    matches!(search.lookup, Lookup::Key(_) | Lookup::Unique(..)).then_some(search)
}
