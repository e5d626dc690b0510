use super::*;
use crate::data::{DataSet, Order};

fn config(data: &DataSet, log: Log, sync: SyncMode) -> Config {
    Config {
        cache_bytes: 16 << 20,
        write_buffer_bytes: 64 << 20,
        log,
        sync,
        background: true,
        threads: 2,
        value_bytes: data.value(0, 0).len(),
        data_bytes: 1 << 20,
        larger_than_memory: false,
    }
}

/// Runs a check on every engine, each in a fresh directory.
fn on_all(name: &str, check: impl Fn(Kind, &Path)) {
    for &kind in Kind::built() {
        let dir =
            std::env::temp_dir().join(format!("ambo-bench-{name}-{}-{}", kind.name(), std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        check(kind, &dir);
        std::fs::remove_dir_all(&dir).expect("removal");
    }
}

#[test]
fn every_adapter_does_what_the_trait_says() {
    // Keeps away: an adapter that drops, reorders or overwrites rows, and is fast because of it.
    on_all("rows", |kind, dir| {
        let data = DataSet::new(12, 100, Order::Random);
        let mut engine = open(kind, dir, &config(&data, Log::On, SyncMode::Commit)).expect("open");
        {
            let mut session = engine.session(Reads::Fresh).expect("session");
            session.put_batch(&mut (0..500).map(|i| data.row(i))).expect("batch");
            let (key, value) = data.row(500);
            session.put(&key, value).expect("put");
            session.delete_batch(&mut (0..100).map(|i| data.key(i))).expect("delete");
        }
        for round in 0..2 {
            let mut session = engine.session(Reads::Held).expect("session");
            for record in 0..501 {
                let mut right = false;
                let found = session.get(&data.key(record), &mut |v| right = v == data.value(record, 0));
                assert_eq!(found.expect("get"), record >= 100, "{kind:?} round {round} record {record}");
                assert_eq!(right, record >= 100);
            }
            let mut keys = Vec::new();
            let all = session.range(&[], usize::MAX, &mut |key, _| keys.push(key.to_vec())).expect("scan");
            assert_eq!((all, keys.len()), (401, 401), "{kind:?}");
            assert!(keys.is_sorted(), "{kind:?}");
            let mut ten = Vec::new();
            session.range(&keys[200], 10, &mut |key, _| ten.push(key.to_vec())).expect("range");
            assert_eq!(ten, keys[200..210], "{kind:?}");
            drop(session);
            engine.settle().expect("settle");
        }
        engine.close().expect("close");
    });
}

#[test]
fn bulk_loads_can_be_read() {
    // Keeps away: a bulk load whose time says nothing because its rows cannot be found.
    on_all("bulk", |kind, dir| {
        let data = DataSet::new(12, 100, Order::Sorted);
        let mut engine = open(kind, dir, &config(&data, Log::Off, SyncMode::None)).expect("open");
        engine.bulk_load(&mut (0..1000).map(|i| data.row(i))).expect("load");
        engine.settle().expect("settle");
        let mut session = engine.session(Reads::Held).expect("session");
        let mut right = false;
        session.get(&data.key(700), &mut |value| right = data.matches(700, value)).expect("get");
        assert!(right, "{kind:?}");
        assert_eq!(session.range(&[], usize::MAX, &mut |_, _| ()).expect("scan"), 1000, "{kind:?}");
        drop(session);
        engine.close().expect("close");
    });
}
