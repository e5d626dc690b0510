//! SELECT … FOR UPDATE: rows of one table, each locked to the end of the transaction before it is returned.

use std::{ops::ControlFlow, sync::Arc};

use datafusion::sql::sqlparser::ast::{self, Expr, GroupByExpr, LockType, SelectItem, SetExpr, Visitor};

use super::{
    returning::Written,
    target::{Read, Target},
};
use crate::{
    Error, Result,
    connection::Work,
    hidden::is_hidden,
    names::written,
    planner::Planner,
    rights::Right,
    value,
    value::Values,
    walk::{Walk, each_expr},
};

/// How many queries of a statement ask for locks.
pub(super) fn locking_queries(statement: &impl Walk) -> usize {
    struct Locks(usize);
    impl Visitor for Locks {
        type Break = ();
        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            self.0 += usize::from(!query.locks.is_empty());
            ControlFlow::Continue(())
        }
    }
    let mut locks = Locks(0);
    let _ = statement.walk(&mut locks);
    locks.0
}

pub(super) fn apply(work: &mut Work<'_>, query: &ast::Query) -> Result<Written> {
    let mut query = query.clone();
    let locks = std::mem::take(&mut query.locks);
    let SetExpr::Select(select) = &mut *query.body else {
        return Err(refused("a query that is no plain SELECT"));
    };
    let [relation] = &select.from[..] else { return Err(refused("a join")) };
    if !relation.joins.is_empty() {
        return Err(refused("a join"));
    }
    let target = Target::of_relation(work, relation, &[Right::Select, Right::Update])?;
    for lock in &locks {
        if lock.lock_type == LockType::Share {
            return Err(
                refused("SHARE").with_hint("a serializable transaction sees to it that what it read stays")
            );
        }
        if let Some(nonblock) = &lock.nonblock {
            return Err(refused(&nonblock.to_string()));
        }
        if let Some(of) = &lock.of
            && written(of)? != target.alias
        {
            return Err(Error::not_found("table", &written(of)?, std::iter::once(target.alias.as_str())));
        }
    }
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(of, modifiers) => !of.is_empty() || !modifiers.is_empty(),
    };
    if is_grouped || select.having.is_some() {
        return Err(refused("groups"));
    }
    if select.distinct.is_some() {
        return Err(refused("DISTINCT"));
    }
    target.unqualify(&mut query);
    let SetExpr::Select(select) = &mut *query.body else { unreachable!("looked at above") };
    let mut items = Vec::new();
    for item in &select.projection {
        expand(&target, item, &mut items)?;
    }
    let own = items.len();
    let planner = target.planner(work)?;
    refuse_aggregates(&planner, &items)?;
    items.extend(target.items(Read::Key));
    select.projection = items;
    select.from = vec![target.relation()];
    let plan = planner.plan_query(&query, work.params)?;
    let (schema, batches) = planner.collect_named(&plan)?;
    drop(planner);
    let mut returned = Vec::new();
    for batch in &batches {
        let keys = batch.project(&(own..batch.num_columns()).collect::<Vec<_>>()).map_err(value::wrong)?;
        let keys = Values::stored(&keys);
        for row in 0..batch.num_rows() {
            work.interrupter.check()?;
            work.transaction.lock(&target.table, &target.stored_key(&keys, row, Read::Key)?)?;
        }
        returned.push(batch.project(&(0..own).collect::<Vec<_>>()).map_err(value::wrong)?);
    }
    let schema = Arc::new(schema.project(&(0..own).collect::<Vec<_>>()).map_err(value::wrong)?);
    Ok(Written { affected: 0, returned: Some((schema, returned)) })
}

fn refused(what: &str) -> Error {
    Error::invalid(format!("FOR UPDATE locks rows of one table; it cannot do that with {what}"))
}

/// A wildcard as columns: the table shows one more here.
fn expand(target: &Target, item: &SelectItem, items: &mut Vec<SelectItem>) -> Result<()> {
    let columns = || target.definition().columns.iter().filter(|column| !is_hidden(column));
    let all = || columns().map(|column| SelectItem::UnnamedExpr(target.expr(&column.name)));
    match item {
        SelectItem::Wildcard(options) if *options == Default::default() => items.extend(all()),
        SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), options)
            if *options == Default::default() && written(name)? == target.alias =>
        {
            items.extend(all());
        }
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => items.push(item.clone()),
        other => return Err(refused(&other.to_string())),
    }
    Ok(())
}

/// Functions of several rows are told by their names, and by OVER.
fn refuse_aggregates(planner: &Planner<'_>, items: &[SelectItem]) -> Result<()> {
    let found = each_expr(&items.to_vec(), |expr| match expr {
        Expr::Function(function)
            if function.over.is_some()
                || planner
                    .state()
                    .aggregate_functions()
                    .contains_key(&function.name.to_string().to_lowercase()) =>
        {
            ControlFlow::Break(function.name.to_string())
        }
        _ => ControlFlow::Continue(()),
    });
    match found {
        ControlFlow::Break(name) => Err(refused(&format!("the aggregate {name}"))),
        ControlFlow::Continue(()) => Ok(()),
    }
}
