//! What is cast to blobs: texts, as their bytes in UTF-8, but for those that write bytes in another way.
//!
//! `'\xDEADBEEF'` is four bytes in PostgreSQL and a byte and six letters in DuckDB, so texts with `\x` and two digits are refused. So are
//! whole numbers, of which the planner takes the bytes in memory, in the order of the processor: `CAST(1 AS BYTEA)` is
//! `x'0100000000000000'`.

use std::sync::LazyLock;

use arrow::{
    array::{ArrayRef, AsArray, BooleanArray},
    compute::{cast, nullif},
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
    use DataType::{Binary, BinaryView, FixedSizeBinary, LargeBinary};
    matches!(ty, Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
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
    static STRICT: LazyLock<ScalarUDF> = LazyLock::new(|| WithoutBytes::function(true));
    static LENIENT: LazyLock<ScalarUDF> = LazyLock::new(|| WithoutBytes::function(false));
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
            if matches!(of.as_ref(), Expr::ScalarFunction(of) if of.name() == NAME) {
                return Ok(Transformed::no(expr));
            }
            let function = if is_strict { &STRICT } else { &LENIENT };
            **of = function.call(vec![std::mem::take(of.as_mut())]);
            Ok(Transformed::yes(expr))
        }
        _ => Ok(Transformed::no(expr)),
    }
}

/// Whether a text writes a byte as `\xFF`.
fn writes_bytes(text: &str) -> bool {
    let is_byte = |rest: &str| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit);
    text.match_indices("\\x").any(|(at, _)| is_byte(&text[at + 2..]))
}

/// Checks texts that become blobs.
///
/// # Errors
/// A text that writes bytes.
pub(crate) fn refuse_written_bytes(texts: &ArrayRef) -> Result<()> {
    let texts = cast(texts, &DataType::Utf8)?;
    match texts.as_string::<i32>().iter().flatten().find(|text| writes_bytes(text)) {
        None => Ok(()),
        Some(text) => exec_err!(
            "'{text}' is not cast to a blob, for \\x means one byte or several; X'DEADBEEF' and decode('DEADBEEF', 'hex') are four bytes"
        ),
    }
}

const NAME: &str = "without_written_bytes";

/// A text that does not write bytes; another is an error, or NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WithoutBytes {
    is_strict: bool,
    signature: Signature,
}

impl WithoutBytes {
    fn function(is_strict: bool) -> ScalarUDF {
        ScalarUDF::new_from_impl(Self { is_strict, signature: Signature::any(1, Volatility::Immutable) })
    }
}

impl ScalarUDFImpl for WithoutBytes {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [of] = &args.args[..] else { return exec_err!("{NAME} has one argument") };
        let is_one = matches!(of, ColumnarValue::Scalar(_));
        let texts = of.to_array(if is_one { 1 } else { args.number_rows })?;
        match refuse_written_bytes(&texts) {
            Err(error) if self.is_strict => return Err(error),
            Ok(()) => return Ok(of.clone()),
            Err(_) => {}
        }
        let plain = cast(&texts, &DataType::Utf8)?;
        let are_wrong: BooleanArray =
            plain.as_string::<i32>().iter().map(|text| Some(text.is_some_and(writes_bytes))).collect();
        returned(nullif(&texts, &are_wrong)?, is_one)
    }
}
