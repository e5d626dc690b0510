//! Rows of column tables that are sought again and again, while they change.

use std::{collections::BTreeMap, sync::Arc};

use ambo_engine::{
    catalog::{Storage, TableDefinition},
    database::{Engine, Options, Snapshot, Sync},
    id::TableId,
    io::sim::SimDisk,
};

use crate::support::Random;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn check(snapshot: &Snapshot, tables: &[TableId], models: &[Model], keys: u64) {
    for (table, model) in tables.iter().zip(models) {
        for key in 0..keys {
            let key = key.to_be_bytes();
            let found = snapshot.get(*table, &key).unwrap();
            assert_eq!(found.as_deref(), model.get(&key[..]).map(Vec::as_slice), "{key:?}");
        }
    }
}

/// Keeps away: rows that are kept and not right any more, once they were replaced, deleted, compacted or merged; those of another
/// table; and those of another moment.
#[test]
fn kept_rows_follow_what_changes() {
    for seed in 0..2 {
        let mut random = Random::new(seed);
        let options = Options { background_threads: false, sync: Sync::Off, ..Options::default() };
        let engine = Arc::new(Engine::open(SimDisk::new(0).env(), options).unwrap().0);
        let table =
            |name| engine.create_table(TableDefinition::key_value(name).storage(Storage::Column)).unwrap();
        let tables = [table("a"), table("b")];
        let mut models = [Model::new(), Model::new()];
        let mut old = Vec::new();
        let keys = 300;
        for round in 0..60u64 {
            // At first all, then few of them, so that most of a segment is left.
            for _ in 0..if round == 0 { 2000 } else { random.below(20) } {
                let (which, key) = (random.below(2) as usize, random.below(keys).to_be_bytes());
                if random.one_in(4) {
                    engine.delete(tables[which], &key).unwrap();
                    models[which].remove(&key[..]);
                } else {
                    let value = [round, random.next()].map(u64::to_be_bytes).concat();
                    engine.put(tables[which], &key, &value).unwrap();
                    models[which].insert(key.to_vec(), value);
                }
            }
            match random.below(4) {
                0 if round > 30 => engine.compact().unwrap(),
                0..3 => {
                    engine.flush().unwrap();
                    engine.compact_due().unwrap();
                }
                _ => {}
            }
            if random.one_in(5) {
                old.push((engine.snapshot(), models.clone()));
            }
            for _ in 0..2 {
                check(&engine.snapshot(), &tables, &models, keys);
                old.iter().for_each(|(snapshot, models)| check(snapshot, &tables, models, keys));
            }
        }
        drop(old);
        assert_eq!(engine.check().unwrap().problems, Vec::<String>::new());
    }
}
