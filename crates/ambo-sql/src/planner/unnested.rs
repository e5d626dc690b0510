//! `unnest` of structs: a column for each field, called as it is.
//!
//! | in a list of columns | is |
//! |---|---|
//! | `unnest(s)` | `s.a AS a, s.b AS b` |
//! | `unnest(l, recursive := true)` of a list of structs | `unnest(l).a AS a, unnest(l).b AS b`, and so on within |
//! | `unnest(l, max_depth := 2)` | the same, but not within |
//!
//! Lists within structs stay lists.

use arrow::datatypes::{DataType, Fields};
use datafusion::sql::sqlparser::ast::{Expr, Select, SelectItem, Value, With};

use super::{
    ask::Ask,
    patterns::call,
    rewrite::tell_apart,
    trees::{self, named},
};
use crate::{logical::is_enum, names::written};

/// What `unnest(…, recursive := true)` makes one list of.
const FLAT: &str = "flatten_lists";

/// Writes out such columns. What has columns of a query around is left to the planner, which knows these.
pub(super) fn write_out(select: &mut Select, with: Option<&With>, ask: &Ask<'_>) {
    if !select.projection.iter().any(|item| unnested(item).is_some()) {
        return;
    }
    let mut items = Vec::with_capacity(select.projection.len());
    let mut is_written = false;
    for item in &select.projection {
        let columns = unnested(item).and_then(|(of, steps)| columns(select, with, ask, of, steps));
        is_written |= columns.is_some();
        items.extend(columns.unwrap_or_else(|| vec![item.clone()]));
    }
    if is_written {
        tell_apart(&mut items);
        select.projection = items;
    }
}

/// What is unnested, and how often.
fn unnested(item: &SelectItem) -> Option<(&Expr, u32)> {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { return None };
    let of = argument(expr, "unnest", 1)?;
    let levels = |levels: &Expr| match levels {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.to_string().parse::<u32>().ok(),
            _ => None,
        },
        _ => None,
    };
    match (argument(of[0], FLAT, 2), of[0]) {
        (Some(flat), _) => Some((flat[0], levels(flat[1])?.saturating_add(1))),
        (None, of) => Some((of, 1)),
    }
}

/// The arguments of a function of a name, if there are so many.
fn argument<'e>(expr: &'e Expr, name: &str, count: usize) -> Option<Vec<&'e Expr>> {
    let Expr::Function(function) = expr else { return None };
    let is_it = written(&function.name).is_ok_and(|own| own == name);
    trees::arguments(function).filter(|arguments| is_it && arguments.len() == count)
}

/// The columns of what is unnested so often, if a struct is among it.
fn columns(
    select: &Select,
    with: Option<&With>,
    ask: &Ask<'_>,
    of: &Expr,
    steps: u32,
) -> Option<Vec<SelectItem>> {
    let mut query = trees::query("SELECT 1");
    query.with = with.cloned();
    let inner = trees::select(&mut query);
    inner.from.clone_from(&select.from);
    inner.projection = vec![named(of.clone(), "of")];
    let schema = ask.schema(query).ok()?;
    let (mut ty, mut left, mut lists) = (schema.fields().first()?.data_type(), steps, 0);
    while let DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) = ty
        && left > 0
    {
        (ty, left, lists) = (item.data_type(), left - 1, lists + 1);
    }
    let fields = fields_of(ty).filter(|_| left > 0)?;
    let base = match lists {
        0 => of.clone(),
        1 => call("unnest", vec![of.clone()]),
        lists => {
            let levels = Expr::value(Value::Number((lists - 1).to_string(), false));
            call("unnest", vec![call(FLAT, vec![of.clone(), levels])])
        }
    };
    let mut items = Vec::new();
    each_field(&base, fields, left - 1, &mut items);
    Some(items)
}

/// The fields of a struct, which an enum is not, though it is stored as one.
fn fields_of(ty: &DataType) -> Option<&Fields> {
    match ty {
        DataType::Struct(fields) if !is_enum(ty) => Some(fields),
        _ => None,
    }
}

fn each_field(of: &Expr, fields: &Fields, steps: u32, items: &mut Vec<SelectItem>) {
    for field in fields {
        let value = call("get_field", vec![of.clone(), trees::text(field.name())]);
        match fields_of(field.data_type()).filter(|_| steps > 0) {
            Some(within) => each_field(&value, within, steps - 1, items),
            None => items.push(named(value, field.name())),
        }
    }
}
