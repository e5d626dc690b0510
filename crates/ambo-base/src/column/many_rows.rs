//! Many rows of a set by their keys: found together, and read a group at a time.

use ambo_pages::page::Access;
use ambo_types::Result;

use super::{
    finder::Finder,
    read::{GroupRows, RowColumns},
    set::{ColumnSet, RowPlace},
};
use ambo_scan::buffer::ColumnBuffer;

/// So many groups wait for memory together.
const GROUPS_TOGETHER: usize = 8;
/// Of more keys than these at once, rows are not kept: they are read quickly enough, and others would have to go.
const KEPT_MAX: usize = 64;

/// A row of a group, and for which key it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FoundKey {
    /// A run, a part of it, and a group of that.
    group: (usize, usize, usize),
    row: u32,
    key: usize,
}

impl ColumnSet {
    /// The records of keys; none of those that have no row. Of their columns, those that are not `picked` may be NULL. REQUIRES: the keys
    /// ascend, and each is there once.
    pub fn get_many(&self, keys: &[&[u8]], picked: Option<&[bool]>) -> Result<Vec<Option<Vec<u8>>>> {
        let slots: Vec<_> = keys.iter().map(|key| self.slot(key)).collect();
        let mut records: Vec<_> =
            slots.iter().zip(keys).map(|(slot, key)| self.kept_record(*slot, key)).collect();
        let places = self.places(keys, &records)?;
        // Only whole rows are kept.
        let keeps = picked.is_none() && keys.len() <= KEPT_MAX;
        for (place, record) in places.iter().zip(self.records_at(&places, picked)?) {
            if keeps && self.store().keeps_row(slots[place.key]) {
                let (run, part, group) = place.group;
                let segment = &self.runs()[run].parts[part].segment;
                let row = segment.directory().group(group).start + place.row;
                self.store().keep_row(slots[place.key], keys[place.key], (segment.id(), row), &record);
            }
            records[place.key] = Some(record);
        }
        Ok(records)
    }

    /// Where the rows of those keys are that have no record yet, group by group.
    fn places(&self, keys: &[&[u8]], records: &[Option<Vec<u8>>]) -> Result<Vec<FoundKey>> {
        let missing: Vec<usize> = (0..keys.len()).filter(|key| records[*key].is_none()).collect();
        let sought: Vec<&[u8]> = missing.iter().map(|key| keys[*key]).collect();
        let mut places = Vec::with_capacity(sought.len());
        for (key, found) in missing.into_iter().zip(Finder::new(self).find_all(&sought)?) {
            let Some(RowPlace { run, place }) = found else { continue };
            let (group, row) = self.runs()[run].parts[place.part].segment.place(place.row);
            places.push(FoundKey { group: (run, place.part, group), row: row as u32, key });
        }
        places.sort_unstable();
        Ok(places)
    }

    /// The records of places, which ascend.
    fn records_at(&self, places: &[FoundKey], picked: Option<&[bool]>) -> Result<Vec<Vec<u8>>> {
        debug_assert!(places.is_sorted());
        let schema = self.schema();
        let columns = RowColumns { first: schema.key_columns(), picked };
        let mut buffers = schema.buffers().split_off(schema.key_columns());
        let mut records = Vec::with_capacity(places.len());
        let groups: Vec<&[FoundKey]> = places.chunk_by(|a, b| a.group == b.group).collect();
        for groups in groups.chunks(GROUPS_TOGETHER) {
            let rows_of = |places: &&[FoundKey]| {
                let (run, part, group) = places[0].group;
                GroupRows::new(&self.runs()[run].parts[part].segment, schema, columns, buffers.len(), group)
            };
            let mut read: Vec<_> = groups.iter().map(rows_of).collect();
            read.iter().for_each(GroupRows::ask);
            read.iter_mut().try_for_each(|rows| rows.read(Access::Point))?;
            for (rows, places) in read.iter().zip(groups) {
                rows.ask_row(places[0].row as usize)?;
            }
            for (rows, places) in read.iter().zip(groups) {
                let within: Vec<u32> = places.iter().map(|place| place.row).collect();
                buffers.iter_mut().for_each(ColumnBuffer::clear);
                rows.append(&within, &mut buffers)?;
                for row in 0..within.len() {
                    let mut record = Vec::new();
                    schema.record_of(&buffers, row, &mut record).map_err(|error| rows.damaged(error))?;
                    records.push(record);
                }
            }
        }
        assert_eq!(records.len(), places.len(), "a record for each place");
        Ok(records)
    }
}
