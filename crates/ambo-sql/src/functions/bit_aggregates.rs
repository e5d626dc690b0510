//! Aggregates of bits: `bit_and(b)`, `bit_or(b)` and `bit_xor(b)`, which of whole numbers are the planner's; `bitstring_agg(n, least,
//! greatest)`: a bit for each whole number from the least to the greatest, which is 1 where a row has that number.

use std::sync::Arc;

use ambo::Bits;
use arrow::{
    array::{ArrayRef, AsArray},
    datatypes::{DataType, Field, FieldRef, Int64Type},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    functions_aggregate::bit_and_or_xor::{bit_and_udaf, bit_or_udaf, bit_xor_udaf},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::{AggregateOrderSensitivity, format_state_name},
    },
};

use super::{
    constants::whole,
    distinct::{Distinct, state_fields},
};
use crate::logical::{BIT, bits_of};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operation {
    And,
    Or,
    Xor,
}

impl Operation {
    fn of(self, left: bool, right: bool) -> bool {
        match self {
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
        }
    }
}

/// One of the planner's, which takes bits, too.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct BitsOf {
    operation: Operation,
    planners: Arc<AggregateUDF>,
    signature: Signature,
}

impl BitsOf {
    pub(super) fn all() -> [Self; 3] {
        let of = |operation, planners| Self {
            operation,
            planners,
            signature: Signature::user_defined(Volatility::Immutable),
        };
        [
            of(Operation::And, bit_and_udaf()),
            of(Operation::Or, bit_or_udaf()),
            of(Operation::Xor, bit_xor_udaf()),
        ]
    }
}

fn is_of_bits(fields: &[FieldRef]) -> bool {
    fields.first().is_some_and(|field| *field.data_type() == BIT)
}

impl AggregateUDFImpl for BitsOf {
    fn name(&self) -> &str {
        self.planners.name()
    }

    fn aliases(&self) -> &[String] {
        self.planners.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [ty] if ty.is_integer() || *ty == BIT => Ok(vec![ty.clone()]),
            [DataType::Null] => Ok(vec![DataType::Int64]),
            _ => plan_err!("{} takes whole numbers or bits", self.name()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [of] if *of == BIT => Ok(BIT),
            types => self.planners.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if !is_of_bits(args.expr_fields) {
            return self.planners.accumulator(args);
        }
        let of_bits = OfBits { operation: self.operation, bits: None };
        Ok(match args.is_distinct {
            true => Box::new(Distinct::new(Box::new(of_bits), args.expr_fields)),
            false => Box::new(of_bits),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match is_of_bits(args.input_fields) {
            false => self.planners.state_fields(args),
            true if args.is_distinct => Ok(state_fields(&args)),
            true => Ok(vec![state_of(args.name)]),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !is_of_bits(args.expr_fields) && self.planners.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.planners.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match is_of_bits(args.expr_fields) {
            true => self.accumulator(args),
            false => self.planners.create_sliding_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

fn state_of(name: &str) -> FieldRef {
    Arc::new(Field::new(format_state_name(name, "bits"), BIT, true))
}

/// The bits of the rows up to now; none as long as there is none.
#[derive(Debug)]
struct OfBits {
    operation: Operation,
    bits: Option<Vec<bool>>,
}

impl Accumulator for OfBits {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        for stored in columns[0].as_binary::<i64>().iter().flatten() {
            let other = bits_of(stored)?;
            let other = other.bits();
            match &mut self.bits {
                None => self.bits = Some(other.to_vec()),
                Some(bits) if bits.len() != other.len() => {
                    return exec_err!("bits of {} and of {} are not taken together", bits.len(), other.len());
                }
                Some(bits) => {
                    let pairs = bits.iter_mut().zip(other);
                    pairs.for_each(|(bit, other)| *bit = self.operation.of(*bit, *other));
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let bits = self.bits.clone().map(|bits| Bits::from(bits).encode());
        Ok(ScalarValue::LargeBinary(bits))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bits.as_ref().map_or(0, Vec::capacity)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

/// The most bits of an aggregate: what is asked for beyond is a mistake that would take the memory.
const BITS_MAX: i64 = 1_000_000_000;

/// See the module.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct BitstringAgg(Signature);

impl BitstringAgg {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl AggregateUDFImpl for BitstringAgg {
    fn name(&self) -> &str {
        "bitstring_agg"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let are_whole = types.iter().all(|ty| ty.is_integer() || ty.is_null());
        match are_whole && types.len() == 3 {
            true => Ok(vec![DataType::Int64; 3]),
            false => plan_err!("bitstring_agg takes whole numbers, the least and the greatest of them"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(BIT)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let bound =
            |nth: usize| match args.exprs.get(nth).map(|bound| whole(bound, args.schema)).transpose()? {
                Some(Some(bound)) => Ok(bound),
                _ => plan_err!("bitstring_agg: the least and the greatest are constants"),
            };
        let (least, greatest) = (bound(1)?, bound(2)?);
        let bits = i128::from(greatest) - i128::from(least) + 1;
        if least > greatest || bits > BITS_MAX.into() {
            return plan_err!("bitstring_agg: from {least} to {greatest} there are not 1 to {BITS_MAX} bits");
        }
        Ok(Box::new(Numbers { least, greatest, bits: OfBits { operation: Operation::Or, bits: None } }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![state_of(args.name)])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

#[derive(Debug)]
struct Numbers {
    least: i64,
    greatest: i64,
    bits: OfBits,
}

impl Accumulator for Numbers {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        for number in columns[0].as_primitive::<Int64Type>().iter().flatten() {
            if !(self.least..=self.greatest).contains(&number) {
                return exec_err!(
                    "bitstring_agg: {number} is not between {} and {}",
                    self.least,
                    self.greatest
                );
            }
            let all = (self.greatest - self.least) as usize + 1;
            let bits = self.bits.bits.get_or_insert_with(|| vec![false; all]);
            bits[(number - self.least) as usize] = true;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.bits.evaluate()
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.bits.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.bits.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.bits.merge_batch(states)
    }
}
