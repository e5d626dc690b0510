//! Filters while rows are written and merged by several threads.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ambo_codec::Value as Datum;
use ambo_engine::{
    Error,
    database::{Engine, Isolation, Options, Running, Seek},
    io::sim::SimDisk,
};

use super::{STORAGES, below, create, put};
use crate::support::{Random, assert_sound};

const WRITERS: i64 = 3;
const IDS: i64 = 600;

/// Keeps away: a row that was written to be kept and goes with what the filter had seen before, and merges in the background that no pass
/// follows.
#[test]
fn what_is_kept_stays_beside_passes() {
    for (seed, storage) in STORAGES.into_iter().enumerate() {
        let bound = Arc::new(AtomicI64::new(10));
        let options = Options { background_threads: true, background_merge: true, ..below(&bound) };
        let disk = SimDisk::new(seed as u64);
        let running = Running::start(Engine::open(disk.env(), options).unwrap().0).unwrap();
        let engine = running.engine();
        let t = create(engine, storage);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|me| {
                    let (t, engine) = (&t, engine);
                    scope.spawn(move || write(engine, t, me, seed as u64))
                })
                .collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                engine.apply_filters().unwrap();
                thread::sleep(Duration::from_millis(1));
            }
            for (me, writer) in (0..WRITERS).zip(writers) {
                let last = writer.join().expect("writers end");
                engine.apply_filters().unwrap();
                for (nth, n) in last.into_iter().enumerate() {
                    let id = me * IDS + nth as i64;
                    let key = t.1.encode_key_values(&[Datum::I64(id)], 0).unwrap();
                    let is_there = engine.get(t.0, &key).unwrap().is_some();
                    assert_eq!(is_there, n >= 10, "{storage:?}: row {id} with {n}");
                }
            }
        });
        follows_merges(engine, &t, &bound);
        assert_sound(engine);
    }
}

/// Writes rows of its own, most of them again and again, and returns what they have at the end: 0 for none.
fn write(
    engine: &Arc<Engine>,
    t: &(ambo_engine::id::TableId, ambo_engine::database::RowFormat),
    me: i64,
    seed: u64,
) -> Vec<i64> {
    let mut random = Random::new(seed * 10 + me as u64);
    let mut last = vec![0; IDS as usize];
    for _ in 0..2500 {
        let nth = random.below(IDS as u64) as i64;
        let n = random.below(20) as i64;
        put(engine, t, me * IDS + nth, n);
        last[nth as usize] = n;
    }
    last
}

/// Rows go after merges, without being asked.
fn follows_merges(
    engine: &Arc<Engine>,
    t: &(ambo_engine::id::TableId, ambo_engine::database::RowFormat),
    bound: &Arc<AtomicI64>,
) {
    bound.store(i64::MAX, Ordering::Relaxed);
    let end = Instant::now() + Duration::from_secs(60);
    let mut id = 1_000_000;
    while engine
        .snapshot()
        .count(t.0, Some(&t.1.encode_key_values(&[Datum::I64(0)], 0).unwrap()), None)
        .unwrap()
        > 200
    {
        assert!(Instant::now() < end, "no pass has come by");
        // What is written makes merges due.
        (0..100).for_each(|_| {
            put(engine, t, id, 0);
            id += 1;
        });
        engine.flush().unwrap();
        thread::sleep(Duration::from_millis(2));
    }
}

/// Keeps away: transactions that lose what the filter deletes beneath them, or that write over it without a conflict.
#[test]
fn a_transaction_has_a_conflict_or_its_row() {
    for storage in STORAGES {
        let bound = Arc::new(AtomicI64::new(10));
        let disk = SimDisk::new(9);
        let (engine, _) = crate::support::open(&disk.env(), &below(&bound)).unwrap();
        let t = create(&engine, storage);
        put(&engine, &t, 1, 1);
        let key = t.1.encode_key_values(&[Datum::I64(1)], 0).unwrap();
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            put(&engine, &t, 1, 1);
            let mut tx = engine.begin(isolation).unwrap();
            let row = tx.get(t.0, &key).unwrap().expect("it is there").to_vec();
            assert_eq!(engine.apply_filters().unwrap(), 1);
            assert!(tx.get(t.0, &key).unwrap().is_some(), "it sees what it saw");
            tx.put(t.0, &key, &row).unwrap();
            assert!(matches!(tx.commit(), Err(Error::Conflict(_))), "{storage:?}");
        }
        let mut cursor = engine.snapshot().cursor(t.0).unwrap();
        assert!(!cursor.seek(Seek::First).unwrap());
        assert_sound(&engine);
    }
}
