//! Postings in files: looking for them, making those that are missing, removing those that nobody asks for.
//!
//! Segments that are written get theirs in the same pass. Others are made when an index is created, and for segments that were begun before
//! that, in the background; a scan asks the blocks of segments that have none yet ([`ambo_base::column`]).

use std::{collections::HashSet, sync::atomic::AtomicBool};

use ambo_base::{
    BaseOps,
    column::{self, Tending},
};
use ambo_scan::{AggregatePlan, Aggregation, Filter};
use ambo_types::{Result, id::TableId};

use super::{
    engine::Engine,
    scan::{ScanPlan, stored_filters, stored_place},
    version::{DatabaseVersion, stored_columns},
};

impl DatabaseVersion {
    /// Gives each table of columns the indexes with postings that the catalog says it has.
    pub(super) fn attach_postings(&mut self) -> Result<()> {
        let mut changed = Vec::new();
        for (id, table) in &self.tables {
            let (Some(schema), Some(definition)) = (&table.shared.schema, self.catalog.table(*id)) else {
                continue;
            };
            let has_any = !schema.indexed().is_empty() || self.catalog.posting_indexes(*id).next().is_some();
            if has_any && stored_columns(&self.catalog, *id, definition)?.indexed() != schema.indexed() {
                changed.push(*id);
            }
        }
        changed.into_iter().try_for_each(|id| self.reform(id))
    }
}

impl DatabaseVersion {
    /// The names of the indexes with postings in files that a plan is asked of.
    ///
    /// # Errors
    /// A plan that does not fit the table.
    pub fn asked_postings(&self, id: TableId, plan: &ScanPlan) -> Result<Vec<String>> {
        let table = self.table(id)?;
        let (Some(set), Some(schema)) = (table.base.columns(), &table.shared.schema) else {
            return Ok(Vec::new());
        };
        let Some(definition) = self.catalog.table(id) else { return Ok(Vec::new()) };
        if schema.indexed().is_empty() {
            return Ok(Vec::new());
        }
        let stored = |filters: &Vec<Filter>| stored_filters(definition, schema, filters);
        let either = plan.either.iter().map(stored).collect::<Result<Vec<_>>>()?;
        let asked = column::asked_indexes(set, &stored(&plan.filters)?, &either);
        let name = |index| self.catalog.table(index).map(|definition| definition.name.clone());
        Ok(asked.into_iter().filter_map(name).collect())
    }
}

impl DatabaseVersion {
    /// The name of the index whose leaves say what an aggregation comes to, where its files are there and few rows are deleted or newer;
    /// none if rows are looked at.
    ///
    /// # Errors
    /// Plans that do not fit the table, or each other.
    pub fn counting_index(
        &self,
        id: TableId,
        plan: &ScanPlan,
        aggregates: &AggregatePlan,
    ) -> Result<Option<String>> {
        let table = self.table(id)?;
        let (Some(set), Some(schema)) = (table.base.columns(), &table.shared.schema) else { return Ok(None) };
        let Some(definition) = self.catalog.table(id) else { return Ok(None) };
        if schema.indexed().is_empty() || !plan.either.is_empty() {
            return Ok(None);
        }
        let filters = stored_filters(definition, schema, &plan.filters)?;
        let place = |column: &usize| stored_place(definition, schema, *column);
        let places = plan.columns.iter().map(place).collect::<Result<Vec<_>>>()?;
        let types: Vec<_> = places.iter().map(|place| schema.types()[*place]).collect();
        let is_nullable =
            |column: &usize| definition.columns.get(*column).is_some_and(|column| column.nullable);
        let nullable: Vec<_> = plan.columns.iter().map(is_nullable).collect();
        let aggregation = Aggregation::new(aggregates, &types, &nullable)?;
        let column = match (aggregation.counted(), &filters[..]) {
            (Some(counted), _) => places[counted.place],
            (None, [filter]) if aggregation.asks_rows_only() => filter.column,
            _ => return Ok(None),
        };
        let index = column::counting_index(set, column, &filters);
        Ok(index.and_then(|index| Some(self.catalog.table(index)?.name.clone())))
    }
}

impl Engine {
    /// Makes the files that are missing, until this is set.
    pub(super) fn tend_postings(&self, cancel: &AtomicBool) -> Result<()> {
        let tending = if self.options.read_only { Tending::Find } else { Tending::Make };
        self.each_set(|set| set.tend_postings(tending, cancel).map(drop))
    }

    /// Looks for the files that are there, and lets go those of indexes that are gone.
    pub(super) fn find_postings(&self) -> Result<()> {
        let tending = if self.options.read_only { Tending::Find } else { Tending::Remove };
        self.each_set(|set| set.tend_postings(tending, &self.cancel_merge).map(drop))
    }

    fn each_set(&self, tend: impl Fn(&column::ColumnSet) -> Result<()>) -> Result<()> {
        let version = self.current();
        let sets = version.tables.values().filter(|table| table.damage.is_none());
        sets.filter_map(|table| table.base.columns()).try_for_each(|set| tend(set))
    }

    /// As [`Engine::tend_postings`], in the background: what fails is tried again after the next merge, and told by who asks for it.
    pub(super) fn tend_and_report(&self) {
        let _left: Result<()> = self.tend_postings(&self.cancel_merge);
    }

    /// Removes files that a crash left behind.
    pub(super) fn sweep_postings(&self) -> Result<()> {
        let version = self.current();
        let segments = version.tables.values().flat_map(|table| table.base.segments());
        let segments: HashSet<u64> = segments.map(|segment| segment.id()).collect();
        column::sweep_postings(&self.segments, |segment, index| {
            let of = version.catalog.table(index).and_then(|definition| definition.index.as_ref());
            segments.contains(&segment) && of.is_some_and(|of| of.kind.has_postings())
        })
    }
}
