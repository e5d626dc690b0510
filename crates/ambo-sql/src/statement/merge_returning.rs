//! RETURNING of MERGE: the rows as they are now, or as they were if they are deleted, what was done to each, and columns of the source.
//!
//! `merge_action`, also as a function, is `INSERT`, `UPDATE` or `DELETE`. `*` is the columns of the table.

use std::{ops::ControlFlow, sync::Arc};

use arrow::{
    array::{RecordBatch, StringArray},
    datatypes::{DataType, Field, Schema},
};
use datafusion::{
    common::DFSchema,
    sql::sqlparser::ast::{
        self, Expr, ObjectName, OutputClause, SelectItem, SelectItemQualifiedWildcardKind, VisitorMut,
    },
};

use super::{
    incoming::rows_of,
    returning::Returning,
    target::{Target, item, quoted},
    update::{beside, other_columns},
};
use crate::{Error, Result, names::ident, walk::WalkMut};

/// What the column with the actions is called.
const ACTION: &str = "\u{1}merge_action";
const NAME: &str = "merge_action";

/// The list behind RETURNING, as it is meant.
///
/// # Errors
/// OUTPUT, which other systems have.
pub(super) fn items(output: Option<OutputClause>, target: &Target) -> Result<Option<Vec<SelectItem>>> {
    let mut items = match output {
        None => return Ok(None),
        Some(OutputClause::Returning { select_items, .. }) => select_items,
        Some(OutputClause::Output { .. }) => {
            return Err(Error::invalid("not supported: OUTPUT").with_hint("MERGE … RETURNING"));
        }
    };
    for of in &mut items {
        match of {
            SelectItem::Wildcard(options) => {
                let table = ObjectName::from(quoted(&target.alias));
                let kind = SelectItemQualifiedWildcardKind::ObjectName(table);
                *of = SelectItem::QualifiedWildcard(kind, std::mem::take(options));
            }
            SelectItem::UnnamedExpr(expr) if is_action(expr) => {
                *of = item(Expr::Identifier(quoted(ACTION)), NAME);
            }
            _ => {}
        }
    }
    let _ = items.walk_mut(&mut Actions);
    Ok(Some(items))
}

/// What is read of the source for it.
pub(super) fn of_source(source: &str) -> SelectItem {
    let table = ObjectName::from(quoted(source));
    SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), Default::default())
}

/// Rows to be returned: those of the table, the action, and what the query has of the source from a place on.
pub(super) fn returning<'s>(
    items: Option<&'s [SelectItem]>,
    target: &Target,
    schema: &DFSchema,
    from: usize,
) -> Returning<'s> {
    let action = (None, Field::new(ACTION, DataType::Utf8, false));
    let others = std::iter::once(action).chain(other_columns(schema, from));
    Returning::new(items, &target.alias, target.definition(), others)
}

/// Rows of the table with what was done to them, and columns of the source.
pub(super) fn with_action(
    rows: &RecordBatch,
    action: &str,
    batch: &RecordBatch,
    from: usize,
) -> Result<RecordBatch> {
    let count = rows.num_rows();
    let actions = StringArray::from_iter_values(std::iter::repeat_n(action, count));
    let field = Field::new(ACTION, DataType::Utf8, false);
    let actions = rows_of(Arc::new(Schema::new(vec![field])), vec![Arc::new(actions)], count)?;
    beside(&beside(rows, &actions, 0)?, batch, from)
}

fn is_action(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(name) => name.quote_style.is_none() && ident(name) == NAME,
        Expr::Function(function) => {
            matches!(&function.name.0[..], [only] if only.as_ident().is_some_and(|name| ident(name) == NAME))
                && matches!(&function.args, ast::FunctionArguments::List(list) if list.args.is_empty())
        }
        _ => false,
    }
}

struct Actions;

impl VisitorMut for Actions {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if is_action(expr) {
            *expr = Expr::Identifier(quoted(ACTION));
        }
        ControlFlow::Continue(())
    }
}
