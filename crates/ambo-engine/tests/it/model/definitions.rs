//! Changes of definitions, each by itself or as a step of a transaction.

use std::collections::BTreeMap;

use ambo_codec::Type;
use ambo_engine::{
    catalog::{Catalog, Column, Storage, TableChange, TableDefinition, TableOptions},
    database::CatalogEdit,
    id::TableId,
};

use super::{
    oracle::{Change, Rows, State, Table},
    plan::{Compression, Definition, Keys, Kind, TABLES_MAX},
    world::World,
};

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The tables that somebody sees, by name.
pub type Ids = BTreeMap<String, TableId>;

/// The name and id of one of them.
pub fn choose(ids: &Ids, choice: u64) -> Option<(String, TableId)> {
    let index = choice as usize % ids.len().max(1);
    ids.iter().nth(index).map(|(name, id)| (name.clone(), *id))
}

/// What a change makes of the tables; `id` is that of a new one.
pub fn adopt(ids: &mut Ids, change: &Change, id: Option<TableId>) {
    match change {
        Change::Create { name, .. } | Change::Truncate { name, .. } => {
            ids.insert(name.clone(), id.expect("a new table has an id"));
        }
        Change::Drop { name } => drop(ids.remove(name)),
        Change::Rename { from, to } => {
            let id = ids.remove(from).expect("it was there");
            ids.insert(to.clone(), id);
        }
        Change::Row { .. } | Change::Alter { .. } | Change::Columns { .. } | Change::Reshape { .. } => {}
    }
}

/// What a table with such keys can have of it.
pub fn possible(compression: Compression, keys: Keys, kind: Kind) -> Compression {
    match keys {
        _ if kind == Kind::Column => Compression::default(),
        Keys::Any => Compression { keys: None, ..compression },
        Keys::Four | Keys::Eight | Keys::Sorted => compression,
    }
}

fn options(compression: Compression) -> TableOptions {
    TableOptions::new()
        .key_compression(compression.keys)
        .record_compression(compression.records)
        .record_dictionary(compression.dictionary)
}

pub fn shape_of(definition: &TableDefinition) -> String {
    format!("{:?} {:?}", definition.columns, definition.comment)
}

impl World {
    pub fn define(&mut self, definition: &Definition) {
        let (view, ids, catalog) =
            (self.oracle.now.clone(), self.ids.clone(), self.engine().current().catalog.clone());
        let Some((edit, change)) = self.planned(definition, &view, &ids, &catalog) else { return };
        let result = self.engine().define(&edit);
        if let Ok(id) = &result {
            adopt(&mut self.ids, &change, *id);
        }
        self.note(result, vec![change], self.is_synced());
    }

    /// What a definition means where these tables are seen; nothing if it cannot be.
    pub fn planned(
        &mut self,
        definition: &Definition,
        view: &State,
        ids: &Ids,
        catalog: &Catalog,
    ) -> Option<(CatalogEdit, Change)> {
        if let Definition::Create { kind, keys, compression } = definition {
            return self.planned_table(*kind, *keys, *compression, ids);
        }
        let (name, id) = choose(ids, definition.table())?;
        Some(match definition {
            Definition::Create { .. } => unreachable!("planned above"),
            Definition::Drop { .. } => (CatalogEdit::DropTable(name.clone()), Change::Drop { name }),
            Definition::Rename { .. } => {
                let to = self.free_name(ids);
                let (from, change) = (name.clone(), Change::Rename { from: name, to: to.clone() });
                (CatalogEdit::RenameTable { from, to }, change)
            }
            Definition::Truncate { .. } => {
                let birth = self.birth();
                (CatalogEdit::TruncateTable(name.clone()), Change::Truncate { name, birth })
            }
            Definition::Alter { compression, .. } => {
                let compression = possible(*compression, view[&name].keys, view[&name].kind);
                let edit = CatalogEdit::AlterTable { name: name.clone(), options: options(compression) };
                (edit, Change::Alter { name, compression })
            }
            Definition::Columns { seed, .. } => {
                let table = catalog.table(id).expect("it is there");
                let changes = vec![columns(table, *seed)];
                // What the catalog makes of it.
                let mut changed = catalog.clone();
                changed.change_table(&name, &changes).ok()?;
                let shape = shape_of(changed.table(id).expect("it is there"));
                (CatalogEdit::ChangeTable { name: name.clone(), changes }, Change::Columns { name, shape })
            }
        })
    }

    fn planned_table(
        &mut self,
        kind: Kind,
        keys: Keys,
        compression: Compression,
        ids: &Ids,
    ) -> Option<(CatalogEdit, Change)> {
        if ids.len() >= TABLES_MAX {
            return None;
        }
        let name = self.free_name(ids);
        // Values are any bytes, which only a key-value table has as a column.
        let keys = if kind == Kind::Column { Keys::Any } else { keys };
        let typed = |kind| {
            TableDefinition::new(&name)
                .column("key", kind)
                .column("value", Type::Binary)
                .primary_key(&["key"])
        };
        let definition = match keys {
            Keys::Any => TableDefinition::key_value(&name),
            Keys::Four => typed(Type::U32),
            Keys::Eight => typed(Type::U64),
            Keys::Sorted => typed(Type::U32).column("spot", Type::U32).sort_key(&["spot"]),
        };
        let compression = possible(compression, keys, kind);
        let definition = options(compression).apply(definition);
        let definition = match kind {
            Kind::Logged => definition.storage(self.by_row),
            Kind::LogOff => definition.storage(self.by_row).log(false),
            Kind::Memory => definition.storage(Storage::Memory),
            Kind::Column => definition.storage(self.by_column),
        };
        let shape = shape_of(&definition);
        let birth = self.birth();
        let table = Table { birth, kind, keys, compression, shape, rows: Rows::new() };
        Some((CatalogEdit::CreateTable(definition), Change::Create { name, table }))
    }

    fn free_name(&mut self, ids: &Ids) -> String {
        let free: Vec<_> = NAMES.iter().filter(|name| !ids.contains_key(**name)).collect();
        (**self.random.pick(&free)).to_owned()
    }

    fn birth(&mut self) -> u64 {
        self.births += 1;
        self.births
    }
}

/// Adds, drops or renames a column, or says something about the table. Key and value stay: indexes are over them, and by name.
fn columns(table: &TableDefinition, seed: u64) -> TableChange {
    let others: Vec<_> = table.columns[2..].iter().map(|column| column.name.clone()).collect();
    let chosen = others.get(seed as usize % others.len().max(1)).cloned();
    let fresh = format!("c{}", seed % 1000);
    match (seed >> 40 & 3, chosen) {
        _ if table.is_raw() => TableChange::SetComment(Some(fresh)),
        (0, Some(from)) => TableChange::DropColumn(from),
        (1, Some(from)) => TableChange::rename_column(from, fresh),
        (2, _) => TableChange::SetComment(Some(fresh)),
        _ => TableChange::AddColumn(Column::new(fresh, Type::I64).default_value(seed as i64)),
    }
}
