//! What is to be merged, what it takes, and what comes of it.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::AtomicBool},
};

use ambo_codec::record::Dictionary;
use ambo_pages::page::{BlobRef, PageRange, PageStore, are_disjoint};
use ambo_types::{Result, id::PageNo, record::Record};

use super::{
    btree::{BuildOptions, Tree},
    column::{ReadBlob, Segment},
};

/// What is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compaction {
    /// So many of the newest runs.
    pub runs: usize,
    /// Whether all that is compacted is merged with them into one. If not, the base says whether they stay runs.
    pub whole: bool,
}

impl Compaction {
    /// That it can be done with so many runs.
    pub(super) fn verify(self, runs: usize) {
        assert!(self.runs <= runs, "runs that are there are merged");
        assert!(!self.whole || self.runs == runs, "what is older must not come above what is newer");
    }
}
/// Trains a dictionary for the records of trees, if their table wants one: its number, and itself.
pub type Train<'a> = dyn Fn(&[Arc<Tree>]) -> Result<Option<(u32, Dictionary)>> + 'a;
/// Copies a long value that a record refers to.
pub type CopyBlob<'a> = dyn Fn(&[u8]) -> Result<BlobRef> + 'a;

/// Whether a record of a key is left out: it is as if it were deleted.
pub type LeaveOut<'a> = dyn Fn(&[u8], Record<'_>) -> Result<bool> + 'a;

/// What it takes to build a base.
pub struct Workshop<'a> {
    /// Where its pages are.
    pub store: &'a Arc<PageStore>,
    /// How its trees are built.
    pub build: BuildOptions,
    /// Trains a dictionary for trees that become one, if they are to have a new one.
    pub train: &'a Train<'a>,
    /// Reads a long value that a record refers to.
    pub read_blob: &'a ReadBlob<'a>,
    /// Copies long values to the store, if they are in another one.
    pub copy_blob: Option<&'a CopyBlob<'a>>,
    /// Pages from there on are moved down.
    pub relocate_from: Option<PageNo>,
    /// Whether all is written anew, as `build` says.
    pub rewrite: bool,
    /// Ends the work with [`ambo_types::Error::Cancelled`] soon after it is set.
    pub cancel: &'a AtomicBool,
    /// What is left out as trees are merged, if something is.
    pub leave_out: Option<&'a LeaveOut<'a>>,
    /// If keys alone say what is left out: all records of keys below this, and no others.
    pub all_below: Option<&'a [u8]>,
}

/// What was merged, not published yet.
pub struct Compacted<B> {
    /// The runs that it was made of.
    pub inputs: Vec<Arc<Tree>>,
    /// What was made.
    pub made: Made<B>,
    /// Pages that are new, which nobody has if it is not published.
    pub born: Vec<PageRange>,
    /// Pages that nothing new reads.
    pub retired: Vec<PageRange>,
    /// Segments that are new, written and synced.
    pub new_segments: Vec<Arc<Segment>>,
    /// Segments that nothing new reads.
    pub old_segments: Vec<Arc<Segment>>,
    /// What new pages are compressed with.
    pub dictionary: Option<(u32, Dictionary)>,
    /// Whether this was a part of the work: it is asked for again until all is merged that was to be.
    pub is_more: bool,
}

/// What is in the place of runs that were merged.
pub enum Made<B> {
    /// A run, or nothing.
    Run(Option<Arc<Tree>>),
    /// A base, in the place of the one before, too.
    Base(B),
    /// The same, and what is left of the runs, newest first.
    Slot {
        /// The base.
        base: B,
        /// The runs, without what the base has of them.
        runs: Vec<Arc<Tree>>,
    },
}

/// A base of which no version knows yet.
pub struct Built<B> {
    /// Itself. All of its segments are new.
    pub base: B,
    /// Pages that are new, those of long values that were copied among them.
    pub born: Vec<PageRange>,
}

impl<B> Compacted<B> {
    /// That what comes and what goes are told apart.
    pub(super) fn verify(&self) {
        debug_assert!(are_disjoint(&self.born), "a page is born once");
        let ids =
            |segments: &[Arc<Segment>]| segments.iter().map(|segment| segment.id()).collect::<HashSet<_>>();
        let (new, old) = (ids(&self.new_segments), ids(&self.old_segments));
        assert!(new.is_disjoint(&old), "a segment comes or goes");
        assert_eq!(
            (new.len(), old.len()),
            (self.new_segments.len(), self.old_segments.len()),
            "a segment comes or goes once"
        );
    }
    /// The same, of another base.
    pub fn map<C>(self, base: impl FnOnce(B) -> C) -> Compacted<C> {
        let Self { inputs, made, born, retired, new_segments, old_segments, dictionary, is_more } = self;
        let made = match made {
            Made::Run(run) => Made::Run(run),
            Made::Base(made) => Made::Base(base(made)),
            Made::Slot { base: made, runs } => Made::Slot { base: base(made), runs },
        };
        Compacted { inputs, made, born, retired, new_segments, old_segments, dictionary, is_more }
    }
}

impl<B> Built<B> {
    /// The same, of another base.
    pub fn map<C>(self, base: impl FnOnce(B) -> C) -> Built<C> {
        Built { base: base(self.base), born: self.born }
    }
}
