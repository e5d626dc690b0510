//! Scans whose results are put together of what single segments came to, of which some is kept from the last time.
//!
//! 1. Units of a segment that is asked for the first time go to states of that segment; each thread puts its state there when it goes on
//!    with another. When all units are in, what they came to is kept.
//! 2. Fresh rows, and rows of segments of which too much would have to be kept, go to a state of the thread.
//! 3. A segment whose values are all that is asked for, and are counted by an index with postings in a file, is read as that alone.
//! 4. An error ends the scan, and of the segment that it came from nothing is kept.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ambo_base::column::{PartCounts, Partial, Question};
use ambo_codec::bitmap::Bitmap;
use ambo_scan::{CountedColumn, Identity, Morsel, ValueCounts};
use ambo_types::{Result, parts::fold_parts};
use parking_lot::Mutex;

use super::scan::{TableScan, Unit};

/// How the rows of a scan are put together, in any order.
pub trait PartialStates: Sync {
    /// What some rows come to, while more are added.
    type State: Send;
    /// The same, when it is kept.
    type Kept: Send + Sync + 'static;

    /// Of no rows.
    ///
    /// # Errors
    /// What ends the scan.
    fn begin(&self) -> Result<Self::State>;

    /// Adds the selected rows of a unit.
    ///
    /// # Errors
    /// What ends the scan.
    fn add(&self, state: &mut Self::State, unit: usize, morsel: &Morsel<'_>) -> Result<()>;

    /// The column of whose values, and how many rows have each, all follows; none if it takes more.
    fn counted(&self) -> Option<CountedColumn> {
        None
    }

    /// Adds rows by the values that they have in that column.
    ///
    /// # Errors
    /// What ends the scan.
    fn add_counts(&self, _state: &mut Self::State, _counts: ValueCounts) -> Result<()> {
        unreachable!("no column is counted")
    }

    /// Adds what other rows came to.
    ///
    /// # Errors
    /// What ends the scan.
    fn add_kept(&self, state: &mut Self::State, kept: &Self::Kept) -> Result<()>;

    /// What is kept, and its bytes.
    fn keep(&self, state: Self::State) -> (Self::Kept, usize);
}

/// How many segments a scan has put its result together of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartialsUsed {
    /// Segments and extents of which rows may be selected.
    pub parts: u64,
    /// Those of which nothing was read, for what they come to was kept.
    pub kept: u64,
    /// Those of which leaves of postings were read, and no row was looked at.
    pub counted: u64,
}

/// A segment of a scan.
#[derive(Default)]
struct ScannedPart {
    place: (usize, usize),
    units: usize,
    /// What is asked of it, if what it comes to may be kept.
    question: Option<Question>,
    /// Rows of it that do not count.
    gone: Option<Bitmap>,
    kept: Option<Partial>,
    /// What a file of postings says of it, if that is all that is asked.
    counts: Option<PartCounts>,
}

/// What a thread takes.
#[derive(Clone, Copy)]
enum Task {
    /// A unit, with the number of its segment, if what that comes to is to be kept.
    Unit(usize, Option<usize>),
    /// All of a segment, by its number, as a file of postings counts it.
    Counts(usize),
}

/// What is known of a segment whose units threads have taken.
struct Gathered<S> {
    state: Option<S>,
    left: usize,
}

/// What a thread has.
struct Thread<S> {
    /// Of rows that are of no segment, or of one of which nothing is kept.
    rest: Option<S>,
    /// The segment that it is at, what its units have come to here, and how many they were.
    part: Option<(usize, S, usize)>,
}

impl TableScan {
    /// Puts the selected rows together, by up to so many threads, with what is kept of segments; `identity` says what is computed of them,
    /// apart from which rows and columns the scan selects. Without it nothing is kept.
    ///
    /// # Errors
    /// The first of any thread; the others stop.
    pub fn fold_partials<P: PartialStates>(
        &self,
        threads: usize,
        identity: Option<Identity>,
        states: &P,
    ) -> Result<(Vec<P::State>, PartialsUsed)> {
        let identity = identity.filter(|_| self.partials().is_on());
        let parts = self.scanned_parts(identity, states.counted())?;
        let used = PartialsUsed {
            parts: parts.len() as u64,
            kept: parts.iter().filter(|part| part.kept.is_some()).count() as u64,
            counted: parts.iter().filter(|part| part.counts.is_some()).count() as u64,
        };
        let work = Work::new(self, states, &parts);
        let init = || Thread { rest: None, part: None };
        let threads = fold_parts(work.tasks.len(), threads, init, |own, at| work.step(own, at))?;
        let mut done = Vec::with_capacity(threads.len());
        for own in threads {
            if let Some((part, state, units)) = own.part {
                work.deposit(part, state, units)?;
            }
            done.extend(own.rest);
        }
        let gathered: Vec<_> = work.gathered.into_iter().filter_map(|of| of.into_inner().state).collect();
        let kept = work.kept.into_inner();
        done.extend(gathered);
        let kept = parts.iter().filter_map(|part| part.kept.clone()).chain(kept);
        let mut kept = kept.filter_map(|kept| kept.downcast::<P::Kept>().ok());
        if done.is_empty() {
            done.push(states.begin()?);
        }
        kept.try_for_each(|kept| states.add_kept(&mut done[0], &kept))?;
        Ok((done, used))
    }

    /// The segments of which units are, with what is kept of them, if something may be, and else what postings say of them.
    fn scanned_parts(
        &self,
        identity: Option<Identity>,
        counted: Option<CountedColumn>,
    ) -> Result<Vec<ScannedPart>> {
        let mut parts: Vec<ScannedPart> = Vec::new();
        for unit in self.all_units() {
            let Unit::Group { run, part, .. } = *unit else { continue };
            match parts.last_mut() {
                Some(last) if last.place == (run, part) => last.units += 1,
                _ => {
                    let place = (run, part);
                    let part = ScannedPart { place, units: 1, ..ScannedPart::default() };
                    parts.push(part);
                }
            }
        }
        if identity.is_some() || counted.is_some() {
            parts.iter_mut().for_each(|part| part.gone = self.gone(part.place));
        }
        if let Some(identity) = identity {
            self.find_kept(&identity, &mut parts);
        }
        if let Some(counted) = counted {
            for part in parts.iter_mut().filter(|part| part.kept.is_none()) {
                part.counts = self.counts(part.place, counted, part.gone.as_ref())?;
            }
        }
        Ok(parts)
    }

    /// Finds what is kept of segments.
    fn find_kept(&self, identity: &Identity, parts: &mut [ScannedPart]) {
        let mut questions: HashMap<Vec<bool>, Option<Question>> = HashMap::new();
        for part in &mut *parts {
            let answered = self.answered_whole(part.place);
            let question = questions.entry(answered);
            part.question = question.or_insert_with_key(|answered| self.question(identity, answered)).clone();
        }
        let sought = parts.iter().filter_map(|part| {
            let question = part.question.as_ref()?;
            Some((question, self.part(part.place), part.gone.as_ref()))
        });
        let mut found = self.partials().find(sought).into_iter();
        for part in parts.iter_mut().filter(|part| part.question.is_some()) {
            part.kept = found.next().flatten();
        }
    }
}

/// What is read, and what it comes to.
struct Work<'s, P: PartialStates> {
    scan: &'s TableScan,
    states: &'s P,
    parts: &'s [ScannedPart],
    /// What is read.
    tasks: Vec<Task>,
    gathered: Vec<Mutex<Gathered<P::State>>>,
    /// What segments have come to.
    kept: Mutex<Vec<Partial>>,
    /// Whether what one segment came to was too much to be kept.
    is_too_much: AtomicBool,
}

impl<'s, P: PartialStates> Work<'s, P> {
    fn new(scan: &'s TableScan, states: &'s P, parts: &'s [ScannedPart]) -> Self {
        let counted = (0..parts.len()).filter(|part| parts[*part].counts.is_some());
        let mut tasks: Vec<_> = counted.map(Task::Counts).collect();
        tasks.reserve(scan.units());
        let mut number = 0;
        for (place, unit) in scan.all_units().iter().enumerate() {
            let Unit::Group { run, part, .. } = *unit else {
                tasks.push(Task::Unit(place, None));
                continue;
            };
            while parts[number].place != (run, part) {
                number += 1;
            }
            let part = &parts[number];
            if part.kept.is_none() && part.counts.is_none() {
                tasks.push(Task::Unit(place, part.question.is_some().then_some(number)));
            }
        }
        let gathered = |part: &ScannedPart| Mutex::new(Gathered { state: None, left: part.units });
        let gathered = parts.iter().map(gathered).collect();
        let (kept, is_too_much) = (Mutex::default(), AtomicBool::new(false));
        Self { scan, states, parts, tasks, gathered, kept, is_too_much }
    }

    /// Does a task.
    fn step(&self, own: &mut Thread<P::State>, at: usize) -> Result<()> {
        let task = self.tasks[at];
        let part = match task {
            Task::Unit(_, part) => part,
            Task::Counts(part) => self.parts[part].question.is_some().then_some(part),
        };
        let part = part.filter(|_| !self.is_too_much.load(Ordering::Relaxed));
        let state = match part {
            None => match &mut own.rest {
                Some(rest) => rest,
                none => none.insert(self.states.begin()?),
            },
            Some(part) => {
                if own.part.as_ref().is_none_or(|(number, ..)| *number != part) {
                    if let Some((number, state, units)) = own.part.take() {
                        self.deposit(number, state, units)?;
                    }
                    own.part = Some((part, self.states.begin()?, 0));
                }
                let (_, state, units) = own.part.as_mut().expect("it was put there");
                *units += if let Task::Counts(part) = task { self.parts[part].units } else { 1 };
                state
            }
        };
        let unit = match task {
            Task::Unit(unit, _) => unit,
            Task::Counts(number) => {
                let part = &self.parts[number];
                let counts = part.counts.as_ref().expect("it is counted");
                let counts =
                    counts.read(self.scan.part(part.place), self.scan.schema(), part.gone.as_ref())?;
                return self.states.add_counts(state, counts);
            }
        };
        match self.scan.morsel(unit)? {
            Some(morsel) => self.states.add(state, unit, &morsel),
            None => Ok(()),
        }
    }

    /// Puts what units of a segment have come to together with what others have. With the last of them it is kept.
    fn deposit(&self, number: usize, state: P::State, units: usize) -> Result<()> {
        let mut gathered = self.gathered[number].lock();
        assert!(units <= gathered.left, "each unit of a segment is read once");
        gathered.left -= units;
        match &mut gathered.state {
            Some(others) => self.states.add_kept(others, &self.states.keep(state).0)?,
            none => *none = Some(state),
        }
        let ScannedPart { place, question, gone, .. } = &self.parts[number];
        let (Some(question), 0) = (question, gathered.left) else { return Ok(()) };
        let Some(state) = gathered.state.take() else { return Ok(()) };
        drop(gathered);
        let (kept, bytes) = self.states.keep(state);
        let kept: Partial = Arc::new(kept);
        let partials = self.scan.partials();
        if !partials.takes(bytes) {
            self.is_too_much.store(true, Ordering::Relaxed);
        }
        partials.keep(question, self.scan.part(*place), gone.as_ref(), kept.clone(), bytes);
        self.kept.lock().push(kept);
        Ok(())
    }
}
