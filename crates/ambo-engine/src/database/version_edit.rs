//! What changes from one version of the database to the next.
//!
//! Versions are immutable, and nobody changes a copy by hand. Who has made something new of tables says what that is in a
//! [`VersionEdit`], and [`Engine::apply`](super::engine::Engine::apply) makes the next version of it. So the rules are here alone: which
//! tree becomes the main tree, which memtables are kept for conflicts, what a change of definitions means for columns and indexes.

use std::sync::Arc;

use ambo_base::{Base, BaseOps, Made, btree::Tree};
use ambo_types::{
    Result,
    id::{TableId, Timestamp},
};

use super::{
    checkpoint::{Moment, Turnover},
    version::{DatabaseVersion, RowGuard, TableShared, TableVersion, gone},
};
use crate::{catalog::Catalog, catalog::CatalogChange, memtable::Memtable};

/// What the next version has that the current one has not.
#[derive(Default)]
pub(super) struct VersionEdit {
    /// How the change becomes durable.
    pub durability: Durability,
    /// What comes and goes on the device. Without a checkpoint only private pages go.
    pub turnover: Turnover,
    /// Whether it is a commit with a timestamp of its own. What is logged always is.
    pub is_commit: bool,
    /// The table whose rows come or go with it past the log.
    pub unlogged: Option<TableId>,
    /// The catalog, if it is another.
    pub catalog: Option<Arc<Catalog>>,
    /// Changes of tables, in their order.
    pub tables: Vec<(TableId, TableEdit)>,
    /// Whether all active memtables are set aside that have rows.
    pub is_freeze: bool,
    /// Up to where everything is in the bases now, and how much of what is older is kept in memory.
    pub compacted: Option<Compacted>,
    /// The version is not used by snapshots that are older.
    pub since: Option<Timestamp>,
    /// The newest commit that its checkpoints show, if it is no commit itself.
    pub beyond: Option<Timestamp>,
    /// Whether what was prepared for the tables as they were no longer fits: see [`DatabaseVersion::index_epoch`].
    pub is_new_epoch: bool,
}

/// How a change of the version becomes durable.
#[derive(Default)]
pub(super) enum Durability {
    /// It does not: after a crash all is as if it had never been, and nothing is lost by that.
    #[default]
    None,
    /// As a commit of the log that changes the catalog.
    Log(Vec<CatalogChange>),
    /// By a checkpoint at the moment of the last one.
    Checkpoint,
    /// By a checkpoint at a later moment.
    CheckpointAt(Moment),
}

/// What is compacted, and the history that is kept of it.
pub(super) struct Compacted {
    /// Everything at or before this is in the bases.
    pub at: Timestamp,
    /// When the oldest transaction that is still open began.
    pub oldest: Option<Timestamp>,
    /// How many bytes of flushed memtables a table may keep.
    pub history_bytes: usize,
}

/// What changes in one table.
pub(super) enum TableEdit {
    /// It is new. Its history begins with the commit that makes it.
    Create(Arc<TableVersion>),
    /// It is gone. Its pages go with the next checkpoint.
    Drop,
    /// Its active memtable is set aside, and this one takes its place.
    Freeze(Arc<Memtable>),
    /// A frozen memtable was written; without a run if nothing of it is left.
    Flush { memtable: Arc<Memtable>, run: Option<Arc<Tree>> },
    /// These runs became one, or part of the base, or nothing.
    Compact { inputs: Vec<Arc<Tree>>, made: Made<Base> },
    /// Rows were loaded that were in no memtable, by this commit: above all others.
    Load(Option<Arc<Tree>>),
    /// The same, into the base. REQUIRES: nothing is above it.
    LoadBase(Base),
    /// What an index has of the rows that were there before it: below all that was written to it meanwhile.
    Lowest(Arc<Tree>),
    /// Whether what is compacted is held as it is.
    Hold(bool),
    /// Its compacted part has another shape. What is above stays.
    Reshape(Reshaped),
    /// All of it is elsewhere: nothing is left in memtables, which are kept for conflicts alone.
    Move { reshaped: Reshaped, runs: Vec<Arc<Tree>>, active: Arc<Memtable> },
    /// Its columns are others, as the catalog says.
    Reform,
    /// Rows are compared with other columns as they are written.
    Guard(RowGuard),
}

/// The compacted part of a table, with what the table shares from version to version.
pub(super) struct Reshaped {
    pub shared: Arc<TableShared>,
    pub base: Base,
}

impl VersionEdit {
    /// An edit that is published by a checkpoint at the moment of the last one.
    pub(super) fn checkpoint(turnover: Turnover) -> Self {
        Self { durability: Durability::Checkpoint, turnover, ..Self::default() }
    }

    /// Changes a table.
    pub(super) fn table(&mut self, id: TableId, edit: TableEdit) {
        self.tables.push((id, edit));
    }

    /// The version after `current`. `at` is the edit's own commit, if it is one.
    pub(super) fn on(&self, current: &DatabaseVersion, at: Option<Timestamp>) -> Result<DatabaseVersion> {
        debug_assert!(
            at.is_none_or(|at| at > current.compacted.max(current.since).max(current.beyond)),
            "a commit is later than all that bases and checkpoints show"
        );
        let mut next = current.clone();
        if let Some(catalog) = &self.catalog {
            next.catalog = catalog.clone();
        }
        for (id, edit) in &self.tables {
            edit.on(*id, &mut next, at)?;
        }
        if let Durability::Log(_) = self.durability {
            next.attach_indexes()?;
        }
        if let Some(compacted) = &self.compacted {
            compacted.on(&mut next);
        }
        next.since = next.since.max(self.since.unwrap_or_default());
        next.beyond = at.or(self.beyond).unwrap_or(next.beyond);
        next.index_epoch += u64::from(self.is_new_epoch);
        Ok(next)
    }

    /// The tables that are gone, as they were.
    pub(super) fn dropped(&self, current: &DatabaseVersion) -> Vec<Arc<TableVersion>> {
        let dropped = self.tables.iter().filter(|(_, edit)| matches!(edit, TableEdit::Drop));
        dropped.filter_map(|(id, _)| current.tables.get(id)).cloned().collect()
    }

    /// Whether there may be more to be merged than before.
    pub(super) fn makes_merges_due(&self) -> bool {
        let makes = |edit: &TableEdit| match edit {
            TableEdit::Flush { .. } | TableEdit::Load(_) | TableEdit::LoadBase(_) => true,
            TableEdit::Reshape(_) | TableEdit::Move { .. } | TableEdit::Hold(false) => true,
            TableEdit::Create(_) | TableEdit::Drop | TableEdit::Freeze(_) => false,
            TableEdit::Compact { .. } | TableEdit::Lowest(_) | TableEdit::Hold(true) => false,
            TableEdit::Reform | TableEdit::Guard(_) => false,
        };
        self.compacted.is_some() || self.tables.iter().any(|(_, edit)| makes(edit))
    }

    /// Before the version is there: scans that find a run know what they knew of its memtable.
    pub(super) fn tell_scans_of_runs(&self, next: &DatabaseVersion) {
        for (id, edit) in &self.tables {
            if let TableEdit::Flush { memtable, run: Some(run) } = edit
                && let Some(table) = next.tables.get(id).filter(|table| table.base.columns().is_some())
            {
                table.shared.fresh.flushed(memtable, run);
            }
        }
    }

    /// After the version is there: scans forget runs that are compacted.
    pub(super) fn tell_scans_of_segments(&self, now: &DatabaseVersion) {
        for (id, edit) in &self.tables {
            if let TableEdit::Compact { inputs, made: Made::Base(_) | Made::Slot { .. } } = edit
                && let Some(table) = now.tables.get(id)
            {
                table.shared.fresh.compacted(inputs);
            }
        }
    }
}

impl Compacted {
    fn on(&self, next: &mut DatabaseVersion) {
        next.compacted = self.at;
        for table in next.tables.values_mut().filter(|table| !table.retired.is_empty()) {
            Arc::make_mut(table).forget_history(self.at, self.oldest, self.history_bytes);
        }
    }
}

impl TableEdit {
    fn on(&self, id: TableId, next: &mut DatabaseVersion, at: Option<Timestamp>) -> Result<()> {
        match self {
            Self::Create(table) => {
                let mut table = table.clone();
                Arc::make_mut(&mut table).history_floor = at.expect("tables are made by commits");
                let before = next.tables.insert(id, table);
                assert!(before.is_none(), "an id is given out once");
                Ok(())
            }
            Self::Drop => {
                assert!(next.tables.remove(&id).is_some(), "what is dropped was there");
                Ok(())
            }
            Self::Reform => next.reform(id),
            Self::Guard(guard) => next.reform_guarded(id, Some(guard.clone())),
            edit => {
                let table = next.tables.get_mut(&id).ok_or_else(|| gone(id))?;
                edit.on_table(Arc::make_mut(table), at);
                Ok(())
            }
        }
    }

    fn on_table(&self, table: &mut TableVersion, at: Option<Timestamp>) {
        match self {
            Self::Freeze(active) => {
                assert!(active.is_empty() && !table.active.is_empty(), "rows are set aside, and none comes");
                let active = std::mem::replace(&mut table.active, active.clone());
                table.frozen.insert(0, active);
            }
            Self::Flush { memtable, run } => {
                assert!(
                    table.frozen.last().is_some_and(|oldest| Arc::ptr_eq(oldest, memtable)),
                    "memtables become runs in their order"
                );
                table.frozen.retain(|frozen| !Arc::ptr_eq(frozen, memtable));
                table.retired.insert(0, memtable.clone());
                run.iter().for_each(|run| table.add_run(run));
            }
            Self::Compact { inputs, made } => table.compact(inputs, made),
            Self::Load(run) => {
                table.forget_all_history(at);
                run.iter().for_each(|run| table.add_run(run));
            }
            Self::LoadBase(base) => {
                assert!(table.runs.is_empty(), "runs are newer than the base");
                table.forget_all_history(at);
                table.base = base.clone();
            }
            Self::Lowest(tree) => {
                assert!(table.is_held, "tombstones above it were kept");
                table.base =
                    table.base.adopted(tree).expect("entries without tombstones, in a table of trees");
            }
            Self::Hold(hold) => {
                assert!(!(*hold && table.is_held), "one at a time changes what is compacted");
                table.is_held = *hold;
            }
            Self::Reshape(reshaped) => {
                assert!(table.is_held, "what is compacted stayed as it was");
                reshaped.on(table);
            }
            Self::Move { reshaped, runs, active } => {
                assert!(active.is_empty(), "all rows are in runs");
                reshaped.on(table);
                table.runs.clone_from(runs);
                let active = std::mem::replace(&mut table.active, active.clone());
                let frozen = std::mem::take(&mut table.frozen);
                table.retired.splice(0..0, std::iter::once(active).chain(frozen));
            }
            Self::Create(_) | Self::Drop | Self::Reform | Self::Guard(_) => {
                unreachable!("a change of the whole database")
            }
        }
    }
}

impl Reshaped {
    fn on(&self, table: &mut TableVersion) {
        assert_eq!(self.shared.id, table.shared.id, "a shape of this table");
        table.shared = self.shared.clone();
        table.base = self.base.clone();
        table.is_held = false;
    }
}

impl TableVersion {
    /// Puts a tree above everything that is compacted or in runs.
    fn add_run(&mut self, tree: &Arc<Tree>) {
        self.put_run(0, tree);
    }

    /// Puts what was made of runs in their place.
    fn compact(&mut self, inputs: &[Arc<Tree>], made: &Made<Base>) {
        let is_input = |run: &Arc<Tree>| inputs.iter().any(|input| Arc::ptr_eq(input, run));
        let place = self.runs.iter().position(is_input).unwrap_or(self.runs.len());
        let older = self.runs.len() - place;
        self.runs.retain(|run| !is_input(run));
        assert_eq!(self.runs.len() + inputs.len(), place + older, "what was merged was there");
        assert!(self.runs.len() == place || matches!(made, Made::Run(_)), "a base is older than all runs");
        match made {
            Made::Run(run) => run.iter().for_each(|run| self.put_run(place, run)),
            Made::Base(base) => self.set_base(base),
            Made::Slot { base, runs } => {
                self.set_base(base);
                // The oldest first: it may be the base by itself, if that has nothing else.
                runs.iter().rev().for_each(|run| self.put_run(place, run));
            }
        }
    }

    fn set_base(&mut self, base: &Base) {
        // Columns may have come and gone meanwhile.
        let schema = self.shared.schema.as_ref();
        self.base = schema.map_or_else(|| base.clone(), |schema| base.with_schema(schema));
    }

    /// Puts a run at this place among the others. What has nothing below is the base, if it can be as it is.
    fn put_run(&mut self, place: usize, run: &Arc<Tree>) {
        let is_lowest = place == self.runs.len() && self.base.is_empty() && !self.is_held;
        match is_lowest.then(|| self.base.adopted(run)).flatten() {
            Some(base) => self.base = base,
            None => self.runs.insert(place, run.clone()),
        }
    }

    /// Transactions that began before a load cannot be told whether it touched what they write.
    fn forget_all_history(&mut self, at: Option<Timestamp>) {
        self.history_floor = at.expect("loads are commits");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::{Engine, Options};
    use ambo_base::btree::TreeBase;
    use ambo_base::btree::TreeMeta;
    use ambo_pages::io::sim::SimDisk;
    use ambo_types::TableDefinition;
    use ambo_types::id::PageNo;
    use ambo_types::id::PagePtr;

    /// A table without rows, in a version, and trees of it that are never read.
    fn table() -> (Arc<Engine>, DatabaseVersion, TableId) {
        let options = Options { background_threads: false, ..Options::default() };
        let engine = Arc::new(Engine::open(SimDisk::new(1).env(), options).unwrap().0);
        let id = engine.create_table(TableDefinition::key_value("t")).unwrap();
        let version = (*engine.current()).clone();
        (engine, version, id)
    }

    fn tree(version: &DatabaseVersion, page: u64, tombstones: u64) -> Arc<Tree> {
        let root = PagePtr::new(PageNo(page), 1);
        let store = version.tables.values().next().unwrap().shared.store.clone();
        Tree::open(store, TreeMeta { root, height: 1, rows: 5, tombstones, ..TreeMeta::default() })
    }

    fn apply(version: &DatabaseVersion, id: TableId, edit: TableEdit) -> DatabaseVersion {
        let mut edits = VersionEdit::default();
        edits.table(id, edit);
        let last = version.compacted.max(version.since).max(version.beyond);
        edits.on(version, Some(Timestamp(last.0 + 1))).unwrap()
    }

    /// The roots of a table: of its runs, and of its main tree.
    fn roots(version: &DatabaseVersion, id: TableId) -> (Vec<u64>, Option<u64>) {
        let root = |tree: &Arc<Tree>| tree.meta().root.number().0;
        let table = &version.tables[&id];
        (table.runs.iter().map(root).collect(), table.base.trees().first().map(root))
    }

    // Keeps away: tombstones in a main tree, where nothing drops them, and a main tree above what it should be merged with.
    #[test]
    fn what_has_nothing_below_is_the_main_tree() {
        let (engine, version, id) = table();
        let load = |version: &DatabaseVersion, page, tombstones| {
            apply(version, id, TableEdit::Load(Some(tree(version, page, tombstones))))
        };
        let main = load(&version, 100, 0);
        assert_eq!(roots(&main, id), (vec![], Some(100)));
        assert_eq!(roots(&load(&main, 101, 0), id), (vec![101], Some(100)));
        assert_eq!(roots(&load(&version, 102, 1), id), (vec![102], None));
        let held = apply(&version, id, TableEdit::Hold(true));
        assert_eq!(roots(&load(&held, 103, 0), id), (vec![103], None));
        assert!(engine.check().unwrap().is_sound());
    }

    // Keeps away: a merged tree above a newer run, or below an older one.
    #[test]
    fn merged_trees_stay_where_their_inputs_were() {
        let (engine, version, id) = table();
        let [a, b, c, d] = [104, 103, 102, 101].map(|page| tree(&version, page, 1));
        let runs: Vec<_> = vec![a.clone(), b.clone(), c.clone(), d.clone()];
        let mut four = version.clone();
        Arc::make_mut(four.tables.get_mut(&id).unwrap()).runs = runs;
        let merge = |inputs: &[&Arc<Tree>], page: Option<u64>, tombstones, to_main| {
            let inputs = inputs.iter().map(|tree| Arc::clone(tree)).collect();
            let tree = page.map(|page| tree(&version, page, tombstones));
            let made = match to_main {
                true => Made::Base(Base::BTree(TreeBase::new(tree))),
                false => Made::Run(tree),
            };
            roots(&apply(&four, id, TableEdit::Compact { inputs, made }), id)
        };
        assert_eq!(merge(&[&b, &c], Some(200), 1, false), (vec![104, 200, 101], None));
        assert_eq!(merge(&[&b, &c], None, 0, false), (vec![104, 101], None));
        assert_eq!(merge(&[&c, &d], Some(200), 1, false), (vec![104, 103, 200], None));
        assert_eq!(merge(&[&c, &d], Some(200), 0, false), (vec![104, 103], Some(200)));
        assert_eq!(merge(&[&a, &b, &c, &d], Some(200), 0, true), (vec![], Some(200)));
        assert_eq!(merge(&[&a, &b, &c, &d], None, 0, true), (vec![], None));
        assert!(engine.check().unwrap().is_sound());
    }
}
