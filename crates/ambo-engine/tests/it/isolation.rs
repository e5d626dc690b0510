//! Isolation by the names of the anomalies, with the interleavings of the Hermitage suite (Kleppmann 2014; the names are Adya's, 1999).
//!
//! | anomaly | read committed | snapshot | serializable |
//! |---|---|---|---|
//! | G0 dirty write | prevented | prevented | prevented |
//! | G1a aborted read | prevented | prevented | prevented |
//! | G1b intermediate read | prevented | prevented | prevented |
//! | G1c circular information flow | prevented | prevented | prevented |
//! | OTV observed transaction vanishes | prevented | prevented | prevented |
//! | PMP predicate-many-preceders | **possible** | prevented | prevented |
//! | P4 lost update | **possible** | prevented | prevented |
//! | G-single read skew | **possible** | prevented | prevented |
//! | G2-item write skew | **possible** | **possible** | prevented |
//! | G2 write skew of predicates | **possible** | **possible** | prevented |
//!
//! What is written under read committed is locked at once; the statement that comes second looks again.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use ambo_engine::{
    Error, Result,
    catalog::{IndexDefinition, TableDefinition},
    database::{CatalogEdit, Engine, Isolation, Options, Seek, Transaction},
    id::TableId,
    io::sim::SimDisk,
};

use crate::support::{assert_sound, open, small_options};

const BOTH: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

/// Two rows, 1 → 10 and 2 → 20, as every test of Hermitage begins with.
struct Rows {
    engine: Arc<Engine>,
    table: TableId,
}

impl Rows {
    fn new() -> Self {
        Self::with(small_options())
    }

    fn with(options: Options) -> Self {
        let (engine, _) = open(&SimDisk::new(1).env(), &options).unwrap();
        let table = engine.create_table(TableDefinition::key_value("test")).unwrap();
        engine.put(table, b"1", b"10").unwrap();
        engine.put(table, b"2", b"20").unwrap();
        Self { engine, table }
    }

    fn begin(&self, isolation: Isolation) -> Transaction {
        self.engine.begin(isolation).unwrap()
    }

    fn get(&self, transaction: &Transaction, key: &[u8]) -> String {
        text(transaction.get(self.table, key).unwrap().as_deref())
    }

    fn put(&self, transaction: &mut Transaction, key: &[u8], value: &[u8]) {
        transaction.put(self.table, key, value).unwrap();
    }

    /// What everybody sees now: "1=10 2=20".
    fn now(&self) -> String {
        self.rows(&self.begin(Isolation::Snapshot), |_| true)
    }

    /// The rows whose value satisfies a predicate, by a scan.
    fn rows(&self, transaction: &Transaction, predicate: impl Fn(u64) -> bool) -> String {
        let mut cursor = transaction.cursor(self.table).unwrap();
        let mut out = Vec::new();
        let mut there = cursor.seek(Seek::First).unwrap();
        while there {
            let value = String::from_utf8(cursor.value().unwrap().to_vec()).unwrap();
            if predicate(value.parse().unwrap()) {
                out.push(format!("{}={value}", String::from_utf8_lossy(cursor.key())));
            }
            there = cursor.next().unwrap();
        }
        out.join(" ")
    }
}

fn text(value: Option<&[u8]>) -> String {
    value.map_or("nothing".into(), |value| String::from_utf8_lossy(value).into_owned())
}

fn assert_conflict<T: std::fmt::Debug>(result: Result<T>) {
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Conflict(_)) && error.is_retryable(), "{error}");
    assert!(error.to_string().contains("retry"), "{error}");
}

/// Keeps away: G0, writes of two transactions mixed.
#[test]
fn g0_dirty_write() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        rows.put(&mut t1, b"1", b"11");
        rows.put(&mut t2, b"1", b"12");
        rows.put(&mut t1, b"2", b"21");
        t1.commit().unwrap();
        assert_eq!(rows.now(), "1=11 2=21");
        rows.put(&mut t2, b"2", b"22");
        assert_conflict(t2.commit());
        assert_eq!(rows.now(), "1=11 2=21");
    }
}

/// Keeps away: G1a, reading what was never committed.
#[test]
fn g1a_aborted_read() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, t2) = (rows.begin(isolation), rows.begin(isolation));
        rows.put(&mut t1, b"1", b"101");
        assert_eq!(rows.rows(&t2, |_| true), "1=10 2=20");
        t1.rollback();
        assert_eq!(rows.rows(&t2, |_| true), "1=10 2=20");
        t2.commit().unwrap();
        assert_eq!(rows.now(), "1=10 2=20");
    }
}

/// Keeps away: G1b, reading a value that its writer replaced before it committed.
#[test]
fn g1b_intermediate_read() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, t2) = (rows.begin(isolation), rows.begin(isolation));
        rows.put(&mut t1, b"1", b"101");
        assert_eq!(rows.get(&t2, b"1"), "10");
        rows.put(&mut t1, b"1", b"11");
        t1.commit().unwrap();
        assert_eq!(rows.get(&t2, b"1"), "10");
        assert_eq!(rows.now(), "1=11 2=20");
    }
}

/// Keeps away: G1c, two transactions that each read what the other wrote.
#[test]
fn g1c_circular_information_flow() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        rows.put(&mut t1, b"1", b"11");
        rows.put(&mut t2, b"2", b"22");
        assert_eq!(rows.get(&t1, b"2"), "20");
        assert_eq!(rows.get(&t2, b"1"), "10");
        t1.commit().unwrap();
        match isolation {
            // It read what the first has changed, and the first what it changes.
            Isolation::Serializable => assert_conflict(t2.commit()),
            _ => drop(t2.commit().unwrap()),
        }
    }
}

/// Keeps away: OTV, seeing one half of a transaction and then not the other.
#[test]
fn otv_observed_transaction_vanishes() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2, t3) = (rows.begin(isolation), rows.begin(isolation), rows.begin(isolation));
        rows.put(&mut t1, b"1", b"11");
        rows.put(&mut t1, b"2", b"19");
        rows.put(&mut t2, b"1", b"12");
        t1.commit().unwrap();
        let t4 = rows.begin(isolation);
        assert_eq!(rows.get(&t4, b"1"), "11");
        rows.put(&mut t2, b"2", b"18");
        assert_conflict(t2.commit());
        assert_eq!(rows.get(&t4, b"2"), "19");
        assert_eq!(rows.rows(&t3, |_| true), "1=10 2=20");
    }
}

/// Keeps away: PMP, a predicate that finds a row the second time.
#[test]
fn pmp_predicate_many_preceders() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        assert_eq!(rows.rows(&t1, |value| value == 30), "");
        rows.put(&mut t2, b"3", b"30");
        t2.commit().unwrap();
        assert_eq!(rows.rows(&t1, |value| value % 3 == 0), "");
        t1.commit().unwrap();
    }
}

/// Keeps away: PMP with a write predicate: a deletion that overlooks a row that came to satisfy it.
#[test]
fn pmp_with_a_write_predicate() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        rows.put(&mut t1, b"1", b"20");
        rows.put(&mut t1, b"2", b"30");
        assert_eq!(rows.rows(&t2, |value| value == 20), "2=20");
        t2.delete(rows.table, b"2").unwrap();
        t1.commit().unwrap();
        assert_conflict(t2.commit());
        assert_eq!(rows.now(), "1=20 2=30");
    }
}

/// Keeps away: P4, an update that overwrites one that it has not seen.
#[test]
fn p4_lost_update() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        assert_eq!(rows.get(&t1, b"1"), "10");
        assert_eq!(rows.get(&t2, b"1"), "10");
        rows.put(&mut t1, b"1", b"11");
        rows.put(&mut t2, b"1", b"11");
        t1.commit().unwrap();
        assert_conflict(t2.commit());
    }
}

/// Keeps away: a lost update that only a flush between read and commit lets through.
#[test]
fn p4_lost_update_across_a_flush() {
    for isolation in BOTH {
        let rows = Rows::new();
        let mut t2 = rows.begin(isolation);
        assert_eq!(rows.get(&t2, b"1"), "10");
        rows.engine.put(rows.table, b"1", b"11").unwrap();
        rows.engine.compact().unwrap();
        rows.engine.put(rows.table, b"2", b"21").unwrap();
        rows.engine.compact().unwrap();
        rows.put(&mut t2, b"1", b"12");
        assert_conflict(t2.commit());
        assert_eq!(rows.now(), "1=11 2=21");
    }
}

/// Keeps away: G-single, two rows read at different moments.
#[test]
fn g_single_read_skew() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        assert_eq!(rows.get(&t1, b"1"), "10");
        rows.put(&mut t2, b"1", b"12");
        rows.put(&mut t2, b"2", b"18");
        t2.commit().unwrap();
        rows.engine.compact().unwrap();
        assert_eq!(rows.get(&t1, b"2"), "20");
        t1.commit().unwrap();
    }
}

/// Keeps away: G-single by way of a predicate, and by way of a write.
#[test]
fn g_single_of_predicates_and_writes() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        assert_eq!(rows.rows(&t1, |value| value % 5 == 0), "1=10 2=20");
        rows.put(&mut t2, b"1", b"12");
        rows.put(&mut t2, b"2", b"18");
        t2.commit().unwrap();
        assert_eq!(rows.rows(&t1, |value| value % 3 == 0), "");
        assert_eq!(rows.rows(&t1, |value| value == 20), "2=20");
        t1.delete(rows.table, b"2").unwrap();
        assert_conflict(t1.commit());
        assert_eq!(rows.now(), "1=12 2=18");
    }
}

/// Keeps away: G2-item under `Serializable`, and a promise that `Snapshot` does not make: it allows write skew.
#[test]
fn g2_item_write_skew() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        for transaction in [&t1, &t2] {
            assert_eq!(rows.get(transaction, b"1"), "10");
            assert_eq!(rows.get(transaction, b"2"), "20");
        }
        rows.put(&mut t1, b"1", b"11");
        rows.put(&mut t2, b"2", b"21");
        t1.commit().unwrap();
        match isolation {
            Isolation::Serializable => assert_conflict(t2.commit()),
            _ => drop(t2.commit().unwrap()),
        }
    }
}

/// Keeps away: G2 under `Serializable`: rows that each makes come true for a predicate that the other read. `Snapshot` allows it.
#[test]
fn g2_write_skew_of_predicates() {
    for isolation in BOTH {
        let rows = Rows::new();
        let (mut t1, mut t2) = (rows.begin(isolation), rows.begin(isolation));
        assert_eq!(rows.rows(&t1, |value| value % 3 == 0), "");
        assert_eq!(rows.rows(&t2, |value| value % 3 == 0), "");
        rows.put(&mut t1, b"3", b"30");
        rows.put(&mut t2, b"4", b"42");
        t1.commit().unwrap();
        match isolation {
            Isolation::Serializable => assert_conflict(t2.commit()),
            _ => drop(t2.commit().unwrap()),
        }
    }
}

/// Keeps away: G2 by two edges (Fekete's read-only anomaly): a reader that makes two writers unserialisable. The reader reads at its
/// snapshot and is never refused; the writer whose reads are stale is.
#[test]
fn g2_two_edges() {
    let rows = Rows::new();
    let mut t1 = rows.begin(Isolation::Serializable);
    assert_eq!(rows.rows(&t1, |_| true), "1=10 2=20");
    let mut t2 = rows.begin(Isolation::Serializable);
    assert_eq!(rows.get(&t2, b"2"), "20");
    rows.put(&mut t2, b"2", b"25");
    t2.commit().unwrap();
    let t3 = rows.begin(Isolation::Serializable);
    assert_eq!(rows.rows(&t3, |_| true), "1=10 2=25");
    t3.commit().unwrap();
    rows.put(&mut t1, b"1", b"0");
    assert_conflict(t1.commit());
}

/// Keeps away: a phantom at the edges of a range, counted or scanned; and conflicts with rows that were not read.
#[test]
fn serializable_ranges_are_exact() {
    for (key, conflicts) in [(&b"b"[..], true), (b"c", true), (b"a", false), (b"d", false)] {
        for counted in [false, true] {
            let rows = Rows::new();
            let mut t1 = rows.begin(Isolation::Serializable);
            match counted {
                true => assert_eq!(t1.count(rows.table, Some(b"b"), Some(b"d")).unwrap(), 0),
                false => assert!(
                    !t1.cursor_in(rows.table, b"b", Some(b"d")).unwrap().seek(Seek::Ge(b"b")).unwrap()
                ),
            }
            rows.engine.put(rows.table, key, b"1").unwrap();
            rows.put(&mut t1, b"9", b"9");
            match conflicts {
                true => assert_conflict(t1.commit()),
                false => drop(t1.commit().unwrap()),
            }
        }
    }
}

/// Keeps away: a deletion by another that a serializable transaction does not notice.
#[test]
fn serializable_sees_deletions() {
    let rows = Rows::new();
    let mut t1 = rows.begin(Isolation::Serializable);
    assert_eq!(rows.get(&t1, b"1"), "10");
    rows.engine.delete(rows.table, b"1").unwrap();
    rows.put(&mut t1, b"2", b"22");
    assert_conflict(t1.commit());
}

/// Keeps away: a read-only transaction that waits for others, or makes them wait or fail.
#[test]
fn readers_block_nobody() {
    let rows = Rows::new();
    let mut locker = rows.begin(Isolation::Snapshot);
    locker.lock(rows.table, b"1").unwrap();
    let (reader, snapshot) = (rows.begin(Isolation::Serializable), rows.engine.snapshot());
    assert_eq!(rows.get(&reader, b"1"), "10");
    assert_eq!(snapshot.get(rows.table, b"1").unwrap().unwrap(), b"10");
    rows.put(&mut locker, b"1", b"11");
    locker.commit().unwrap();
    assert_eq!(rows.get(&reader, b"1"), "10");
    assert_eq!(text(rows.engine.get(rows.table, b"1").unwrap().as_deref()), "11");
    reader.commit().unwrap();
}

fn patient() -> Options {
    Options { lock_timeout: Duration::from_secs(20), ..small_options() }
}

/// Keeps away: a row lock that holds nobody back, or that is not given up at the end.
#[test]
fn a_lock_holds_writers_back_until_its_end() {
    let rows = Rows::with(patient());
    let mut holder = rows.begin(Isolation::Snapshot);
    holder.lock(rows.table, b"1").unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| rows.engine.put(rows.table, b"1", b"12"));
        let locker = scope.spawn(|| {
            let mut transaction = rows.begin(Isolation::Snapshot);
            transaction.lock(rows.table, b"1").map(|()| transaction)
        });
        thread::sleep(Duration::from_millis(30));
        assert!(!writer.is_finished() && !locker.is_finished());
        // Other rows are free.
        rows.engine.put(rows.table, b"2", b"22").unwrap();
        rows.put(&mut holder, b"1", b"11");
        holder.commit().unwrap();
        writer.join().unwrap().unwrap();
        match locker.join().unwrap() {
            // It took its snapshot before the row was changed.
            Err(error) => assert!(matches!(error, Error::Conflict(_)), "{error}"),
            Ok(transaction) => panic!("locked over a change: {}", transaction.timestamp()),
        }
    });
    assert_eq!(rows.now(), "1=12 2=22");
}

/// Keeps away: two transactions that wait for each other.
#[test]
fn a_deadlock_is_refused() {
    let rows = Rows::with(patient());
    let (mut t1, mut t2) = (rows.begin(Isolation::Snapshot), rows.begin(Isolation::Snapshot));
    t1.lock(rows.table, b"1").unwrap();
    t2.lock(rows.table, b"2").unwrap();
    let started = Instant::now();
    thread::scope(|scope| {
        let first = scope.spawn(move || {
            let result = t1.lock(rows.table, b"2");
            drop(t1);
            result
        });
        let second = t2.lock(rows.table, b"1");
        drop(t2);
        let results = [first.join().unwrap(), second];
        let refused: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(matches!(refused[0], Error::Lock(_)) && refused[0].is_retryable());
        assert!(refused[0].to_string().contains("deadlock"), "{}", refused[0]);
    });
    assert!(started.elapsed() < Duration::from_secs(10));
}

/// Keeps away: a wait without end, and an error that does not say what was waited for.
#[test]
fn a_lock_wait_ends_with_its_time() {
    let rows = Rows::new();
    let mut holder = rows.begin(Isolation::Snapshot);
    holder.lock(rows.table, b"1").unwrap();
    let error = rows.engine.put(rows.table, b"1", b"12").unwrap_err();
    assert!(matches!(error, Error::Lock(_)) && error.is_retryable(), "{error}");
    assert!(error.to_string().contains("more than 1 ms"), "{error}");
    holder.rollback();
    rows.engine.put(rows.table, b"1", b"12").unwrap();
}

/// Keeps away: a lock on a row that was changed after the snapshot, which would let a lost update through.
#[test]
fn locking_a_changed_row_is_a_conflict() {
    let rows = Rows::new();
    let mut t1 = rows.begin(Isolation::Snapshot);
    rows.engine.put(rows.table, b"1", b"11").unwrap();
    assert_conflict(t1.lock(rows.table, b"1"));
    t1.rollback();
    rows.engine.put(rows.table, b"1", b"12").unwrap();
}

/// Keeps away: write skew that a lock on the rows read is meant to prevent under `Snapshot`.
#[test]
fn locks_prevent_write_skew() {
    let rows = Rows::new();
    let mut t1 = rows.begin(Isolation::Snapshot);
    let mut t2 = rows.begin(Isolation::Snapshot);
    t1.lock(rows.table, b"1").unwrap();
    t1.lock(rows.table, b"2").unwrap();
    rows.put(&mut t1, b"1", b"11");
    assert!(matches!(t2.lock(rows.table, b"1"), Err(Error::Lock(_))));
    t1.commit().unwrap();
    assert_conflict(t2.lock(rows.table, b"1"));
}

/// A statement of a transaction under read committed that writes: it begins anew where somebody came before it.
fn statement<T>(tx: &mut Transaction, mut act: impl FnMut(&mut Transaction) -> Result<T>) -> Result<T> {
    loop {
        tx.refresh().unwrap();
        let before = tx.savepoint();
        match act(tx) {
            Err(Error::Conflict(_)) => tx.rollback_to(before).unwrap(),
            done => return done,
        }
    }
}

/// Keeps away: G0 and G1 under read committed: writes that are mixed, and reads of what was not committed or not to stay.
#[test]
fn read_committed_sees_only_what_is_committed() {
    let rows = Rows::new();
    let (mut t1, mut t2) = (rows.begin(Isolation::ReadCommitted), rows.begin(Isolation::ReadCommitted));
    rows.put(&mut t1, b"1", b"11");
    // G0: the second waits, in vain here.
    assert!(matches!(t2.put(rows.table, b"1", b"12"), Err(Error::Lock(_))));
    t2.refresh().unwrap();
    // G1a, G1b.
    assert_eq!(rows.rows(&t2, |_| true), "1=10 2=20");
    rows.put(&mut t1, b"1", b"101");
    rows.put(&mut t1, b"2", b"21");
    t2.refresh().unwrap();
    assert_eq!(rows.rows(&t2, |_| true), "1=10 2=20");
    // Its own writes stay through later moments, G1c.
    t1.refresh().unwrap();
    assert_eq!(rows.rows(&t1, |_| true), "1=101 2=21");
    t1.commit().unwrap();
    assert_eq!(rows.rows(&t2, |_| true), "1=10 2=20", "a statement is at one moment");
    t2.refresh().unwrap();
    assert_eq!(rows.rows(&t2, |_| true), "1=101 2=21");
    statement(&mut t2, |tx| tx.put(rows.table, b"1", b"12")).unwrap();
    t2.commit().unwrap();
    assert_eq!(rows.now(), "1=12 2=21");
    assert_sound(&rows.engine);
}

/// Keeps away: an increment that is lost although each statement reads what it changes, and a statement that fails where it could look
/// again.
#[test]
fn read_committed_statements_look_again() {
    let rows = Rows::with(Options { lock_timeout: Duration::from_secs(20), ..small_options() });
    let begun = rows.engine.begin(Isolation::ReadCommitted).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let mut tx = rows.begin(Isolation::ReadCommitted);
                    for key in [b"1", b"2"] {
                        statement(&mut tx, |tx| {
                            let sum: u64 = rows.get(tx, key).parse().unwrap();
                            tx.put(rows.table, key, (sum + 1).to_string().as_bytes())
                        })
                        .unwrap();
                    }
                    tx.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(rows.now(), "1=210 2=220");
    assert_eq!(rows.rows(&begun, |_| true), "1=10 2=20");
    assert_sound(&rows.engine);
}

/// Keeps away: PMP, P4 and read skew being promised where they are not: they are possible.
#[test]
fn read_committed_allows_what_its_statements_see_to_differ() {
    let rows = Rows::new();
    let (mut t1, t2) = (rows.begin(Isolation::ReadCommitted), rows.begin(Isolation::ReadCommitted));
    assert_eq!(rows.rows(&t1, |value| value == 30), "");
    let mut t2 = t2;
    rows.put(&mut t2, b"3", b"30");
    rows.put(&mut t2, b"1", b"15");
    t2.commit().unwrap();
    t1.refresh().unwrap();
    assert_eq!(rows.rows(&t1, |value| value == 30), "3=30", "PMP");
    assert_eq!(rows.get(&t1, b"1"), "15", "read skew");
    statement(&mut t1, |tx| tx.put(rows.table, b"1", b"11")).unwrap();
    t1.commit().unwrap();
    assert_eq!(rows.now(), "1=11 2=20 3=30", "the update of the other is lost");
}

/// Keeps away: rows without an entry in an index that came between two statements, two rows with one value of a unique index, and
/// definitions that are lost when a transaction goes on.
#[test]
fn read_committed_goes_with_indexes_and_definitions() {
    let (engine, _) = open(&SimDisk::new(1).env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let by_value = IndexDefinition::new("by_value", "t", &["value"]).hash().unique();
    let begin = || engine.begin(Isolation::ReadCommitted).unwrap();
    let mut tx = begin();
    tx.put(table, b"1", b"before the index").unwrap();
    engine.create_index(&by_value).unwrap();
    tx.refresh().unwrap();
    tx.put(table, b"2", b"x").unwrap();
    assert_conflict(tx.commit());

    let (mut one, mut other) = (begin(), begin());
    one.put(table, b"1", b"same").unwrap();
    assert!(matches!(other.put(table, b"2", b"same"), Err(Error::Lock(_))));
    one.commit().unwrap();
    let twice = statement(&mut other, |tx| tx.put(table, b"2", b"same"));
    assert!(matches!(twice, Err(Error::Exists(_))), "{twice:?}");
    statement(&mut other, |tx| tx.put(table, b"2", b"another")).unwrap();
    other.commit().unwrap();

    let mut tx = begin();
    tx.define(&CatalogEdit::CreateTable(TableDefinition::key_value("own"))).unwrap();
    let own = tx.catalog().find("own").unwrap().0;
    tx.put(own, b"a", b"1").unwrap();
    let before = tx.savepoint();
    tx.define(&CatalogEdit::RenameTable { from: "own".into(), to: "mine".into() }).unwrap();
    engine.put(table, b"3", b"of another").unwrap();
    engine.define(&CatalogEdit::CreateTable(TableDefinition::key_value("theirs"))).unwrap();
    tx.refresh().unwrap();
    assert_eq!(tx.get(table, b"3").unwrap().unwrap(), b"of another");
    assert!(tx.catalog().find("theirs").is_ok() && tx.catalog().find("mine").is_ok());
    tx.rollback_to(before).unwrap();
    assert!(tx.catalog().find("theirs").is_ok() && tx.catalog().find("own").is_ok());
    assert_eq!(tx.get(own, b"a").unwrap().unwrap(), b"1");
    tx.commit().unwrap();
    assert_eq!(engine.snapshot().get(own, b"a").unwrap().unwrap(), b"1");
    assert_sound(&engine);
}
