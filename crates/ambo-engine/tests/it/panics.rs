//! Panics in the middle of a commit: nobody waits for ever, and nothing is shown by halves.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
};

use ambo_engine::{
    Error,
    catalog::TableDefinition,
    database::{Engine, Isolation, Options, Sync},
    io::sim::{Fault, FaultKind, Op, SimDisk},
};

use crate::{
    stop::Stop,
    support::{Random, assert_sound, open, rows, small_options},
};

const WRITERS: u64 = 4;

/// Keeps away: commits, snapshots, checkpoints and changes of the catalog that wait for ever for a commit whose thread has panicked;
/// commits that say they are done and are lost with it; a half of one.
#[test]
fn a_panic_in_a_commit_stops_the_others_with_an_error() {
    for (op, sync) in [(Op::Write, Sync::Off), (Op::Write, Sync::Commit), (Op::Sync, Sync::Commit)] {
        for after in [0, 1, 7, 40] {
            let disk = SimDisk::new(after);
            let options = Options { sync, ..small_options() };
            let (engine, _) = open(&disk.env(), &options).unwrap();
            let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
            engine.flush().unwrap();
            let fault =
                Fault { op, file_prefix: Some("log-".into()), after, kind: FaultKind::Panic, once: true };
            disk.inject(fault);
            let panics = AtomicU64::new(0);
            // Of each writer, how many of its commits were said to be done: each writes the next number under two keys.
            let done: Vec<_> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
            Stop::new().scope(|scope| {
                for (me, done) in (0..WRITERS).zip(&done) {
                    let (engine, panics) = (&engine, &panics);
                    scope.spawn(move || {
                        let mut random = Random::new(me);
                        for number in 1..2000u64 {
                            let commit = || {
                                let mut tx = engine.begin(*random.pick(&ISOLATIONS))?;
                                for half in ["a", "b"] {
                                    tx.put(table, format!("{me}{half}").as_bytes(), &number.to_be_bytes())?;
                                }
                                tx.commit().map(drop)
                            };
                            match catch_unwind(AssertUnwindSafe(commit)) {
                                Ok(Ok(())) => done.store(number, Ordering::Relaxed),
                                Ok(Err(Error::Poisoned(_))) => return,
                                Ok(Err(error)) => panic!("{error}"),
                                Err(_) => {
                                    panics.fetch_add(1, Ordering::Relaxed);
                                    return;
                                }
                            }
                        }
                    });
                }
            });
            assert_eq!(panics.into_inner(), 1);
            let done: Vec<_> = done.into_iter().map(AtomicU64::into_inner).collect();
            let seen = numbers(&engine, table);
            assert!(done.iter().zip(&seen).all(|(done, seen)| seen >= done), "{done:?} {seen:?}");
            // Everything else ends, too.
            let poisoned = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Poisoned(_))));
            poisoned(engine.put(table, b"k", b"v"));
            poisoned(engine.create_table(TableDefinition::key_value("u")).map(drop));
            poisoned(engine.flush());
            drop(engine);
            let (engine, _) = open(&disk.env(), &options).unwrap();
            let kept = numbers(&engine, table);
            assert!(done.iter().zip(&kept).all(|(done, kept)| kept >= done), "{done:?} {kept:?}");
            engine.put(table, b"k", b"v").unwrap();
            assert_sound(&engine);
        }
    }
}

const ISOLATIONS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

/// The newest number of each writer, under both of its keys.
fn numbers(engine: &std::sync::Arc<Engine>, table: ambo_engine::id::TableId) -> Vec<u64> {
    let rows = rows(&engine.snapshot(), table).unwrap();
    let number = |key: String| {
        let row = rows.iter().find(|(of, _)| *of == key.as_bytes());
        row.map_or(0, |(_, value)| u64::from_be_bytes(value[..].try_into().unwrap()))
    };
    let of = |me| {
        let both = ["a", "b"].map(|half| number(format!("{me}{half}")));
        assert_eq!(both[0], both[1], "a half of a commit is there");
        both[0]
    };
    (0..WRITERS).map(of).collect()
}

/// Keeps away: a change of the catalog whose panic all later commits wait for.
#[test]
fn a_panic_in_a_change_of_the_catalog_ends_with_errors() {
    let disk = SimDisk::new(1);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    let table = engine.create_table(TableDefinition::key_value("t")).unwrap();
    let fault = Fault {
        op: Op::Write,
        file_prefix: Some("log-".into()),
        after: 0,
        kind: FaultKind::Panic,
        once: true,
    };
    disk.inject(fault);
    let create = || engine.create_table(TableDefinition::key_value("u"));
    assert!(catch_unwind(AssertUnwindSafe(create)).is_err());
    assert!(matches!(engine.put(table, b"k", b"v"), Err(Error::Poisoned(_))));
    assert_eq!(engine.get(table, b"k").unwrap().map(|value| value.to_vec()), None);
    drop(engine);
    let (engine, _) = open(&disk.env(), &small_options()).unwrap();
    engine.put(table, b"k", b"v").unwrap();
    assert_sound(&engine);
}
