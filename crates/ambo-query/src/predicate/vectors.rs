//! Conditions on many rows at once: for each condition one loop over 1,024 rows, which leaves a bit a row.
//!
//! 1. AND hands the rows that are left to its next part, OR those that are not taken yet. A word of 64 rows without any is passed over, and
//!    of one with a few only these are looked at.
//! 2. Rows lie at any distance from each other: fields of records, or values of a column.
//! 3. A row that a loop cannot answer, such as one with an overflow, is left to the tree walk, with the whole condition.

use ambo_codec::{Type, Value, ValueRef, prefetch};
use ambo_types::{Error, Result};

use super::{
    Compare, Predicate,
    instructions::{By, Each, Fixed, for_each},
    layout::{Column, Data, Layout, bytes_of},
    normal::{Kind, Leaf, Normal, Place, normal},
    numbers::Number,
    vector_numbers::{Lanes, answer_numbers},
    walk::walk,
};

/// Rows of a block.
pub(super) const ROWS: usize = 1024;
const WORDS: usize = ROWS / 64;
/// The bytes of a cache line, and how far ahead lines are fetched where each row has one.
const LINE: usize = 64;
const AHEAD: usize = 2048;
/// With fewer rows in a word it is quicker to look at each than at all 64.
const FEW: u32 = 6;

/// A bit for each row of a block.
pub(super) type Bits = [u64; WORDS];

/// A condition that is asked of many rows.
#[derive(Clone, Debug)]
pub struct Vectors {
    predicate: Predicate,
    normal: Normal,
    types: Vec<Type>,
    /// The columns that are looked at, by their places.
    used: Vec<bool>,
}

impl Vectors {
    /// A condition on columns of these types, each with whether it may be NULL.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a condition that does not fit the columns.
    pub fn new(predicate: &Predicate, columns: &[(Type, bool)]) -> Result<Self> {
        let kind = |relation, column: usize| match (relation, columns.get(column)) {
            (0, Some((ty, nullable))) => Some(Kind { ty: *ty, nullable: *nullable }),
            _ => None,
        };
        let normal = normal(predicate, &kind)?;
        let mut used = vec![false; columns.len()];
        columns_of(predicate, &mut |column| used[column] = true);
        let types = columns.iter().map(|(ty, _)| *ty).collect();
        Ok(Self { predicate: predicate.clone(), normal, types, used })
    }

    /// A condition on records of a layout.
    ///
    /// # Errors
    /// As [`Vectors::new`].
    pub fn of_records(predicate: &Predicate, layout: &Layout) -> Result<Self> {
        let columns: Vec<_> = layout.fields().iter().map(|field| (field.ty, field.null.is_some())).collect();
        Self::new(predicate, &columns)
    }

    /// Whether it looks at the column at a place.
    pub fn uses(&self, column: usize) -> bool {
        self.used.get(column).is_some_and(|used| *used)
    }

    /// A bit for each row, set if it answers with yes. Columns that are not [used](Vectors::uses) may be empty.
    ///
    /// # Errors
    /// [`Error::Invalid`]: columns that do not fit, or a row that has no answer.
    pub fn select(&self, columns: &[Column<'_>], rows: usize, selected: &mut Vec<u64>) -> Result<()> {
        let fits = |(place, ty): (usize, &Type)| {
            !self.used[place] || columns.get(place).is_some_and(|column| column.ty == *ty && column.has(rows))
        };
        if !self.types.iter().enumerate().all(fits) {
            return Err(Error::Invalid("a condition was asked of other columns than it was made for".into()));
        }
        selected.clear();
        selected.reserve(rows.div_ceil(64));
        for first in (0..rows).step_by(ROWS) {
            let rows = (rows - first).min(ROWS);
            let mut block = Block { columns, first, rows, left: [0; WORDS] };
            let all = block.all();
            let mut taken = block.answer(&self.normal, &all);
            block.walk_left(&self.predicate, &mut taken)?;
            selected.extend_from_slice(&taken[..rows.div_ceil(64)]);
        }
        Ok(())
    }
}

/// Calls `used` with the columns of a condition.
fn columns_of(predicate: &Predicate, used: &mut impl FnMut(usize)) {
    use super::Operand;
    fn of(operand: &Operand, used: &mut impl FnMut(usize)) {
        match operand {
            Operand::Column { column, .. } => used(*column),
            Operand::Arithmetic(left, _, right) => {
                of(left, used);
                of(right, used);
            }
            Operand::Literal(_) | Operand::Parameter(_) => {}
        }
    }
    match predicate {
        Predicate::Compare(_, left, right) => {
            of(left, used);
            of(right, used);
        }
        Predicate::In(operand, _) | Predicate::IsNull(operand) | Predicate::Text(operand, _) => {
            of(operand, used)
        }
        Predicate::Between(operand, low, high) => {
            [operand, low, high].into_iter().for_each(|one| of(one, used))
        }
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().for_each(|part| columns_of(part, used)),
        Predicate::Not(part) => columns_of(part, used),
    }
}

/// Up to 1,024 rows.
pub(super) struct Block<'c> {
    pub(super) columns: &'c [Column<'c>],
    pub(super) first: usize,
    rows: usize,
    /// Rows that are left to the tree walk.
    pub(super) left: Bits,
}

impl<'c> Block<'c> {
    fn all(&self) -> Bits {
        let mut all = [0; WORDS];
        for (word, bits) in all.iter_mut().enumerate() {
            *bits = match self.rows.saturating_sub(word * 64) {
                0 => 0,
                rows @ 1..64 => (1 << rows) - 1,
                _ => u64::MAX,
            };
        }
        all
    }

    /// The rows of `among` that answer with yes.
    fn answer(&mut self, normal: &Normal, among: &Bits) -> Bits {
        match normal {
            Normal::Known(true) => *among,
            Normal::Known(false) => [0; WORDS],
            Normal::Leaf(leaf) => self.leaf(leaf, among),
            Normal::And(parts) => {
                let mut taken = *among;
                for part in parts {
                    if taken == [0; WORDS] {
                        break;
                    }
                    taken = self.answer(part, &taken);
                }
                taken
            }
            Normal::Or(parts) => {
                let (mut taken, mut others) = ([0; WORDS], *among);
                for part in parts {
                    let more = self.answer(part, &others);
                    for word in 0..WORDS {
                        taken[word] |= more[word];
                        others[word] &= !more[word];
                    }
                }
                taken
            }
        }
    }

    fn leaf(&mut self, leaf: &Leaf, among: &Bits) -> Bits {
        match leaf {
            Leaf::Constant(place, by, value) => self.constant(*place, *by, value, among),
            Leaf::Columns(left, by, right) => {
                let among = self.valid(*left, &self.valid(*right, among));
                let (left, right) = (self.columns[left.column], self.columns[right.column]);
                let with = WithColumn { block: self, left, right, among: &among };
                for_each(with, left.ty, *by).unwrap_or([0; WORDS])
            }
            Leaf::IsNotNull(place) => self.valid(*place, among),
            Leaf::IsNull(place) => {
                let valid = self.valid(*place, among);
                std::array::from_fn(|word| among[word] & !valid[word])
            }
            Leaf::Numbers { left, by, right, part, is } => {
                match answer_numbers(self, (left, *by, right), among) {
                    Some(Lanes { valid, left, .. }) => {
                        self.left.iter_mut().zip(&left).for_each(|(word, more)| *word |= more);
                        valid
                    }
                    None => self.walked(part, *is, among),
                }
            }
            Leaf::Walk { part, is } => self.walked(part, *is, among),
        }
    }

    fn constant(&self, place: Place, by: Compare, value: &Value, among: &Bits) -> Bits {
        let column = self.columns[place.column];
        let among = self.valid(place, among);
        match column.data {
            Data::Strided { .. } => {
                let (constant, _) = bytes_of(value);
                let with = WithConstant { block: self, column, constant, among: &among };
                for_each(with, column.ty, by).unwrap_or([0; WORDS])
            }
            Data::Texts { .. } => {
                let constant = match value {
                    Value::Utf8(text) => text.as_bytes(),
                    Value::Binary(bytes) => bytes,
                    _ => return [0; WORDS],
                };
                self.rows_of(&among, |row| by.holds(column.bytes(row).cmp(constant)))
            }
        }
    }

    /// The rows of `among` where a column is not NULL.
    pub(super) fn valid(&self, place: Place, among: &Bits) -> Bits {
        use super::layout::Nulls;
        let column = &self.columns[place.column];
        match column.nulls {
            Nulls::None => *among,
            // Blocks begin at whole words.
            Nulls::Valid(words) => std::array::from_fn(|word| match among[word] {
                0 => 0,
                among => among & words[self.first / 64 + word],
            }),
            Nulls::Bit { .. } => self.rows_of(among, |row| !column.is_null(row)),
        }
    }

    /// The rows of `among` that `is` says yes to, by their places in the columns.
    fn rows_of(&self, among: &Bits, is: impl Fn(usize) -> bool) -> Bits {
        let mut taken = [0; WORDS];
        for_rows(among, |row| taken[row / 64] |= u64::from(is(self.first + row)) << (row % 64));
        taken
    }

    /// What the tree walk says of a part; rows without an answer are left.
    fn walked(&mut self, part: &Predicate, is: bool, among: &Bits) -> Bits {
        let mut taken = [0; WORDS];
        let mut left = [0; WORDS];
        for_rows(among, |row| match self.walk(part, row) {
            Ok(answer) => taken[row / 64] |= u64::from(answer == Some(is)) << (row % 64),
            Err(_) => left[row / 64] |= 1 << (row % 64),
        });
        self.left.iter_mut().zip(&left).for_each(|(word, more)| *word |= more);
        taken
    }

    fn walk(&self, part: &Predicate, row: usize) -> Result<Option<bool>> {
        walk(part, &|_, column| -> ValueRef<'_> { self.columns[column].value(self.first + row) })
    }

    /// Answers the rows that were left.
    fn walk_left(&self, predicate: &Predicate, taken: &mut Bits) -> Result<()> {
        let mut result = Ok(());
        for_rows(&self.left, |row| {
            if result.is_err() {
                return;
            }
            match self.walk(predicate, row) {
                Ok(answer) => {
                    let bit = 1 << (row % 64);
                    let word = &mut taken[row / 64];
                    *word = if answer == Some(true) { *word | bit } else { *word & !bit };
                }
                Err(error) => result = Err(error),
            }
        });
        result
    }

    /// The integer of a row, if the column has one of 64 bits there. REQUIRES: a column of integers.
    pub(super) fn integer(&self, place: Place, row: usize) -> Option<i64> {
        match Number::of(self.columns[place.column].value(self.first + row)) {
            Some(Number::Integer(integer)) => integer.try_into().ok(),
            _ => None,
        }
    }
}

/// Calls `act` with each row whose bit is set.
pub(super) fn for_rows(among: &Bits, mut act: impl FnMut(usize)) {
    for (word, bits) in among.iter().enumerate() {
        let mut left = *bits;
        while left != 0 {
            act(word * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

/// The rows of `among` for which `is` holds, which is cheap: words with many rows are asked as a whole.
#[inline(always)]
fn loops(rows: usize, among: &Bits, is: impl Fn(usize) -> bool) -> Bits {
    let mut taken = [0; WORDS];
    for word in 0..rows.div_ceil(64) {
        let bits = among[word];
        if bits.count_ones() < FEW {
            let mut left = bits;
            while left != 0 {
                let bit = left.trailing_zeros();
                taken[word] |= u64::from(is(word * 64 + bit as usize)) << bit;
                left &= left - 1;
            }
            continue;
        }
        let mut answer = 0;
        for bit in 0..(rows - word * 64).min(64) {
            answer |= u64::from(is(word * 64 + bit)) << bit;
        }
        taken[word] = answer & bits;
    }
    taken
}

/// Where the values of a block begin, and how far apart they are.
fn start(column: Column<'_>, first: usize) -> (*const u8, usize) {
    match column.data {
        Data::Strided { bytes, offset, stride } => (bytes[offset + first * stride..].as_ptr(), stride),
        // Not of fixed width: nobody asks.
        Data::Texts { data, .. } => (data.as_ptr(), 0),
    }
}

struct WithConstant<'b> {
    block: &'b Block<'b>,
    column: Column<'b>,
    constant: [u8; 16],
    among: &'b Bits,
}

impl Each for WithConstant<'_> {
    type Made = Bits;

    fn of<T: Fixed + 'static, B: By + 'static>(self) -> Bits {
        let (at, stride) = start(self.column, self.block.first);
        // SAFETY: a constant has 16 bytes.
        let constant = unsafe { T::read(self.constant.as_ptr()) };
        let is = |row: usize| {
            // SAFETY: all rows of the block are there: `Column::has` was asked.
            B::holds(unsafe { T::read(at.add(row * stride)) }, constant)
        };
        match stride < LINE {
            true => loops(self.block.rows, self.among, is),
            // Each row is in a line of its own.
            false => loops(self.block.rows, self.among, |row| {
                prefetch(at.wrapping_add(row * stride + AHEAD));
                is(row)
            }),
        }
    }
}

struct WithColumn<'b> {
    block: &'b Block<'b>,
    left: Column<'b>,
    right: Column<'b>,
    among: &'b Bits,
}

impl Each for WithColumn<'_> {
    type Made = Bits;

    fn of<T: Fixed + 'static, B: By + 'static>(self) -> Bits {
        let (left, left_stride) = start(self.left, self.block.first);
        let (right, right_stride) = start(self.right, self.block.first);
        loops(self.block.rows, self.among, |row| {
            // SAFETY: all rows of the block are there in both: `Column::has` was asked.
            unsafe { B::holds(T::read(left.add(row * left_stride)), T::read(right.add(row * right_stride))) }
        })
    }
}
