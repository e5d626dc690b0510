//! Arithmetic on integers for many rows: in 64 bits, with a bit for each row that these do not hold.

use ambo_codec::Value;

use super::{
    Arithmetic, Compare, Operand,
    normal::Place,
    numbers::Number,
    vectors::{Bits, Block, ROWS, for_rows},
};

/// Numbers of a block's rows.
pub(super) struct Lanes {
    values: Box<[i64; ROWS]>,
    /// Rows that have one.
    pub(super) valid: Bits,
    /// Rows that the tree walk has to answer.
    pub(super) left: Bits,
}

/// Which rows of `among` compare so, as `valid`; none if a constant has more than 64 bits.
pub(super) fn answer_numbers(
    block: &Block<'_>,
    (left, by, right): (&Operand, Compare, &Operand),
    among: &Bits,
) -> Option<Lanes> {
    let (mut left, right) = (lanes(block, left, among)?, lanes(block, right, among)?);
    let both = both_valid(&left, &right);
    let mut taken = Bits::default();
    for_rows(&both, |row| {
        let holds = by.holds(left.values[row].cmp(&right.values[row]));
        taken[row / 64] |= u64::from(holds) << (row % 64);
    });
    left.valid = taken;
    left.left.iter_mut().zip(&right.left).for_each(|(word, more)| *word |= more);
    Some(left)
}

fn both_valid(left: &Lanes, right: &Lanes) -> Bits {
    let mut both = Bits::default();
    for (word, both) in both.iter_mut().enumerate() {
        *both = left.valid[word] & right.valid[word] & !left.left[word] & !right.left[word];
    }
    both
}

fn lanes(block: &Block<'_>, of: &Operand, among: &Bits) -> Option<Lanes> {
    match of {
        Operand::Column { relation, column } => {
            let place = Place { relation: *relation, column: *column };
            let mut values = Box::new([0; ROWS]);
            let valid = block.valid(place, among);
            let mut left = Bits::default();
            for_rows(&valid, |row| match block.integer(place, row) {
                Some(integer) => values[row] = integer,
                None => left[row / 64] |= 1 << (row % 64),
            });
            Some(Lanes { values, valid, left })
        }
        Operand::Literal(value) => constant(value, among),
        Operand::Arithmetic(left, what, right) => {
            let (left, right) = (lanes(block, left, among)?, lanes(block, right, among)?);
            Some(combined(left, *what, &right))
        }
        Operand::Parameter(_) => None,
    }
}

fn constant(value: &Value, among: &Bits) -> Option<Lanes> {
    let Some(Number::Integer(integer)) = Number::of(value.as_ref()) else { return None };
    let integer = integer.try_into().ok()?;
    Some(Lanes { values: Box::new([integer; ROWS]), valid: *among, left: Bits::default() })
}

fn combined(mut left: Lanes, what: Arithmetic, right: &Lanes) -> Lanes {
    let both = both_valid(&left, right);
    let mut beyond = Bits::default();
    let mut each = |with: fn(i64, i64) -> Option<i64>| {
        for_rows(&both, |row| match with(left.values[row], right.values[row]) {
            Some(value) => left.values[row] = value,
            None => beyond[row / 64] |= 1 << (row % 64),
        });
    };
    match what {
        Arithmetic::Add => each(i64::checked_add),
        Arithmetic::Subtract => each(i64::checked_sub),
        Arithmetic::Multiply => each(i64::checked_mul),
        Arithmetic::Divide => each(i64::checked_div),
        Arithmetic::Remainder => each(i64::checked_rem),
        Arithmetic::ShiftLeft => each(|left, right| {
            let shift = u32::try_from(right).ok().filter(|shift| *shift < 64)?;
            i64::try_from(i128::from(left) << shift).ok()
        }),
        Arithmetic::ShiftRight => each(|left, right| {
            let shift = u32::try_from(right).ok().filter(|shift| *shift < 64)?;
            Some(left >> shift)
        }),
    }
    for (word, beyond) in beyond.into_iter().enumerate() {
        left.left[word] |= right.left[word] | beyond;
        left.valid[word] &= right.valid[word];
    }
    left
}
