//! Options of compression from outside: that they are applied, that they can change, that nothing is lost over it.

use std::sync::Arc;

use ambo_codec::{Type, record::RecordCodec};
use ambo_engine::{
    catalog::{TableDefinition, TableOptions},
    database::Engine,
    id::TableId,
    io::sim::{SimDisk, split_mix},
};

use crate::support::{assert_sound, open, rows, small_options};

fn numbers() -> TableDefinition {
    TableDefinition::new("n").column("k", Type::U32).column("v", Type::Binary).primary_key(&["k"])
}

fn value(number: u32) -> Vec<u8> {
    format!(
        "{{\"customer\":{},\"state\":\"delivered\",\"clerk\":\"Clerk#{:09}\"}}",
        number % 997,
        number % 89
    )
    .into_bytes()
}

fn put(engine: &Arc<Engine>, table: TableId, numbers: std::ops::Range<u32>) {
    for number in numbers {
        engine.put(table, &number.to_be_bytes(), &value(number)).unwrap();
    }
}

fn dictionaries(engine: &Engine, table: TableId) -> Vec<u32> {
    engine.current().catalog.dictionaries(table).map(|(number, _)| number).collect()
}

/// All rows up to `count` are there, and it is sound.
fn assert_rows(engine: &Arc<Engine>, table: TableId, count: u32) {
    let expected: Vec<_> = (0..count).map(|number| (number.to_be_bytes().to_vec(), value(number))).collect();
    assert!(rows(&engine.snapshot(), table).unwrap() == expected);
    assert_sound(engine);
}

/// Keeps away: a dictionary that is not used after it was trained, that is not trained anew, that stays for ever, or that is gone while
/// records need it.
#[test]
fn dictionaries_live_as_long_as_they_are_needed() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let zstd = numbers().record_compression(RecordCodec::Zstd { level: 3 }).record_dictionary(true);
    let table = engine.create_table(zstd).unwrap();
    put(&engine, table, 0..4000);
    engine.compact().unwrap();
    assert_eq!(dictionaries(&engine, table), [1]);
    engine.vacuum().unwrap();
    let before = dictionaries(&engine, table);
    let with = engine.info().unwrap().tables[0].space.records;
    // What is added later uses it.
    put(&engine, table, 4000..8000);
    engine.compact().unwrap();
    assert_eq!(dictionaries(&engine, table), before);
    let both = engine.info().unwrap().tables[0].space.records;
    assert!(both < with * 5 / 2, "{with} bytes for 4000 records, {both} for 8000");

    engine.alter_table("n", &TableOptions::new().record_compression(RecordCodec::Zstd { level: 9 })).unwrap();
    engine.vacuum().unwrap();
    let anew = dictionaries(&engine, table);
    assert!(anew.len() == 1 && anew != before, "{before:?}, {anew:?}: one, trained anew");
    assert_rows(&engine, table, 8000);

    // Adopted leaves need the dictionary although the table has no use for it any more.
    engine.alter_table("n", &TableOptions::new().record_compression(RecordCodec::Lz4)).unwrap();
    put(&engine, table, 8000..8100);
    engine.compact().unwrap();
    assert_eq!(dictionaries(&engine, table), anew);
    drop(engine);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    assert_rows(&engine, table, 8100);
    engine.vacuum().unwrap();
    assert_eq!(dictionaries(&engine, table), []);
    assert!(engine.info().unwrap().tables[0].space.records > with);
    drop(engine);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    assert_rows(&engine, table, 8100);
}

/// Keeps away: long values that are written without the table's codec.
#[test]
fn long_values_are_compressed() {
    let disk = SimDisk::new(2);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(numbers().record_compression(RecordCodec::Lz4)).unwrap();
    let long: Vec<u8> = (0..40_000).flat_map(value).collect();
    assert!(long.len() > 2 << 20);
    engine.put(table, &[0; 4], &long).unwrap();
    let mut writer = engine.put_stream(table, &[1; 4]).unwrap();
    std::io::Write::write_all(&mut writer, &long).unwrap();
    writer.finish().unwrap();
    let used = engine.info().unwrap().pages.used_pages * 4096;
    assert!(used < long.len() as u64, "{used} bytes before they compact");
    engine.compact().unwrap();
    for key in [[0; 4], [1; 4]] {
        assert!(*engine.get(table, &key).unwrap().unwrap() == long[..]);
    }
    assert_sound(&engine);
}

/// Keeps away: estimates that leave out the values in pages of their own.
#[test]
fn advice_counts_long_values() {
    let disk = SimDisk::new(3);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(numbers()).unwrap();
    let mut state = 1;
    for number in 0..40u32 {
        let noise: Vec<u8> = (0..20_000).map(|_| split_mix(&mut state) as u8).collect();
        engine.put(table, &number.to_be_bytes(), &noise).unwrap();
    }
    let advice = engine.advise(table, 1000).unwrap();
    assert_eq!(advice.record_bytes, 800_000);
    assert!(advice.records.iter().all(|estimate| estimate.bytes >= 800_000), "{:?}", advice.records);
    assert_eq!(advice.recommended.parts().1, None);
}
