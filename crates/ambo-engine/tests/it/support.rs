//! What the tests share: chance from a seed, values that tell what they are, small settings.

use std::{sync::Arc, time::Duration};

use ambo_engine::{
    Error, Result,
    database::{Engine, Isolation, Options, RecoveryReport, Seek, Snapshot, Sync, TableScan},
    id::TableId,
    io::{Env, sim::split_mix},
};

/// Random numbers from one seed.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut state = seed ^ 0xA3B0_5EED;
        split_mix(&mut state);
        Self(state)
    }
    pub fn next(&mut self) -> u64 {
        split_mix(&mut self.0)
    }
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

/// `len` bytes that depend on `seed`, half of them compressible.
pub fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        let word = split_mix(&mut state);
        let word = if word & 1 == 0 { word } else { word & 0xFF };
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.truncate(len);
    out
}

/// The smallest settings: freezes, flushes and new log segments happen all the time. Single-threaded, so that runs repeat exactly.
pub fn small_options() -> Options {
    Options {
        cache_bytes: 256 << 10,
        memtable_bytes: 64 << 10,
        log_segment_bytes: 8 << 10,
        page_size: 4096,
        part_bytes: 8 << 10,
        lock_timeout: Duration::from_millis(1),
        background_threads: false,
        background_merge: false,
        transaction_bytes_max: 8 << 20,
        sync: Sync::Commit,
        ..Options::default()
    }
}

pub fn open(env: &Env, options: &Options) -> Result<(Arc<Engine>, RecoveryReport)> {
    Engine::open(env.clone(), options.clone()).map(|(engine, report)| (Arc::new(engine), report))
}

/// Fails with everything that a check finds.
pub fn assert_sound(engine: &Arc<Engine>) {
    let report = engine.check().expect("the check itself works");
    assert!(report.is_sound(), "{:#?}", report.problems);
    // After a failed flip either superblock may be on the device: what it published stays until the database is reopened.
    let is_poisoned = matches!(engine.begin(Isolation::Snapshot), Err(Error::Poisoned(_)));
    if !engine.options().background_threads && !is_poisoned {
        // No merge is under way, and tests check when they are done.
        assert_eq!(report.pages_in_flight, 0, "pages that nobody has given back");
    }
}

/// All rows of a table, walked forwards.
pub fn rows(snapshot: &Snapshot, table: TableId) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut cursor = snapshot.cursor(table)?;
    let mut out = Vec::new();
    let mut there = cursor.seek(Seek::First)?;
    while there {
        let key = cursor.key().to_vec();
        out.push((key, cursor.value()?.to_vec()));
        there = cursor.next()?;
    }
    Ok(out)
}

/// One of the storages that are scanned by column.
pub fn by_column(seed: u64) -> ambo_engine::catalog::Storage {
    use ambo_engine::catalog::Storage;
    if seed % 3 == 1 { Storage::Append } else { Storage::Column }
}

/// The ids that a scan selects, and how many.
pub fn ids(scan: &TableScan) -> Vec<i64> {
    let found = scan.fold(2, Vec::new, |found, morsel| {
        let mut ids = Vec::<i64>::new();
        morsel.values(0, &mut ids)?;
        found.extend(ids);
        Ok(())
    });
    let mut ids = found.unwrap().concat();
    ids.sort_unstable();
    assert_eq!(scan.count(1).unwrap(), ids.len() as u64);
    ids
}
