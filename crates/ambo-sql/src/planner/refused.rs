//! What the parser reads and Ambo cannot do. The planner would read over it, and so return other rows than are asked for, or refuse it with
//! the parser's tree. Trees are taken apart completely: a part that the parser learns to read does not compile until it is thought of.

use datafusion::sql::sqlparser::{
    ast::{
        self, BinaryOperator, CeilFloorKind, Expr, Fetch, FunctionArguments, Join, JoinOperator, OrderByKind,
        Select, SelectItem, SetExpr, Spanned, TableFactor, UnaryOperator, Value,
    },
    tokenizer::Span,
};

use super::{given_orders::is_column, rewrite::IsScalar, row_value::overlaps};
use crate::{Error, Result, names};

/// Returns an error that something is not supported; `hint` says what to write instead, if anything.
fn refuse<T>(what: &str, hint: &str, span: Span) -> Result<T> {
    let error = Error::invalid(format!("not supported: {what}"));
    let error = if hint.is_empty() { error } else { error.with_hint(hint) };
    Err(placed(error, span))
}

fn placed(error: Error, span: Span) -> Error {
    error.at_start(span.start.line, span.start.column)
}

/// Refuses parts of a query that would be read over. Queries inside of it are looked at by themselves.
pub(super) fn query(query: &ast::Query) -> Result<()> {
    let ast::Query {
        with: _,
        body,
        order_by,
        limit_clause: _,
        fetch,
        // FOR UPDATE stands in statements of its own, and is refused elsewhere.
        locks: _,
        for_clause,
        settings,
        format_clause,
        pipe_operators: _,
    } = query;
    let span = query.span();
    if let Some(clause) = for_clause {
        return refuse(&clause.to_string(), "FOR UPDATE locks the rows that a SELECT returns", span);
    }
    if settings.is_some() {
        return refuse("SETTINGS in a query", "SET name = value stands before it, as a statement", span);
    }
    if format_clause.is_some() {
        return refuse("FORMAT in a query", "COPY (SELECT …) TO 'file.csv' writes files", span);
    }
    if matches!(fetch, Some(Fetch { percent: true, .. })) {
        let hint = "number the rows: QUALIFY percent_rank() OVER (ORDER BY …) < 0.1";
        return refuse("FETCH … PERCENT", hint, span);
    }
    if let Some(order_by) = order_by {
        let is_filled = matches!(&order_by.kind, OrderByKind::Expressions(by) if by.iter().any(|by| by.with_fill.is_some()));
        if is_filled || order_by.interpolate.is_some() {
            let hint = "join with the numbers or days that must be there: generate_series(first, last, step)";
            return refuse("ORDER BY … WITH FILL", hint, order_by.span());
        }
        if let OrderByKind::Expressions(by) = &order_by.kind {
            by.iter().try_for_each(|by| constant_order(&by.expr))?;
            if let SetExpr::Select(select) = &**body {
                by.iter().try_for_each(|by| two_meanings(&by.expr, &select.projection))?;
            }
        }
    }
    set_expr(body)
}

/// Refuses an order by a name that AS gives to two expressions.
fn two_meanings<'i>(by: &Expr, items: &'i [SelectItem]) -> Result<()> {
    let Expr::Identifier(name) = by else { return Ok(()) };
    let wanted = names::ident(name);
    let meant = |item: &'i SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } if names::ident(alias) == wanted => {
            Some(expr).filter(|expr| !is_column(expr, &wanted))
        }
        _ => None,
    };
    let mut meanings = items.iter().filter_map(meant);
    let Some(first) = meanings.next() else { return Ok(()) };
    match meanings.any(|other| other != first) {
        false => Ok(()),
        true => {
            let error = Error::invalid(format!("ORDER BY {by}: two columns of the result are called so"));
            Err(placed(error.with_hint("give them different names, or write the number of one"), by.span()))
        }
    }
}

/// Refuses an order by a text or a number below 1, which would order nothing.
fn constant_order(by: &Expr) -> Result<()> {
    let is_number = |expr: &Expr| matches!(expr, Expr::Value(of) if matches!(of.value, Value::Number(..)));
    let hint = match by {
        Expr::Value(of) if matches!(of.value, Value::SingleQuotedString(_)) => {
            "the name of a column stands without quotes, or in double ones"
        }
        Expr::Value(of) if matches!(of.value, Value::Boolean(_) | Value::Null) => {
            "it is the same in all rows; without ORDER BY rows come in any order"
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } if is_number(expr) => {
            "the columns of a result have the numbers from 1 on; DESC turns an order around"
        }
        _ => return Ok(()),
    };
    refuse(&format!("ORDER BY {by}, which is no column"), hint, by.span())
}

fn set_expr(body: &SetExpr) -> Result<()> {
    match body {
        SetExpr::Select(of) => select(of),
        SetExpr::SetOperation { op: ast::SetOperator::Minus, .. } => {
            refuse("MINUS", "it is called EXCEPT", body.span())
        }
        SetExpr::SetOperation { left, right, .. } => set_expr(left).and_then(|()| set_expr(right)),
        SetExpr::Insert(ast::Statement::Insert(of)) => writes("INSERT", of.insert_token.0.span),
        SetExpr::Update(ast::Statement::Update(of)) => writes("UPDATE", of.update_token.0.span),
        SetExpr::Delete(ast::Statement::Delete(of)) => writes("DELETE", of.delete_token.0.span),
        SetExpr::Merge(ast::Statement::Merge(of)) => writes("MERGE", of.merge_token.0.span),
        _ => Ok(()),
    }
}

/// Refuses a query that writes.
fn writes(word: &str, span: Span) -> Result<()> {
    let error = Error::invalid(format!("{word} stands within another statement")).with_hint(format!(
        "run the {word} first, in one transaction with the rest: BEGIN; {word} … RETURNING …; SELECT …; COMMIT"
    ));
    Err(placed(error, span))
}

fn select(select: &Select) -> Result<()> {
    let Select {
        select_token,
        // Comments.
        optimizer_hints: _,
        distinct: _,
        select_modifiers,
        top,
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window: _,
        qualify: _,
        window_before_qualify: _,
        value_table_mode,
        flavor: _,
    } = select;
    let modifiers = match group_by {
        ast::GroupByExpr::All(modifiers) | ast::GroupByExpr::Expressions(_, modifiers) => modifiers,
    };
    let by = |list: &[Expr]| list.first().map(Spanned::span);
    let at = select_token.0.span;
    let found = [
        (select_modifiers.is_some(), "words of MySQL before the columns", "leave them away", at),
        (top.is_some(), "TOP", "LIMIT stands at the end of the query", at),
        (
            exclude.is_some(),
            "EXCLUDE behind all columns",
            "it stands behind the star: SELECT * EXCLUDE (a)",
            at,
        ),
        (into.is_some(), "SELECT … INTO", "CREATE TABLE name AS SELECT …", at),
        (!lateral_views.is_empty(), "LATERAL VIEW", "unnest(list) makes rows of a list", at),
        (prewhere.is_some(), "PREWHERE", "it is called WHERE", prewhere.as_ref().map_or(at, Spanned::span)),
        (!connect_by.is_empty(), "CONNECT BY", "WITH RECURSIVE follows links", at),
        (
            !modifiers.is_empty(),
            "words behind GROUP BY …",
            "GROUPING SETS, ROLLUP (…) and CUBE (…) stand in it",
            at,
        ),
        (!cluster_by.is_empty(), "CLUSTER BY", "ORDER BY sorts the result", by(cluster_by).unwrap_or(at)),
        (!distribute_by.is_empty(), "DISTRIBUTE BY", "leave it away", by(distribute_by).unwrap_or(at)),
        (!sort_by.is_empty(), "SORT BY", "ORDER BY sorts the result", at),
        (value_table_mode.is_some(), "SELECT AS STRUCT or VALUE", "", at),
    ];
    if let Some((_, what, hint, span)) = found.into_iter().find(|(is_there, ..)| *is_there) {
        return refuse(what, hint, span);
    }
    for item in projection {
        if let SelectItem::ExprWithAliases { expr, .. } = item {
            return refuse("several names for one column", "give it one: expression AS name", expr.span());
        }
    }
    from.iter().flat_map(|tables| &tables.joins).try_for_each(join)
}

fn join(join: &Join) -> Result<()> {
    let span = join.relation.span();
    match join.join_operator {
        JoinOperator::AsOf { .. } => refuse("ASOF JOIN", "", span),
        JoinOperator::CrossApply => refuse("CROSS APPLY", "CROSS JOIN LATERAL (SELECT …)", span),
        JoinOperator::OuterApply => refuse("OUTER APPLY", "LEFT JOIN LATERAL (SELECT …) ON true", span),
        JoinOperator::StraightJoin(_) => refuse("STRAIGHT_JOIN", "it is called JOIN", span),
        JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => {
            refuse("ARRAY JOIN", "unnest(list) makes rows of a list", span)
        }
        _ => Ok(()),
    }
}

/// Refuses what would be read over in FROM, and so return all rows.
pub(super) fn table_factor(factor: &TableFactor) -> Result<()> {
    let (what, hint) = match factor {
        TableFactor::Table { sample: Some(_), .. } | TableFactor::Derived { sample: Some(_), .. } => {
            ("TABLESAMPLE in FROM", "choose rows by chance: WHERE random() < 0.1")
        }
        TableFactor::Table { version: Some(_), .. } => {
            ("a version of a table in FROM", "a transaction sees its tables at one moment: BEGIN READ ONLY")
        }
        TableFactor::Table { partitions, .. } if !partitions.is_empty() => {
            ("PARTITION in FROM", "choose rows with WHERE")
        }
        TableFactor::Table { with_ordinality: true, .. }
        | TableFactor::UNNEST { with_ordinality: true, .. } => ("WITH ORDINALITY", ""),
        TableFactor::UNNEST { with_offset: true, .. } => ("WITH OFFSET behind UNNEST", ""),
        TableFactor::Table { json_path: Some(_), .. } => ("a path behind a table in FROM", ""),
        TableFactor::Pivot { .. } => ("PIVOT", "write a column each: sum(x) FILTER (WHERE k = 'a') AS a"),
        TableFactor::Unpivot { .. } => ("UNPIVOT", "write a query each, and UNION ALL between them"),
        TableFactor::MatchRecognize { .. } => {
            ("MATCH_RECOGNIZE", "windows see the rows around: lag() OVER (…)")
        }
        TableFactor::JsonTable { .. } | TableFactor::OpenJsonTable { .. } => ("JSON_TABLE", ""),
        TableFactor::XmlTable { .. } => ("XMLTABLE", ""),
        TableFactor::SemanticView { .. } => ("SEMANTIC_VIEW", ""),
        _ => return Ok(()),
    };
    refuse(what, hint, factor.span())
}

/// Refuses operators and forms of expressions, and what stands with a function that is for others.
pub(super) fn expr(expr: &Expr, is_scalar: &IsScalar<'_>) -> Result<()> {
    let (what, hint) = match expr {
        Expr::Function(of) => return function(of, is_scalar, expr.span()),
        Expr::BinaryOp { left, op: BinaryOperator::Overlaps, right } => match overlaps(left, right) {
            Some(_) => return Ok(()),
            None => ("OVERLAPS of other values than spans of time", "(begin, end) OVERLAPS (begin, end)"),
        },
        Expr::BinaryOp { op, .. } => match operator(op) {
            Some(refused) => refused,
            None => return Ok(()),
        },
        Expr::Ceil { field: CeilFloorKind::DateTimeField(field), .. }
        | Expr::Floor { field: CeilFloorKind::DateTimeField(field), .. }
            if *field != ast::DateTimeField::NoDateTime =>
        {
            ("CEIL or FLOOR to a part of a time", "date_trunc('day', x) cuts times")
        }
        Expr::IsNormalized { .. } => ("IS NORMALIZED", ""),
        Expr::Convert { .. } => ("CONVERT", "CAST(x AS type)"),
        Expr::Cast { format: Some(_), .. } => {
            ("CAST … FORMAT", "to_date(x, format), to_timestamp(x, format), to_char(x, format)")
        }
        Expr::MatchAgainst { .. } => ("MATCH … AGAINST", "x LIKE '%word%'"),
        Expr::OuterJoin(_) => ("(+)", "LEFT JOIN … ON …"),
        Expr::Prior(_) => ("PRIOR", "WITH RECURSIVE follows links"),
        Expr::MemberOf(_) => ("MEMBER OF", "array_has(list, x)"),
        Expr::JsonAccess { .. } => ("a path behind a value", ""),
        _ => return Ok(()),
    };
    refuse(what, hint, expr.span())
}

fn operator(op: &BinaryOperator) -> Option<(&'static str, &'static str)> {
    use BinaryOperator as Op;
    Some(match op {
        Op::AtAt | Op::HashMinus | Op::AtQuestion | Op::Question | Op::QuestionAnd | Op::QuestionPipe => {
            ("operators of JSON and of full text", "")
        }
        _ => return None,
    })
}

/// Refuses DISTINCT, ORDER BY, FILTER, WITHIN GROUP and OVER beside functions that return a value for each row.
fn function(function: &ast::Function, is_scalar: &IsScalar<'_>, span: Span) -> Result<()> {
    let ast::Function {
        name,
        uses_odbc_syntax: _,
        parameters,
        args,
        filter,
        null_treatment,
        over,
        within_group,
    } = function;
    if !matches!(parameters, FunctionArguments::None) {
        return refuse("two lists of arguments", "", span);
    }
    let (mut is_distinct, mut is_ordered) = (false, !within_group.is_empty());
    if let FunctionArguments::List(list) = args {
        is_distinct = list.duplicate_treatment.is_some();
        let is_all =
            |arg: &ast::FunctionArg| matches!(arg, ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard));
        if list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct) && list.args.iter().any(is_all)
        {
            let hint = "SELECT count(*) FROM (SELECT DISTINCT * FROM t) AS s counts rows that are different";
            return refuse("DISTINCT *", hint, span);
        }
        is_ordered |=
            list.clauses.iter().any(|clause| matches!(clause, ast::FunctionArgumentClause::OrderBy(_)));
    }
    let found = [
        (is_distinct, "DISTINCT"),
        (is_ordered, "ORDER BY"),
        (filter.is_some(), "FILTER"),
        (null_treatment.is_some(), "IGNORE NULLS or RESPECT NULLS"),
        (over.is_some(), "OVER"),
    ];
    let Some((_, word)) = found.into_iter().find(|(is_there, _)| *is_there) else { return Ok(()) };
    let name = name.to_string().to_lowercase();
    if !is_scalar(&name) {
        return Ok(());
    }
    let error = Error::invalid(format!(
        "{word} stands with aggregates and window functions, and {name}() is a function of one row"
    ));
    Err(placed(error, span))
}
