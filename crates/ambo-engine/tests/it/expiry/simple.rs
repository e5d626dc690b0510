//! What happens to rows that expire, step by step.

use std::{sync::Arc, time::Duration};

use ambo_codec::{Type, Value as Datum};
use ambo_engine::{
    Error,
    base::BaseOps,
    catalog::{Column, IndexDefinition, Retention, Storage, TableChange, TableDefinition, TableOptions},
    database::{Engine, Options, RowFormat, Seek},
    id::TableId,
    io::sim::SimDisk,
};

use crate::support::{assert_sound, open, small_options};

const HOUR: i64 = 3_600_000_000;
const BEGIN: i64 = 1_700_000_000_000_000;
const STORAGES: [Storage; 5] =
    [Storage::BTree, Storage::Lsm, Storage::Memory, Storage::Column, Storage::Append];

fn hours(hours: u64) -> Retention {
    Retention { micros: hours * HOUR as u64 }
}

fn table(engine: &Arc<Engine>, storage: Storage) -> (TableId, RowFormat) {
    let definition = TableDefinition::new("t")
        .column("id", Type::I64)
        .column("at", Type::Timestamp)
        .column_nullable("x", Type::I64)
        .primary_key(&["id"])
        .storage(storage)
        .ttl(hours(1), "at");
    let id = engine.create_table(definition).unwrap();
    (id, RowFormat::new(engine.current().catalog.table(id).unwrap().clone()).unwrap())
}

/// A row of so many hours after the beginning.
fn put(engine: &Arc<Engine>, (table, format): &(TableId, RowFormat), id: i64, hour: i64) {
    let row = [Datum::I64(id), Datum::Timestamp(BEGIN + hour * HOUR), Datum::I64(id)];
    let key = format.encode_key(&row, 0).unwrap();
    engine.put(*table, &key, &format.encode_row(&row).unwrap()).unwrap();
}

fn count(engine: &Arc<Engine>, table: TableId) -> u64 {
    engine.snapshot().count(table, None, None).unwrap()
}

fn stored(engine: &Arc<Engine>, table: TableId) -> u64 {
    engine.snapshot().with_expired().count(table, None, None).unwrap()
}

// Keeps away: a row that expires a microsecond too early or too late.
#[test]
fn a_row_expires_at_one_moment() {
    for storage in STORAGES {
        for is_settled in [false, true] {
            let disk = SimDisk::new(1);
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            let t = table(&engine, storage);
            put(&engine, &t, 1, 0);
            if is_settled {
                engine.compact().unwrap();
            }
            disk.clock().advance(Duration::from_secs(3600) - Duration::from_micros(1));
            assert_eq!(count(&engine, t.0), 1, "{storage:?}");
            let before = engine.snapshot();
            disk.clock().advance(Duration::from_micros(1));
            assert_eq!(count(&engine, t.0), 0, "{storage:?}");
            engine.compact().unwrap();
            assert_eq!(stored(&engine, t.0), 0, "{storage:?}");
            assert_eq!(before.count(t.0, None, None).unwrap(), 1, "a snapshot keeps what it sees");
            drop(before);
            assert_sound(&engine);
        }
    }
}

// Keeps away: a shorter or longer ttl, or none, that is not that of the next snapshot; and what merges have taken that comes back.
#[test]
fn a_ttl_is_changed_from_one_snapshot_to_the_next() {
    for storage in STORAGES {
        let disk = SimDisk::new(2);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let t = table(&engine, storage);
        (0..10).for_each(|hour| put(&engine, &t, hour, hour));
        disk.clock().advance(Duration::from_secs(5 * 3600));
        assert_eq!(count(&engine, t.0), 5);
        let before = engine.snapshot();
        engine.alter_table("t", &TableOptions::new().ttl(hours(3))).unwrap();
        assert_eq!((count(&engine, t.0), before.count(t.0, None, None).unwrap()), (7, 5), "{storage:?}");
        engine.alter_table("t", &TableOptions::new().ttl(None)).unwrap();
        assert_eq!(count(&engine, t.0), 10, "{storage:?}");
        engine.alter_table("t", &TableOptions::new().ttl(hours(2))).unwrap();
        engine.compact().unwrap();
        engine.compact().unwrap();
        engine.alter_table("t", &TableOptions::new().ttl(None)).unwrap();
        assert_eq!(count(&engine, t.0), 6, "{storage:?}: what was merged away is gone");
        drop(before);
        assert_sound(&engine);
        if storage != Storage::Memory {
            drop(engine);
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            assert_eq!(count(&engine, t.0), 6);
            engine.alter_table("t", &TableOptions::new().ttl(hours(1))).unwrap();
            drop(engine);
            let (engine, _) = open(&disk.env(), &small_options()).unwrap();
            assert_eq!(count(&engine, t.0), 5, "{storage:?}: an option outlives the process");
        }
    }
}

// Keeps away: a column that rows expire by and that is gone, or NULL, or elsewhere.
#[test]
fn the_column_of_time_stays() {
    for storage in STORAGES {
        let disk = SimDisk::new(3);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let t = table(&engine, storage);
        put(&engine, &t, 1, 0);
        let change = |change: TableChange| engine.change_table("t", &[change]);
        for refused in [TableChange::DropColumn("at".into()), TableChange::DropNotNull("at".into())] {
            let error = change(refused).unwrap_err();
            assert!(matches!(error, Error::Invalid(_)), "{error}");
        }
        change(TableChange::rename_column("at", "since")).unwrap();
        change(TableChange::AddColumn(Column::new("y", Type::I64).default_value(7i64))).unwrap();
        change(TableChange::DropColumn("x".into())).unwrap();
        assert_eq!(count(&engine, t.0), 1, "{storage:?}");
        disk.clock().advance(Duration::from_secs(3600));
        assert_eq!(count(&engine, t.0), 0, "{storage:?}");
        assert_sound(&engine);
    }
}

// Keeps away: entries of an index that is built over rows that have expired, and a unique one that they are in the way of.
#[test]
fn indexes_are_built_over_rows_that_have_expired() {
    for storage in STORAGES {
        let disk = SimDisk::new(4);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let t = table(&engine, storage);
        for id in 0..40 {
            let row = [Datum::I64(id), Datum::Timestamp(BEGIN + id / 20 * HOUR), Datum::I64(id % 20)];
            let key = t.1.encode_key(&row, 0).unwrap();
            engine.put(t.0, &key, &t.1.encode_row(&row).unwrap()).unwrap();
            if id == 30 {
                engine.flush().unwrap();
            }
        }
        let unique = || engine.create_index(&IndexDefinition::new("u", "t", &["x"]).unique());
        let plain = engine.create_index(&IndexDefinition::new("i", "t", &["x"])).unwrap();
        assert!(matches!(unique().unwrap_err(), Error::Exists(_)), "{storage:?}");
        disk.clock().advance(Duration::from_secs(3600));
        let value = [Datum::I64(3)];
        let range = ambo_engine::database::IndexRange::Equal(&value);
        assert_eq!(engine.snapshot().index_count(plain, range).unwrap(), 1, "{storage:?}");
        assert_sound(&engine);
        // Entries of rows that have expired are made, too: a longer ttl may bring the rows back.
        let late = engine.create_index(&IndexDefinition::new("late", "t", &["x"])).unwrap();
        assert_eq!(engine.snapshot().index_count(late, range).unwrap(), 1, "{storage:?}");
        assert_sound(&engine);
        engine.alter_table("t", &TableOptions::new().ttl(None)).unwrap();
        assert_eq!(engine.snapshot().index_count(late, range).unwrap(), 2, "{storage:?}");
        engine.alter_table("t", &TableOptions::new().ttl(hours(1))).unwrap();
        let unique = unique().unwrap();
        assert_eq!(engine.snapshot().index_count(unique, range).unwrap(), 1, "{storage:?}");
        assert_sound(&engine);
    }
}

// Keeps away: parts that are read although all of their rows have expired, or that stay for ever.
#[test]
fn parts_go_as_a_whole() {
    for storage in [Storage::Column, Storage::Append] {
        let disk = SimDisk::new(5);
        let (engine, _) = open(&disk.env(), &small_options()).unwrap();
        let t = table(&engine, storage);
        (0..2000).for_each(|id| put(&engine, &t, id, 0));
        engine.compact().unwrap();
        let segments = || engine.current().table(t.0).unwrap().base.segments().len();
        assert!(segments() > 0);
        disk.clock().advance(Duration::from_secs(3600) - Duration::from_micros(1));
        assert_eq!(engine.drop_expired().unwrap(), 0);
        disk.clock().advance(Duration::from_micros(1));
        assert_eq!(engine.drop_expired().unwrap(), 2000, "{storage:?}");
        assert_eq!(segments(), 0, "{storage:?}");
        assert_sound(&engine);
    }
}

// Keeps away: leaves that are read, to be looked through or to be dropped, although their keys say that all of their rows have expired.
#[test]
fn what_has_expired_is_not_read() {
    for storage in [Storage::BTree, Storage::Lsm] {
        let disk = SimDisk::new(6);
        let options = Options { part_bytes: 128 << 10, ..small_options() };
        let (engine, _) = open(&disk.env(), &options).unwrap();
        let definition = TableDefinition::new("t")
            .column("at", Type::Timestamp)
            .column("id", Type::I64)
            .column("text", Type::Utf8)
            .primary_key(&["at", "id"])
            .storage(storage)
            .ttl(hours(1), "at");
        let table = engine.create_table(definition).unwrap();
        let format = RowFormat::new(engine.current().catalog.table(table).unwrap().clone()).unwrap();
        let rows = 20_000;
        for id in 0..rows {
            let at = Datum::Timestamp(BEGIN + id * 2 * HOUR / rows);
            let row = [at, Datum::I64(id), Datum::Utf8(format!("{id:0100}"))];
            let key = format.encode_key(&row, 0).unwrap();
            engine.put(table, &key, &format.encode_row(&row).unwrap()).unwrap();
        }
        engine.compact().unwrap();
        disk.clock().advance(Duration::from_secs(3600 + 2 * 3600 * 9 / 10));
        let read = || engine.info().unwrap().pages.bytes_read;
        let all = engine.info().unwrap().tables[0].leaf_pages * 4096;
        let asking = {
            let before = read();
            read() - before
        };
        let reading = |what: &str, work: &dyn Fn()| {
            let before = read();
            work();
            let bytes = (read() - before).saturating_sub(asking);
            assert!(bytes < all / 4, "{storage:?}: {what} reads {bytes} bytes of {all}");
        };
        let left = (rows / 10 - 1) as u64;
        reading("a count", &|| assert_eq!(count(&engine, table), left));
        reading("a scan", &|| {
            let mut found = engine.snapshot().into_rows(table, &[]).unwrap();
            (0..left).for_each(|_| assert!(found.next_row().unwrap().is_some()));
            assert!(found.next_row().unwrap().is_none());
        });
        reading("a cursor", &|| {
            let mut cursor = engine.snapshot().cursor(table).unwrap();
            assert!(cursor.seek(Seek::Last).unwrap());
            (1..left).for_each(|_| assert!(cursor.prev().unwrap()));
            assert!(!cursor.prev().unwrap());
            assert!(cursor.seek(Seek::First).unwrap() && cursor.next().unwrap());
        });
        reading("a merge", &|| engine.compact().unwrap());
        assert_eq!((stored(&engine, table), count(&engine, table)), (left, left), "{storage:?}");
        assert_sound(&engine);
    }
}
