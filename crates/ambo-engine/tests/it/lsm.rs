//! Tables of many parts, merged slot by slot while they are written to.

use std::{collections::BTreeMap, sync::Arc};

use ambo_codec::record::RecordCodec;
use ambo_engine::{
    catalog::{Storage, TableDefinition, TableOptions},
    database::{Engine, KeySum, Options, Seek, Snapshot, Sync},
    id::TableId,
    io::sim::SimDisk,
};

use crate::support::{Random, assert_sound, bytes, open, rows, small_options};

type Model = BTreeMap<u64, Vec<u8>>;

const KEYS: u64 = 30_000;

fn options() -> Options {
    Options { sync: Sync::Off, ..small_options() }
}

fn start(disk: &SimDisk) -> (Arc<Engine>, TableId) {
    let (engine, _) = open(&disk.env(), &options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t").storage(Storage::Lsm)).unwrap();
    (engine, table)
}

/// Random writes; some are in keys that follow each other, some delete.
fn write(engine: &Arc<Engine>, table: TableId, random: &mut Random, model: &mut Model, count: u64) {
    let from = random.below(KEYS);
    let in_order = random.one_in(3);
    for n in 0..count {
        let key = if in_order { (from + n) % KEYS } else { random.below(KEYS) };
        if random.one_in(4) {
            engine.delete(table, &key.to_be_bytes()).unwrap();
            model.remove(&key);
        } else {
            let value = bytes(random.next(), *random.pick(&[0, 20, 90, 90, 90, 1500]));
            engine.put(table, &key.to_be_bytes(), &value).unwrap();
            model.insert(key, value);
        }
    }
}

/// Counts, sums, look-ups, and walks both ways from anywhere.
fn compare(snapshot: &Snapshot, table: TableId, model: &Model, random: &mut Random) {
    let expected: Vec<_> =
        model.iter().map(|(key, value)| (key.to_be_bytes().to_vec(), value.clone())).collect();
    assert!(rows(snapshot, table).unwrap() == expected, "all rows");
    for _ in 0..30 {
        let mut bounds = [random.below(KEYS + 9), random.below(KEYS + 9)];
        bounds.sort_unstable();
        let [from, to] = bounds;
        let (lower, upper) = (from.to_be_bytes(), to.to_be_bytes());
        let mut sum = KeySum::default();
        model.range(from..to).for_each(|(key, _)| sum.add(&key.to_be_bytes()));
        assert_eq!(snapshot.count(table, Some(&lower), Some(&upper)).unwrap(), sum.count);
        assert_eq!(snapshot.sum_keys(table, Some(&lower), Some(&upper)).unwrap(), sum);
        let found = snapshot.get(table, &lower).unwrap();
        assert_eq!(found.as_deref(), model.get(&from).map(Vec::as_slice));
        let mut cursor = snapshot.cursor(table).unwrap();
        let mut there = cursor.seek(Seek::Lt(&upper)).unwrap();
        for (key, value) in model.range(..to).rev().take(200) {
            assert!(
                there && cursor.key() == key.to_be_bytes() && cursor.value().unwrap() == value,
                "before {to}"
            );
            there = cursor.prev().unwrap();
        }
    }
}

fn trees(engine: &Arc<Engine>) -> u64 {
    let report = engine.check().unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    report.trees
}

/// Keeps away: rows that are lost, doubled or seen at the wrong moment as slots are merged, whatever is done to the table between.
#[test]
fn slots_are_merged_below_readers() {
    for seed in 0..6 {
        let mut random = Random::new(seed);
        let mut disk = SimDisk::new(seed);
        let (mut engine, table) = start(&disk);
        let mut model = Model::new();
        let mut old: Vec<(Snapshot, Model)> = Vec::new();
        for round in 0..40 {
            write(&engine, table, &mut random, &mut model, 400);
            match random.below(12) {
                0 => engine.compact().unwrap(),
                1 => drop(engine.vacuum().unwrap()),
                2 => {
                    let from = random.below(KEYS);
                    let to = from + random.below(KEYS / 10);
                    engine.delete_range(table, &from.to_be_bytes(), Some(&to.to_be_bytes())).unwrap();
                    model.retain(|key, _| !(from..to).contains(key));
                }
                3 => {
                    let codec = *random.pick(&[None, Some(RecordCodec::Lz4)]);
                    let options = TableOptions::new().record_compression(codec);
                    engine.alter_table("t", &options).unwrap();
                }
                4 => {
                    // What was written is in the log, unless it is lost: it is asked for.
                    engine.flush().unwrap();
                    old.clear();
                    disk = disk.crash();
                    engine = open(&disk.env(), &options()).unwrap().0;
                }
                _ => engine.compact_due().unwrap(),
            }
            if random.one_in(6) {
                old.push((engine.snapshot(), model.clone()));
            }
            if round % 4 == 3 {
                compare(&engine.snapshot(), table, &model, &mut random);
                old.iter().for_each(|(snapshot, model)| compare(snapshot, table, model, &mut random));
                trees(&engine);
            }
        }
        drop(old);
        engine.compact().unwrap();
        assert!(trees(&engine) > 20, "there are many parts");
        compare(&engine.snapshot(), table, &model, &mut random);
        let backup = SimDisk::new(seed);
        engine.backup_to(&backup.env().disk).unwrap();
        let (copy, _) = open(&backup.env(), &options()).unwrap();
        compare(&copy.snapshot(), table, &model, &mut random);
        assert_sound(&copy);
        assert_sound(&engine);
    }
}

/// Keeps away: a merge that needs room for a second copy of the table.
#[test]
fn merges_take_room_for_a_few_slots() {
    let used = |storage: Storage| {
        let disk = SimDisk::new(7);
        let options =
            Options { part_bytes: 64 << 10, memtable_bytes: 2 << 20, cache_bytes: 4 << 20, ..options() };
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let table = engine.create_table(TableDefinition::key_value("t").storage(storage)).unwrap();
        let mut random = Random::new(3);
        for round in 0..40 {
            for _ in 0..2500 {
                engine.put(table, &random.next().to_be_bytes(), &bytes(random.next(), 100)).unwrap();
            }
            engine.flush().unwrap();
            if round == 29 {
                engine.compact().unwrap();
                engine.vacuum().unwrap();
            }
        }
        let pages = |engine: &Arc<Engine>| engine.info().unwrap().pages;
        let before = pages(&engine).used_pages;
        engine.compact().unwrap();
        assert_sound(&engine);
        let grown = pages(&engine).file_pages.saturating_sub(before);
        (before, grown)
    };
    let (of_slots, of_one) = (used(Storage::Lsm), used(Storage::BTree));
    // A slot has 128 pages here.
    assert!(of_slots.1 * 3 < of_slots.0, "{of_slots:?}");
    assert!(of_slots.1 * 2 < of_one.1, "{of_slots:?} and in one tree {of_one:?}");
}
