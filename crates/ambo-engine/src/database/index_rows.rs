//! Rows of a table as entries of its indexes, in parts that several threads take.

use std::{
    borrow::Cow,
    iter,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use ambo_scan::Morsel;

use ambo_base::{
    BaseOps,
    btree::Tree,
    column::{ColumnSchema, ColumnSet, RowKeys},
};
use ambo_pages::page::PageStore;
use ambo_types::{Error, Result, id::TableId, parts::fold_parts, record::Record};

use super::{
    blobs::whole,
    cuts::{KeyBounds, cuts, part_rows, rows_about},
    engine::Engine,
    entry_sums::EntrySum,
    indexes::TableIndex,
    scan::{ScanPlan, TableScan},
    snapshot::Snapshot,
    walk::{Layers, Walk},
};
use crate::index::{Entry, EntryFormat, EntryGatherer, EntrySorter};

/// Rows in parts.
pub(super) trait IndexedRows: Sync {
    /// How many parts.
    fn parts(&self) -> usize;

    /// Shows the rows of a part.
    fn gather(&self, part: usize, into: &mut Gathering<'_>) -> Result<()>;
}

/// What becomes of the entries of some rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Come,
    /// They are in older trees.
    Go,
}

/// Sorts the entries of rows, for each index by a sorter of its own. Of rows that go and come with the same entry that counts which comes.
///
/// # Errors
/// Rows that cannot be read, and [`Error::Cancelled`].
pub(super) fn gather(
    rows: &[(&dyn IndexedRows, Fate)],
    indexes: &[Arc<TableIndex>],
    sorters: &[EntrySorter],
    threads: usize,
    cancel: &AtomicBool,
) -> Result<()> {
    assert_eq!(indexes.len(), sorters.len(), "a sorter for each index");
    let parts_of = |(number, (rows, _)): (usize, &(&dyn IndexedRows, Fate))| {
        (0..rows.parts()).map(move |part| (number, part))
    };
    let parts: Vec<_> = rows.iter().enumerate().flat_map(parts_of).collect();
    let sinks = || sorters.iter().map(|sorter| Sink::Sorted(sorter.gatherer()));
    let init = || Gathering::new(indexes, sinks());
    let step = |gathering: &mut Gathering<'_>, index: usize| {
        if cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let (number, part) = parts[index];
        gathering.fate = rows[number].1;
        rows[number].0.gather(part, gathering)
    };
    fold_parts(parts.len(), threads, init, step)?.into_iter().try_for_each(Gathering::finish)
}

/// What the entries of all rows come to, of each index.
///
/// # Errors
/// Rows that cannot be read, or have no entry.
pub(super) fn sums(
    snapshot: &Snapshot,
    table: TableId,
    indexes: &[Arc<TableIndex>],
    threads: usize,
) -> Result<Vec<EntrySum>> {
    let rows = all_rows(snapshot, table, indexes)?;
    let init = || Gathering::new(indexes, indexes.iter().map(|_| Sink::Summed(EntrySum::default())));
    let step = |gathering: &mut Gathering<'_>, part| rows.gather(part, gathering);
    let mut sums = vec![EntrySum::default(); indexes.len()];
    for gathering in fold_parts(rows.parts(), threads, init, step)? {
        for (sum, (_, sink)) in sums.iter_mut().zip(gathering.indexes) {
            if let Sink::Summed(part) = sink {
                *sum = sum.and(part);
            }
        }
    }
    Ok(sums)
}

/// Where the entries of an index go.
enum Sink<'g> {
    Sorted(EntryGatherer<'g>),
    Summed(EntrySum),
}

impl Sink<'_> {
    fn push(&mut self, entry: &Entry, fate: Fate) -> Result<()> {
        match (self, fate) {
            (Self::Sorted(gatherer), Fate::Come) => gatherer.push(&entry.key, &entry.value),
            (Self::Sorted(gatherer), Fate::Go) => gatherer.push_tombstone(&entry.key),
            (Self::Summed(sum), _) => {
                sum.add(&entry.key, &entry.value);
                Ok(())
            }
        }
    }
}

/// What one thread gathers.
pub(super) struct Gathering<'g> {
    indexes: Vec<(&'g EntryFormat, Sink<'g>)>,
    /// The last entry.
    entry: Entry,
    fate: Fate,
}

impl<'g> Gathering<'g> {
    fn new(indexes: &'g [Arc<TableIndex>], sinks: impl Iterator<Item = Sink<'g>>) -> Self {
        let indexes = indexes.iter().map(|index| &index.format).zip(sinks).collect();
        Self { indexes, entry: Entry::default(), fate: Fate::Come }
    }

    fn row(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        let Self { indexes, entry, fate } = self;
        indexes.iter_mut().try_for_each(|(format, sink)| {
            format.write_entry(key, row, entry)?;
            sink.push(entry, *fate)
        })
    }

    fn morsel(&mut self, morsel: &Morsel<'_>, schema: &ColumnSchema, columns: &IndexColumns) -> Result<()> {
        let Self { indexes, entry, fate } = self;
        let keys = RowKeys::of(morsel, schema)?;
        let rows = morsel.selected_rows();
        assert_eq!(keys.len(), rows.len(), "a key for each row");
        assert_eq!(indexes.len(), columns.of.len(), "columns of each index");
        let buffer = |place: usize| {
            let column = morsel.projection()[place];
            morsel.buffer(column, schema.types()[column], &rows)
        };
        let buffers = (0..columns.all.len()).map(buffer).collect::<Result<Vec<_>>>()?;
        for ((format, sink), places) in indexes.iter_mut().zip(&columns.of) {
            for row in 0..keys.len() {
                let values = places.iter().map(|place| buffers[*place].get(row));
                let values = values.map(|value| value.map_err(|error| format.unreadable(error)));
                format.write_entry_of(values, keys.get(row), entry)?;
                sink.push(entry, *fate)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.indexes.into_iter().try_for_each(|(_, sink)| match sink {
            Sink::Sorted(gatherer) => gatherer.finish(),
            Sink::Summed(_) => Ok(()),
        })
    }
}

/// The columns of some indexes.
struct IndexColumns {
    /// Columns of the table, each once.
    all: Vec<usize>,
    /// Those of each index, by their places in `all`.
    of: Vec<Vec<usize>>,
}

impl IndexColumns {
    fn new(indexes: &[Arc<TableIndex>]) -> Self {
        let mut all = Vec::new();
        let mut place = |column: &usize| match all.iter().position(|there| there == column) {
            Some(place) => place,
            None => {
                all.push(*column);
                all.len() - 1
            }
        };
        let of =
            indexes.iter().map(|index| index.format.of().columns.iter().map(&mut place).collect()).collect();
        Self { all, of }
    }
}

/// All rows of a column table at a moment.
struct ScannedRows {
    scan: TableScan,
    columns: IndexColumns,
}

impl IndexedRows for ScannedRows {
    fn parts(&self) -> usize {
        self.scan.units()
    }

    fn gather(&self, part: usize, into: &mut Gathering<'_>) -> Result<()> {
        match self.scan.morsel_in_order(part)? {
            Some(morsel) => into.morsel(&morsel, self.scan.schema(), &self.columns),
            None => Ok(()),
        }
    }
}

/// The rows of a set of segments.
pub(super) struct SetRows<'s> {
    set: &'s ColumnSet,
    columns: IndexColumns,
    projection: Vec<usize>,
    /// Run, part and group.
    groups: Vec<(usize, usize, usize)>,
}

impl<'s> SetRows<'s> {
    /// For these indexes.
    pub(super) fn new(set: &'s ColumnSet, indexes: &[Arc<TableIndex>]) -> Self {
        let columns = IndexColumns::new(indexes);
        let projection = columns.all.iter().map(|column| set.schema().place(*column)).collect();
        let mut groups = Vec::new();
        for (run, of) in set.runs().iter().enumerate() {
            for (part, of) in of.parts.iter().enumerate() {
                groups.extend((0..of.segment.directory().groups()).map(|group| (run, part, group)));
            }
        }
        Self { set, columns, projection, groups }
    }
}

impl IndexedRows for SetRows<'_> {
    fn parts(&self) -> usize {
        self.groups.len()
    }

    fn gather(&self, part: usize, into: &mut Gathering<'_>) -> Result<()> {
        let (run, part, group) = self.groups[part];
        let (part, schema) = (&self.set.runs()[run].parts[part], self.set.schema());
        match part.morsel(schema, group, iter::empty(), None, &[], &self.projection)? {
            Some(morsel) => into.morsel(&morsel, schema, &self.columns),
            None => Ok(()),
        }
    }
}

/// All rows of a table that is stored as rows, at a moment.
pub(super) struct RangeRows {
    layers: Layers,
    cuts: Vec<Vec<u8>>,
    store: Arc<PageStore>,
    table: TableId,
}

/// The keys of a part: from the one, to below the other.
fn bounds(cuts: &[Vec<u8>], part: usize) -> (&[u8], Option<&[u8]>) {
    debug_assert!(part <= cuts.len(), "a part of the rows");
    (part.checked_sub(1).map_or(&[], |before| &cuts[before]), cuts.get(part).map(Vec::as_slice))
}

impl RangeRows {
    /// Those that a snapshot sees.
    pub(super) fn new(snapshot: &Snapshot, table: TableId) -> Result<Self> {
        let version = snapshot.version().table(table)?;
        let layers = Layers::new(version, snapshot.own(table), snapshot.moment());
        let all = KeyBounds::default();
        let rows = rows_about(&layers, &all)?;
        let cuts = cuts(&layers, &all, rows, part_rows(rows))?;
        Ok(Self { layers, cuts, store: version.shared.store.clone(), table })
    }

    /// How many parts.
    pub(super) fn parts(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Shows the rows of a part: their keys, and all of their values.
    pub(super) fn each(&self, part: usize, mut show: impl FnMut(&[u8], &[u8]) -> Result<()>) -> Result<()> {
        let (lower, upper) = bounds(&self.cuts, part);
        let mut walk = Walk::new(&self.layers, lower, upper, true)?;
        walk.go_on(|key, record| {
            show(key, &whole(&self.store, self.table, record)?)?;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(())
    }
}

impl IndexedRows for RangeRows {
    fn parts(&self) -> usize {
        self.parts()
    }

    fn gather(&self, part: usize, into: &mut Gathering<'_>) -> Result<()> {
        self.each(part, |key, row| into.row(key, row))
    }
}

/// A row for each entry of a tree, if there is one.
pub(super) struct TreeRows<R> {
    tree: Arc<Tree>,
    cuts: Vec<Vec<u8>>,
    row: R,
}

impl<R: for<'r> Fn(&[u8], Record<'r>) -> Result<Option<Cow<'r, [u8]>>> + Sync> TreeRows<R> {
    /// Parts have about as many rows as those of scans.
    pub(super) fn new(tree: &Arc<Tree>, row: R) -> Result<Self> {
        let rows = tree.meta().rows;
        let positions = (0..rows).step_by(part_rows(rows) as usize).skip(1);
        let mut cuts =
            positions.filter_map(|row| tree.separator_at(row).transpose()).collect::<Result<Vec<_>>>()?;
        cuts.dedup();
        Ok(Self { tree: tree.clone(), cuts, row })
    }
}

impl<R: for<'r> Fn(&[u8], Record<'r>) -> Result<Option<Cow<'r, [u8]>>> + Sync> IndexedRows for TreeRows<R> {
    fn parts(&self) -> usize {
        self.cuts.len() + 1
    }

    fn gather(&self, part: usize, into: &mut Gathering<'_>) -> Result<()> {
        let (lower, upper) = bounds(&self.cuts, part);
        let mut cursor = self.tree.cursor();
        let mut there = cursor.seek_ge(lower)?;
        while there && upper.is_none_or(|upper| cursor.key() < upper) {
            if let Some(row) = (self.row)(cursor.key(), cursor.record())? {
                into.row(cursor.key(), &row)?;
            }
            there = cursor.next()?;
        }
        Ok(())
    }
}

/// All rows of a table as a snapshot sees them, for these of its indexes.
pub(super) fn all_rows(
    snapshot: &Snapshot,
    table: TableId,
    indexes: &[Arc<TableIndex>],
) -> Result<Box<dyn IndexedRows>> {
    let version = snapshot.version().table(table)?;
    if version.base.columns().is_some() {
        let columns = IndexColumns::new(indexes);
        let plan = ScanPlan { columns: columns.all.clone(), filters: Vec::new(), ..ScanPlan::default() };
        return Ok(Box::new(ScannedRows { scan: snapshot.scan_columns(table, &plan)?, columns }));
    }
    Ok(Box::new(RangeRows::new(snapshot, table)?))
}

impl Engine {
    /// Threads that make the entries of an index: one where all is to happen in the same order each time.
    pub(super) fn index_threads(&self) -> usize {
        match self.options.background_threads {
            true => std::thread::available_parallelism().map_or(1, usize::from),
            false => 1,
        }
    }
}
