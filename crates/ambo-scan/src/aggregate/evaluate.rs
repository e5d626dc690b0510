//! Computing the steps of a program for a chunk of rows.

use ambo_codec::column::{
    Block, Mask,
    arithmetic::{self, Operand, Operator},
};
use ambo_types::{Error, Result};

use super::{
    program::{Lane, Program, Step},
    rows::{CHUNK, Rows, Words, bit},
};

/// The numbers of one step, in one of three widths.
#[derive(Debug, Default)]
pub(super) struct Vector {
    pub narrow: Vec<i64>,
    pub wide: Vec<i128>,
    pub float: Vec<f64>,
    /// The rows that have one; `None` if all have.
    pub valid: Option<Words>,
}

impl Vector {
    /// How many there are of the width in which they are computed.
    pub(super) fn len(&self, lane: Lane) -> usize {
        match lane {
            Lane::Narrow(..) => self.narrow.len(),
            Lane::Wide => self.wide.len(),
            Lane::Float => self.float.len(),
        }
    }
}

/// Where the numbers of a chunk are, by step.
#[derive(Debug, Default)]
pub(super) struct Vectors(pub Vec<Vector>);

fn overflow() -> Error {
    Error::Invalid("arithmetic overflow: a result in an expression that 128 bits cannot hold".into())
}

fn with(operator: Operator, left: i128, right: i128) -> Option<i128> {
    match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
    }
}

fn both(left: Option<Words>, right: Option<Words>) -> Option<Words> {
    match (left, right) {
        (Some(left), Some(right)) => Some(std::array::from_fn(|index| left[index] & right[index])),
        (one, other) => one.or(other),
    }
}

/// What of a morsel is needed.
pub(super) struct Blocks<'a> {
    /// The blocks of the projection.
    columns: Vec<Option<Block<'a>>>,
    /// The rows that have a value, by place in the projection, where not all have.
    valid: Vec<Option<Mask>>,
    /// Which of the morsel's rows answer each question with yes, as far as they are selected.
    pub answers: Vec<Option<Mask>>,
}

impl<'a> Blocks<'a> {
    /// The blocks of the projection that are needed, without answers.
    pub(super) fn new(columns: Vec<Option<Block<'a>>>) -> Self {
        let valid = |block: &Block<'a>| (!block.has_no_nulls()).then(|| block.validity());
        let valid = columns.iter().map(|block| block.as_ref().and_then(valid)).collect();
        Self { columns, valid, answers: Vec::new() }
    }

    /// The block at a place of the projection. REQUIRES: it is needed.
    pub(super) fn column(&self, place: usize) -> &Block<'a> {
        self.columns[place].as_ref().expect("a column that is needed")
    }

    /// The rows that have a value there; `None` if it is known that all have.
    pub(super) fn valid(&self, place: usize) -> Option<&Mask> {
        self.valid[place].as_ref()
    }
}

impl Vectors {
    /// Computes the steps that are `needed` for `rows`, a chunk at most.
    ///
    /// # Errors
    /// Overflow in a row that counts. What a block says, with the place of its column.
    pub(super) fn compute(
        &mut self,
        program: &Program,
        lanes: &[Lane],
        needed: &[bool],
        blocks: &Blocks<'_>,
        rows: &Rows<'_>,
        wrong: &dyn Fn(usize, ambo_codec::Error) -> Error,
    ) -> Result<()> {
        debug_assert!(rows.len() <= CHUNK, "validity has a bit for each row of a chunk");
        debug_assert_eq!(lanes.len(), program.steps.len(), "each step has a width");
        debug_assert_eq!(needed.len(), program.steps.len(), "of each step it is known whether it is needed");
        self.0.resize_with(program.steps.len(), Vector::default);
        for (index, step) in program.steps.iter().enumerate().filter(|(index, _)| needed[*index]) {
            debug_assert!(step.operands().all(|of| of < index && needed[of]), "operands are computed before");
            let mut out = std::mem::take(&mut self.0[index]);
            out.valid = None;
            match *step {
                Step::Column(place) => {
                    let block = blocks.column(place);
                    out.valid = blocks.valid(place).map(|valid| rows.bits(valid));
                    match lanes[index] {
                        Lane::Narrow(..) => rows.integers(block, &mut out.narrow),
                        Lane::Wide => rows.wide_integers(block, &mut out.wide),
                        Lane::Float => rows.floats(block, &mut out.float),
                    }
                    .map_err(|error| wrong(place, error))?;
                }
                Step::Constant(value) => match lanes[index] {
                    // Operations read it from the program.
                    Lane::Narrow(..) => fill(&mut out.narrow, value as i64, rows.len()),
                    _ => fill(&mut out.wide, value, rows.len()),
                },
                Step::ConstantFloat(value) => fill(&mut out.float, value, rows.len()),
                Step::ToFloat(of, scale) => self.to_float(of, scale, lanes[of], &mut out),
                Step::Holds(question) => {
                    let answers = blocks.answers[question].as_ref().expect("a question that is needed");
                    let yes = rows.bits(answers);
                    out.narrow.clear();
                    out.narrow.extend((0..rows.len()).map(|row| i64::from(bit(&yes, row))));
                }
                Step::Choice(condition, then, other) => {
                    let yes = self.truth(condition, lanes[condition], rows.len());
                    self.choose(&yes, (then, other), rows.len(), (lanes, index), &mut out);
                }
                Step::Arithmetic(operator, left, right) => {
                    out.valid = both(self.0[left].valid, self.0[right].valid);
                    match lanes[index] {
                        Lane::Narrow(..) => {
                            out.narrow.resize(rows.len(), 0);
                            let side = |of: usize| match program.steps[of] {
                                Step::Constant(value) => Operand::Constant(value as i64),
                                _ => Operand::Values(&self.0[of].narrow),
                            };
                            arithmetic::combine(operator, side(left), side(right), &mut out.narrow);
                        }
                        Lane::Wide => self.combine_wide(operator, (left, right), lanes, rows, &mut out)?,
                        Lane::Float => self.combine_floats(operator, left, right, &mut out.float),
                    }
                }
            }
            debug_assert_eq!(out.len(lanes[index]), rows.len(), "a number for each row");
            self.0[index] = out;
        }
        Ok(())
    }

    /// The rows in which a step's number is neither zero nor NULL.
    fn truth(&self, of: usize, lane: Lane, rows: usize) -> Words {
        let vector = &self.0[of];
        let is_true = |row: usize| match lane {
            Lane::Narrow(..) => vector.narrow[row] != 0,
            Lane::Wide => vector.wide[row] != 0,
            Lane::Float => vector.float[row] != 0.0,
        };
        let mut words = Words::default();
        (0..rows).for_each(|row| words[row / 64] |= u64::from(is_true(row)) << (row % 64));
        both(Some(words), vector.valid).expect("one of two")
    }

    /// The numbers of `then` where it is `yes`, of `other` elsewhere.
    fn choose(
        &self,
        yes: &Words,
        (then, other): (usize, Option<usize>),
        rows: usize,
        (lanes, index): (&[Lane], usize),
        out: &mut Vector,
    ) {
        fn pick<T: Copy>(yes: &Words, then: &[T], other: &[T], out: &mut Vec<T>) {
            debug_assert_eq!(then.len(), other.len(), "there are two numbers to choose from");
            out.clear();
            let pairs = then.iter().zip(other).enumerate();
            out.extend(pairs.map(|(row, (then, other))| if bit(yes, row) { *then } else { *other }));
        }
        // Without an other value it does not matter which one is there.
        let no = other.unwrap_or(then);
        match lanes[index] {
            Lane::Narrow(..) => pick(yes, &self.0[then].narrow, &self.0[no].narrow, &mut out.narrow),
            Lane::Float => pick(yes, &self.0[then].float, &self.0[no].float, &mut out.float),
            Lane::Wide => {
                out.wide.clear();
                let chosen = |row: usize| if bit(yes, row) { then } else { no };
                out.wide.extend((0..rows).map(|row| self.wide(chosen(row), lanes, row)));
            }
        }
        let of_then = self.0[then].valid;
        let of_other = other.map_or(Some(Words::default()), |other| self.0[other].valid);
        out.valid = (of_then.is_some() || of_other.is_some()).then(|| {
            let all = [u64::MAX; CHUNK / 64];
            let (then, other) = (of_then.unwrap_or(all), of_other.unwrap_or(all));
            std::array::from_fn(|index| yes[index] & then[index] | !yes[index] & other[index])
        });
    }

    /// A number of a step that is computed in 64 or 128 bits.
    fn wide(&self, of: usize, lanes: &[Lane], row: usize) -> i128 {
        match lanes[of] {
            Lane::Narrow(..) => self.0[of].narrow[row].into(),
            _ => self.0[of].wide[row],
        }
    }

    fn to_float(&self, of: usize, scale: i8, lane: Lane, out: &mut Vector) {
        out.valid = self.0[of].valid;
        out.float.clear();
        let float = |value: f64| to_float(value, scale);
        match lane {
            Lane::Narrow(..) => out.float.extend(self.0[of].narrow.iter().map(|value| float(*value as f64))),
            _ => out.float.extend(self.0[of].wide.iter().map(|value| float(*value as f64))),
        }
    }

    fn combine_floats(&self, operator: Operator, left: usize, right: usize, out: &mut Vec<f64>) {
        debug_assert_eq!(
            self.0[left].float.len(),
            self.0[right].float.len(),
            "there are two numbers for each row"
        );
        let pairs = self.0[left].float.iter().zip(&self.0[right].float);
        out.clear();
        match operator {
            Operator::Add => out.extend(pairs.map(|(left, right)| left + right)),
            Operator::Subtract => out.extend(pairs.map(|(left, right)| left - right)),
            Operator::Multiply => out.extend(pairs.map(|(left, right)| left * right)),
        }
    }

    /// An operation on numbers some of which need more than 64 bits. Rows that do not count, and NULLs, do not overflow.
    fn combine_wide(
        &self,
        operator: Operator,
        (left, right): (usize, usize),
        lanes: &[Lane],
        rows: &Rows<'_>,
        out: &mut Vector,
    ) -> Result<()> {
        let get = |of: usize, row: usize| self.wide(of, lanes, row);
        out.wide.clear();
        for row in 0..rows.len() {
            let counts = rows.word(row / 64) >> (row % 64) & 1 == 1;
            let valid = out.valid.is_none_or(|valid| bit(&valid, row));
            out.wide.push(match counts && valid {
                true => with(operator, get(left, row), get(right, row)).ok_or_else(overflow)?,
                false => 0,
            });
        }
        Ok(())
    }
}

/// An integer in units of ten to the power of minus `scale`, as a double.
pub(super) fn to_float(value: f64, scale: i8) -> f64 {
    match scale {
        0 => value,
        // Powers up to 10^22 are exact, so this is rounded once.
        1.. => value / 10f64.powi(scale.into()),
        ..0 => value * 10f64.powi(-i32::from(scale)),
    }
}

fn fill<T: Clone>(out: &mut Vec<T>, value: T, len: usize) {
    out.clear();
    out.resize(len, value);
}
