//! A number between 0 and 1 that follows from a place and a seed: the same each time, and without a pattern from place to place.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, Float64Array},
    datatypes::{DataType, Int64Type, UInt64Type},
};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

/// No statement can name it.
pub(crate) const CHANCE: &str = "\u{1}chance";

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Chance {
    signature: Signature,
}

impl Chance {
    pub(super) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Chance {
    fn name(&self) -> &str {
        CHANCE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.len() {
            2 => Ok(vec![DataType::UInt64, DataType::Int64]),
            _ => plan_err!("a chance follows from a place and a seed"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns: Vec<_> =
            args.args.iter().map(|value| value.to_array(args.number_rows)).collect::<Result<_>>()?;
        let (places, seeds) =
            (columns[0].as_primitive::<UInt64Type>(), columns[1].as_primitive::<Int64Type>());
        let chance = |row: usize| {
            (places.is_valid(row) && seeds.is_valid(row))
                .then(|| chance(places.value(row), seeds.value(row) as u64))
        };
        let chances: Float64Array = (0..args.number_rows).map(chance).collect();
        Ok(ColumnarValue::Array(Arc::new(chances)))
    }
}

/// The place-th number of the generator splitmix64 (Steele, Lea and Flood, OOPSLA 2014), from a start that the seed gives.
fn chance(place: u64, seed: u64) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let start = mixed(seed.wrapping_add(STEP));
    (mixed(start.wrapping_add(place.wrapping_mul(STEP))) >> 11) as f64 / (1u64 << 53) as f64
}

fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: a part of a table that is not the part that was asked for.
    #[test]
    fn chances_are_even() {
        for seed in [0, 1, 42] {
            let below = (0..100_000).filter(|place| chance(*place, seed) < 0.1).count();
            assert!((9_700..10_300).contains(&below), "{below}");
        }
        assert_ne!(chance(1, 1), chance(1, 2));
    }
}
