//! What GROUP BY, ORDER BY and LIMIT say, as the planner knows it.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Expr, GroupByExpr, LimitClause, OrderByKind, Select, SelectItem, SetExpr, Statement, Visitor,
};

use super::{ask::Ask, trees};
use crate::{parse::each_select, walk::Walk};

/// Whether there is a GROUP BY in a statement.
pub(super) fn has_groups(statement: &Statement) -> bool {
    struct Groups;
    impl Visitor for Groups {
        type Break = ();
        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            match &select.group_by {
                GroupByExpr::Expressions(groups, _) if groups.is_empty() => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        }
    }
    statement.walk(&mut Groups).is_break()
}

/// `GROUP BY a, b WITH ROLLUP` is `GROUP BY ROLLUP (a, b)`, and WITH CUBE likewise.
pub(super) fn say_rollups(body: &mut SetExpr) {
    each_select(body, &mut |select| {
        let ast::GroupByExpr::Expressions(by, modifiers) = &mut select.group_by else { return };
        let sets = |by: &mut Vec<Expr>| by.drain(..).map(|one| vec![one]).collect();
        let all = match modifiers[..] {
            [ast::GroupByWithModifier::Rollup] => Expr::Rollup(sets(by)),
            [ast::GroupByWithModifier::Cube] => Expr::Cube(sets(by)),
            _ => return,
        };
        by.push(all);
        modifiers.clear();
    });
}

/// `GROUP BY (a, b), ()` is GROUP BY a, b. `GROUP BY ROLLUP (1)` is by the first column of the list.
pub(super) fn say_groups(select: &mut Select) {
    let GroupByExpr::Expressions(by, _) = &mut select.group_by else { return };
    for sets in by.iter_mut() {
        if let Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) = sets {
            for group in sets.iter_mut().flatten() {
                if let Some(column) = numbered(group, &select.projection) {
                    *group = column;
                }
            }
        }
        say_repeated(sets);
    }
    let is_tuple = |expr: &Expr| matches!(expr, Expr::Tuple(_));
    if !by.iter().any(is_tuple) {
        return;
    }
    if by.iter().all(|expr| matches!(expr, Expr::Tuple(of) if of.is_empty())) {
        by.clear();
        // All rows are one group, also where no aggregate says so.
        let all = trees::expr("count(*) >= 0");
        select.having = trees::all_of(select.having.take().into_iter().chain([all]));
        return;
    }
    let each = |expr: Expr| match expr {
        Expr::Tuple(of) => of,
        expr => vec![expr],
    };
    *by = by.drain(..).flat_map(each).collect();
}

/// `ROLLUP (a, a)` is `GROUPING SETS ((a), (a), ())`: a set has each group once.
fn say_repeated(sets: &mut Expr) {
    let (Expr::Rollup(of) | Expr::Cube(of) | Expr::GroupingSets(of)) = &*sets else { return };
    let groups: Vec<&Expr> = of.iter().flatten().collect();
    let is_repeated = |nth: usize| groups[..nth].contains(&groups[nth]);
    // Sets that are written out may have a group each.
    let in_a_set = |set: &Vec<Expr>| (1..set.len()).any(|nth| set[..nth].contains(&set[nth]));
    let is_meant = match &*sets {
        Expr::GroupingSets(of) => of.iter().any(in_a_set),
        _ => (1..groups.len()).any(is_repeated) && of.len() <= CUBE_MAX,
    };
    if !is_meant {
        return;
    }
    let mut all: Vec<Vec<Expr>> = match sets {
        Expr::Rollup(of) => (0..=of.len()).rev().map(|count| of[..count].concat()).collect(),
        Expr::Cube(of) => {
            let chosen = |bits: u32| {
                let is_in = |nth: usize| bits & (1 << (of.len() - 1 - nth)) != 0;
                (0..of.len()).filter(|nth| is_in(*nth)).flat_map(|nth| of[nth].clone()).collect()
            };
            (0..1u32 << of.len()).rev().map(chosen).collect()
        }
        Expr::GroupingSets(of) => std::mem::take(of),
        _ => return,
    };
    for set in &mut all {
        let mut once: Vec<Expr> = Vec::with_capacity(set.len());
        for group in set.drain(..) {
            if !once.contains(&group) {
                once.push(group);
            }
        }
        *set = once;
    }
    *sets = Expr::GroupingSets(all);
}

/// A CUBE of more has more sets than anybody means.
const CUBE_MAX: usize = 12;

/// The column of a list that a number in GROUP BY stands for.
fn numbered(group: &Expr, list: &[SelectItem]) -> Option<Expr> {
    let Expr::Value(ast::ValueWithSpan { value: ast::Value::Number(number, _), .. }) = group else {
        return None;
    };
    let nth = number.parse::<usize>().ok()?.checked_sub(1)?;
    let is_one =
        |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
    match list.get(nth)? {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }
            if list[..nth].iter().all(is_one) =>
        {
            Some(expr.clone())
        }
        _ => None,
    }
}

/// `FETCH FIRST n ROWS ONLY` is LIMIT n.
pub(super) fn say_limit(query: &mut ast::Query) {
    let Some(ast::Fetch { with_ties: false, percent: false, quantity }) = &query.fetch else { return };
    let rows = quantity.clone().unwrap_or_else(|| Expr::value(ast::Value::Number("1".to_owned(), false)));
    match &mut query.limit_clause {
        clause @ None => {
            *clause =
                Some(LimitClause::LimitOffset { limit: Some(rows), offset: None, limit_by: Vec::new() });
        }
        Some(LimitClause::LimitOffset { limit: limit @ None, .. }) => *limit = Some(rows),
        Some(_) => return,
    }
    query.fetch = None;
}

/// `ORDER BY ALL` is by all columns of the result, from the first to the last, if the list of the SELECT says how many.
pub(super) fn order_by_all(query: &mut ast::Query) {
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(by) = &order_by.kind else { return };
    let [ast::OrderByExpr { expr: Expr::Identifier(name), options, with_fill: None }] = &by[..] else {
        return;
    };
    if name.quote_style.is_some() || !name.value.eq_ignore_ascii_case("all") {
        return;
    }
    order_by.kind = OrderByKind::All(*options);
}

/// The same when all is written as it is meant: then the planner knows how many columns there are.
pub(super) fn order_by_all_columns(query: &mut ast::Query, with: Option<&ast::With>, ask: &Ask<'_>) {
    let Some(ast::OrderBy { kind: OrderByKind::All(options), .. }) = &query.order_by else { return };
    let options = *options;
    let is_wildcard =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let mut columns = None;
    if let SetExpr::Select(select) = query.body.as_ref()
        && !select.projection.iter().any(is_wildcard)
    {
        columns = Some(select.projection.len());
    }
    if columns.is_none() {
        let alone = ast::Query {
            with: with.cloned(),
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks: Vec::new(),
            ..query.clone()
        };
        columns = ask.schema(alone).ok().map(|schema| schema.fields().len());
    }
    let (Some(columns), Some(order_by)) = (columns, &mut query.order_by) else { return };
    let number = |nth: usize| Expr::value(ast::Value::Number(nth.to_string(), false));
    let by = |nth| ast::OrderByExpr { expr: number(nth), options, with_fill: None };
    order_by.kind = OrderByKind::Expressions((1..=columns).map(by).collect());
}

/// The planner finds an expression of SELECT DISTINCT in ORDER BY only by its name.
pub(super) fn order_by_columns(query: &mut ast::Query) {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &mut query.order_by) else {
        return;
    };
    let OrderByKind::Expressions(by) = &mut order_by.kind else { return };
    if select.distinct.is_none() {
        return;
    }
    for order in by.iter_mut().filter(|order| !matches!(order.expr, Expr::Identifier(_) | Expr::Value(_))) {
        let name = select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if *expr == order.expr => Some(alias),
            _ => None,
        });
        if let Some(name) = name {
            order.expr = Expr::Identifier(name.clone());
        }
    }
}

/// `ORDER BY #2` is by the second column of the result.
pub(super) fn say_places(query: &mut ast::Query) {
    let Some(ast::OrderBy { kind: OrderByKind::Expressions(by), .. }) = &mut query.order_by else { return };
    for ast::OrderByExpr { expr, .. } in by {
        if let Expr::Identifier(name) = expr
            && name.quote_style.is_none()
            && let Some(place) = name.value.strip_prefix('#').and_then(|place| place.parse::<u32>().ok())
        {
            *expr = Expr::value(ast::Value::Number(place.to_string(), false));
        }
    }
}
