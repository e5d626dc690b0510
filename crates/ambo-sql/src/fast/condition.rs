//! What is asked of a row besides its key.

use ambo::{Compare, Datum, Row, TableDefinition, Type};

use super::expression::Expression;

/// A question about a column.
pub(super) enum Condition {
    Compare(usize, Compare, Expression),
    IsNull(usize),
    IsNotNull(usize),
}

impl Condition {
    /// How a column compares with a value without columns; `None` if the planner might see that otherwise.
    pub(super) fn compare(
        definition: &TableDefinition,
        column: usize,
        compare: Compare,
        value: Expression,
    ) -> Option<Self> {
        let is_alike = !matches!(definition.columns[column].kind, Type::F32 | Type::F64);
        (is_alike && value.is_constant()).then_some(Self::Compare(column, compare, value))
    }

    /// Whether a row fits; NULL fits no comparison. `None`: the planner has to say.
    pub(super) fn holds(&self, definition: &TableDefinition, row: &Row, params: &[Datum]) -> Option<bool> {
        let (column, compare, value) = match self {
            Self::IsNull(column) => return Some(row[*column].is_null()),
            Self::IsNotNull(column) => return Some(!row[*column].is_null()),
            Self::Compare(column, compare, value) => (*column, *compare, value),
        };
        let value = value.value(&[], params)?;
        if value.is_null() {
            return Some(false);
        }
        let value = value.fit(definition.columns[column].kind).ok()?;
        if row[column].is_null() {
            return Some(false);
        }
        let order = row[column].as_ref().compare(value.as_ref());
        Some(match compare {
            Compare::Equal => order.is_eq(),
            Compare::NotEqual => order.is_ne(),
            Compare::Less => order.is_lt(),
            Compare::LessEqual => order.is_le(),
            Compare::Greater => order.is_gt(),
            Compare::GreaterEqual => order.is_ge(),
        })
    }
}
