//! POSITIONAL JOIN, which is read as a table that is called so, and a join without a condition: each row with each.

use datafusion::sql::sqlparser::ast::{
    Join, JoinConstraint, JoinOperator, TableAlias, TableFactor, TableWithJoins,
};

use crate::{Error, Result};

/// Refuses POSITIONAL JOIN.
///
/// # Errors
/// There is one, at its word.
pub(super) fn refuse_positional(from: &[TableWithJoins]) -> Result<()> {
    from.iter().try_for_each(|table| {
        let mut left = &table.relation;
        refuse_within(left)?;
        for join in &table.joins {
            if let Some(word) = alias(left).filter(|_| has_no_condition(join))
                && !word.explicit
                && word.name.quote_style.is_none()
                && word.name.value.eq_ignore_ascii_case("positional")
            {
                let start = word.name.span.start;
                return Err(Error::invalid("not supported: POSITIONAL JOIN")
                    .with_hint("number the rows of both sides, row_number() OVER (ORDER BY …), and join by the numbers")
                    .at_start(start.line, start.column));
            }
            left = &join.relation;
            refuse_within(left)?;
        }
        Ok(())
    })
}

fn refuse_within(factor: &TableFactor) -> Result<()> {
    match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => {
            refuse_positional(std::slice::from_ref(table_with_joins.as_ref()))
        }
        _ => Ok(()),
    }
}

fn alias(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    }
}

fn has_no_condition(join: &Join) -> bool {
    matches!(
        &join.join_operator,
        JoinOperator::Join(JoinConstraint::None) | JoinOperator::Inner(JoinConstraint::None)
    )
}
