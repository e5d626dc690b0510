//! What a base has to do.
//!
//! 1. A base is immutable, and cheap to clone. It has each key once, and no tombstones.
//! 2. Above it are runs: trees of what was flushed, newest first. A run is newer than its base.
//! 3. What a base makes of runs and of itself is a new base. Its pages and segments are the caller's until they are published.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_pages::page::{PageRange, PageStore};
use ambo_types::{
    Result, TableDefinition,
    record::{Record, RecordKind},
};

use super::{
    btree::{KeySum, RowStream, Tree, TreeCursor, TreeRecord},
    column::{ColumnSchema, ColumnSet, ColumnSpace, CursorRows, Finder, RunCursor, Segment, SetColumn},
    compaction::{Built, Compacted, Compaction, Workshop},
    lsm::{Parts, PartsCursor},
    root::Root,
};

/// The operations of a base. What has a default is not for every storage.
pub trait BaseOps: Sized + Clone {
    /// The record of a key. Of a row that is put together, columns that are not `picked` may be NULL.
    fn get(&self, key: &[u8], picked: Option<&[bool]>) -> Result<Option<BaseRecord<'_>>>;

    /// Hands out the records of those of the keys that are there, each with its place among the keys. REQUIRES: the keys ascend.
    fn get_many(
        &self,
        keys: &[&[u8]],
        picked: Option<&[bool]>,
        found: &mut dyn FnMut(usize, BaseRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        debug_assert!(keys.is_sorted(), "keys that are sought together ascend");
        for (place, key) in keys.iter().enumerate() {
            if let Some(record) = self.get(key, picked)? {
                found(place, record)?;
            }
        }
        Ok(())
    }

    /// Hands out cursors that have all rows between them, each key in one of them.
    fn cursors(&self, wanted: CursorRows, take: &mut dyn FnMut(BaseCursor));

    /// What says of many keys, best in their order, whether they are there.
    fn prober(&self) -> Prober<'_>;

    /// How many rows there are.
    fn rows(&self) -> u64;

    /// How many rows have smaller keys.
    fn rank(&self, key: &[u8]) -> Result<u64>;

    /// The sum of the keys from `lower` on and below `upper`, and how many there are; none if they have to be walked for that.
    /// REQUIRES: all keys have one length of up to 8 bytes.
    fn sum_keys(&self, _lower: Option<&[u8]>, _upper: Option<&[u8]>) -> Result<Option<KeySum>> {
        Ok(None)
    }

    /// The trees that it consists of, newest first.
    fn trees(&self) -> &[Arc<Tree>] {
        &[]
    }

    /// The columns that it is scanned and loaded by, if it is stored by column. All other bases are read by cursors and look-ups.
    fn columns(&self) -> Option<&Arc<ColumnSet>> {
        None
    }

    /// Takes the trees out below which nothing is, to be walked leaf by leaf.
    fn take_lowest(&mut self) -> Option<Lowest> {
        None
    }

    /// The base that a tree without tombstones is by itself, where nothing else is compacted; none if it cannot be one as it is.
    fn adopted(&self, _tree: &Arc<Tree>) -> Option<Self> {
        None
    }

    /// The same rows, seen with other columns of their table.
    #[must_use]
    fn with_schema(&self, _schema: &Arc<ColumnSchema>) -> Self {
        self.clone()
    }

    /// Whether both are the very same.
    fn is_same(&self, other: &Self) -> bool;

    /// What is known of the values of a column without reading any; none if nothing is.
    fn figures(&self, column: usize) -> Option<SetColumn>;

    /// Figures of its segments, if it has segments. Of each column at most about `blocks_max` blocks are read.
    fn space(&self, _definition: &TableDefinition, _blocks_max: usize) -> Result<Option<ColumnSpace>> {
        Ok(None)
    }

    /// Reads all of it, and counts.
    ///
    /// # Errors
    /// None for damage, which is reported.
    fn check(&self, problems_max: usize) -> Result<BaseReport>;

    /// The pages that its roots name: enough to notice that one of them is free.
    fn root_pages(&self) -> Vec<PageRange>;

    /// All of its pages, each once.
    fn pages(&self) -> Result<Vec<PageRange>>;

    /// Its segments.
    fn segments(&self) -> Vec<Arc<Segment>> {
        Vec::new()
    }

    /// What a checkpoint has to say of it.
    fn roots(&self) -> Vec<Root>;

    /// The pages that these roots name, which nobody else may take, even if what they lead to cannot be read.
    ///
    /// # Errors
    /// What is wrong with the roots, in words.
    fn pages_of(&self, _roots: &[Root]) -> Result<Vec<PageRange>, String> {
        Ok(Vec::new())
    }

    /// The base that these roots lead to. REQUIRES: nothing is compacted.
    ///
    /// # Errors
    /// [`ambo_types::Error::Damaged`] if it cannot be read.
    fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self>;

    /// What of the newest runs is to become part of it now, if anything.
    fn due(&self, runs: &[Arc<Tree>]) -> Option<Compaction>;

    /// Merges runs with it, or among themselves. None if nothing would change.
    fn compact(
        &self,
        runs: &[Arc<Tree>],
        compaction: Compaction,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>>;

    /// Whether pages of it, or of runs that become part of it, are not compressed as a definition says.
    fn is_outdated(&self, _runs: &[Arc<Tree>], _definition: &TableDefinition) -> bool {
        false
    }

    /// Whether parts of it are to be merged with each other, which goes on beside loads and compactions.
    fn crowding(&self) -> Crowding {
        Crowding::None
    }

    /// Merges parts of it that are due. What is read for that stays as long as the base does, whatever version is current.
    fn merge_parts(&self, _cancel: &AtomicBool) -> Result<Self> {
        Ok(self.clone())
    }

    /// What `merged`, which [`BaseOps::merge_parts`] made of `from`, comes to where `from` became this base meanwhile. None if nothing
    /// would change.
    fn take_merged(
        &self,
        _merged: &Self,
        _from: &Self,
        _workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        Ok(None)
    }

    /// A base of these rows, which are live, in the order of their keys. REQUIRES: nothing is compacted.
    fn build(&self, rows: &mut dyn RowStream, workshop: &Workshop<'_>) -> Result<Built<Self>>;
}

/// How much the parts of a base are in need of being merged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Crowding {
    /// Not at all.
    None,
    /// They are due.
    Due,
    /// So much that whoever brings more does it first.
    Limit,
}

/// A record of a base.
pub enum BaseRecord<'a> {
    /// In a tree.
    Tree(TreeRecord<'a>),
    /// Put together from columns.
    Row(Vec<u8>),
}

impl BaseRecord<'_> {
    /// Kind and bytes.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        match self {
            Self::Tree(record) => record.record(),
            Self::Row(bytes) => Record::inline(bytes),
        }
    }

    /// The value, read by `whole` if it is not here.
    pub fn into_value(self, whole: impl FnOnce(Record<'_>) -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        match self {
            Self::Row(bytes) => Ok(bytes),
            Self::Tree(record) if record.kind() == RecordKind::Inline => Ok(record.to_vec()),
            Self::Tree(record) => whole(record.record()),
        }
    }
}

/// A cursor over sorted rows of a base, or over a run.
pub enum BaseCursor {
    /// Over a tree.
    Tree(TreeCursor),
    /// Over parts of a last level.
    Parts(PartsCursor),
    /// Over a run of segments.
    Columns(RunCursor),
}

/// Trees below which nothing is.
#[derive(Clone)]
pub enum Lowest {
    /// One.
    Tree(Arc<Tree>),
    /// Those that follow each other.
    Parts(Arc<Parts>),
}

impl Lowest {
    /// The trees, in the order of their keys.
    pub fn trees(&self) -> &[Arc<Tree>] {
        match self {
            Self::Tree(tree) => std::slice::from_ref(tree),
            Self::Parts(parts) => parts.trees(),
        }
    }

    /// How many entries there are.
    pub fn rows(&self) -> u64 {
        match self {
            Self::Tree(tree) => tree.meta().rows,
            Self::Parts(parts) => parts.rows(),
        }
    }

    /// How many have smaller keys.
    pub fn rank(&self, key: &[u8]) -> Result<u64> {
        match self {
            Self::Tree(tree) => tree.rank(key),
            Self::Parts(parts) => parts.rank(key),
        }
    }

    /// The key at `position`, counted from zero.
    pub fn nth(&self, position: u64) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Tree(tree) => tree.nth(position),
            Self::Parts(parts) => parts.nth(position),
        }
    }

    /// A cursor, on no entry yet; none where there are none.
    pub fn cursor(&self) -> Option<PartsCursor> {
        match self {
            Self::Tree(tree) => Some(PartsCursor::alone(tree)),
            Self::Parts(parts) => parts.cursor(),
        }
    }
}

/// Says of keys whether a base has them.
pub enum Prober<'b> {
    /// There are none.
    Nothing,
    /// By look-ups in a tree.
    Tree(&'b Tree),
    /// By look-ups in parts.
    Parts(&'b Parts),
    /// By a search that goes on from where the last one ended.
    Columns(Finder<'b>),
}

impl Prober<'_> {
    /// Whether the key is there.
    pub fn has(&mut self, key: &[u8]) -> Result<bool> {
        Ok(match self {
            Self::Nothing => false,
            Self::Tree(tree) => tree.get(key)?.is_some(),
            Self::Parts(parts) => parts.get(key)?.is_some(),
            Self::Columns(finder) => finder.find(key)?.is_some(),
        })
    }
}

/// What a check of a base found.
#[derive(Debug, Default)]
pub struct BaseReport {
    /// Everything that is wrong, each with its place.
    pub problems: Vec<String>,
    /// Trees that were walked.
    pub trees: u64,
    /// Segments that were read.
    pub segments: u64,
    /// Rows.
    pub rows: u64,
    /// Its pages, by what they are.
    pub pages: Vec<(&'static str, Vec<PageRange>)>,
}
