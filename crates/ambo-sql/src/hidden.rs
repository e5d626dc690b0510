//! Columns that nobody has asked for: what indexes over expressions, and over a part of the rows, are over.
//!
//! Such an index is one over generated columns whose names begin with a character that is not seen. So entries are kept right for every
//! door as those of generated columns are, and whoever writes rows without SQL is refused. Of an index over the rows for which a condition
//! holds, the first column is `CASE WHEN condition THEN value END`: it is NULL for all others, and what is NULL is kept unique by nobody.
//!
//! They are in no `*`, and in no list of columns. A query uses them where it has the expression, and the condition.

use ambo::{Column, Index, TableDefinition};
use datafusion::sql::sqlparser::ast::Expr;

use crate::{Result, names::quoted, parse::parse_expression};

/// Begins the names of such columns.
pub(crate) const HIDDEN: char = '\u{2060}';

/// Ends the names of those that are NULL where a condition does not hold.
const PART: &str = " where";

/// The name of the nth such column of an index.
pub(crate) fn hidden_name(index: &str, nth: usize, is_part: bool) -> String {
    format!("{HIDDEN}{index} {nth}{}", if is_part { PART } else { "" })
}

/// Whether nobody has asked for a column.
pub(crate) fn is_hidden(column: &Column) -> bool {
    column.name.starts_with(HIDDEN) && column.generated().is_some()
}

/// The places of the columns that are seen.
pub(crate) fn seen(definition: &TableDefinition) -> impl Iterator<Item = usize> + '_ {
    definition.columns.iter().enumerate().filter(|(_, column)| !is_hidden(column)).map(|(place, _)| place)
}

/// What a hidden column is made of: the condition, if it is of a part of the rows, and the value.
pub(crate) fn parts(column: &Column) -> Result<Option<(Option<Expr>, Expr)>> {
    let Some(text) = column.generated().filter(|_| is_hidden(column)) else { return Ok(None) };
    let expr = parse_expression(text)?;
    match expr {
        Expr::Case { operand: None, mut conditions, else_result: None, .. }
            if column.name.ends_with(PART) && conditions.len() == 1 =>
        {
            let when = conditions.remove(0);
            Ok(Some((Some(bare(when.condition)), bare(when.result))))
        }
        expr => Ok(Some((None, bare(expr)))),
    }
}

fn bare(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(expr) => bare(*expr),
        expr => expr,
    }
}

/// What a statement says of the columns of an index, and the condition behind WHERE.
pub(crate) fn index_text(table: &TableDefinition, index: &Index) -> Result<(Vec<String>, Option<String>)> {
    let (mut columns, mut condition) = (Vec::new(), None);
    for place in index.columns() {
        let column = &table.columns[*place];
        columns.push(match parts(column)? {
            None => quoted(&column.name),
            Some((of, value)) => {
                condition = condition.or(of.map(|of| of.to_string()));
                match value {
                    Expr::Identifier(name) => name.to_string(),
                    value => format!("({value})"),
                }
            }
        });
    }
    Ok((columns, condition))
}
