//! MERGE with clauses that name no columns: all columns of the source, by their places or by their names.

use datafusion::sql::sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr, MergeAction, MergeInsertKind, ObjectName, SelectItem,
    TableFactor,
};

use super::target::{Parts, Target, column_of, quoted};
use crate::{
    Error, Result,
    connection::Work,
    names::ident,
    parse::{ALL_BY_NAME, ALL_BY_POSITION},
    planner::result_schema,
};

/// Writes out such clauses of a MERGE, whose source is called so.
pub(super) fn write_out(
    work: &Work<'_>,
    target: &Target,
    merge: &mut ast::Merge,
    name: &str,
    with: Option<&ast::With>,
) -> Result<()> {
    if !merge.clauses.iter().any(|clause| mark(&clause.action).is_some()) {
        return Ok(());
    }
    let columns = columns(work, &merge.source, with)?;
    for clause in &mut merge.clauses {
        let Some(is_by_name) = mark(&clause.action) else { continue };
        let pairs = pairs(target, &columns, is_by_name)?;
        let object = |column: &str| ObjectName::from(vec![quoted(column)]);
        match &mut clause.action {
            MergeAction::Update(update) => {
                let assignment = |(column, of): &(String, String)| Assignment {
                    target: AssignmentTarget::ColumnName(object(column)),
                    value: column_of(name, of),
                };
                update.assignments = pairs.iter().map(assignment).collect();
            }
            MergeAction::Insert(insert) => {
                insert.columns = pairs.iter().map(|(column, _)| object(column)).collect();
                if let MergeInsertKind::Values(values) = &mut insert.kind
                    && let Some(row) = values.rows.first_mut()
                {
                    row.content = pairs.iter().map(|(_, of)| column_of(name, of)).collect::<Vec<Expr>>();
                }
            }
            MergeAction::Delete { .. } => {}
        }
    }
    Ok(())
}

/// Whether a clause is a short form, by names.
fn mark(action: &MergeAction) -> Option<bool> {
    let name = match action {
        MergeAction::Update(update) => match &update.assignments.first()?.target {
            AssignmentTarget::ColumnName(name) => name,
            AssignmentTarget::Tuple(_) => return None,
        },
        MergeAction::Insert(insert) => insert.columns.first()?,
        MergeAction::Delete { .. } => return None,
    };
    match ident(name.0.first()?.as_ident()?).as_str() {
        ALL_BY_NAME => Some(true),
        ALL_BY_POSITION => Some(false),
        _ => None,
    }
}

/// The columns of the source, in their order.
fn columns(work: &Work<'_>, source: &TableFactor, with: Option<&ast::With>) -> Result<Vec<String>> {
    let all = Parts {
        with: with.cloned(),
        items: vec![SelectItem::Wildcard(Default::default())],
        from: vec![ast::TableWithJoins { relation: source.clone(), joins: Vec::new() }],
        ..Parts::default()
    };
    let plan = work.planner()?.plan_query(&all.query(), work.params)?;
    Ok(result_schema(&plan).fields().iter().map(|field| field.name().clone()).collect())
}

/// Columns of the table, each with that of the source whose values it gets.
fn pairs(target: &Target, columns: &[String], is_by_name: bool) -> Result<Vec<(String, String)>> {
    let own: Vec<_> =
        target.definition().columns.iter().filter(|column| column.generated().is_none()).collect();
    if is_by_name {
        let place = |name: &String| {
            let place = target.column_of(&ObjectName::from(vec![quoted(name)]))?;
            Ok((target.definition().columns[place].name.clone(), name.clone()))
        };
        return columns.iter().map(place).collect();
    }
    if own.len() != columns.len() {
        return Err(Error::invalid(format!(
            "the source of MERGE has {} columns where table \"{}\" has {}",
            columns.len(),
            target.alias,
            own.len()
        ))
        .with_hint("BY NAME takes the columns that the source has"));
    }
    Ok(own.iter().zip(columns).map(|(column, of)| (column.name.clone(), of.clone())).collect())
}
