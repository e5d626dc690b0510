//! Lengths of text columns: `varchar(n)` is a text and a check of its length.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CharLengthUnits, CharacterLength, DataType, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, Value,
};

use crate::{
    Result,
    names::{ident, object, quoted},
    parse::parse_expression,
};

/// The function that counts characters in checks of ours.
const FUNCTION: &str = "character_length";

/// How many characters a value of a type may have, where the type says it.
pub(super) fn of_type(ty: &DataType) -> Option<u64> {
    let length = match ty {
        DataType::Varchar(length)
        | DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Nvarchar(length)
        | DataType::Char(length)
        | DataType::Character(length) => length.as_ref()?,
        _ => return None,
    };
    match length {
        CharacterLength::IntegerLength { length, unit: None | Some(CharLengthUnits::Characters) } => {
            Some(*length)
        }
        CharacterLength::IntegerLength { .. } | CharacterLength::Max => None,
    }
}

/// The check that a column has no longer values.
pub(super) fn check(column: &str, most: u64) -> Result<Expr> {
    parse_expression(&format!("{FUNCTION}({}) <= {most}", quoted(column)))
}

/// The column and the most characters, if an expression is such a check.
pub(crate) fn limit(expr: &Expr) -> Option<(String, u64)> {
    let Expr::BinaryOp { left, op: BinaryOperator::LtEq, right } = expr else { return None };
    let (Expr::Function(function), Expr::Value(most)) = (&**left, &**right) else { return None };
    let FunctionArguments::List(arguments) = &function.args else { return None };
    let is_plain = arguments.duplicate_treatment.is_none()
        && arguments.clauses.is_empty()
        && function.over.is_none()
        && function.filter.is_none();
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(column)))] = &arguments.args[..] else {
        return None;
    };
    let Value::Number(most, _) = &most.value else { return None };
    let is_ours = is_plain && object(&function.name).is_ok_and(|name| name == FUNCTION);
    Some((ident(column), most.to_string().parse().ok()?)).filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: checks of lengths that are taken for others, and others for them.
    #[test]
    fn a_check_of_a_length_is_known_again() {
        for column in ["s", "Two words", "select"] {
            let text = check(column, 7).unwrap().to_string();
            assert_eq!(limit(&parse_expression(&text).unwrap()), Some((column.to_owned(), 7)), "{text}");
        }
        for other in ["length(s) <= 7", "character_length(s) < 7", "character_length(s) <= 7.5", "s <= 7"] {
            assert_eq!(limit(&parse_expression(other).unwrap()), None, "{other}");
        }
    }
}
