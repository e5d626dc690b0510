//! Random appends, syncs, checkpoints, failures, restarts and crashes against a list.

use super::*;
use crate::io::sim::{Fault, FaultKind, Op as IoOp, split_mix};

/// What the log must hold.
struct Model {
    seed: u64,
    options: LogOptions,
    disk: SimDisk,
    log: LogWriter,
    /// What was written, in order; the checkpoint's part is taken away.
    written: Vec<Transaction>,
    /// How many of them are acknowledged as durable.
    durable: usize,
    /// How many at the end may or may not be there, whatever happens.
    uncertain: usize,
    start: Start,
    next_ts: u64,
    cuts: u64,
    opened: u64,
}

impl Model {
    fn new(seed: u64) -> Self {
        let disk = SimDisk::new(seed);
        let mut options = LogOptions { segment_bytes: 4096, compress: seed.is_multiple_of(3) };
        if seed % 4 == 1 {
            // A small disk: it becomes full, and segments are as large as there is room.
            disk.set_capacity(Some((4 << (seed / 4 % 8)) * 4096));
            options.segment_bytes = 1 << 20;
        }
        let log = Self::writer(&disk, &options, LogPosition::default());
        let start = Start::default();
        Self {
            seed,
            options,
            disk,
            log,
            written: vec![],
            durable: 0,
            uncertain: 0,
            start,
            next_ts: 1,
            cuts: 0,
            opened: 0,
        }
    }

    fn writer(disk: &SimDisk, options: &LogOptions, position: LogPosition) -> LogWriter {
        LogWriter::new(dyn_disk(disk), options.clone(), DATABASE, position)
    }

    fn random(&mut self, n: u64) -> u64 {
        split_mix(&mut self.seed) % n
    }

    fn transaction(&mut self) -> Transaction {
        self.next_ts += 1 + self.random(2);
        let ops = (0..self.random(4)).map(|_| {
            let kind = RecordKind::from_u8(1 + self.random(3) as u8).unwrap();
            let len = match (kind, self.random(20)) {
                (RecordKind::Tombstone, _) => 0,
                (_, 0) => self.random(9_000),
                _ => self.random(300),
            };
            // Zeros are what a preallocated file has anyway; others are not.
            let byte = if self.random(2) == 0 { 0 } else { self.random(256) as u8 };
            let key = self.random(1 << 20).to_be_bytes()[5..].to_vec();
            (self.random(300) as u32, key, kind, vec![byte; len as usize])
        });
        let ops = ops.collect();
        (self.next_ts, ops)
    }

    fn append(&mut self) {
        let transactions: Vec<_> = (0..=self.random(3)).map(|_| self.transaction()).collect();
        match self.log.write_group(&mut group(&transactions)) {
            Ok(_) => self.written.extend(transactions),
            Err(Error::DiskFull(_)) => {}
            Err(Error::Poisoned(_)) => self.reopen(),
            Err(Error::Io { .. }) => {
                self.uncertain = transactions.len();
                self.written.extend(transactions);
                self.reopen();
            }
            Err(e) => panic!("{e}"),
        }
    }

    fn sync(&mut self) {
        let before = self.written.len();
        let ticket = self.log.sync_ticket();
        for _ in 0..self.random(2) {
            let opened = self.opened;
            self.append();
            if self.opened != opened {
                return; // The ticket is of another writer.
            }
        }
        match ticket.sync() {
            Ok(()) => {
                self.log.note_durable(ticket.end());
                self.durable = self.durable.max(before);
            }
            Err(e) => {
                self.log.poison(e.to_string());
                self.reopen();
            }
        }
    }

    /// A checkpoint at any timestamp, which makes durable in the bases what is not in the log yet.
    fn checkpoint(&mut self) {
        let n = self.random(self.written.len() as u64 + 1) as usize;
        if let Some((ts, _)) = self.written[..n].last() {
            self.start.after = Timestamp(*ts);
        }
        self.start.from = self.log.position_after(self.start.after);
        self.written.drain(..n);
        self.durable = self.durable.saturating_sub(n);
        match self.log.remove_before(self.start.from) {
            // What is not removed now is removed later.
            Ok(_) | Err(Error::Io { .. } | Error::DiskFull(_)) => {}
            Err(e) => panic!("{e}"),
        }
    }

    fn fault(&mut self) {
        let ops = [IoOp::Write, IoOp::Sync, IoOp::Allocate, IoOp::Create, IoOp::SyncDirectory, IoOp::SetLen];
        let kind = if self.random(3) == 0 { FaultKind::Io } else { FaultKind::NoSpace };
        let op = ops[self.random(ops.len() as u64) as usize];
        let after = self.random(4);
        self.disk.inject(Fault { op, file_prefix: None, after, kind, once: true });
    }

    /// Ends the writer, by a crash or without, and opens again.
    fn reopen(&mut self) {
        let mut crashed = false;
        self.opened += 1;
        loop {
            if self.random(2) == 0 {
                self.disk = self.disk.crash();
                crashed = true;
            } else if self.random(2) == 0 {
                self.disk.clear_faults();
            }
            if self.random(4) == 0 {
                // A reader that may change nothing judges alike.
                if let Ok((transactions, _)) = read(&self.disk, self.start, Access::ReadOnly) {
                    self.check(&transactions, crashed);
                }
            }
            match read(&self.disk, self.start, Access::Write) {
                Ok((transactions, recovery)) => {
                    self.check(&transactions, crashed);
                    self.cuts += u64::from(recovery.cut.is_some());
                    self.written.truncate(transactions.len());
                    (self.durable, self.uncertain) = (transactions.len(), 0);
                    self.log = Self::writer(&self.disk, &self.options, recovery.position);
                    return;
                }
                // A fault hit the recovery; without one it must succeed.
                Err(Error::Io { .. } | Error::DiskFull(_)) => self.disk.clear_faults(),
                Err(e) => panic!("{e}"),
            }
        }
    }

    fn check(&self, transactions: &[Transaction], crashed: bool) {
        assert!(transactions.len() <= self.written.len(), "more than was written");
        assert!(transactions == &self.written[..transactions.len()], "not a prefix");
        assert!(transactions.len() >= self.durable, "{} of {} durable", transactions.len(), self.durable);
        if !crashed {
            assert!(transactions.len() >= self.written.len() - self.uncertain, "lost without a crash");
        }
    }
}

/// Runs one seed; returns how many torn tails there were.
fn run(seed: u64) -> u64 {
    let mut model = Model::new(seed);
    for _ in 0..80 {
        match model.random(40) {
            0..22 => model.append(),
            22..30 => model.sync(),
            30..33 => model.checkpoint(),
            33..36 => model.fault(),
            _ => model.reopen(),
        }
    }
    model.reopen();
    model.cuts
}

#[test]
fn the_log_is_a_prefix_with_all_that_was_synced() {
    // Keeps away lost commits, commits that come back after they were refused, gaps, and a torn tail taken for damage.
    let seeds = std::env::var("AMBO_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    let first = std::env::var("AMBO_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut cuts = 0;
    for seed in first..first + seeds {
        cuts += std::panic::catch_unwind(|| run(seed)).unwrap_or_else(|e| {
            panic!("seed {seed}: {:?}", e.downcast_ref::<String>());
        });
    }
    assert!(cuts > 0 || seeds < 100, "no torn tail was ever seen");
}
