//! What holds of every version of the database.
//!
//! Of each version:
//!
//! 1. The catalog and the tables have the same ids, and each table knows its own. In the catalog a name is that of one table, index or
//!    view, in a schema that is there, an index is of a table that is there, and all ids and numbers of dictionaries were given out.
//! 2. A table has the storage that its definition says. Its pages are in memory if that is `memory`, and in the file if not.
//! 3. The base of a table is that of its storage. This is so, too, while it is held, and where it cannot be read: it is empty then.
//! 4. The columns of a base are those of its table, and those are what the definition says, with NULL refused where it is about to be.
//! 5. A table has the indexes that the catalog lists for it, bitmap indexes left out, in the order of their ids and as their definitions
//!    say, and no others. They are where the table is. An index that is not ready is held.
//! 6. Trees are in the store of their table, none of them is empty, and the roots of a table have room for all of them.
//! 7. No two trees of a store have the same root, and no segment is there twice.
//! 8. Neither a root nor a page of deleted rows is free.
//! 9. Memtables are in order: active, frozen and retired, each newer than the next. At most [`FROZEN_MAX`] are frozen, and none of these is
//!    compacted. In a table of columns none of those that are read has deleted a range of keys as such.
//! 10. A table that cannot be read is held as it is.
//!
//! From one version to the next:
//!
//! 11. `compacted`, `since`, `beyond`, the epoch of indexes, and the beginning of the history of a table never go back.
//! 12. No memtable with rows is lost: it is read until the bases have all of it, and kept until the history of its table begins after it.
//!
//! With assertions, every edit of a version is verified, and so is what opening finds; there a breach is damage and no panic. Tables that
//! did not change are left out, so this costs little more than the edit.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use ambo_base::BaseOps;
use ambo_pages::page::PageRange;
use ambo_types::{
    TableDefinition,
    id::{TableId, Timestamp},
};

use super::{
    checkpoint::FROZEN_MAX,
    version::{DatabaseVersion, TableVersion},
};
use crate::{catalog::roots::TREES_MAX, index::EntryFormat, memtable::Memtable};

#[cfg(test)]
mod tests;

/// What is wrong.
type Breach = Result<(), String>;

/// Verifies a version, which follows `before` if there is one.
///
/// # Errors
/// The invariant that is broken, and by what.
pub(super) fn verify(version: &DatabaseVersion, before: Option<&DatabaseVersion>) -> Breach {
    if !before.is_some_and(|before| Arc::ptr_eq(&version.catalog, &before.catalog)) {
        version.catalog.verify().map_err(|what| format!("1: {what}"))?;
    }
    ids(version)?;
    let is_same = |id: TableId| before.is_some_and(|before| is_same(version, before, id));
    let listed = listed_indexes(version);

    for (id, definition) in version.catalog.all() {
        let table = &version.tables[&id];
        let named = |what: String| format!("{what} (table {id}, \"{}\")", definition.name);
        let of_table = listed.get(&id).map_or(&[][..], Vec::as_slice);
        index_ids(table, of_table).map_err(named)?;
        if !is_same(id) {
            storage(definition, table).map_err(named)?;
            columns(version, id, table).map_err(named)?;
            trees(table).map_err(named)?;
            memtables(table, version.compacted).map_err(named)?;
        }
        if !is_same(id) || !of_table.iter().all(|(index, _)| is_same(*index)) {
            indexes(version, definition, table, of_table).map_err(named)?;
        }
    }
    apart(version)?;
    before.map_or(Ok(()), |before| order(version, before))
}

fn hold(holds: bool, what: impl FnOnce() -> String) -> Breach {
    if holds { Ok(()) } else { Err(what()) }
}

/// Whether a table and its definition are what they were.
fn is_same(version: &DatabaseVersion, before: &DatabaseVersion, id: TableId) -> bool {
    let same_table = match (version.tables.get(&id), before.tables.get(&id)) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    };
    let same_definition = match (version.catalog.table(id), before.catalog.table(id)) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        _ => false,
    };
    same_table && same_definition
}

fn ids(version: &DatabaseVersion) -> Breach {
    for (id, definition) in version.catalog.all() {
        let table = version.tables.get(&id);
        hold(table.is_some(), || format!("1: the catalog has table {id}, \"{}\", alone", definition.name))?;
    }
    for (id, table) in &version.tables {
        hold(version.catalog.table(*id).is_some(), || format!("1: table {id} is not in the catalog"))?;
        hold(table.shared.id == *id, || format!("1: table {} is there as {id}", table.shared.id))?;
    }
    Ok(())
}

fn storage(definition: &TableDefinition, table: &TableVersion) -> Breach {
    let (said, has) = (definition.storage, table.shared.storage);
    hold(said == has, || format!("2: said to be {}, and is {}", said.name(), has.name()))?;
    hold(table.is_durable() == has.traits().durable, || {
        let place = if table.is_durable() { "a file" } else { "memory" };
        format!("2: storage {}, and its pages are in {place}", has.name())
    })?;
    hold(table.base.is_of(has), || format!("3: storage {}, and the base of another", has.name()))?;
    hold(table.damage.is_none() || (table.base.is_empty() && table.is_held), || {
        "10: damaged, and not held as it is".into()
    })
}

fn columns(version: &DatabaseVersion, id: TableId, table: &TableVersion) -> Breach {
    let shared = &table.shared;
    if let Some(columns) = table.base.columns() {
        let same = shared.schema.as_ref().is_some_and(|schema| Arc::ptr_eq(schema, columns.schema()));
        hold(same, || "4: the set has other columns than the table".into())?;
    }
    hold(table.base.columns().is_some() == shared.schema.is_some(), || "4: columns that no set has".into())?;
    let of_guard = shared.guard.as_ref().map(|guard| &guard.schema);
    if shared.schema.is_none() && of_guard.is_none() {
        return Ok(());
    }
    let said = version.columns_of(id).map_err(|error| format!("4: {error}"))?;
    let all = shared.schema.iter().chain(of_guard).all(|schema| **schema == said);
    hold(all, || "4: the columns are not those of the definition".into())
}

fn trees(table: &TableVersion) -> Breach {
    let store = &table.shared.store;
    let runs = table.runs.len();
    hold(runs < TREES_MAX, || format!("6: {runs} runs, and at most {} have room", TREES_MAX - 1))?;
    for tree in table.trees() {
        hold(Arc::ptr_eq(tree.store(), store), || "6: a tree is in another store".into())?;
        hold(!tree.meta().is_empty(), || "6: an empty tree".into())?;
    }
    let of_runs = table.runs.iter().map(|run| PageRange::from(run.meta().root));
    for pages in of_runs.chain(table.base.root_pages()) {
        hold(!store.is_free(pages), || format!("8: page {} is reached and free", pages.start))?;
    }
    Ok(())
}

fn apart(version: &DatabaseVersion) -> Breach {
    let (mut roots, mut segments) = (HashSet::new(), HashSet::new());
    for (id, table) in &version.tables {
        for tree in table.trees() {
            let root = tree.meta().root;
            let is_new = roots.insert((Arc::as_ptr(tree.store()), root.number()));
            hold(is_new, || format!("7: page {} is the root of two trees (table {id})", root.number()))?;
        }
        for segment in table.base.segments() {
            let number = segment.id();
            hold(segments.insert(number), || format!("7: segment {number} is there twice (table {id})"))?;
        }
    }
    Ok(())
}

fn memtables(table: &TableVersion, compacted: Timestamp) -> Breach {
    let has_ranges = table.shared.schema.is_some() && table.has_ranges();
    hold(!has_ranges, || "9: a range of keys was deleted as such in a table of columns".into())?;
    let frozen = table.frozen.len();
    hold(frozen <= FROZEN_MAX, || format!("9: {frozen} frozen memtables, more than {FROZEN_MAX}"))?;
    let all: Vec<_> = all_memtables(table).collect();
    let places: HashSet<_> = all.iter().map(|memtable| Arc::as_ptr(memtable)).collect();
    hold(places.len() == all.len(), || "9: a memtable is there twice".into())?;
    // The newer one first. Of the active memtable, which is written to meanwhile, all that comes is newer, too.
    let times: Vec<_> = all.iter().filter_map(|memtable| memtable.timestamps()).collect();
    for pair in times.windows(2) {
        let ((oldest, _), (_, newest)) = (pair[0], pair[1]);
        hold(oldest > newest, || format!("9: a memtable from {oldest} on is before one up to {newest}"))?;
    }
    let is_compacted =
        |memtable: &Arc<Memtable>| memtable.timestamps().is_some_and(|(oldest, _)| oldest <= compacted);
    let none = !table.frozen.iter().any(is_compacted);
    hold(none, || format!("9: a frozen memtable has commits up to {compacted}, which are compacted"))
}

fn all_memtables(table: &TableVersion) -> impl Iterator<Item = &Arc<Memtable>> {
    std::iter::once(&table.active).chain(&table.frozen).chain(&table.retired)
}

/// An index as the catalog has it.
type Listed<'v> = (TableId, &'v Arc<TableDefinition>);

/// The indexes with entries that the catalog lists for each table.
fn listed_indexes(version: &DatabaseVersion) -> HashMap<TableId, Vec<Listed<'_>>> {
    let mut listed: HashMap<_, Vec<Listed<'_>>> = HashMap::new();
    for (id, definition) in version.catalog.indexes() {
        let of = definition.index.as_ref().expect("an index");
        if of.kind.has_entries() {
            listed.entry(of.table).or_default().push((id, definition));
        }
    }
    listed
}

fn index_ids(table: &TableVersion, listed: &[Listed<'_>]) -> Breach {
    let (has, said) = (table.indexes.len(), listed.len());
    hold(has == said, || format!("5: it has {has} indexes, and the catalog says {said}"))?;
    for (attached, (index, said)) in table.indexes.iter().zip(listed) {
        hold(attached.id == *index, || format!("5: it has index {} for \"{}\"", attached.id, said.name))?;
    }
    Ok(())
}

fn indexes(
    version: &DatabaseVersion,
    definition: &TableDefinition,
    table: &TableVersion,
    listed: &[Listed<'_>],
) -> Breach {
    for (attached, (index, said)) in table.indexes.iter().zip(listed) {
        let (name, of) = (&said.name, said.index.as_ref().expect("an index"));
        let form = EntryFormat::new(name, of, definition).map_err(|error| format!("5: {error}"))?;
        hold(attached.format == form, || format!("5: entries of \"{name}\" are not what is said of them"))?;
        let entries = &version.tables[index];
        let place = definition.storage.of_indexes();
        hold(entries.shared.storage == place, || format!("5: index \"{name}\" is not where its table is"))?;
        let is_held = attached.is_ready() || entries.is_held;
        hold(is_held, || format!("5: index \"{name}\" is not ready, and not held"))?;
    }
    Ok(())
}

fn order(version: &DatabaseVersion, before: &DatabaseVersion) -> Breach {
    let times = [
        ("compacted", before.compacted, version.compacted),
        ("since", before.since, version.since),
        ("beyond", before.beyond, version.beyond),
    ];
    for (what, was, is) in times {
        hold(was <= is, || format!("11: {what} goes back from {was} to {is}"))?;
    }
    let (was, is) = (before.index_epoch, version.index_epoch);
    hold(was <= is, || format!("11: the epoch of indexes goes back from {was} to {is}"))?;
    for (id, was) in &before.tables {
        let Some(is) = version.tables.get(id).filter(|is| !Arc::ptr_eq(is, was)) else { continue };
        lost(was, is, version.compacted.max(version.since)).map_err(|what| format!("{what} (table {id})"))?;
    }
    Ok(())
}

/// What of a table may be gone when the bases have everything up to `compacted`.
fn lost(was: &TableVersion, is: &TableVersion, compacted: Timestamp) -> Breach {
    let (from, to) = (was.history_floor, is.history_floor);
    hold(from <= to, || format!("11: its history goes back from {from} to {to}"))?;
    let newest = |memtable: &Arc<Memtable>| memtable.timestamps().map(|(_, newest)| newest);
    let is_read: HashSet<_> = std::iter::once(&is.active).chain(&is.frozen).map(Arc::as_ptr).collect();
    for memtable in std::iter::once(&was.active).chain(&was.frozen) {
        let in_bases = newest(memtable).is_none_or(|newest| newest <= compacted);
        hold(in_bases || is_read.contains(&Arc::as_ptr(memtable)), || {
            format!("12: a memtable goes with commits after {compacted}, in no base")
        })?;
    }
    let is_kept: HashSet<_> = all_memtables(is).map(Arc::as_ptr).collect();
    for memtable in all_memtables(was) {
        let is_known = newest(memtable).is_none_or(|newest| newest <= to);
        hold(is_known || is_kept.contains(&Arc::as_ptr(memtable)), || {
            format!("12: a memtable is forgotten, and history begins at {to}")
        })?;
    }
    Ok(())
}
