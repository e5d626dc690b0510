//! Texts of bytes and of lists as PostgreSQL's clients write them in INSERT, `'\x00ff'` and `'{1,2}'`, as what they mean: the columns tell.

use ambo::{Logical, Part, Type};
use datafusion::sql::sqlparser::ast::{DataType, Expr, Value, Values};

use super::target::Target;
use crate::pg_catalog::list;

/// Says so what the rows have for these columns.
pub(super) fn say(target: &Target, columns: &[usize], rows: &mut Values) {
    for row in &mut rows.rows {
        for (value, place) in row.content.iter_mut().zip(columns) {
            let column = &target.definition().columns[*place];
            let said = match (text(value), &column.logical) {
                (Some(text), Some(Logical::List(item) | Logical::Array(item, _))) => items(text, item),
                (Some(text), None) if column.kind == Type::Binary => bytes(text),
                _ => None,
            };
            if let Some(said) = said {
                *value = said;
            }
        }
    }
}

/// A list of these items; those of numbers are numbers.
fn items(text: &str, item: &Part) -> Option<Expr> {
    let is_number = match item {
        Part::Plain(ty) => !matches!(ty, Type::Utf8 | Type::Binary | Type::Bool) && all_numbers(text),
        Part::Logical(_) => false,
    };
    list(text, is_number.then_some(&DataType::BigInt(None)))
}

fn all_numbers(text: &str) -> bool {
    let mut items = text.trim_matches(['{', '}']).split(',').map(str::trim);
    items.all(|item| item.eq_ignore_ascii_case("null") || item.parse::<f64>().is_ok_and(f64::is_finite))
}

fn text(value: &Expr) -> Option<&str> {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn bytes(text: &str) -> Option<Expr> {
    let digits = text.strip_prefix("\\x")?;
    let is_bytes = digits.len().is_multiple_of(2) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_bytes.then(|| Expr::value(Value::HexStringLiteral(digits.to_owned())))
}
