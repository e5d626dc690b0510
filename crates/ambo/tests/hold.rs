//! Tables that are held, and bulk changes beside writers that do not rest.

#[path = "../../ambo-engine/tests/it/stop.rs"]
mod stop;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use ambo::{Datum, Error, Options, Row, Storage, Sync, Table, TableDefinition, Type};
use stop::Stop;

const ROWS: i64 = 50_000;

fn table(options: Options) -> Table {
    let db = options.open_in_memory().unwrap();
    let table =
        TableDefinition::new("t").column("id", Type::I64).column("v", Type::I64).column("w", Type::I64);
    let table = db.create_table(table.primary_key(&["id"]).storage(Storage::Column)).unwrap();
    let mut tx = db.begin().unwrap();
    for id in 0..ROWS {
        tx.insert_row(&table, &[id.into(), 0i64.into(), 0i64.into()]).unwrap();
    }
    tx.commit().unwrap();
    table
}

fn add_one(row: &mut Row, column: usize) -> ambo::Result<()> {
    row[column] = (row[column].as_ref().as_i64().unwrap() + 1).into();
    Ok(())
}

/// Keeps away: a change of all rows that never ends beside a writer of single rows, and writes of either that the other loses.
#[test]
fn changes_of_all_rows_end_beside_a_writer_that_does_not_rest() {
    let table = table(Options::new().sync(Sync::Off));
    let (stop, written) = (Stop::new(), AtomicU64::new(0));
    stop.scope(|scope| {
        scope.spawn(|| {
            let mut id = 0;
            while stop.goes_on() {
                id = (id * 31 + 7) % ROWS;
                assert!(table.update_row(&[id.into()], |row| add_one(row, 1)).unwrap());
                written.fetch_add(1, Ordering::Relaxed);
            }
        });
        for _ in 0..2 {
            let all = table.select(&[]).unwrap();
            assert_eq!(all.update(|row| add_one(row, 2)).unwrap(), ROWS as u64);
        }
    });
    let mut sum = 0;
    for row in table.rows().unwrap() {
        let row = row.unwrap();
        assert_eq!(row[2], Datum::I64(2));
        sum += row[1].as_ref().as_i64().unwrap();
    }
    assert_eq!(sum as u64, written.load(Ordering::Relaxed));
    assert_eq!(table.database().check().unwrap().problems, Vec::<String>::new());
}

/// Keeps away: commits that do not wait for a hold, wait for one of another table, or wait for ever.
#[test]
fn commits_wait_for_a_hold_and_for_no_longer_than_locks() {
    let table = table(Options::new().sync(Sync::Off).lock_timeout(Duration::from_millis(50)));
    let db = table.database();
    let other = db.key_value("other").unwrap();
    let row = [Datum::I64(1), 5i64.into(), 5i64.into()];
    let hold = table.hold().unwrap();
    assert!(matches!(table.upsert_row(&row), Err(Error::Lock(_))));
    assert!(matches!(table.hold(), Err(Error::Lock(_))));
    other.put(b"k", b"v").unwrap();
    // Of several tables in one transaction, too; and who reads does not wait.
    let mut tx = db.begin().unwrap();
    tx.put(&other, b"k", b"w").unwrap();
    tx.upsert_row(&table, &row).unwrap();
    assert!(matches!(tx.commit(), Err(Error::Lock(_))));
    assert_eq!(other.get(b"k").unwrap().unwrap(), b"v");
    assert_eq!(table.get_row(&[1i64.into()]).unwrap().unwrap()[1], Datum::I64(0));
    thread::scope(|scope| {
        let start = Instant::now();
        let writer = scope.spawn(|| table.upsert_row(&row));
        thread::sleep(Duration::from_millis(10));
        drop(hold);
        writer.join().unwrap().unwrap();
        assert!(start.elapsed() >= Duration::from_millis(10));
    });
    drop(table.hold().unwrap());
    table.upsert_row(&row).unwrap();
    assert_eq!(db.check().unwrap().problems, Vec::<String>::new());
}
