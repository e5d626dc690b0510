//! `length` and `len`: of a text in characters, of a blob in bytes, of a list or map in elements.
//!
//! The planner makes a text of all that is none, and counts its characters: `length([1, 2, 3])` is 9.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Int32Array, Int64Array},
    buffer::NullBuffer,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, plan_err},
    functions::unicode::character_length,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

use crate::logical::{UUID, is_enum};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Length {
    signature: Signature,
    aliases: Vec<String>,
}

impl Length {
    pub(super) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable), aliases: vec!["len".to_owned()] }
    }
}

fn is_text(ty: &DataType) -> bool {
    matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        "length"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [of] = types else { return plan_err!("length has one argument") };
        Ok(vec![match of {
            DataType::List(_) | DataType::Map(..) | DataType::LargeUtf8 | DataType::Utf8View => of.clone(),
            DataType::LargeList(field) | DataType::FixedSizeList(field, _) => DataType::List(field.clone()),
            &UUID => return plan_err!("length has a text, a blob, a list or a map, not a uuid"),
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => DataType::Binary,
            ty if is_enum(ty) => DataType::Utf8,
            DataType::Struct(_) => {
                return plan_err!("length has a text, a blob, a list or a map, not a struct");
            }
            _ => DataType::Utf8,
        }])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let is_long = types.first().is_some_and(|ty| matches!(ty, DataType::List(_) | DataType::Map(..)));
        Ok(if is_long { DataType::Int64 } else { DataType::Int32 })
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let of = args.first().map(|of| info.get_data_type(of)).transpose()?;
        Ok(match of.as_ref() {
            // What is known of it is of use.
            Some(DataType::Utf8 | DataType::Utf8View) => {
                ExprSimplifyResult::Simplified(character_length().call(args))
            }
            _ => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = args.args[0].to_array(args.number_rows)?;
        if is_text(of.data_type()) {
            return character_length().invoke_with_args(args)?.cast_to(&DataType::Int32, None);
        }
        Ok(ColumnarValue::Array(counted(&of)?))
    }
}

/// How many bytes blobs have, how many elements lists and maps.
fn counted(of: &ArrayRef) -> Result<ArrayRef> {
    fn between(offsets: &[i32]) -> impl Iterator<Item = i32> {
        offsets.windows(2).map(|pair| pair[1] - pair[0])
    }
    fn elements(offsets: &[i32], nulls: Option<&NullBuffer>) -> ArrayRef {
        let counts: Vec<i64> = between(offsets).map(i64::from).collect();
        Arc::new(Int64Array::new(counts.into(), nulls.cloned()))
    }
    Ok(match of.data_type() {
        DataType::Binary => {
            let bytes: Vec<i32> = between(of.as_binary::<i32>().value_offsets()).collect();
            Arc::new(Int32Array::new(bytes.into(), of.nulls().cloned()))
        }
        DataType::Map(..) => elements(of.as_map().value_offsets(), of.nulls()),
        DataType::List(_) => elements(of.as_list::<i32>().value_offsets(), of.nulls()),
        _ => return plan_err!("length has a text, a blob, a list or a map"),
    })
}
