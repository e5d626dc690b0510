//! What is cast to blobs: texts, as their bytes in UTF-8, where `\xFF` is one byte.
//!
//! `'\xDEADBEEF'` is four bytes in PostgreSQL and a byte and six letters in DuckDB, so a text that is `\x` and more than two digits is
//! refused. Whole numbers are, too: the planner takes their bytes in memory, in the order of the processor, so that `CAST(1 AS BYTEA)` is
//! `x'0100000000000000'`.

use std::sync::{Arc, LazyLock};

use arrow::{
    array::{ArrayRef, AsArray, BinaryArray},
    compute::cast,
    datatypes::DataType,
};
use datafusion::{
    common::{
        DFSchema, Result, exec_err, plan_err,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{
        Cast, ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        TryCast, Volatility,
    },
};

use super::expressions::ExpressionRule;
use crate::{times::is_text, value::returned};

pub(super) const BYTE_CASTS: ExpressionRule = ExpressionRule {
    name: "byte_casts",
    wanted: |expr| to_bytes(expr).is_some(),
    change: |expr, schema, _| expr.transform_up(|expr| checked(expr, schema)),
};

fn is_blob(ty: &DataType) -> bool {
    matches!(ty, DataType::Binary | DataType::FixedSizeBinary(_))
}

/// What is cast to a blob, and whether what cannot be is an error.
fn to_bytes(expr: &Expr) -> Option<(&Expr, bool)> {
    match expr {
        Expr::Cast(Cast { expr, field }) if is_blob(field.data_type()) => Some((expr, true)),
        Expr::TryCast(TryCast { expr, field }) if is_blob(field.data_type()) => Some((expr, false)),
        _ => None,
    }
}

fn checked(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    static STRICT: LazyLock<ScalarUDF> = LazyLock::new(|| BytesOfText::function(true));
    static LENIENT: LazyLock<ScalarUDF> = LazyLock::new(|| BytesOfText::function(false));
    let Some((of, is_strict)) = to_bytes(&expr) else { return Ok(Transformed::no(expr)) };
    match of.get_type(schema)? {
        ty if ty.is_integer() => {
            plan_err!(
                "a whole number is not cast to a blob; decode(to_hex(n), 'hex') has bytes of its digits"
            )
        }
        ty if is_text(&ty) => {
            let (Expr::Cast(Cast { expr: of, .. }) | Expr::TryCast(TryCast { expr: of, .. })) = &mut expr
            else {
                return Ok(Transformed::no(expr));
            };
            let function = if is_strict { &STRICT } else { &LENIENT };
            **of = function.call(vec![std::mem::take(of.as_mut())]);
            Ok(Transformed::yes(expr))
        }
        _ => Ok(Transformed::no(expr)),
    }
}

/// Whether a text writes a byte as `\xFF`.
pub(crate) fn writes_bytes(text: &str) -> bool {
    text.match_indices("\\x").any(|(at, _)| byte(&text[at..]).is_some())
}

/// The byte that a text begins with, written as `\xFF`.
fn byte(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("\\x")?.get(..2)?;
    u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

/// The bytes of a text; `None` of one that means others in PostgreSQL.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x")
        && digits.len() > 2
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace())
    {
        return None;
    }
    let mut all = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\x") {
        let (before, from) = rest.split_at(at);
        all.extend_from_slice(before.as_bytes());
        rest = match byte(from) {
            Some(byte) => {
                all.push(byte);
                &from[4..]
            }
            None => {
                all.extend_from_slice(b"\\x");
                &from[2..]
            }
        };
    }
    all.extend_from_slice(rest.as_bytes());
    Some(all)
}

/// Texts as blobs. One that is not clear is an error, or NULL if that is not `strict`.
///
/// # Errors
/// A text that means several bytes in PostgreSQL and one in DuckDB.
pub(crate) fn bytes_of_texts(texts: &ArrayRef, strict: bool) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8)?;
    let read = |text: Option<&str>| match text.map(|text| (text, bytes(text))) {
        Some((text, None)) if strict => exec_err!(
            "'{text}' is not cast to a blob, for \\x means one byte or several; X'DEADBEEF' and decode('DEADBEEF', 'hex') are four bytes"
        ),
        read => Ok(read.and_then(|(_, bytes)| bytes)),
    };
    let blobs = texts.as_string::<i32>().iter().map(read).collect::<Result<BinaryArray>>()?;
    Ok(Arc::new(blobs))
}

/// A text as a blob; one that is not clear is an error, or NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct BytesOfText {
    is_strict: bool,
    signature: Signature,
}

impl BytesOfText {
    fn function(is_strict: bool) -> ScalarUDF {
        ScalarUDF::new_from_impl(Self { is_strict, signature: Signature::any(1, Volatility::Immutable) })
    }
}

impl ScalarUDFImpl for BytesOfText {
    fn name(&self) -> &str {
        if self.is_strict { "bytes_of_text" } else { "try_bytes_of_text" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = &args.args[0];
        let is_one = matches!(of, ColumnarValue::Scalar(_));
        let texts = of.to_array(if is_one { 1 } else { args.number_rows })?;
        returned(bytes_of_texts(&texts, self.is_strict)?, is_one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: bytes of other meanings, and a letter of several bytes that is cut.
    #[test]
    fn bytes_are_written_among_letters() {
        for (text, read) in [
            ("\\xAA", &b"\xaa"[..]),
            ("\\xaa\\xFF", b"\xaa\xff"),
            ("a\\x00b", b"a\0b"),
            ("\\x00what", b"\0what"),
            ("\\x", b"\\x"),
            ("\\x\u{e9}", b"\\x\xc3\xa9"),
            ("a\\b", b"a\\b"),
        ] {
            assert_eq!(bytes(text).as_deref(), Some(read), "{text}");
        }
        assert_eq!(["\\xDEAD", "\\xDE AD"].map(bytes), [None, None]);
    }
}
