//! Which collation an expression has: by COLLATE, by its columns, or none.

use ambo::arrow::collation_of;
use arrow::datatypes::Field;
use datafusion::{
    common::{DFSchema, Result, plan_err},
    logical_expr::{BinaryExpr, Cast, Expr, Operator, TryCast},
    scalar::ScalarValue,
};

use super::{COLLATE, Collation, compare::is_text};
use crate::error::outer;

/// What is known of the collation of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Derived {
    /// Nothing says one.
    None,
    /// A column does.
    Column(Collation),
    /// Columns do, and each another.
    Unclear(Collation, Collation),
    /// COLLATE does.
    Said(Collation),
}

impl Derived {
    /// That of two expressions together.
    ///
    /// # Errors
    /// Two COLLATE that say different things.
    pub(super) fn and(self, other: Self) -> Result<Self> {
        Ok(match (self, other) {
            (Self::None, of) | (of, Self::None) => of,
            (Self::Said(one), Self::Said(other)) if one != other => return two(&one, &other),
            (Self::Said(of), _) | (_, Self::Said(of)) => Self::Said(of),
            (Self::Column(one), Self::Column(other)) if one != other => Self::Unclear(one, other),
            (of @ Self::Unclear(..), _) | (_, of) => of,
        })
    }

    /// By what a comparison compares; `None` for code points.
    ///
    /// # Errors
    /// Columns say different things.
    pub(super) fn of_comparison(self) -> Result<Option<Collation>> {
        match self {
            Self::None => Ok(None),
            Self::Unclear(one, other) => two(&one, &other),
            Self::Column(of) | Self::Said(of) => Ok(Some(of).filter(|of| !of.is_binary())),
        }
    }
}

fn two<T>(one: &Collation, other: &Collation) -> Result<T> {
    plan_err!("one side has the collation {one}, the other has {other}; write COLLATE behind one of them")
}

fn of_field(field: &Field) -> Result<Derived> {
    match collation_of(field) {
        None => Ok(Derived::None),
        Some(name) => Ok(Derived::Column(Collation::named(name).map_err(outer)?)),
    }
}

/// The collation of an expression over rows of a schema.
pub(super) fn derived(expr: &Expr, schema: &DFSchema) -> Result<Derived> {
    let all = |exprs: &mut dyn Iterator<Item = &Expr>| {
        let mut found = Derived::None;
        for expr in exprs {
            found = found.and(derived(expr, schema)?)?;
        }
        Ok::<_, datafusion::common::DataFusionError>(found)
    };
    match expr {
        Expr::Column(column) => match schema.maybe_index_of_column(column) {
            Some(place) => of_field(schema.field(place)),
            None => Ok(Derived::None),
        },
        Expr::OuterReferenceColumn(field, _) => of_field(field),
        Expr::Alias(alias) => derived(&alias.expr, schema),
        Expr::Cast(Cast { expr: of, .. }) | Expr::TryCast(TryCast { expr: of, .. }) => {
            match is_text(expr, schema) && is_text(of, schema) {
                true => derived(of, schema),
                false => Ok(Derived::None),
            }
        }
        Expr::ScalarFunction(function) if function.name() == COLLATE => match &function.args[..] {
            [_, Expr::Literal(ScalarValue::Utf8(Some(name)), _)] => {
                Ok(Derived::Said(Collation::named(name).map_err(outer)?))
            }
            _ => plan_err!("COLLATE has the name of a collation behind it"),
        },
        Expr::ScalarFunction(function) if is_text(expr, schema) => all(&mut function.args.iter()),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
            all(&mut [left.as_ref(), right].into_iter())
        }
        Expr::Case(case) => {
            let values = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
            all(&mut values.chain(case.else_expr.as_deref()))
        }
        Expr::ScalarSubquery(query) => match query.subquery.schema().fields().first() {
            Some(field) => of_field(field),
            None => Ok(Derived::None),
        },
        Expr::AggregateFunction(function) if keeps_text(function.func.name()) => {
            all(&mut function.params.args.iter().take(1))
        }
        Expr::WindowFunction(function) if keeps_text(function.fun.name()) => {
            all(&mut function.params.args.iter().take(1))
        }
        _ => Ok(Derived::None),
    }
}

/// Whether an aggregate or a window function gives one of the texts that it is given.
fn keeps_text(name: &str) -> bool {
    ["min", "max", "first_value", "last_value", "nth_value", "lag", "lead", "arg_min", "arg_max"]
        .contains(&name)
}
