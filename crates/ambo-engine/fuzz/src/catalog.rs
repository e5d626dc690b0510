//! Rows of the catalog.

use ambo_engine::{
    base::btree::TreeMeta,
    catalog::{
        Catalog, Column, TableChange, TableDefinition,
        roots::{CatalogRoots, Roots},
        table_row,
    },
    id::TableId,
    record::Record,
};

use super::input::Input;

/// Rows of any bytes, applied one after the other. The catalog that they make comes back from its own rows.
pub fn row(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (mut catalog, mut roots) = (Catalog::default(), CatalogRoots::default());
    while !input.0.is_empty() {
        let how = input.byte();
        let mut key = vec![how % 9];
        // Few ids, so that rows meet; now and then any.
        match how >> 3 & 3 {
            0 => key.extend_from_slice(input.take(4)),
            1 if how & 0x80 != 0 => key.extend_from_slice(input.take(8)),
            kind => {
                key.extend_from_slice(&u32::from(input.byte() % 4).to_be_bytes());
                key.extend((kind == 2).then(|| u32::from(input.byte()).to_be_bytes()).into_iter().flatten());
            }
        }
        if how % 9 == 8 {
            key.truncate(1);
            key.extend_from_slice(input.pick(&["main.v", "main.a", "shop.w", "v"]).as_bytes());
        }
        let value = match how >> 5 & 3 {
            2 if how % 9 == 8 => Some([&[1, 9][..], input.take(8), &[0]].concat()),
            0 => None,
            1 => Some(table(&mut input).encode()),
            _ => Some(input.string().to_vec()),
        };
        let record = value.as_deref().map_or(Record::TOMBSTONE, Record::inline);
        let _ = table_row(&key);
        for kind in [3, 7, 9] {
            key[0] = kind;
            let _ = roots.take(&key, value.as_deref().unwrap_or_default());
        }
        key[0] = how % 9;
        let _ = catalog.apply(&key, record);
    }
    let _ = catalog.create_table(TableDefinition::key_value("one more"));
    for (id, definition) in catalog.tables() {
        read(definition);
        assert!(catalog.was_used(id));
        let _ = catalog.find(&definition.name);
    }
    let mut again = Catalog::default();
    for (key, value) in catalog.rows().into_iter().chain(catalog.view_rows()) {
        again.apply(&key, Record::inline(&value)).expect("its own row");
    }
    assert!(catalog.views().eq(again.views()));
    let tables = |catalog: &Catalog| -> Vec<(TableId, TableDefinition)> {
        catalog.tables().map(|(id, table)| (id, (**table).clone())).collect()
    };
    assert_eq!(tables(&catalog), tables(&again));
    assert_eq!(catalog.next_dictionary(), again.next_dictionary());
    let _ = catalog.rename_table("one more", "another");
    let names: Vec<_> = catalog.tables().map(|(_, table)| table.name.clone()).collect();
    for name in names {
        // What may be changed leaves a definition that can be.
        let column = Column::new("one more", ambo_codec::Type::I16).default_value(7);
        let add = [TableChange::AddColumn(column), TableChange::rename_column("x", "y")];
        let _ = catalog.change_table(&name, &add);
        let _ = catalog.change_table(&name, &[TableChange::DropColumn("y".into())]);
    }
    catalog.tables().for_each(|(_, definition)| read(definition));
    let _ = catalog.truncate_table("another");
    let _ = catalog.drop_table("another");
}

/// A table that can be.
fn table(input: &mut Input<'_>) -> TableDefinition {
    let name = input.pick(&["a", "b", "main.c", "shop.d"]);
    let kind = input.pick(&[ambo_codec::Type::U32, ambo_codec::Type::U64, ambo_codec::Type::Utf8]);
    let mut table = TableDefinition::new(name).column("id", kind).column_nullable("x", ambo_codec::Type::F64);
    let how = input.byte();
    if how & 1 != 0 {
        table = table.primary_key(&["id"]);
    }
    if how & 2 != 0 {
        table = table.comment("fuzzed").check("c", "x > 0");
        table.columns[1].default_expression = Some(String::from_utf8_lossy(input.take(3)).into_owned());
    }
    table
}

/// A definition of any bytes: what decodes is valid, and comes back from its own bytes.
pub fn definition(bytes: &[u8]) {
    let _ = Roots::decode(bytes);
    if let Some(meta) = TreeMeta::decode(bytes) {
        assert_eq!(meta.encode(), bytes);
    }
    let Ok(table) = TableDefinition::decode(bytes) else { return };
    read(&table);
    let encoded = table.encode();
    let again = TableDefinition::decode(&encoded).expect("its own bytes");
    assert_eq!(again.encode(), encoded);
}

/// A definition that was decoded can be used.
fn read(table: &TableDefinition) {
    table.validate().expect("validated when it was decoded");
    let keys = table.key_spec().expect("valid");
    let rows = table.row_spec().expect("valid");
    let columns = table.columns.len() + table.dropped_columns();
    assert_eq!(rows.columns().len() + table.key.len(), columns);
    for column in 0..table.columns.len() {
        assert_eq!(table.column_in(table.stored_in(column)), Some(column));
    }
    if table.key_compression.is_some() {
        assert_eq!(keys.fixed_width(), table.key_width().map(|width| width.bytes()));
    }
}
