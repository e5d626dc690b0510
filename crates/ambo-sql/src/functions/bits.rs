//! Functions of bits: `bitstring(b, n)`, `get_bit(b, i)`, `set_bit(b, i, 0)`, `bit_position(part, b)`; and what the operators `&`, `|`,
//! `<<`, `>>`, `||` and XOR are between them. Bits are counted from 0, the first at the left.

use ambo::Bits;
use datafusion::{
    common::{DFSchema, Result, exec_err},
    logical_expr::{
        Expr, ExprSchemable, ScalarUDF,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
    sql::sqlparser::ast::BinaryOperator,
};

use super::plain::{
    self, Form, Given,
    Kind::{Bit, Whole},
    Made, Named, plain,
};
use crate::{
    logical::{BIT, bits_of},
    times::is_text,
};

pub(super) static ALL: [Named; 4] = [
    plain!(["bitstring"], [Bit, Whole] => Bit, lengthened),
    plain!(["get_bit"], [Bit, Whole] => Whole, bit_at),
    plain!(["set_bit"], [Bit, Whole, Whole] => Bit, with_bit),
    plain!(["bit_position"], [Bit, Bit] => Whole, position),
];

/// The operators.
static OPERATORS: [Named; 6] = [
    plain!(["bits_and"], [Bit, Bit] => Bit, |of| each(of, "&", |left, right| left & right)),
    plain!(["bits_or"], [Bit, Bit] => Bit, |of| each(of, "|", |left, right| left | right)),
    plain!(["bits_xor"], [Bit, Bit] => Bit, |of| each(of, "xor", |left, right| left ^ right)),
    plain!(["bits_left"], [Bit, Whole] => Bit, |of| shifted(of, true)),
    plain!(["bits_right"], [Bit, Whole] => Bit, |of| shifted(of, false)),
    plain!(["bits_joined"], [Bit, Bit] => Bit, joined),
];

/// Bits of any length are as long as memory allows; this is a mistake that would take it.
const LENGTH_MAX: i64 = 1 << 30;

fn bits(of: &Given<'_>) -> Result<Bits> {
    bits_of(of.bytes())
}

fn made(bits: impl Into<Bits>) -> Result<Made> {
    Ok(bits.into().encode().into())
}

fn lengthened(of: &[Given<'_>]) -> Result<Made> {
    let (bits, length) = (bits(&of[0])?, of[1].whole());
    let own = bits.bits().len() as i64;
    if length < own {
        return exec_err!(
            "bitstring: {own} bits are not made {length}; a length is that of the bits, or more"
        );
    }
    if length > LENGTH_MAX {
        return exec_err!("bitstring: {length} bits are more than {LENGTH_MAX}");
    }
    let zeros = std::iter::repeat_n(false, (length - own) as usize);
    made(zeros.chain(bits.bits().iter().copied()).collect::<Vec<_>>())
}

/// The place of a bit.
fn place(name: &str, bits: &Bits, at: i64) -> Result<usize> {
    let length = bits.bits().len();
    match usize::try_from(at) {
        Ok(at) if at < length => Ok(at),
        _ if length == 0 => exec_err!("{name}: there is no bit {at}, for there are none"),
        _ => exec_err!("{name}: there is no bit {at}; the bits are 0 to {}", length - 1),
    }
}

fn bit_at(of: &[Given<'_>]) -> Result<Made> {
    let bits = bits(&of[0])?;
    Ok(i64::from(bits.bits()[place("get_bit", &bits, of[1].whole())?]).into())
}

fn with_bit(of: &[Given<'_>]) -> Result<Made> {
    let bits = bits(&of[0])?;
    let at = place("set_bit", &bits, of[1].whole())?;
    let mut all = bits.bits().to_vec();
    all[at] = match of[2].whole() {
        0 => false,
        1 => true,
        other => return exec_err!("set_bit: a bit is 0 or 1, not {other}"),
    };
    made(all)
}

/// Where a part is first, from 1; 0 if it is nowhere.
fn position(of: &[Given<'_>]) -> Result<Made> {
    let (part, all) = (bits(&of[0])?, bits(&of[1])?);
    let (part, all) = (part.bits(), all.bits());
    let found = (0..=all.len()).find(|at| all[*at..].starts_with(part));
    Ok(found.filter(|_| !part.is_empty()).map_or(0, |at| at as i64 + 1).into())
}

fn each(of: &[Given<'_>], sign: &str, operation: fn(bool, bool) -> bool) -> Result<Made> {
    let (left, right) = (bits(&of[0])?, bits(&of[1])?);
    let lengths = (left.bits().len(), right.bits().len());
    if lengths.0 != lengths.1 {
        return exec_err!(
            "{sign} takes as many bits on both sides, not {} and {}; bitstring(b, n) puts zeros before b",
            lengths.0,
            lengths.1
        );
    }
    let pairs = left.bits().iter().zip(right.bits());
    made(pairs.map(|(left, right)| operation(*left, *right)).collect::<Vec<_>>())
}

/// As many bits, of which those that are left over at one side are gone, with zeros at the other.
fn shifted(of: &[Given<'_>], is_left: bool) -> Result<Made> {
    let (bits, by) = (bits(&of[0])?, of[1].whole());
    let length = bits.bits().len();
    let Ok(by) = usize::try_from(by) else {
        return exec_err!("bits are not shifted by {by}; the other operator shifts to the other side");
    };
    let (by, zeros) = (by.min(length), std::iter::repeat_n(false, by.min(length)));
    match is_left {
        true => made(bits.bits()[by..].iter().copied().chain(zeros).collect::<Vec<_>>()),
        false => made(zeros.chain(bits.bits()[..length - by].iter().copied()).collect::<Vec<_>>()),
    }
}

fn joined(of: &[Given<'_>]) -> Result<Made> {
    made([bits(&of[0])?.bits(), bits(&of[1])?.bits()].concat())
}

/// What operators are where one side is of bits. To be asked before others.
#[derive(Debug)]
pub(crate) struct BitOperators;

impl ExprPlanner for BitOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let name = match &expr.op {
            BinaryOperator::BitwiseAnd => "bits_and",
            BinaryOperator::BitwiseOr => "bits_or",
            BinaryOperator::BitwiseXor | BinaryOperator::PGBitwiseXor => "bits_xor",
            BinaryOperator::PGBitwiseShiftLeft => "bits_left",
            BinaryOperator::PGBitwiseShiftRight => "bits_right",
            BinaryOperator::StringConcat => "bits_joined",
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let types = [&expr.left, &expr.right].map(|side| side.get_type(schema).ok());
        let [Some(left), Some(right)] = types else { return Ok(PlannerResult::Original(expr)) };
        let is_constant = |side: &Expr| matches!(side, Expr::Literal(..));
        let are_bits = match (left == BIT, right == BIT) {
            (true, true) => true,
            // A text beside bits says bits where it stands as it is; what is joined to another text is one.
            (true, false) if is_text(&right) => is_constant(&expr.right) && name != "bits_joined",
            (false, true) if is_text(&left) => is_constant(&expr.left) && name != "bits_joined",
            (true, false) => right.is_null() || right.is_integer(),
            (false, true) => left.is_null(),
            (false, false) => false,
        };
        if !are_bits {
            return Ok(PlannerResult::Original(expr));
        }
        let found = plain::functions(&OPERATORS).find(|function: &ScalarUDF| function.name() == name);
        Ok(match found {
            Some(function) => PlannerResult::Planned(function.call(vec![expr.left, expr.right])),
            None => PlannerResult::Original(expr),
        })
    }
}
