//! The catalog: which schemas and tables there are, and where their bases are.
//!
//! In memory the catalog is a small map that every version of the database holds ([`Catalog`]). On disk it is a `btree`
//! of its own, written anew at every checkpoint and pointed to by the superblock, so that publishing its root
//! publishes everything; changes since the checkpoint are operations on table 0 in the log.
//!
//! | key | value |
//! |---|---|
//! | `01`, schema name | nothing |
//! | `02`, table id (u32, big-endian) | the definition ([`TableDefinition`]) |
//! | `03`, table id (u32, big-endian) | its runs, and its main tree ([`roots`]); only in checkpoints |
//! | `04` | the next table id (u32, big-endian); only in checkpoints |
//! | `05`, table id, number (u32 each, big-endian) | a dictionary that records of the table are compressed with; only in checkpoints |
//! | `06` | the next number of a dictionary (u32, big-endian); only in checkpoints |
//! | `07`, table id (u32, big-endian), segment id (u64, big-endian) | a segment of a column table ([`ambo_base::column::SegmentRow`]); only in checkpoints |
//! | `08`, `schema.view` | a view ([`view`]) |
//! | `09`, table id (u32, big-endian), part (u64, big-endian) | a root of a base ([`roots`]); only in checkpoints |
//!
//! A change is a put or delete of a row of kind 1, 2, 8 or 10 that describes the new state, so replaying it over a
//! checkpoint that has it already changes nothing.

mod changes;
mod indexes;
mod merge;
pub mod object;
pub mod roots;
pub mod view;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

pub use ambo_types::{
    Bits, COLUMNS_MAX, Check, Column, DEFAULT_SCHEMA, Enum, Expiry, Geometry, INDEX_COLUMNS_MAX,
    IndexDefinition, IndexKind, IndexOf, Interval, KeyWidth, Logical, Part, Point, RecordWidth, Records,
    Retention, Shape, Slot, Storage, StorageTraits, StoredIn, TableDefinition, TableOptions, logical,
    nearest, qualify,
};
pub use changes::TableChange;
pub use object::{Object, ObjectKind};
pub use view::View;

use ambo_types::{
    Error, Result,
    id::TableId,
    names,
    record::{Record, RecordKind},
};

/// The catalog's own number among tables.
pub const CATALOG_TABLE: TableId = TableId(0);

const SCHEMA_ROW: u8 = 1;
const TABLE_ROW: u8 = 2;
const ROOTS_ROW: u8 = 3;
const NEXT_ID_ROW: u8 = 4;
const DICTIONARY_ROW: u8 = 5;
const NEXT_DICTIONARY_ROW: u8 = 6;
const SEGMENT_ROW: u8 = 7;
const VIEW_ROW: u8 = 8;
const BASE_ROW: u8 = 9;
const OBJECT_ROW: u8 = 10;

/// A change to the catalog, as the log carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogChange {
    /// The catalog row's key.
    pub key: Vec<u8>,
    /// The row's new value; `None` deletes it.
    pub value: Option<Vec<u8>>,
}

impl CatalogChange {
    /// The record that the log carries.
    pub fn record(&self) -> Record<'_> {
        self.value.as_deref().map_or(Record::TOMBSTONE, Record::inline)
    }
}

/// What became of a table that was emptied, and of its indexes: the table comes first.
#[derive(Debug, Default)]
pub struct Truncated {
    /// Ids that are gone.
    pub removed: Vec<TableId>,
    /// Ids in their place.
    pub added: Vec<TableId>,
    /// What the log is to carry.
    pub changes: Vec<CatalogChange>,
}

/// All schemas and tables at one moment.
#[derive(Clone, Debug)]
pub struct Catalog {
    schemas: BTreeSet<String>,
    tables: BTreeMap<TableId, Arc<TableDefinition>>,
    by_name: BTreeMap<String, TableId>,
    /// By name; none of them is that of a table.
    views: BTreeMap<String, Arc<View>>,
    objects: BTreeMap<(ObjectKind, String), Arc<Object>>,
    next_id: u32,
    /// Ids below this are given out, or are to be by changes that are not committed yet.
    reserved: u32,
    /// By table and number; the greatest number of a table is its newest.
    dictionaries: BTreeMap<(TableId, u32), Arc<[u8]>>,
    next_dictionary: u32,
}

impl Default for Catalog {
    fn default() -> Self {
        Self {
            schemas: BTreeSet::from([DEFAULT_SCHEMA.to_owned()]),
            tables: BTreeMap::new(),
            by_name: BTreeMap::new(),
            views: BTreeMap::new(),
            objects: BTreeMap::new(),
            next_id: CATALOG_TABLE.0 + 1,
            reserved: 0,
            dictionaries: BTreeMap::new(),
            next_dictionary: 1,
        }
    }
}

impl Catalog {
    /// The table with this id.
    pub fn table(&self, id: TableId) -> Option<&Arc<TableDefinition>> {
        self.tables.get(&id)
    }

    /// All tables and indexes in the order of their ids.
    pub fn all(&self) -> impl Iterator<Item = (TableId, &Arc<TableDefinition>)> {
        self.tables.iter().map(|(id, definition)| (*id, definition))
    }

    /// All tables in the order of their ids.
    pub fn tables(&self) -> impl Iterator<Item = (TableId, &Arc<TableDefinition>)> {
        self.all().filter(|(_, definition)| definition.index.is_none())
    }

    /// All schemas by name.
    pub fn schemas(&self) -> impl Iterator<Item = &str> {
        self.schemas.iter().map(String::as_str)
    }

    /// The table of this name (`table` or `schema.table`).
    ///
    /// # Errors
    /// [`Error::NotFound`], with the nearest name there is.
    pub fn find(&self, name: &str) -> Result<(TableId, &Arc<TableDefinition>)> {
        let qualified = qualify(name)?;
        let known = || self.tables().map(|(_, definition)| &definition.name);
        match self.by_name.get(&qualified).map(|id| (*id, &self.tables[id])) {
            Some((_, definition)) if definition.index.is_some() => {
                Err(Error::NotFound(format!("table \"{qualified}\": it is an index")))
            }
            Some(found) => Ok(found),
            None if self.views.contains_key(&qualified) => {
                Err(Error::NotFound(format!("table \"{qualified}\": it is a view")))
            }
            None => Err(Error::NotFound(names::not_found("table", &qualified, known()))),
        }
    }

    /// Adds a table under a new id.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::NotFound`] for its schema, or what [`TableDefinition::validate`] says.
    pub fn create_table(&mut self, mut definition: TableDefinition) -> Result<(TableId, CatalogChange)> {
        definition.name = qualify(&definition.name)?;
        definition.validate()?;
        self.require_schema_of(&definition.name)?;
        self.require_free(&definition.name)?;
        let id = self.fresh_id()?;
        let change = table_change(id, Some(&definition));
        self.put_table(id, definition);
        Ok((id, change))
    }

    /// An id that no table has had.
    fn fresh_id(&self) -> Result<TableId> {
        match self.end_of_ids() {
            u32::MAX => Err(Error::Invalid("all ids of tables are used up".into())),
            id => {
                debug_assert!(self.tables.range(TableId(id)..).next().is_none(), "no table has had this id");
                Ok(TableId(id))
            }
        }
    }

    /// Where the ids begin that are given out next.
    pub(crate) fn end_of_ids(&self) -> u32 {
        self.next_id.max(self.reserved)
    }

    /// Leaves ids below `end` to others.
    pub(crate) fn reserve_ids(&mut self, end: u32) {
        self.reserved = self.reserved.max(end);
    }

    /// Removes a table and its indexes; their ids, and the changes.
    pub fn drop_table(&mut self, name: &str) -> Result<(Vec<TableId>, Vec<CatalogChange>)> {
        let (id, definition) = self.find(name)?;
        let name = definition.name.clone();
        let ids: Vec<_> = self.indexes_of(id).map(|(index, _)| index).chain([id]).collect();
        for &id in &ids {
            self.remove_table(id);
            self.forget_dictionaries(id);
        }
        let changes = ids.iter().map(|id| table_change(*id, None));
        let changes = changes.chain(self.drop_rights(ObjectKind::Rights, &name)).collect();
        Ok((ids, changes))
    }

    /// Gives a table another name, in the same schema or another; its indexes go with it.
    pub fn rename_table(&mut self, from: &str, to: &str) -> Result<Vec<CatalogChange>> {
        let (id, definition) = self.find(from)?;
        let to = qualify(to)?;
        self.require_schema_of(&to)?;
        self.require_free(&to)?;
        let (schema, _) = to.split_once('.').expect("qualified names have a dot");
        let mut renamed = vec![(id, to.clone())];
        let primary = self.primary_index(id).map(|(index, _)| index);
        let from = definition.name.clone();
        let moves = !definition.name.starts_with(&format!("{schema}."));
        for (index, definition) in self.indexes_of(id) {
            if primary == Some(index) {
                renamed.push((index, self.primary_index_name(&to)));
            } else if moves {
                let (_, name) = definition.name.split_once('.').expect("qualified names have a dot");
                let name = format!("{schema}.{name}");
                self.require_free(&name)?;
                renamed.push((index, name));
            }
        }
        let mut changes = Vec::new();
        for (id, name) in renamed {
            let mut definition = (*self.tables[&id]).clone();
            definition.name = name;
            changes.push(table_change(id, Some(&definition)));
            self.remove_table(id);
            self.put_table(id, definition);
        }
        changes.extend(self.rename_rights(&from, &to));
        Ok(changes)
    }

    /// Changes the options of a table.
    ///
    /// # Errors
    /// [`Error::NotFound`], or what [`TableDefinition::validate`] says about the table with the options.
    pub fn alter_table(&mut self, name: &str, options: &TableOptions) -> Result<CatalogChange> {
        let (id, definition) = self.find(name)?;
        let definition = options.apply((**definition).clone());
        definition.validate()?;
        let change = table_change(id, Some(&definition));
        self.put_table(id, definition);
        Ok(change)
    }

    /// Gives a table another storage. Only a checkpoint says so, not the log.
    ///
    /// # Errors
    /// [`Error::NotFound`] if it was dropped.
    pub fn set_storage(&mut self, id: TableId, storage: Storage) -> Result<()> {
        let Some(definition) = self.tables.get_mut(&id) else {
            return Err(Error::NotFound("the table was dropped or truncated meanwhile".into()));
        };
        *definition = Arc::new(definition.with_storage(storage));
        Ok(())
    }

    /// Gives a table and its indexes new, empty identities.
    pub fn truncate_table(&mut self, name: &str) -> Result<Truncated> {
        let (table, _) = self.find(name)?;
        let mut truncated = Truncated::default();
        let olds: Vec<_> = [table].into_iter().chain(self.indexes_of(table).map(|(id, _)| id)).collect();
        let mut new_table = None;
        for old in olds {
            let mut definition = (*self.tables[&old]).clone();
            let new = self.fresh_id()?;
            if let Some(index) = &mut definition.index {
                index.table = new_table.expect("the table comes first");
                index.ready = true;
            }
            definition.forget_dropped();
            new_table.get_or_insert(new);
            self.remove_table(old);
            self.forget_dictionaries(old);
            truncated.changes.extend([table_change(old, None), table_change(new, Some(&definition))]);
            truncated.removed.push(old);
            truncated.added.push(new);
            debug_assert!(old < new, "ids only grow");
            self.put_table(new, definition);
        }
        Ok(truncated)
    }

    /// Adds a schema.
    pub fn create_schema(&mut self, name: &str) -> Result<CatalogChange> {
        names::check("schema", name)?;
        if !self.schemas.insert(name.to_owned()) {
            return Err(Error::Exists(format!("schema \"{name}\"")));
        }
        Ok(CatalogChange { key: schema_key(name), value: Some(Vec::new()) })
    }

    /// Removes an empty schema.
    pub fn drop_schema(&mut self, name: &str) -> Result<Vec<CatalogChange>> {
        if name == DEFAULT_SCHEMA {
            return Err(Error::Invalid(format!("schema \"{name}\" is always there")));
        }
        let prefix = format!("{name}.");
        let objects = self.objects.keys().map(|(_, name)| name);
        let mut taken = self.by_name.keys().chain(self.views.keys()).chain(objects);
        if let Some(other) = taken.find(|other| other.starts_with(&prefix)) {
            return Err(Error::Invalid(format!(
                "schema \"{name}\" is not empty (it has \"{other}\"); drop what it has first"
            )));
        }
        if !self.schemas.remove(name) {
            return Err(Error::NotFound(names::not_found("schema", name, self.schemas.iter())));
        }
        let rights = self.drop_rights(ObjectKind::SchemaRights, &format!("{DEFAULT_SCHEMA}.{name}"));
        let gone = CatalogChange { key: schema_key(name), value: None };
        Ok(rights.into_iter().chain([gone]).collect())
    }

    fn require_schema_of(&self, qualified: &str) -> Result<()> {
        let (schema, _) = qualified.split_once('.').expect("qualified names have a dot");
        match self.schemas.contains(schema) {
            true => Ok(()),
            false => Err(Error::NotFound(names::not_found("schema", schema, self.schemas.iter()))),
        }
    }

    fn require_free(&self, qualified: &str) -> Result<()> {
        let is_taken = self.by_name.contains_key(qualified) || self.views.contains_key(qualified);
        match is_taken {
            true => Err(Error::Exists(format!("{} \"{qualified}\"", self.word_for(qualified)))),
            false => Ok(()),
        }
    }

    /// What something that is there is.
    fn word_for(&self, qualified: &str) -> &'static str {
        match self.by_name.get(qualified).map(|id| &self.tables[id]) {
            Some(definition) if definition.index.is_some() => "index",
            Some(_) => "table",
            None => "view",
        }
    }

    fn put_table(&mut self, id: TableId, definition: TableDefinition) {
        assert!(id > CATALOG_TABLE && id.0 < u32::MAX, "table {id} has an id that tables may have");
        self.forget_name(id);
        self.by_name.insert(definition.name.clone(), id);
        self.tables.insert(id, Arc::new(definition));
        self.next_id = self.next_id.max(id.0 + 1);
    }

    fn remove_table(&mut self, id: TableId) {
        self.forget_name(id);
        self.tables.remove(&id);
        self.next_id = self.next_id.max(id.0 + 1);
    }

    /// Another may have the name already, where names are exchanged.
    fn forget_name(&mut self, id: TableId) {
        if let Some(definition) = self.tables.get(&id)
            && self.by_name.get(&definition.name) == Some(&id)
        {
            self.by_name.remove(&definition.name);
        }
    }

    /// That its parts fit each other.
    ///
    /// # Errors
    /// What does not, in words.
    pub(crate) fn verify(&self) -> Result<(), String> {
        let hold = |holds: bool, what: String| if holds { Ok(()) } else { Err(what) };
        hold(self.by_name.len() == self.tables.len(), "two tables or indexes have one name".into())?;
        for (id, definition) in &self.tables {
            let name = &definition.name;
            hold(self.by_name.get(name) == Some(id), format!("\"{name}\" is the name of another"))?;
            hold(!self.views.contains_key(name), format!("\"{name}\" is a view, too"))?;
            hold(id.0 < self.next_id, format!("table {id} has an id that is still to be given out"))?;
            if let Some(of) = &definition.index {
                let of = self.tables.get(&of.table).filter(|of| of.index.is_none());
                hold(of.is_some(), format!("index \"{name}\" is of no table"))?;
            }
        }
        let objects = self.objects.keys().map(|(_, name)| name);
        for name in self.by_name.keys().chain(self.views.keys()).chain(objects) {
            let schema = name.split_once('.').map(|(schema, _)| schema);
            let is_known = schema.is_some_and(|schema| self.schemas.contains(schema));
            hold(is_known, format!("\"{name}\" is in no schema"))?;
        }
        let newest = self.dictionaries.keys().map(|(_, number)| *number).max();
        hold(
            newest < Some(self.next_dictionary),
            "a dictionary has a number that is still to be given out".into(),
        )
    }

    /// The dictionaries that records of a table may be compressed with, with their numbers, the newest last.
    pub fn dictionaries(&self, id: TableId) -> impl DoubleEndedIterator<Item = (u32, &Arc<[u8]>)> {
        self.dictionaries.range((id, 0)..=(id, u32::MAX)).map(|((_, number), bytes)| (*number, bytes))
    }

    /// Adds a dictionary of a table.
    pub fn put_dictionary(&mut self, id: TableId, number: u32, bytes: Arc<[u8]>) {
        let before = self.dictionaries.insert((id, number), bytes.clone());
        debug_assert!(before.is_none_or(|before| before == bytes), "a number is that of one dictionary");
        self.next_dictionary = self.next_dictionary.max(number.saturating_add(1));
    }

    /// Removes the dictionaries of a table: no page needs them any more.
    pub fn forget_dictionaries(&mut self, id: TableId) {
        self.dictionaries.retain(|(table, _), _| *table != id);
    }

    /// A number that no dictionary has had.
    pub fn next_dictionary(&self) -> u32 {
        self.next_dictionary
    }

    /// Whether `id` was given out once.
    pub fn was_used(&self, id: TableId) -> bool {
        id.0 < self.next_id
    }

    /// Applies a row of the catalog, from a checkpoint or the log. Rows of roots and segments are left to the caller.
    ///
    /// # Errors
    /// What is wrong with the row, in words.
    pub fn apply(&mut self, key: &[u8], record: Record<'_>) -> Result<(), String> {
        let (kind, rest) = key.split_first().ok_or("an empty catalog key")?;
        let value = (record.kind == RecordKind::Inline).then_some(record.bytes);
        match *kind {
            SCHEMA_ROW => {
                let name = std::str::from_utf8(rest).map_err(|_| "a schema name that is not UTF-8")?;
                match value {
                    Some(_) => self.schemas.insert(name.to_owned()),
                    None => self.schemas.remove(name),
                };
            }
            TABLE_ROW => {
                let id = TableId(u32_key(rest)?);
                if id == CATALOG_TABLE || id.0 == u32::MAX {
                    return Err(format!("table {id}, an id that no table has"));
                }
                match value {
                    Some(bytes) => self.put_table(id, TableDefinition::decode(bytes)?),
                    None => {
                        self.remove_table(id);
                        self.forget_dictionaries(id);
                    }
                }
            }
            NEXT_ID_ROW => {
                self.next_id = self.next_id.max(u32_key(value.ok_or("no next table id")?)?);
            }
            DICTIONARY_ROW => {
                let (table, number) = rest.split_at_checked(4).ok_or("a dictionary of no table")?;
                let bytes = value.ok_or("a dictionary without bytes")?;
                self.put_dictionary(TableId(u32_key(table)?), u32_key(number)?, bytes.into());
            }
            NEXT_DICTIONARY_ROW => {
                let next = u32_key(value.ok_or("no next number of a dictionary")?)?;
                self.next_dictionary = self.next_dictionary.max(next);
            }
            VIEW_ROW => self.apply_view(rest, value)?,
            OBJECT_ROW => self.apply_object(rest, value)?,
            ROOTS_ROW | SEGMENT_ROW | BASE_ROW => {}
            other => return Err(format!("a catalog row of unknown kind {other}")),
        }
        Ok(())
    }

    /// All rows of a checkpoint's catalog but those of roots, views and objects.
    pub fn rows(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut rows: Vec<_> = self.schemas.iter().map(|name| (schema_key(name), Vec::new())).collect();
        rows.extend(
            self.tables.iter().map(|(id, definition)| (table_key(TABLE_ROW, *id), definition.encode())),
        );
        rows.push((vec![NEXT_ID_ROW], self.next_id.to_be_bytes().to_vec()));
        rows.extend(self.dictionaries.iter().map(|((id, number), bytes)| {
            ([&table_key(DICTIONARY_ROW, *id)[..], &number.to_be_bytes()].concat(), bytes.to_vec())
        }));
        if self.next_dictionary > 1 {
            rows.push((vec![NEXT_DICTIONARY_ROW], self.next_dictionary.to_be_bytes().to_vec()));
        }
        debug_assert!(self.is_read_from(&rows), "it is read as it was written");
        rows
    }

    /// Whether rows of a checkpoint make it again, but for views and objects.
    fn is_read_from(&self, rows: &[(Vec<u8>, Vec<u8>)]) -> bool {
        let mut read = Self::default();
        rows.iter().all(|(key, value)| read.apply(key, Record::inline(value)).is_ok())
            && (&read.schemas, &read.tables, read.next_id) == (&self.schemas, &self.tables, self.next_id)
            && (&read.dictionaries, read.next_dictionary) == (&self.dictionaries, self.next_dictionary)
    }
}

/// The table whose definition the row with this key holds, if it is such a row.
pub fn table_row(key: &[u8]) -> Option<TableId> {
    let rest = key.strip_prefix(&[TABLE_ROW])?;
    u32_key(rest).ok().map(TableId)
}

fn u32_key(bytes: &[u8]) -> Result<u32, String> {
    let bytes = bytes.try_into().map_err(|_| format!("{} bytes where a table id takes 4", bytes.len()))?;
    Ok(u32::from_be_bytes(bytes))
}

fn schema_key(name: &str) -> Vec<u8> {
    [&[SCHEMA_ROW], name.as_bytes()].concat()
}

fn table_key(kind: u8, id: TableId) -> Vec<u8> {
    [&[kind][..], &id.0.to_be_bytes()].concat()
}

fn table_change(id: TableId, definition: Option<&TableDefinition>) -> CatalogChange {
    let value = definition.map(TableDefinition::encode);
    debug_assert_eq!(value.as_deref().map(TableDefinition::decode), definition.cloned().map(Ok));
    CatalogChange { key: table_key(TABLE_ROW, id), value }
}

#[cfg(test)]
mod tests {
    use ambo_codec::record::RecordCodec;

    use super::*;

    fn catalog() -> Catalog {
        let mut catalog = Catalog::default();
        catalog.create_schema("shop").unwrap();
        catalog.create_table(TableDefinition::key_value("plain")).unwrap();
        catalog.create_table(TableDefinition::key_value("shop.orders")).unwrap();
        catalog
    }

    /// Keeps away: a checkpoint's catalog that reads back as another.
    #[test]
    fn rows_rebuild_the_catalog() {
        let catalog = catalog();
        let mut again = Catalog::default();
        for (key, value) in catalog.rows() {
            again.apply(&key, Record::inline(&value)).unwrap();
        }
        assert_eq!(format!("{catalog:?}"), format!("{again:?}"));
    }

    /// Keeps away: a replay that differs when the checkpoint has the change already, and a reused table id.
    #[test]
    fn changes_can_be_applied_twice() {
        let mut catalog = catalog();
        let mut replayed = catalog.clone();
        let mut changes = catalog.rename_table("plain", "shop.plain").unwrap();
        let truncated = catalog.truncate_table("shop.orders").unwrap();
        let new = truncated.added[0];
        changes.extend(truncated.changes);
        let lz4 = TableOptions::new().record_compression(RecordCodec::Lz4);
        changes.push(catalog.alter_table("shop.plain", &lz4).unwrap());
        changes.extend(catalog.drop_table("shop.orders").unwrap().1);
        for change in changes.iter().chain(&changes) {
            replayed.apply(&change.key, change.record()).unwrap();
        }
        assert_eq!(format!("{catalog:?}"), format!("{replayed:?}"));
        assert_eq!(replayed.find("shop.plain").unwrap().1.record_compression, Some(RecordCodec::Lz4));
        let (id, _) = replayed.create_table(TableDefinition::key_value("next")).unwrap();
        assert!(id > new);
    }

    /// Keeps away: two dictionaries with one number, while records that refer to the first may be left.
    #[test]
    fn numbers_of_dictionaries_are_never_used_again() {
        let mut catalog = catalog();
        let (id, _) = catalog.find("plain").unwrap();
        catalog.put_dictionary(id, 5, [1, 2].into());
        assert_eq!(catalog.next_dictionary(), 6);
        catalog.forget_dictionaries(id);
        assert_eq!((catalog.next_dictionary(), catalog.dictionaries(id).count()), (6, 0));
    }

    /// Keeps away: an id that no table can have, and a new table in the place of the last.
    #[test]
    fn ids_have_bounds() {
        let mut catalog = catalog();
        let definition = TableDefinition::key_value("main.t").encode();
        for id in [0, u32::MAX] {
            for record in [Record::inline(&definition), Record::TOMBSTONE] {
                assert!(catalog.apply(&table_key(TABLE_ROW, TableId(id)), record).is_err());
            }
        }
        let last = u32::MAX - 1;
        catalog.apply(&table_key(TABLE_ROW, TableId(last)), Record::inline(&definition)).unwrap();
        assert!(matches!(catalog.create_table(TableDefinition::key_value("u")), Err(Error::Invalid(_))));
        assert!(matches!(catalog.truncate_table("t"), Err(Error::Invalid(_))));
        assert_eq!(catalog.find("t").unwrap().0, TableId(last));
    }

    /// Keeps away: a refusal that does not say what there is instead.
    #[test]
    fn errors_name_the_nearest() {
        let mut catalog = catalog();
        let error = catalog.find("shop.order").unwrap_err().to_string();
        assert!(error.contains("shop.orders"), "{error}");
        assert!(matches!(catalog.create_table(TableDefinition::key_value("plain")), Err(Error::Exists(_))));
        assert!(matches!(catalog.create_table(TableDefinition::key_value("no.t")), Err(Error::NotFound(_))));
        assert!(catalog.drop_schema("shop").unwrap_err().to_string().contains("shop.orders"));
    }
}
