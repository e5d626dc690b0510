//! A base of any storage.

use std::{
    any::Any,
    sync::{Arc, atomic::AtomicBool},
};

use ambo_pages::page::{PageRange, PageStore};
use ambo_types::{Result, Storage, TableDefinition};

#[cfg(feature = "stub")]
use super::stub::StubBase;
use super::{
    append::AppendBase,
    btree::{KeySum, RowStream, Tree, TreeBase},
    column::{
        ColumnBase, ColumnSchema, ColumnSet, ColumnSpace, CursorRows, Segment, SegmentStore, SetColumn,
    },
    compaction::{Built, Compacted, Compaction, Workshop},
    lsm::LsmBase,
    ops::{BaseCursor, BaseOps, BaseRecord, BaseReport, Crowding, Lowest, Prober},
    root::Root,
};

/// The compacted part of a table: an arm for each shape, here and in `each`.
#[derive(Clone)]
pub enum Base {
    /// One packed tree, in the file or in memory.
    BTree(TreeBase),
    /// Packed trees that follow each other.
    Lsm(LsmBase),
    /// Segments.
    Column(ColumnBase),
    /// Extents.
    Append(AppendBase),
    /// A tree that is asked through another storage.
    #[cfg(feature = "stub")]
    Stub(StubBase),
}

/// Does the same with whatever base it is; `wrap` makes a [`Base`] of one of its kind.
macro_rules! each {
    ($base:expr, ($of:ident, $wrap:ident) => $what:expr) => {
        match $base {
            Base::BTree($of) => {
                let $wrap = Base::BTree;
                $what
            }
            Base::Lsm($of) => {
                let $wrap = Base::Lsm;
                $what
            }
            Base::Column($of) => {
                let $wrap = Base::Column;
                $what
            }
            Base::Append($of) => {
                let $wrap = Base::Append;
                $what
            }
            #[cfg(feature = "stub")]
            Base::Stub($of) => {
                let $wrap = Base::Stub;
                $what
            }
        }
    };
    ($base:expr, $of:ident => $what:expr) => {
        each!($base, ($of, _wrap) => $what)
    };
}

/// Where a database has its bases.
#[derive(Clone, Copy)]
pub struct Stores<'a> {
    /// Its file of pages.
    pub pages: &'a Arc<PageStore>,
    /// Its segments.
    pub segments: &'a Arc<SegmentStore>,
    /// Bytes that a part of storage `lsm` should have.
    pub part_bytes: u64,
}

impl Stores<'_> {
    /// Where the pages of a new table are: in the file, or in memory of its own.
    pub fn store(&self, storage: Storage) -> Arc<PageStore> {
        if storage.traits().durable { self.pages.clone() } else { PageStore::memory(self.pages.page_size()) }
    }
}

impl From<ColumnSet> for Base {
    fn from(set: ColumnSet) -> Self {
        Arc::new(set).into()
    }
}

impl From<Arc<ColumnSet>> for Base {
    fn from(set: Arc<ColumnSet>) -> Self {
        match set.schema().has_records() {
            true => Self::Append(AppendBase::new(set)),
            false => Self::Column(ColumnBase::new(set)),
        }
    }
}

impl Base {
    /// A base without rows. `schema`: the columns of a table that is stored by column.
    ///
    /// # Panics
    /// If it is, and there are none.
    pub fn empty(storage: Storage, place: Stores<'_>, schema: Option<&Arc<ColumnSchema>>) -> Self {
        match storage {
            Storage::BTree | Storage::Memory => Self::BTree(TreeBase::default()),
            Storage::Lsm => Self::Lsm(LsmBase::new(place.part_bytes, place.pages.page_size())),
            Storage::Column | Storage::Append => {
                let schema = schema.expect("a table that is stored by column has columns").clone();
                assert_eq!(schema.has_records(), storage.traits().records, "columns of this storage");
                ColumnSet::new(place.segments.clone(), schema, Vec::new()).into()
            }
            #[cfg(feature = "stub")]
            Storage::Stub => Self::Stub(StubBase::default()),
        }
    }

    /// Whether this is what a storage has.
    pub fn is_of(&self, storage: Storage) -> bool {
        match self {
            Self::BTree(_) => matches!(storage, Storage::BTree | Storage::Memory),
            Self::Lsm(_) => storage == Storage::Lsm,
            Self::Column(_) => storage == Storage::Column,
            Self::Append(_) => storage == Storage::Append,
            #[cfg(feature = "stub")]
            Self::Stub(_) => storage == Storage::Stub,
        }
    }

    /// The base itself, if it is one of this type.
    fn as_one<B: Any>(&self) -> Option<&B> {
        each!(self, base => (base as &dyn Any).downcast_ref())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows() == 0
    }
}

impl BaseOps for Base {
    #[inline]
    fn get(&self, key: &[u8], picked: Option<&[bool]>) -> Result<Option<BaseRecord<'_>>> {
        each!(self, base => base.get(key, picked))
    }

    fn get_many(
        &self,
        keys: &[&[u8]],
        picked: Option<&[bool]>,
        found: &mut dyn FnMut(usize, BaseRecord<'_>) -> Result<()>,
    ) -> Result<()> {
        debug_assert!(keys.is_sorted_by(|one, next| one < next), "keys ascend");
        each!(self, base => base.get_many(keys, picked, found))
    }

    fn cursors(&self, wanted: CursorRows, take: &mut dyn FnMut(BaseCursor)) {
        each!(self, base => base.cursors(wanted, take));
    }

    fn prober(&self) -> Prober<'_> {
        each!(self, base => base.prober())
    }

    fn rows(&self) -> u64 {
        each!(self, base => base.rows())
    }

    fn rank(&self, key: &[u8]) -> Result<u64> {
        each!(self, base => base.rank(key))
    }

    fn sum_keys(&self, lower: Option<&[u8]>, upper: Option<&[u8]>) -> Result<Option<KeySum>> {
        each!(self, base => base.sum_keys(lower, upper))
    }

    fn trees(&self) -> &[Arc<Tree>] {
        each!(self, base => base.trees())
    }

    fn columns(&self) -> Option<&Arc<ColumnSet>> {
        each!(self, base => base.columns())
    }

    fn take_lowest(&mut self) -> Option<Lowest> {
        each!(self, base => base.take_lowest())
    }

    fn adopted(&self, tree: &Arc<Tree>) -> Option<Self> {
        let adopted = each!(self, (base, wrap) => base.adopted(tree).map(wrap));
        debug_assert!(
            adopted.as_ref().is_none_or(|adopted| adopted.rows() == tree.meta().rows),
            "all its rows"
        );
        adopted
    }

    fn with_schema(&self, schema: &Arc<ColumnSchema>) -> Self {
        let reformed = each!(self, (base, wrap) => wrap(base.with_schema(schema)));
        debug_assert_eq!(reformed.rows(), self.rows(), "columns come and go, rows stay");
        reformed
    }

    fn is_same(&self, other: &Self) -> bool {
        each!(self, base => other.as_one().is_some_and(|other| base.is_same(other)))
    }

    fn figures(&self, column: usize) -> Option<SetColumn> {
        each!(self, base => base.figures(column))
    }

    fn space(&self, definition: &TableDefinition, blocks_max: usize) -> Result<Option<ColumnSpace>> {
        each!(self, base => base.space(definition, blocks_max))
    }

    fn check(&self, problems_max: usize) -> Result<BaseReport> {
        each!(self, base => base.check(problems_max))
    }

    fn root_pages(&self) -> Vec<PageRange> {
        each!(self, base => base.root_pages())
    }

    fn pages(&self) -> Result<Vec<PageRange>> {
        each!(self, base => base.pages())
    }

    fn segments(&self) -> Vec<Arc<Segment>> {
        each!(self, base => base.segments())
    }

    fn roots(&self) -> Vec<Root> {
        each!(self, base => base.roots())
    }

    fn pages_of(&self, roots: &[Root]) -> Result<Vec<PageRange>, String> {
        each!(self, base => base.pages_of(roots))
    }

    fn open(&self, roots: &[Root], store: &Arc<PageStore>) -> Result<Self> {
        each!(self, (base, wrap) => base.open(roots, store).map(wrap))
    }

    fn due(&self, runs: &[Arc<Tree>]) -> Option<Compaction> {
        let due = each!(self, base => base.due(runs));
        due.inspect(|due| due.verify(runs.len()))
    }

    fn compact(
        &self,
        runs: &[Arc<Tree>],
        compaction: Compaction,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        compaction.verify(runs.len());
        each!(self, (base, wrap) => {
            let compacted = base.compact(runs, compaction, workshop)?;
            Ok(compacted.map(|compacted| compacted.map(wrap)).inspect(Compacted::verify))
        })
    }

    fn is_outdated(&self, runs: &[Arc<Tree>], definition: &TableDefinition) -> bool {
        each!(self, base => base.is_outdated(runs, definition))
    }

    fn crowding(&self) -> Crowding {
        each!(self, base => base.crowding())
    }

    fn merge_parts(&self, cancel: &AtomicBool) -> Result<Self> {
        each!(self, (base, wrap) => base.merge_parts(cancel).map(wrap))
    }

    fn take_merged(
        &self,
        merged: &Self,
        from: &Self,
        workshop: &Workshop<'_>,
    ) -> Result<Option<Compacted<Self>>> {
        each!(self, (now, wrap) => {
            let (Some(merged), Some(from)) = (merged.as_one(), from.as_one()) else {
                // It has another storage by now: what was merged is of no use.
                return Ok(None);
            };
            let compacted = now.take_merged(merged, from, workshop)?;
            Ok(compacted.map(|compacted| compacted.map(wrap)).inspect(Compacted::verify))
        })
    }

    fn build(&self, rows: &mut dyn RowStream, workshop: &Workshop<'_>) -> Result<Built<Self>> {
        each!(self, (base, wrap) => Ok(base.build(rows, workshop)?.map(wrap)))
    }
}
