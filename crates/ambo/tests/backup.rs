//! Backups on the system's own files.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use ambo::{Database, Error, Options, Storage, TableDefinition, Type};

const ROWS: i64 = 40_000;

/// A database with rows in pages, a long value, and in segments.
fn database(path: &Path) -> Database {
    let db = Database::open(path).unwrap();
    let notes = db.key_value("notes").unwrap();
    for n in 0..2_000u32 {
        notes.put(&n.to_be_bytes(), &n.to_le_bytes().repeat(100)).unwrap();
    }
    notes.put(b"long", &[7; 1 << 20]).unwrap();
    let prices = TableDefinition::new("prices").column("id", Type::I64).column("price", Type::I64);
    db.create_table(prices.primary_key(&["id"]).storage(Storage::Column)).unwrap();
    add_rows(&db, 0);
    db
}

fn add_rows(db: &Database, from: i64) {
    let prices = db.table("prices").unwrap();
    let mut tx = db.begin().unwrap();
    for id in from..from + ROWS {
        tx.insert_row(&prices, &[id.into(), (id * 3).into()]).unwrap();
    }
    tx.commit().unwrap();
    db.compact().unwrap();
}

fn assert_has(path: &Path, rows: i64) {
    assert!(Database::verify_backup(path).unwrap().is_sound());
    let db = Options::new().read_only(true).open(path).unwrap();
    assert!(db.recovery().is_clean());
    assert_eq!(db.table("prices").unwrap().len().unwrap(), rows as u64);
    let notes = db.key_value("notes").unwrap();
    assert_eq!(notes.len().unwrap(), 2_001);
    assert_eq!(notes.get(b"long").unwrap().unwrap(), [7; 1 << 20]);
}

fn segments(path: &Path) -> Vec<fs::Metadata> {
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    let named = files.filter(|file| file.file_name().to_str().unwrap().starts_with("segment-"));
    named.map(|file| file.metadata().unwrap()).collect()
}

/// Keeps away: segments that are copied although they could be linked, a link through which the database changes its backup, and a restored
/// database that is not whole.
#[test]
fn a_backup_is_linked_brought_up_to_date_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let [data, backup, again] = ["data", "backup", "again"].map(|name| dir.path().join(name));
    let db = database(&data);
    let first = db.backup_to(&backup).unwrap();
    assert!(first.linked > 0 && first.copied == 0, "{first:?}");
    assert!(segments(&backup).iter().all(|segment| segment.nlink() == 2));
    assert_has(&backup, ROWS);

    add_rows(&db, ROWS);
    assert_has(&backup, ROWS);
    let second = db.backup_to(&backup).unwrap();
    assert!(second.linked > 0 && second.kept + second.removed >= first.linked, "{second:?}");
    assert_has(&backup, 2 * ROWS);
    let third = db.backup_to(&backup).unwrap();
    assert_eq!((third.linked, third.kept, third.removed), (0, second.kept + second.linked, 0));

    // All that a table had goes, and the backup has it still.
    db.drop_table("prices").unwrap();
    db.vacuum().unwrap();
    assert!(db.check().unwrap().is_sound());
    db.close().unwrap();
    assert_has(&backup, 2 * ROWS);

    Database::restore(&backup, &again).unwrap();
    assert!(!again.join("backup").exists(), "a restored database is marked as a backup");
    let restored = Database::open(&again).unwrap();
    add_rows(&restored, 2 * ROWS);
    assert_eq!(restored.table("prices").unwrap().len().unwrap(), 3 * ROWS as u64);
    assert!(restored.check().unwrap().is_sound());
    restored.close().unwrap();
    assert_has(&backup, 2 * ROWS);
}

/// Keeps away: a backup into the database's own directory, or over a backup that somebody works with.
#[test]
fn directories_in_use_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [data, backup] = ["data", "backup"].map(|name| dir.path().join(name));
    let db = database(&data);
    assert!(matches!(db.backup_to(&data), Err(Error::Invalid(_))));
    db.backup_to(&backup).unwrap();
    let used = Database::open(&backup).unwrap();
    assert!(matches!(db.backup_to(&backup), Err(Error::Invalid(_))));
    used.key_value("notes").unwrap().put(b"mine", b"1").unwrap();
    used.close().unwrap();
    assert!(matches!(db.backup_to(&backup), Err(Error::Invalid(_))));
    assert!(db.key_value("notes").unwrap().get(b"mine").unwrap().is_none());
    assert!(db.check().unwrap().is_sound());
}

/// Keeps away: rows of a database in memory that cannot be kept.
#[test]
fn a_database_in_memory_is_written_to_files() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::in_memory().unwrap();
    db.key_value("notes").unwrap().put(b"a", b"1").unwrap();
    db.backup_to(dir.path().join("kept")).unwrap();
    let kept = Database::open(dir.path().join("kept")).unwrap();
    assert_eq!(kept.key_value("notes").unwrap().get(b"a").unwrap().unwrap(), b"1");
    assert!(kept.check().unwrap().is_sound());
}

/// How much writers keep while a backup is made, and how long it takes. Run by hand, with `AMBO_BACKUP_GB=4` and `--ignored --nocapture`.
#[test]
#[ignore = "a measurement of minutes"]
#[expect(clippy::print_stderr, reason = "it is asked for")]
fn measure() {
    use std::{
        sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        thread,
        time::{Duration, Instant},
    };
    let gigabytes: u64 = std::env::var("AMBO_BACKUP_GB").map_or(2, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let [data, backup] = ["data", "backup"].map(|name| dir.path().join(name));
    let db = Options::new().sync(ambo::Sync::Off).open(&data).unwrap();
    let rows = db.key_value("rows").unwrap();
    let value = |n: u64| n.to_le_bytes().repeat(64);
    let keys = gigabytes * 1_000_000_000 / 540;
    for chunk in 0..keys.div_ceil(10_000) {
        let mut batch = db.batch();
        for n in chunk * 10_000..(chunk + 1) * 10_000 {
            batch.put(&rows, &n.to_be_bytes(), &value(n));
        }
        batch.commit().unwrap();
    }
    db.compact().unwrap();
    let (written, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for thread in 0..2u64 {
            let (rows, written, is_over) = (&rows, &written, &is_over);
            scope.spawn(move || {
                let mut n = thread;
                while !is_over.load(Relaxed) {
                    n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    rows.put(&((n >> 20) % keys).to_be_bytes(), &value(n)).unwrap();
                    written.fetch_add(1, Relaxed);
                }
            });
        }
        let rate = |took: Duration, before: u64| (written.load(Relaxed) - before) as f64 / took.as_secs_f64();
        let (start, before) = (Instant::now(), written.load(Relaxed));
        thread::sleep(Duration::from_secs(20));
        let alone = rate(start.elapsed(), before);
        let (start, before) = (Instant::now(), written.load(Relaxed));
        let report = db.backup_to(&backup).unwrap();
        let took = start.elapsed();
        let beside = rate(took, before);
        let (start, before) = (Instant::now(), written.load(Relaxed));
        // Log comes and goes meanwhile, so that the whole directory cannot be copied.
        let cp = std::process::Command::new("cp").arg(data.join("pages")).arg(dir.path().join("cp")).status();
        let by_cp = start.elapsed();
        let beside_cp = rate(by_cp, before);
        is_over.store(true, Relaxed);
        assert!(cp.unwrap().success());
        eprintln!("{alone:.0} puts a second alone, {beside:.0} beside a backup, {beside_cp:.0} beside cp");
        eprintln!("backup {took:?} ({} MB of pages), cp {by_cp:?}", report.page_bytes >> 20);
    });
    assert!(Database::verify_backup(&backup).unwrap().is_sound());
}
