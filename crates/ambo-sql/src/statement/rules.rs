//! The rules of a table that the engine keeps as text and SQL holds rows to: defaults and checks.

use std::sync::{Arc, OnceLock};

use ambo::{Datum, TableDefinition, arrow::column_type};
use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch},
    datatypes::{DataType, Schema, SchemaRef},
};
use datafusion::logical_expr::Volatility;

use super::expression::{Computed, row_schema};
use crate::{
    Error, ErrorKind, Result,
    connection::Work,
    foreign_keys::is_kept_text,
    names::shown,
    parse::parse_expression,
    planner::Planner,
    times::Zone,
    value::{self, Values},
};

/// The rules of a table for one statement: `now()` is the same in all its rows, `random()` is not.
///
/// A column that a statement does not name gets, in this order: its default expression, its default value, NULL. A check forbids rows of
/// which it is false; where it is NULL it allows them (SQL:2016 part 2, 4.23.3.4).
pub(crate) struct Rules {
    table: String,
    zone: Zone,
    schema: SchemaRef,
    defaults: Vec<Default>,
    /// What generated columns are computed of, by their places.
    generated: Vec<(usize, Computed)>,
    checks: Vec<RowCheck>,
}

struct Default {
    ty: DataType,
    fill: Fill,
}

enum Fill {
    Value(Datum),
    /// The same for all rows of the statement; computed when first it is needed.
    Once(Computed, OnceLock<Datum>),
    Each(Computed),
}

struct RowCheck {
    name: String,
    text: String,
    condition: Computed,
}

impl Rules {
    /// The rules of a table that a statement writes to.
    ///
    /// # Errors
    /// As [`Rules::new`].
    pub(super) fn of(work: &Work<'_>, definition: &TableDefinition) -> Result<Arc<Self>> {
        let is_text = |column: &ambo::Column| column.default_expression.is_some();
        let rules = match definition.checks.is_empty() && !definition.columns.iter().any(is_text) {
            true => Self::of_values(definition, work.session.zone),
            false => Self::new(&work.own_planner()?, definition)?,
        };
        Ok(Arc::new(rules))
    }

    /// The rules of a table without expressions.
    fn of_values(definition: &TableDefinition, zone: Zone) -> Self {
        let default = |column: &ambo::Column| {
            let value = column.default.clone().unwrap_or(Datum::Null);
            Default { ty: column_type(column), fill: Fill::Value(value) }
        };
        Self {
            table: definition.name.clone(),
            zone,
            schema: row_schema(definition),
            defaults: definition.columns.iter().map(default).collect(),
            generated: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// The rules of a table.
    ///
    /// # Errors
    /// An expression that cannot be computed: a function that it calls is gone.
    pub(crate) fn new(planner: &Planner<'_>, definition: &TableDefinition) -> Result<Self> {
        let schema = row_schema(definition);
        let nothing: SchemaRef = Schema::empty().into();
        let default = |column: &ambo::Column| -> Result<Default> {
            let fill = match &column.default_expression {
                // Computed when the row is there.
                Some(_) if column.generated().is_some() => Fill::Value(Datum::Null),
                None => Fill::Value(column.default.clone().unwrap_or(Datum::Null)),
                Some(text) => {
                    let computed = Computed::new(planner, parse_expression(text)?, &nothing, "default")
                        .map_err(|error| {
                            in_rule(&error, &format!("the default of column \"{}\"", column.name))
                        })?;
                    match computed.volatility {
                        Volatility::Volatile => Fill::Each(computed),
                        _ => Fill::Once(computed, OnceLock::new()),
                    }
                }
            };
            Ok(Default { ty: column_type(column), fill })
        };
        let check = |check: &ambo::Check| -> Result<RowCheck> {
            let condition = condition(planner, parse_expression(&check.expression)?, &schema)
                .map_err(|error| in_rule(&error, &format!("check \"{}\"", check.name)))?;
            Ok(RowCheck { name: check.name.clone(), text: check.expression.clone(), condition })
        };
        let generated = |(place, column): (usize, &ambo::Column)| {
            let text = column.generated()?;
            let computed = parse_expression(text)
                .and_then(|expr| Computed::new(planner, expr, &schema, "generated column"))
                .map_err(|error| in_rule(&error, &format!("generated column \"{}\"", column.name)));
            Some(computed.map(|computed| (place, computed)))
        };
        let columns = definition.columns.iter().enumerate();
        Ok(Self {
            generated: columns.filter_map(generated).collect::<Result<_>>()?,
            table: definition.name.clone(),
            zone: planner.zone(),
            defaults: definition.columns.iter().map(default).collect::<Result<_>>()?,
            checks: definition
                .checks
                .iter()
                .filter(|check| !is_kept_text(&check.expression))
                .map(check)
                .collect::<Result<_>>()?,
            schema,
        })
    }

    /// The time zone of the session that writes.
    pub(crate) fn zone(&self) -> Zone {
        self.zone
    }

    /// The table as messages call it.
    pub(crate) fn table(&self) -> &str {
        shown(&self.table)
    }

    /// The columns of whole rows, all of which may be NULL.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// What a column (its place in the table) has in so many rows that do not say, in the type that it has in statements.
    ///
    /// # Errors
    /// What goes wrong when its expression is computed.
    pub(crate) fn default(&self, column: usize, rows: usize) -> Result<ArrayRef> {
        let Default { ty, fill } = &self.defaults[column];
        let repeat = |value: &Datum| value::array(ty, std::iter::repeat_n(value, rows));
        match fill {
            Fill::Value(value) => repeat(value),
            Fill::Each(computed) => computed.fill(rows, ty),
            Fill::Once(computed, known) => {
                if known.get().is_none() {
                    let _ = known.set(computed.value(ty)?);
                }
                repeat(known.get().unwrap_or(&Datum::Null))
            }
        }
    }

    /// The values of generated columns, by their places, for rows with all columns of the table in their order.
    ///
    /// # Errors
    /// What goes wrong when an expression is computed.
    pub(crate) fn generated(&self, rows: &RecordBatch) -> Result<Vec<(usize, ArrayRef)>> {
        self.generated.iter().map(|(place, computed)| Ok((*place, computed.values(rows)?))).collect()
    }

    /// Holds rows, with all columns of the table in their order, to its checks.
    ///
    /// # Errors
    /// [`ErrorKind::Constraint`] with the check and the first row that it forbids.
    pub(crate) fn check(&self, rows: &RecordBatch) -> Result<()> {
        for check in &self.checks {
            if let Some(row) = check.condition.first_false(rows)? {
                return Err(Error::new(
                    ErrorKind::Constraint,
                    format!(
                        "check \"{}\" of table \"{}\" forbids the row {}: {}",
                        check.name,
                        self.table(),
                        show(rows, row)?,
                        check.text
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// A row in a few words.
pub(super) fn show(rows: &RecordBatch, row: usize) -> Result<String> {
    const COLUMNS_MAX: usize = 8;
    const TEXT_MAX: usize = 40;
    let values = Values::new(rows);
    let schema = rows.schema();
    let mut shown = Vec::new();
    for (place, field) in schema.fields().iter().enumerate().take(COLUMNS_MAX) {
        let mut text = values.get(row, place)?.to_string();
        if text.chars().count() > TEXT_MAX {
            text = text.chars().take(TEXT_MAX).chain(['…']).collect();
        }
        shown.push(format!("{} = {text}", field.name()));
    }
    if schema.fields().len() > COLUMNS_MAX {
        shown.push("…".to_owned());
    }
    Ok(format!("({})", shown.join(", ")))
}

impl Computed {
    /// The first row for which it, a condition, is false.
    pub(super) fn first_false(&self, rows: &RecordBatch) -> Result<Option<usize>> {
        let values = self.values(rows)?;
        let Some(values) = values.as_boolean_opt() else { return Ok(None) };
        Ok((0..values.len()).find(|row| values.is_valid(*row) && !values.value(*row)))
    }
}

/// A condition over rows of a table.
///
/// # Errors
/// As [`Computed::new`]; an expression that is no condition.
pub(super) fn condition(
    planner: &Planner<'_>,
    expr: datafusion::sql::sqlparser::ast::Expr,
    schema: &SchemaRef,
) -> Result<Computed> {
    let condition = Computed::new(planner, expr, schema, "check")?;
    match condition.ty() {
        DataType::Boolean | DataType::Null => Ok(condition),
        other => Err(Error::invalid(format!("a check is true or false; this one is of type {other}"))),
    }
}

/// What is wrong with a rule, which is not in the statement: so there is no place.
fn in_rule(error: &Error, rule: &str) -> Error {
    Error::new(error.kind(), format!("{rule}: {}", error.message()))
}
