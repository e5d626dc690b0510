//! Statements that are fast, by their trees.

use std::{collections::HashSet, sync::Arc};

use ambo::{Compare, Database, Datum, Index, Storage, Table, TableDefinition};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::{self, BinaryOperator, Expr, SelectItem, SetExpr, TableFactor};

use super::{
    condition::Condition,
    expression::Expression,
    plan::{Action, FastPlan, Insert, Lookup, OnConflict, Output, Search},
};
use crate::{
    names::{ident, last, object},
    table::filter::turned,
    value::{scalar, sql_type},
};

/// More keys than these are not looked up one by one.
const KEYS_MAX: usize = 1000;
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
    Some(FastPlan { stamp, table, action })
}

/// A table and what the statement calls it.
struct Target {
    table: Table,
    name: String,
}

impl Target {
    fn new(db: &Database, name: &ast::ObjectName, alias: Option<&ast::TableAlias>) -> Option<Self> {
        let name = object(name).ok()?;
        let table = db.table(&name).ok()?;
        if table.definition().duplicates || table.definition().is_raw() {
            return None;
        }
        let name = match alias {
            None => last(&name).to_owned(),
            Some(alias) if alias.columns.is_empty() => ident(&alias.name),
            Some(_) => return None,
        };
        Some(Self { table, name })
    }

    fn of(db: &Database, table: &ast::TableWithJoins) -> Option<Self> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } = &table.relation
        else {
            return None;
        };
        let is_plain = table.joins.is_empty()
            && with_hints.is_empty()
            && partitions.is_empty()
            && index_hints.is_empty();
        is_plain.then(|| Self::new(db, name, alias.as_ref())).flatten()
    }

    fn definition(&self) -> &TableDefinition {
        self.table.definition()
    }

    /// The place of a column that is called by its name, or by the table's and its.
    fn column(&self, name: &[&str]) -> Option<usize> {
        match name {
            [column] => self.definition().column_index(column),
            [table, column] if *table == self.name => self.definition().column_index(column),
            _ => None,
        }
    }

    fn expression(&self, expr: &Expr) -> Option<Expression> {
        Expression::of(expr, &|name| self.column(name))
    }

    /// An expression without columns.
    fn constant(&self, expr: &Expr) -> Option<Expression> {
        self.expression(expr).filter(Expression::is_constant)
    }

    fn set(&self, assignment: &ast::Assignment) -> Option<(usize, Expression)> {
        Some((self.assigned(assignment)?, self.expression(&assignment.value)?))
    }

    fn assigned(&self, assignment: &ast::Assignment) -> Option<usize> {
        let ast::AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
        match &name.0[..] {
            [part] => self.column(&[&ident(part.as_ident()?)]),
            _ => None,
        }
    }

    /// Which rows a condition means, if it says that by the key or by a unique index.
    fn search(&self, condition: &Expr) -> Option<Search> {
        let mut asked = Asked::default();
        self.conditions(condition, &mut asked)?;
        let Asked { mut equal, keys, mut rest } = asked;
        let key = self.definition().primary_columns();
        let plain = |lookup| Some(Search { lookup, rest: Vec::new() });
        if let Some((column, values)) = keys {
            let is_key =
                equal.is_empty() && rest.is_empty() && key[..] == [column] && values.len() <= KEYS_MAX;
            return is_key.then_some(()).and_then(|()| plain(Lookup::Keys(values)));
        }
        if key.is_empty() {
            return None;
        }
        let has_all =
            |columns: &[usize]| columns.iter().all(|column| equal.iter().any(|(of, _)| of == column));
        let index = match has_all(key) {
            true => None,
            false => self.unique_indexes().find(|index| has_all(index.columns())),
        };
        let columns = match &index {
            Some(index) => index.columns().to_vec(),
            None if has_all(key) => key.to_vec(),
            None if rest.is_empty() && !self.definition().has_sort_key() => {
                let prefix = key.get(..equal.len()).filter(|prefix| !prefix.is_empty() && has_all(prefix))?;
                let values = taken(&mut equal, prefix);
                return plain(Lookup::Prefix { values, reverse: false, limit: None });
            }
            None => return None,
        };
        let values = taken(&mut equal, &columns);
        let lookup = match index {
            Some(index) => Lookup::Unique(index, values),
            None => Lookup::Key(values),
        };
        for (column, value) in equal {
            rest.push(Condition::compare(self.definition(), column, Compare::Equal, value)?);
        }
        Some(Search { lookup, rest })
    }

    fn unique_indexes(&self) -> impl Iterator<Item = Index> {
        let open = |name: String| self.table.index(&name).ok();
        self.table.indexes().into_iter().filter_map(open).filter(Index::is_unique)
    }

    fn conditions(&self, condition: &Expr, asked: &mut Asked) -> Option<()> {
        match condition {
            Expr::Nested(inner) => self.conditions(inner, asked),
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                self.conditions(left, asked)?;
                self.conditions(right, asked)
            }
            Expr::BinaryOp { left, op, right } => {
                let compare = comparison(op)?;
                let (column, compare, value) = match (self.expression(left)?, self.expression(right)?) {
                    (Expression::Column(column), value) => (column, compare, value),
                    (value, Expression::Column(column)) => (column, turned(compare), value),
                    _ => return None,
                };
                if compare != Compare::Equal || asked.equal.iter().any(|(known, _)| *known == column) {
                    asked.rest.push(Condition::compare(self.definition(), column, compare, value)?);
                    return Some(());
                }
                value.is_constant().then(|| asked.equal.push((column, value)))
            }
            Expr::InList { expr, list, negated: false } => {
                let Expression::Column(column) = self.expression(expr)? else { return None };
                let values = list.iter().map(|item| self.constant(item)).collect::<Option<_>>()?;
                asked.keys.is_none().then(|| asked.keys = Some((column, values)))
            }
            Expr::IsNull(of) | Expr::IsNotNull(of) => {
                let Expression::Column(column) = self.expression(of)? else { return None };
                asked.rest.push(match condition {
                    Expr::IsNull(_) => Condition::IsNull(column),
                    _ => Condition::IsNotNull(column),
                });
                Some(())
            }
            _ => None,
        }
    }
}

/// The parts of a condition that all have to hold.
#[derive(Default)]
struct Asked {
    /// Columns that are equal to constants, each once.
    equal: Vec<(usize, Expression)>,
    /// A column that is in a list.
    keys: Option<(usize, Vec<Expression>)>,
    rest: Vec<Condition>,
}

/// Takes the values of columns, which are all there, out of a list.
fn taken(equal: &mut Vec<(usize, Expression)>, columns: &[usize]) -> Vec<Expression> {
    let take = |column: &usize| {
        let place = equal.iter().position(|(known, _)| known == column).expect("it is there");
        equal.swap_remove(place).1
    };
    columns.iter().map(take).collect()
}

fn comparison(op: &BinaryOperator) -> Option<Compare> {
    Some(match op {
        BinaryOperator::Eq => Compare::Equal,
        BinaryOperator::NotEq => Compare::NotEqual,
        BinaryOperator::Lt => Compare::Less,
        BinaryOperator::LtEq => Compare::LessEqual,
        BinaryOperator::Gt => Compare::Greater,
        BinaryOperator::GtEq => Compare::GreaterEqual,
        _ => return None,
    })
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
        let is_whole = order_by.is_none() && limit_clause.is_none();
        return is_whole.then(|| count(target, &select.projection)).flatten();
    };
    let mut search = target.search(condition)?;
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
            if target.definition().storage == Storage::Column && !is_short {
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
    let output = output(&target, &select.projection)?;
    Some((target.table, Action::Read { search, output }))
}

/// Whether a SELECT is no more than columns, one table and a condition.
fn is_plain(select: &ast::Select) -> bool {
    let no_groups = matches!(&select.group_by, ast::GroupByExpr::Expressions(by, with) if by.is_empty() && with.is_empty());
    no_groups
        && select.distinct.is_none()
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
    let Expr::Function(ast::Function {
        name: function,
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(args),
        filter: None,
        null_treatment: None,
        over: None,
        within_group,
    }) = expr
    else {
        return None;
    };
    let is_count = object(function).ok()? == "count"
        && within_group.is_empty()
        && args.duplicate_treatment.is_none()
        && args.clauses.is_empty()
        && matches!(&args.args[..], [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)]);
    let schema = Arc::new(Schema::new(vec![Field::new(name, DataType::Int64, false)]));
    is_count.then_some((target.table, Action::Count { schema }))
}

fn output(target: &Target, projection: &[SelectItem]) -> Option<Output> {
    let definition = target.definition();
    let (mut columns, mut fields) = (Vec::new(), Vec::new());
    let field = |column: usize, name: Option<String>| {
        let of = &definition.columns[column];
        Field::new(name.unwrap_or_else(|| of.name.clone()), sql_type(of.kind), of.nullable)
    };
    for item in projection {
        match item {
            SelectItem::Wildcard(options) if *options == ast::WildcardAdditionalOptions::default() => {
                columns.extend((0..definition.columns.len()).map(Expression::Column));
                fields.extend((0..definition.columns.len()).map(|column| field(column, None)));
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
    Some(Output { columns, schema: Arc::new(Schema::new(fields)) })
}

fn insert_values(db: &Database, insert: &ast::Insert) -> Option<(Table, Action)> {
    let ast::TableObject::TableName(name) = &insert.table else { return None };
    let is_plain = insert.table_alias.is_none()
        && insert.assignments.is_empty()
        && insert.partitioned.is_none()
        && insert.after_columns.is_empty()
        && insert.returning.is_none()
        && insert.output.is_none()
        && insert.insert_alias.is_none()
        && insert.settings.is_none()
        && insert.format_clause.is_none()
        && insert.multi_table_insert_type.is_none()
        && !insert.overwrite;
    let target = is_plain.then(|| Target::new(db, name, None)).flatten()?;
    let columns: Vec<usize> = match insert.columns.is_empty() {
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
    let row = |row: &ast::Parens<Vec<Expr>>| -> Option<Vec<Expression>> {
        let values: Vec<_> = row.content.iter().map(|expr| target.constant(expr)).collect::<Option<_>>()?;
        (values.len() == columns.len()).then_some(values)
    };
    let definition = target.definition();
    let needs_planner = |(place, column): (usize, &ambo::Column)| {
        column.default_expression.is_some() && !columns.contains(&place)
    };
    if !definition.checks.is_empty() || definition.columns.iter().enumerate().any(needs_planner) {
        return None;
    }
    let rows = values.rows.iter().map(row).collect::<Option<Vec<_>>>()?;
    let conflict = on_conflict(&target, insert)?;
    Some((target.table, Action::Insert(Insert { rows, columns, conflict })))
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
        ast::OnConflictAction::DoUpdate(update) if is_key && update.selection.is_none() => {
            let width = target.definition().columns.len();
            let column = |name: &[&str]| match name {
                ["excluded", column] => Some(width + target.definition().column_index(column)?),
                name => target.column(name),
            };
            let set = |assignment: &ast::Assignment| {
                Some((target.assigned(assignment)?, Expression::of(&assignment.value, &column)?))
            };
            update.assignments.iter().map(set).collect::<Option<_>>().map(OnConflict::Update)
        }
        _ => None,
    }
}

fn update_row(db: &Database, update: &ast::Update) -> Option<(Table, Action)> {
    let is_plain = update.from.is_none()
        && update.returning.is_none()
        && update.output.is_none()
        && update.or.is_none()
        && update.order_by.is_empty()
        && update.limit.is_none();
    let target = is_plain.then(|| Target::of(db, &update.table)).flatten()?;
    let search = one_row(target.search(update.selection.as_ref()?)?)?;
    if !target.definition().checks.is_empty() {
        return None;
    }
    let sets: Vec<_> = update.assignments.iter().map(|set| target.set(set)).collect::<Option<_>>()?;
    if has_twice(sets.iter().map(|(column, _)| column)) {
        return None;
    }
    Some((target.table, Action::Update { search, sets }))
}

fn delete_row(db: &Database, delete: &ast::Delete) -> Option<(Table, Action)> {
    let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) = &delete.from;
    let is_plain = delete.tables.is_empty()
        && delete.using.is_none()
        && delete.returning.is_none()
        && delete.output.is_none()
        && delete.order_by.is_empty()
        && delete.limit.is_none();
    let [from] = &from[..] else { return None };
    let target = is_plain.then(|| Target::of(db, from)).flatten()?;
    let search = one_row(target.search(delete.selection.as_ref()?)?)?;
    Some((target.table, Action::Delete { search }))
}

/// A search that finds one row at most.
fn one_row(search: Search) -> Option<Search> {
    matches!(search.lookup, Lookup::Key(_) | Lookup::Unique(..)).then_some(search)
}
