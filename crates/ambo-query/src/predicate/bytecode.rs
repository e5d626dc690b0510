//! Conditions as bytecode, for one record at a time, of one relation or of several that are joined.
//!
//! 1. A program is an array of instructions of four kinds: halt without match, halt with match, compare a column with a column, compare a
//!    column with a constant. The first stands at 0, the second at 1, and a program begins at 2.
//! 2. Each has a pointer to the function that does it, the operands, and two addresses: where to go on if the comparison is false, and if
//!    it is true. There is no other state than the address.
//! 3. `a AND b` is `a`, which goes on to `b` where it is true, and to where `b` goes if it is false; so there are only jumps forwards.
//! 4. A column that may be NULL is asked for that first: its null byte is compared with a constant, bit by bit.
//! 5. Fields are compared with the layouts when the program is made, and records with their widths when it runs, not with each instruction.
//!
//! Arithmetic, text and columns of different types are for [`Vectors`](super::Vectors): see [`can_represent`].

use ambo_codec::prefetch;
use ambo_types::{Error, Result};

use super::{
    Predicate,
    instructions::{By, Each, Fixed, for_each},
    layout::{Field, Layout, bytes_of},
    normal::{Kind, Leaf, Normal, Place, normal},
};

const NO_MATCH: u16 = 0;
const MATCH: u16 = 1;
const ENTRY: u16 = 2;
/// Records are fetched so many bytes ahead.
const AHEAD: usize = 2048;
/// Records that are looked at together.
const RELATIONS_MAX: usize = 8;

type Run = unsafe fn(&Instruction, *const *const u8) -> bool;

/// Where a value is: in which record, and where in it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct At {
    relation: u8,
    /// The bit of a null byte.
    bit: u8,
    offset: u16,
    len: u16,
}

/// See the module.
#[derive(Clone, Debug)]
#[repr(C)]
struct Instruction {
    run: Run,
    left: At,
    right: At,
    literal: [u8; 16],
    /// Where it goes on: false, true.
    next: [u16; 2],
}

/// A condition as bytecode.
#[derive(Clone, Debug)]
pub struct Program {
    code: Vec<Instruction>,
    /// The widths of the records.
    sizes: Vec<usize>,
}

/// Whether a condition on records of these layouts, one a relation, can be compiled to bytecode: it is made of comparisons of columns with
/// constants and with columns of the same type, and of questions for NULL, joined by AND, OR and NOT.
pub fn can_represent(predicate: &Predicate, layouts: &[&Layout]) -> bool {
    layouts.len() <= RELATIONS_MAX
        && normal(predicate, &kind_in(layouts)).is_ok_and(|normal| {
            is_simple(&normal) && instructions(&normal, layouts) + usize::from(ENTRY) <= usize::from(u16::MAX)
        })
}

fn is_simple(normal: &Normal) -> bool {
    match normal {
        Normal::Known(_) => true,
        Normal::Leaf(leaf) => !matches!(leaf, Leaf::Numbers { .. } | Leaf::Walk { .. }),
        Normal::And(parts) | Normal::Or(parts) => parts.iter().all(is_simple),
    }
}

fn kind_in<'l>(layouts: &'l [&'l Layout]) -> impl Fn(u8, usize) -> Option<Kind> + 'l {
    move |relation, column| {
        let field = layouts.get(usize::from(relation))?.fields().get(column)?;
        Some(Kind { ty: field.ty, nullable: field.null.is_some() })
    }
}

/// How many instructions a condition takes.
fn instructions(normal: &Normal, layouts: &[&Layout]) -> usize {
    let asked = |place: &Place| usize::from(field(layouts, *place).null.is_some());
    match normal {
        Normal::Known(_) => 1,
        Normal::Leaf(Leaf::Constant(place, ..)) => 1 + asked(place),
        Normal::Leaf(Leaf::Columns(left, _, right)) => 1 + asked(left) + asked(right),
        Normal::Leaf(_) => 1,
        Normal::And(parts) | Normal::Or(parts) => parts.iter().map(|part| instructions(part, layouts)).sum(),
    }
}

fn field(layouts: &[&Layout], place: Place) -> Field {
    layouts[usize::from(place.relation)].fields()[place.column]
}

impl Program {
    /// Compiles a condition on records of these layouts, one a relation.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a condition that does not fit the columns, or that bytecode [cannot](can_represent) say.
    pub fn new(predicate: &Predicate, layouts: &[&Layout]) -> Result<Self> {
        let normal = normal(predicate, &kind_in(layouts))?;
        if !can_represent(predicate, layouts) {
            return Err(Error::Invalid(format!("the condition cannot be said in bytecode: {predicate}")));
        }
        let halt = Instruction::to(nothing, [NO_MATCH; 2]);
        let mut maker = Maker { layouts, code: vec![halt.clone(), halt] };
        maker.make(&normal, MATCH, NO_MATCH);
        debug_assert_eq!(
            maker.code.len(),
            instructions(&normal, layouts) + usize::from(ENTRY),
            "as was counted"
        );
        Ok(Self { code: maker.code, sizes: layouts.iter().map(|layout| layout.size()).collect() })
    }

    /// How many instructions it has, both halts among them.
    pub fn instructions(&self) -> usize {
        self.code.len()
    }

    /// Whether records, one a relation, answer with yes. Panics if there are not as many as relations, or one is too short.
    pub fn matches(&self, records: &[&[u8]]) -> bool {
        assert_eq!(records.len(), self.sizes.len(), "a record of each relation");
        let mut places = [std::ptr::null(); RELATIONS_MAX];
        for ((place, record), size) in places.iter_mut().zip(records).zip(&self.sizes) {
            assert!(record.len() >= *size, "a record has the width of its layout");
            *place = record.as_ptr();
        }
        // SAFETY: there is a record of each relation, and each has its width.
        unsafe { self.run(places.as_ptr()) }
    }

    /// A bit for each record of the one relation, set if it answers with yes; they lie one behind the other. Panics if there are more
    /// relations.
    pub fn select(&self, records: &[u8], selected: &mut Vec<u64>) {
        let [size] = self.sizes[..] else { panic!("records of one relation") };
        let rows = records.len() / size;
        selected.clear();
        selected.reserve(rows.div_ceil(64));
        let mut record = records.as_ptr();
        for first in (0..rows).step_by(64) {
            let mut bits = 0;
            for bit in 0..(rows - first).min(64) {
                // What a program looks at next depends on what it has seen: the processor does not come far ahead by itself.
                prefetch(record.wrapping_add(AHEAD));
                // SAFETY: `rows` records of this width are there.
                unsafe {
                    bits |= u64::from(self.run(&record)) << bit;
                    record = record.add(size);
                }
            }
            selected.push(bits);
        }
    }

    /// Runs it.
    ///
    /// # Safety
    /// There is a pointer to a record for each relation, and each record has its width.
    #[inline(always)]
    unsafe fn run(&self, records: *const *const u8) -> bool {
        let mut at = ENTRY;
        while at > MATCH {
            // SAFETY: addresses are those of instructions, and the records are as promised.
            unsafe {
                let instruction = self.code.get_unchecked(usize::from(at));
                at = instruction.next[usize::from((instruction.run)(instruction, records))];
            }
        }
        at == MATCH
    }
}

impl Instruction {
    fn to(run: Run, next: [u16; 2]) -> Self {
        Self { run, left: At::default(), right: At::default(), literal: [0; 16], next }
    }
}

struct Maker<'l> {
    layouts: &'l [&'l Layout],
    code: Vec<Instruction>,
}

impl Maker<'_> {
    /// Appends what goes to `yes` if the condition is true, and else to `no`.
    fn make(&mut self, normal: &Normal, yes: u16, no: u16) {
        match normal {
            Normal::Known(true) => self.code.push(Instruction::to(nothing, [yes; 2])),
            Normal::Known(false) => self.code.push(Instruction::to(nothing, [no; 2])),
            Normal::Leaf(leaf) => self.leaf(leaf, yes, no),
            Normal::And(parts) | Normal::Or(parts) => {
                let is_and = matches!(normal, Normal::And(_));
                for (number, part) in parts.iter().enumerate() {
                    let behind = (self.code.len() + instructions(part, self.layouts)) as u16;
                    match (number + 1 == parts.len(), is_and) {
                        (true, _) => self.make(part, yes, no),
                        (false, true) => self.make(part, behind, no),
                        (false, false) => self.make(part, yes, behind),
                    }
                }
            }
        }
    }

    fn leaf(&mut self, leaf: &Leaf, yes: u16, no: u16) {
        match leaf {
            Leaf::IsNull(place) => self.null(*place, [no, yes]),
            Leaf::IsNotNull(place) => self.null(*place, [yes, no]),
            Leaf::Constant(place, by, value) => {
                self.value_or(*place, no);
                let (literal, _) = bytes_of(value);
                let run = for_each(WithConstant, field(self.layouts, *place).ty, *by).unwrap_or(nothing);
                self.code.push(Instruction {
                    left: self.at(*place),
                    literal,
                    ..Instruction::to(run, [no, yes])
                });
            }
            Leaf::Columns(left, by, right) => {
                self.value_or(*left, no);
                self.value_or(*right, no);
                let run = for_each(WithColumn, field(self.layouts, *left).ty, *by).unwrap_or(nothing);
                let (left, right) = (self.at(*left), self.at(*right));
                self.code.push(Instruction { left, right, ..Instruction::to(run, [no, yes]) });
            }
            // Refused before.
            Leaf::Numbers { .. } | Leaf::Walk { .. } => self.code.push(Instruction::to(nothing, [no; 2])),
        }
    }

    /// Goes to `no` if a column is NULL, and else to the instruction behind.
    fn value_or(&mut self, place: Place, no: u16) {
        if field(self.layouts, place).null.is_some() {
            let behind = self.code.len() as u16 + 1;
            self.null(place, [behind, no]);
        }
    }

    /// Where to go if a column has a value, and if it is NULL.
    fn null(&mut self, place: Place, next: [u16; 2]) {
        let (byte, bit) = field(self.layouts, place).null.unwrap_or_default();
        let left = At { relation: place.relation, bit, offset: byte, len: 1 };
        self.code.push(Instruction { left, ..Instruction::to(is_set, next) });
    }

    fn at(&self, place: Place) -> At {
        let Field { ty, offset, .. } = field(self.layouts, place);
        let len = super::layout::width(ty).unwrap_or(0) as u16;
        At { relation: place.relation, bit: 0, offset, len }
    }
}

/// What goes on to one place anyway.
unsafe fn nothing(_: &Instruction, _: *const *const u8) -> bool {
    false
}

/// Where a field is.
///
/// # Safety
/// As of [`Program::run`], and the field is within its record.
#[inline(always)]
unsafe fn place(at: At, records: *const *const u8) -> *const u8 {
    // SAFETY: as required.
    unsafe { (*records.add(usize::from(at.relation))).add(usize::from(at.offset)) }
}

unsafe fn is_set(of: &Instruction, records: *const *const u8) -> bool {
    // SAFETY: the byte is within its record, which the layout has seen to.
    unsafe { *place(of.left, records) >> of.left.bit & 1 == 1 }
}

unsafe fn with_constant<T: Fixed, B: By>(of: &Instruction, records: *const *const u8) -> bool {
    // SAFETY: the field is within its record, which the layout has seen to; the constant has 16 bytes.
    unsafe { B::holds(T::read(place(of.left, records)), T::read(of.literal.as_ptr())) }
}

unsafe fn with_column<T: Fixed, B: By>(of: &Instruction, records: *const *const u8) -> bool {
    // SAFETY: both fields are within their records, which the layouts have seen to.
    unsafe { B::holds(T::read(place(of.left, records)), T::read(place(of.right, records))) }
}

struct WithConstant;

impl Each for WithConstant {
    type Made = Run;
    fn of<T: Fixed + 'static, B: By + 'static>(self) -> Run {
        with_constant::<T, B>
    }
}

struct WithColumn;

impl Each for WithColumn {
    type Made = Run;
    fn of<T: Fixed + 'static, B: By + 'static>(self) -> Run {
        with_column::<T, B>
    }
}

#[cfg(test)]
mod tests {
    use ambo_codec::{Type, Value};

    use super::*;
    use crate::predicate::{Arithmetic, Compare, Operand};

    fn layout() -> Layout {
        Layout::of(&[(Type::U32, false), (Type::U8, true), (Type::I64, true)], true).unwrap()
    }

    #[test]
    fn a_program_is_as_the_module_says() {
        let layout = layout();
        let three = Predicate::And(vec![
            Predicate::column(0, Compare::Equal, 7u32),
            Predicate::column(0, Compare::NotEqual, 8u32),
            Predicate::column(1, Compare::Equal, 9u8),
        ]);
        let program = Program::new(&three, &[&layout]).unwrap();
        // Two halts, two comparisons, one with a question for NULL before it.
        assert_eq!(program.instructions(), 2 + 2 + 2);
        assert_eq!(size_of::<Instruction>(), 40);
        for (number, instruction) in program.code.iter().enumerate().skip(2) {
            let is_forward = |next: &u16| *next < ENTRY || usize::from(*next) > number;
            assert!(instruction.next.iter().all(is_forward), "only jumps forwards");
        }
    }

    #[test]
    fn null_is_no_match_even_below_not() {
        let layout = layout();
        let mut record = Vec::new();
        layout.encode(&[1u32.into(), Value::Null, 3i64.into()], &mut record).unwrap();
        let both = |number: i64| {
            Predicate::And(vec![
                Predicate::column(1, Compare::Equal, 1u8),
                Predicate::column(2, Compare::Equal, number),
            ])
            .not()
        };
        let matches =
            |predicate: &Predicate| Program::new(predicate, &[&layout]).unwrap().matches(&[&record]);
        assert!(matches(&both(4)), "3 is not 4, whatever NULL is");
        assert!(!matches(&both(3)), "it is not known");
    }

    #[test]
    fn what_bytecode_cannot_say_is_refused() {
        let layout = layout();
        let sum = Operand::column(0).with(Arithmetic::Add, Operand::literal(1i64));
        let sum = Predicate::Compare(Compare::Equal, sum, Operand::literal(3i64));
        let mixed = Predicate::Compare(Compare::Less, Operand::column(0), Operand::column(2));
        let nowhere = Predicate::column(9, Compare::Equal, 1i64);
        let unsaid = "cannot be said in bytecode";
        for (refused, what) in
            [(sum, unsaid), (mixed, unsaid), (nowhere, "a condition: there is no column 9 of relation 0")]
        {
            assert!(!can_represent(&refused, &[&layout]));
            let error = Program::new(&refused, &[&layout]).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        assert!(can_represent(&Predicate::column(0, Compare::Less, 0.5), &[&layout]), "folded");
    }
}
