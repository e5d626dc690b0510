//! What aggregates of single segments came to, kept in memory for the next time that the same is asked.
//!
//! # What is taken for the same
//! 1. The *question*: all that follows from rows of a segment, as bytes that are compared whole ([`Identity`]), and the columns of the
//!    table, by their schema itself: whoever changes a table's columns makes another schema. Conditions that all rows of the segment
//!    fulfil, as the directory says, are no part of it: so those of a time that moves on find what segments in its middle came to.
//! 2. The segment, by itself and not by its number.
//! 3. The rows of it that do not count, because they are deleted or newer ones replace them, one by one.
//!
//! # What is kept
//! Values of any type, within a part of the budget. Of a segment there is one for each question: that of the rows that were asked for last.
//! When there is no room those of the question go that was asked least lately. Those of segments that are gone go when the next is kept.

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use ambo_codec::bitmap::{Bitmap, Positions};
use ambo_pages::budget::{Charge, MemoryBudget};
use ambo_scan::Identity;
use parking_lot::Mutex;

use super::{run::Part, schema::ColumnSchema, segment::Segment};

/// What one value costs beside itself.
const OVERHEAD: usize = 256;
/// A value of more than this part of what all may have is not kept.
const VALUE_SHARE: usize = 64;

/// A value that is kept.
pub type Partial = Arc<dyn Any + Send + Sync>;

/// A question about the rows of segments.
#[derive(Clone)]
pub struct Question {
    schema: Weak<ColumnSchema>,
    identity: Arc<Identity>,
}

/// The values of a database. See the module.
pub struct Partials {
    memory: Arc<MemoryBudget>,
    is_on: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    questions: HashMap<Question, Answers>,
    /// How many questions were asked.
    clock: u64,
}

struct Answers {
    /// When it was asked last.
    asked: u64,
    /// By the ids of segments.
    of_segments: HashMap<u64, Answer>,
    _charge: Charge,
}

struct Answer {
    segment: Weak<Segment>,
    /// Rows that did not count.
    gone: Option<Bitmap>,
    value: Partial,
    _charge: Charge,
}

/// Figures of what is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartialsKept {
    /// Questions of which something is.
    pub questions: u64,
    /// Values.
    pub values: u64,
}

impl Question {
    /// A question about the columns of a schema.
    pub fn new(schema: &Arc<ColumnSchema>, identity: Identity) -> Self {
        Self { schema: Arc::downgrade(schema), identity: Arc::new(identity) }
    }
}

impl PartialEq for Question {
    fn eq(&self, other: &Self) -> bool {
        self.schema.ptr_eq(&other.schema) && self.identity == other.identity
    }
}

impl Eq for Question {}

impl Hash for Question {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}

impl Answer {
    fn is_of(&self, part: &Part, gone: Option<&Bitmap>) -> bool {
        std::ptr::eq(self.segment.as_ptr(), Arc::as_ptr(&part.segment)) && self.gone.as_ref() == gone
    }

    /// Whether its segment is in use by anybody.
    fn is_alive(&self) -> bool {
        self.segment.strong_count() > 0
    }
}

impl Kept {
    /// Throws out those of segments that are gone.
    fn sweep(&mut self) {
        self.questions.retain(|question, answers| {
            answers.of_segments.retain(|_, answer| answer.is_alive());
            !answers.of_segments.is_empty() && question.schema.strong_count() > 0
        });
    }

    /// Throws out a value of the question that was asked least lately, and not after `asked`; false if there is none.
    fn throw_out(&mut self, asked: u64) -> bool {
        let least = self.questions.iter().min_by_key(|(_, answers)| answers.asked);
        let Some((question, _)) = least.filter(|(_, answers)| answers.asked < asked) else { return false };
        let question = question.clone();
        let answers = self.questions.get_mut(&question).expect("it is there");
        if let Some(segment) = answers.of_segments.keys().next().copied() {
            answers.of_segments.remove(&segment);
        }
        if answers.of_segments.is_empty() {
            self.questions.remove(&question);
        }
        true
    }
}

impl Partials {
    /// None yet.
    pub(super) fn new(memory: Arc<MemoryBudget>) -> Self {
        Self { memory, is_on: AtomicBool::new(true), kept: Mutex::default() }
    }

    /// Whether values are kept, and those that are kept are made use of.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Keeps values from now on, or keeps none and forgets those that are kept.
    pub fn turn(&self, on: bool) {
        let mut kept = self.kept.lock();
        self.is_on.store(on, Ordering::Relaxed);
        if !on {
            kept.questions.clear();
        }
    }

    /// Whether a value of so many bytes may be kept.
    pub fn takes(&self, bytes: usize) -> bool {
        bytes <= self.memory.partials_most() / VALUE_SHARE
    }

    /// The values of questions for parts, with the rows of each that do not count, where they are kept.
    pub fn find<'p>(
        &self,
        parts: impl Iterator<Item = (&'p Question, &'p Part, Option<&'p Bitmap>)>,
    ) -> Vec<Option<Partial>> {
        let mut kept = self.kept.lock();
        kept.clock += 1;
        let clock = kept.clock;
        let of_part = |(question, part, gone): (&Question, &Part, Option<&Bitmap>)| {
            let answers = kept.questions.get_mut(question)?;
            answers.asked = clock;
            let answer = answers.of_segments.get(&part.segment.id())?;
            answer.is_of(part, gone).then(|| answer.value.clone())
        };
        parts.map(of_part).collect()
    }

    /// Keeps the value of a question for a part, if there is room.
    pub fn keep(
        &self,
        question: &Question,
        part: &Part,
        gone: Option<&Bitmap>,
        value: Partial,
        bytes: usize,
    ) {
        if !self.takes(bytes) {
            return;
        }
        let bytes = bytes + OVERHEAD + gone.map_or(0, bitmap_bytes);
        let mut kept = self.kept.lock();
        if !self.is_on() {
            return;
        }
        kept.sweep();
        let clock = kept.clock;
        let of_question = match kept.questions.contains_key(question) {
            true => None,
            false => match self.charge(&mut kept, clock, OVERHEAD + question.identity.bytes()) {
                Some(charge) => Some(charge),
                None => return,
            },
        };
        // What was kept of the part is of other rows.
        if let Some(answers) = kept.questions.get_mut(question) {
            answers.of_segments.remove(&part.segment.id());
        }
        let Some(charge) = self.charge(&mut kept, clock, bytes) else { return kept.sweep() };
        let segment = Arc::downgrade(&part.segment);
        let answer = Answer { segment, gone: gone.cloned(), value, _charge: charge };
        if let Some(charge) = of_question {
            let answers = Answers { asked: clock, of_segments: HashMap::new(), _charge: charge };
            kept.questions.insert(question.clone(), answers);
        }
        if let Some(answers) = kept.questions.get_mut(question) {
            answers.of_segments.insert(part.segment.id(), answer);
        }
    }

    /// Bytes of the budget, for which others are thrown out: those of questions that were asked before the last one.
    fn charge(&self, kept: &mut Kept, clock: u64, bytes: usize) -> Option<Charge> {
        if bytes > self.memory.partials_most() {
            return None;
        }
        loop {
            if let Some(charge) = self.memory.charge_partials(bytes) {
                return Some(charge);
            }
            if !kept.throw_out(clock) {
                return None;
            }
        }
    }

    /// Figures of what is kept.
    pub fn figures(&self) -> PartialsKept {
        let mut kept = self.kept.lock();
        kept.sweep();
        let values = kept.questions.values().map(|answers| answers.of_segments.len() as u64).sum();
        PartialsKept { questions: kept.questions.len() as u64, values }
    }
}

/// About how many bytes of memory a bitmap takes.
fn bitmap_bytes(bitmap: &Bitmap) -> usize {
    let mut bytes = Vec::new();
    bitmap.encode(&mut bytes);
    size_of::<Bitmap>() + bytes.len()
}

impl fmt::Debug for Partials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.figures().fmt(f)
    }
}

impl Part {
    /// Its rows that do not count: those that are deleted, and those that newer ones replace.
    pub fn gone(&self, replaced: Option<&Bitmap>) -> Option<Bitmap> {
        let deleted = self.deleted.as_ref().map(|deleted| &deleted.rows);
        let gone = match (deleted, replaced) {
            (Some(deleted), Some(replaced)) => deleted.or(replaced),
            (one, other) => one.or(other)?.clone(),
        };
        gone.first().is_some().then_some(gone)
    }
}
