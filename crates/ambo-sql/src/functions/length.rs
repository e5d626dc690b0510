//! `length` and `len`: of a text in characters, of a blob in bytes, of a list or map in elements. `octet_length` and `bit_length`: of a
//! text or a blob in bytes and bits.
//!
//! The planner makes a text of all that is none, and counts its characters: `length([1, 2, 3])` is 9, and `octet_length` refuses bytes that
//! are no text.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Int32Array, Int64Array},
    buffer::NullBuffer,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, exec_datafusion_err, plan_err},
    functions::unicode::character_length,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
    },
};

use crate::{
    error::type_in_sql,
    logical::{BIT, GEOMETRY, UUID, bits_of, is_enum, value_of},
};

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
            &BIT => BIT,
            &GEOMETRY => return plan_err!("length has a text, a blob, a list or a map, not a geometry"),
            DataType::Binary | DataType::FixedSizeBinary(_) => DataType::Binary,
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
        &BIT => bit_counts(of, |bits| bits)?,
        DataType::Map(..) => elements(of.as_map().value_offsets(), of.nulls()),
        DataType::List(_) => elements(of.as_list::<i32>().value_offsets(), of.nulls()),
        _ => return plan_err!("length has a text, a blob, a list or a map"),
    })
}

/// What a function makes of the number of bits of each value.
fn bit_counts(of: &ArrayRef, count: impl Fn(usize) -> usize) -> Result<ArrayRef> {
    let one = |row| bits_of(value_of(of, row)).map(|bits| count(bits.bits().len()) as i32);
    let counts = (0..of.len()).map(|row| of.is_valid(row).then(|| one(row)).transpose());
    Ok(Arc::new(counts.collect::<Result<Int32Array>>()?))
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OctetLength {
    name: &'static str,
    /// What a byte counts for.
    of_byte: i32,
    signature: Signature,
}

impl OctetLength {
    pub(super) fn all() -> [Self; 2] {
        let signature = || Signature::user_defined(Volatility::Immutable);
        [("octet_length", 1), ("bit_length", 8)].map(|(name, of_byte)| Self {
            name,
            of_byte,
            signature: signature(),
        })
    }
}

impl ScalarUDFImpl for OctetLength {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [of] = types else { return plan_err!("{} has one argument", self.name) };
        Ok(vec![match of {
            &BIT => BIT,
            DataType::Binary => DataType::Binary,
            ty if is_text(ty) || ty.is_null() || is_enum(ty) => DataType::Utf8,
            ty if ty.is_nested() || *ty == UUID || *ty == GEOMETRY => {
                return plan_err!("{} has a text or a blob, not {}", self.name, type_in_sql(ty));
            }
            _ => DataType::Utf8,
        }])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of = args.args[0].to_array(args.number_rows)?;
        if *of.data_type() == BIT {
            let of_byte = self.of_byte;
            return Ok(ColumnarValue::Array(bit_counts(&of, |bits| match of_byte {
                1 => bits.div_ceil(8),
                _ => bits,
            })?));
        }
        let offsets = match of.data_type() {
            DataType::Binary => of.as_binary::<i32>().value_offsets(),
            _ => of.as_string::<i32>().value_offsets(),
        };
        let length = |pair: &[i32]| {
            (pair[1] - pair[0]).checked_mul(self.of_byte).ok_or_else(|| {
                exec_datafusion_err!(
                    "{} of {} bytes is more than an integer has",
                    self.name,
                    pair[1] - pair[0]
                )
            })
        };
        let lengths = offsets.windows(2).map(length).collect::<Result<Vec<_>>>()?;
        Ok(ColumnarValue::Array(Arc::new(Int32Array::new(lengths.into(), of.nulls().cloned()))))
    }
}
