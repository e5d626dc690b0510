//! Indexes beside the model, which knows only rows: which indexes there are, the engine says.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::{Value as Datum, column::Compare};
use ambo_engine::{
    Error, Result,
    catalog::{Catalog, IndexDefinition, IndexOf, TableDefinition},
    database::{IndexRange, ScanPlan, Snapshot, TableScan},
    id::TableId,
    scan::{Aggregate, AggregatePlan, Filter, Test},
};

use super::{
    definitions::Ids,
    oracle::{Change, Digest, State, Table, apply},
    plan::{IndexOn, Keys, Kind},
    world::World,
};

const NAMES: [&str; 6] = ["i0", "i1", "i2", "i3", "i4", "i5"];
/// The place of the value's column.
const VALUE: usize = 1;

pub fn indexes_of(catalog: &Catalog) -> Vec<(TableId, String, IndexOf)> {
    let indexes = catalog.indexes();
    let parts = |(id, definition): (TableId, &Arc<TableDefinition>)| {
        (id, definition.name.clone(), definition.index.clone().expect("an index"))
    };
    indexes.map(parts).collect()
}

/// Whether no two rows of a table may have the same value.
pub fn refuses_twice(catalog: &Catalog, table: TableId) -> bool {
    let is_meant = |of: &IndexOf| of.table == table && of.unique && of.columns == [VALUE];
    indexes_of(catalog).iter().any(|(_, _, of)| of.ready && is_meant(of))
}

/// An index that is to be, if there is a name for it, and whether rows that are there keep it from being.
pub fn planned(
    table: &str,
    on: IndexOn,
    state: &State,
    catalog: &Catalog,
) -> Option<(IndexDefinition, bool)> {
    let indexes = indexes_of(catalog);
    let is_free = |name: &&&str| !indexes.iter().any(|(_, there, _)| there == &format!("main.{name}"));
    let name = NAMES.iter().find(is_free)?;
    let on = match (state[table].kind, on) {
        (Kind::Column, on) => on,
        (_, IndexOn::KeyPostings | IndexOn::ValuePostings) => IndexOn::Value,
        (_, on) => on,
    };
    let on = match (state[table].keys, on) {
        (Keys::Any, on) => on,
        // What the model writes there is bytes, not rows of columns.
        (_, IndexOn::Value) => IndexOn::Key,
        (_, IndexOn::UniqueValue) => IndexOn::UniqueKey,
        (_, on) => on,
    };
    // Texts in keys are as long as they like, values too long for an ordered index.
    let index = match on {
        IndexOn::Key | IndexOn::UniqueKey => IndexDefinition::new(*name, table, &["key"]),
        IndexOn::Value | IndexOn::UniqueValue => IndexDefinition::new(*name, table, &["value"]).hash(),
        IndexOn::KeyPostings => IndexDefinition::new(*name, table, &["key"]).br64(),
        IndexOn::ValuePostings => IndexDefinition::new(*name, table, &["value"]).br64(),
    };
    let unique = matches!(on, IndexOn::UniqueKey | IndexOn::UniqueValue);
    let index = if unique { index.unique() } else { index };
    let mut values: Vec<_> = state[table].rows.values().map(|digest| (digest.len, digest.hash)).collect();
    values.sort_unstable();
    Some((index, on == IndexOn::UniqueValue && values.windows(2).any(|pair| pair[0] == pair[1])))
}

impl World {
    fn indexes(&self) -> Vec<(TableId, String, IndexOf)> {
        indexes_of(&self.engine().current().catalog)
    }

    /// Whether a table has an index with postings in files, which tables by row cannot have.
    pub fn has_postings(&self, table: TableId) -> bool {
        self.indexes().iter().any(|(_, _, of)| of.table == table && of.kind.has_postings())
    }

    fn has_indexes(&self, table: TableId) -> bool {
        self.indexes().iter().any(|(_, _, of)| of.table == table)
    }

    /// Whether no two rows of a table may have the same value.
    pub fn has_unique_values(&self, name: &str) -> bool {
        refuses_twice(&self.engine().current().catalog, self.ids[name])
    }

    /// Whether one of these changes, made one after the other, would give a row the value of another where that may not be.
    pub fn takes(&self, state: &State, changes: &[Change]) -> bool {
        self.takes_in(&self.engine().current().catalog, &self.ids, state, changes)
    }

    /// As [`World::takes`], where these tables are seen.
    pub fn takes_in(&self, catalog: &Catalog, ids: &Ids, state: &State, changes: &[Change]) -> bool {
        let mut state = state.clone();
        for change in changes {
            if let Change::Row { table, key, value: Some(value) } = change
                && refuses_twice(catalog, ids[table])
                && state[table].rows.iter().any(|(other, there)| other != key && there == value)
            {
                return true;
            }
            apply(&mut state, std::slice::from_ref(change));
        }
        false
    }

    /// Whether the changes to a table, made at once, would give two rows the same value where that may not be.
    pub fn takes_at_once(&self, table: &str, changes: &[Change]) -> bool {
        let mut state = self.oracle.now.clone();
        apply(&mut state, changes);
        let mut values: Vec<_> = state[table].rows.values().map(|digest| (digest.len, digest.hash)).collect();
        values.sort_unstable();
        self.has_unique_values(table) && values.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Whether a write was refused because of a unique index, as it had to be or not.
    pub fn is_refused<T>(&self, result: &Result<T>, expected: bool) -> bool {
        match result {
            Err(Error::Exists(what)) => {
                let unfinished = self.disturbed && self.indexes().iter().any(|(_, _, of)| !of.ready);
                assert!(expected || unfinished, "refused for no reason: {what}");
                self.trace(|| format!("  {what}"));
                true
            }
            Ok(_) => {
                assert!(!expected, "a second row with the same value is not noticed");
                false
            }
            Err(_) => false,
        }
    }

    pub fn create_index(&mut self, table: u64, on: IndexOn) {
        let Some((table, id)) = self.table(table) else { return };
        let Some((index, twice)) = planned(&table, on, &self.oracle.now, &self.engine().current().catalog)
        else {
            return;
        };
        match self.engine().create_index(&index) {
            Ok(_) => {
                assert!(!twice, "rows with the same value are not noticed");
                assert!(self.has_indexes(id));
            }
            Err(Error::Exists(what)) => {
                assert!(twice, "refused for no reason: {what}");
                self.trace(|| format!("  {what}"));
            }
            Err(error) => self.excuse(&error),
        }
    }

    pub fn drop_index(&mut self, index: u64) {
        let indexes = self.indexes();
        let Some((id, name, of)) = indexes.get(index as usize % indexes.len().max(1)) else { return };
        let primary = self.engine().current().catalog.primary_index(of.table).map(|(id, _)| id);
        if primary == Some(*id) {
            assert!(matches!(self.engine().drop_index(name), Err(Error::Invalid(_) | Error::Poisoned(_))));
            return;
        }
        if let Err(error) = self.engine().drop_index(name) {
            self.excuse(&error);
        }
    }

    /// Each index of a table has as many entries as that has rows, and finds one of them.
    pub fn verify_indexes(&mut self, snapshot: &Snapshot, id: TableId, table: &Table) -> Result<()> {
        let catalog = snapshot.catalog().clone();
        for (index, definition) in catalog.indexes_of(id) {
            let of = definition.index.as_ref().expect("an index");
            if !of.ready {
                continue;
            }
            let name = &definition.name;
            if of.kind.has_postings() {
                self.verify_postings(snapshot, id, of.columns[0], table)?;
                continue;
            }
            assert_eq!(snapshot.count(index, None, None)?, table.rows.len() as u64, "{name}");
            if table.rows.is_empty() {
                continue;
            }
            let chosen = self.random.below(table.rows.len() as u64) as usize;
            let (key, digest) = table.rows.iter().nth(chosen).expect("there are as many");
            let value = snapshot.get(id, key)?.expect("the row is there");
            let wanted = match (of.columns[0] == VALUE, table.keys) {
                (true, _) => Datum::from(&value[..]),
                (false, Keys::Any) => Datum::from(&key[..]),
                (false, Keys::Sorted) => {
                    Datum::U32(u32::from_be_bytes(key[4..].try_into().expect("4 bytes")))
                }
                (false, Keys::Four) => Datum::U32(u32::from_be_bytes(key[..].try_into().expect("4 bytes"))),
                (false, Keys::Eight) => Datum::U64(u64::from_be_bytes(key[..].try_into().expect("8 bytes"))),
            };
            let wanted = [wanted];
            let mut found = Vec::new();
            let mut scan = snapshot.index_scan(index, IndexRange::Equal(&wanted))?;
            while let Some(row) = scan.next_key()? {
                found.push(row.to_vec());
            }
            let expected: Vec<_> = match of.columns[0] == VALUE {
                true => table
                    .rows
                    .iter()
                    .filter(|(_, other)| *other == digest)
                    .map(|(key, _)| key.clone())
                    .collect(),
                false => vec![key.clone()],
            };
            assert_eq!(found, expected, "{name}");
            let first = snapshot.index_get(index, &wanted)?.map(|(key, row)| (key, Digest::of(&row)));
            assert_eq!(first.as_ref(), Some(&(expected[0].clone(), *digest)), "{name}");
        }
        Ok(())
    }

    /// Scans with conditions on a column, and groups of it, are those of the rows.
    fn verify_postings(
        &mut self,
        snapshot: &Snapshot,
        id: TableId,
        column: usize,
        table: &Table,
    ) -> Result<()> {
        let digest_of = |key: &Vec<u8>, value: &Digest| match column {
            VALUE => *value,
            _ => Digest::of(key),
        };
        let mut counts: BTreeMap<(usize, u64), i64> = BTreeMap::new();
        for (key, value) in &table.rows {
            let Digest { len, hash } = digest_of(key, value);
            *counts.entry((len, hash)).or_default() += 1;
        }
        let scan = |filters| {
            let plan = ScanPlan { columns: vec![column], filters, ..ScanPlan::default() };
            snapshot.scan_columns(id, &plan)
        };
        let groups = AggregatePlan { group_by: vec![0], aggregates: vec![Aggregate::Rows] };
        let told = |scan: TableScan| -> Result<Vec<(Vec<u8>, i64)>> {
            let rows = scan.aggregate(&groups, 1)?.rows.into_iter();
            let told = rows.map(|row| match &row[..] {
                [Datum::Binary(bytes), Datum::I64(rows)] => (bytes.clone(), *rows),
                other => panic!("{other:?} is no group"),
            });
            Ok(told.collect())
        };
        let all = told(scan(Vec::new())?)?;
        let found = all.iter().map(|(bytes, rows)| {
            let Digest { len, hash } = Digest::of(bytes);
            ((len, hash), *rows)
        });
        assert_eq!(found.collect::<BTreeMap<_, _>>(), counts, "groups of column {column}");
        let Some((bytes, rows)) = all.get(self.random.below(all.len().max(1) as u64) as usize) else {
            return Ok(());
        };
        for (compare, wanted) in
            [(Compare::Equal, *rows), (Compare::NotEqual, table.rows.len() as i64 - rows)]
        {
            let filter = Filter { column, test: Test::Compare(compare, Datum::Binary(bytes.clone())) };
            assert_eq!(
                scan(vec![filter.clone()])?.count(1)? as i64,
                wanted,
                "{compare:?} of column {column}"
            );
            let groups = told(scan(vec![filter])?)?;
            assert_eq!(groups.iter().map(|(_, rows)| rows).sum::<i64>(), wanted, "{compare:?}, groups");
        }
        Ok(())
    }
}
