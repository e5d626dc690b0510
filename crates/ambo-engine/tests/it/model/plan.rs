//! What a run does: operations from a seed, without a look at the engine.

use ambo_codec::{integer::IntegerCodec, record::RecordCodec};
use ambo_engine::io::sim::{Fault, FaultKind, Op};

use crate::support::Random;

/// Keys of a table: so few that writes meet.
pub const KEYS: u64 = 48;
/// The most tables at once.
pub const TABLES_MAX: usize = 5;

/// A value to be: its bytes follow from both numbers.
#[derive(Clone, Copy, Debug)]
pub struct ValuePlan {
    pub seed: u64,
    pub len: usize,
}

/// A write to a table, chosen by a number that is taken modulo the tables there are.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    pub table: u64,
    pub key: u64,
    /// None deletes.
    pub value: Option<ValuePlan>,
}

/// Keys of a table, from one on and below another, or without an end.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub table: u64,
    pub from: u64,
    pub to: Option<u64>,
}

/// A step inside a transaction.
#[derive(Clone, Debug)]
pub enum Step {
    Write(Write),
    Read {
        table: u64,
        key: u64,
    },
    Scan {
        table: u64,
    },
    Count {
        table: u64,
        from: u64,
        to: u64,
    },
    Savepoint,
    RollBack,
    Lock {
        table: u64,
        key: u64,
    },
    /// Somebody else commits this meanwhile.
    Interfere(Write),
    DeleteRange(Range),
    /// Somebody else does.
    InterfereRange(Range),
    Flush,
    Define(Definition),
    CreateIndex {
        table: u64,
        on: IndexOn,
    },
    DropIndex {
        index: u64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Logged,
    LogOff,
    Memory,
    /// Logged, with segments of columns as its base.
    Column,
}

impl Kind {
    /// Whether commits to it are in the log.
    pub fn is_logged(self) -> bool {
        matches!(self, Self::Logged | Self::Column)
    }
}

/// What the keys of a table look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keys {
    /// Of any length.
    Any,
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
    /// Of 4 bytes, behind the 4 bytes of a sort key.
    Sorted,
}

/// How a table is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compression {
    /// Only where keys are 4 or 8 bytes.
    pub keys: Option<IntegerCodec>,
    pub records: Option<RecordCodec>,
    pub dictionary: bool,
}

/// What an index is over, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexOn {
    /// The key, ordered.
    Key,
    /// The key, ordered, unique.
    UniqueKey,
    /// The value, by its hash.
    Value,
    /// The value, by its hash, unique.
    UniqueValue,
    /// The key, with postings in files beside segments; of tables by row, as [`IndexOn::Value`].
    KeyPostings,
    /// The value, as [`IndexOn::KeyPostings`].
    ValuePostings,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reopen {
    /// Flushed and dropped.
    Close,
    /// The process dies; what was written stays in the page cache.
    Kill,
    /// The power goes.
    Crash,
}

/// A change of what there is; tables are chosen as for a write.
#[derive(Clone, Copy, Debug)]
pub enum Definition {
    Create {
        kind: Kind,
        keys: Keys,
        compression: Compression,
    },
    Drop {
        table: u64,
    },
    Rename {
        table: u64,
    },
    Alter {
        table: u64,
        compression: Compression,
    },
    Truncate {
        table: u64,
    },
    /// Adds, drops or renames a column, or says something about the table.
    Columns {
        table: u64,
        seed: u64,
    },
}

impl Definition {
    /// The choice of its table, if it is one that is there.
    pub fn table(&self) -> u64 {
        match self {
            Self::Create { .. } => panic!("a table that is not there"),
            Self::Drop { table }
            | Self::Rename { table }
            | Self::Alter { table, .. }
            | Self::Truncate { table }
            | Self::Columns { table, .. } => *table,
        }
    }
}

#[derive(Clone, Debug)]
pub enum Operation {
    Write(Write),
    Batch {
        writes: Vec<Write>,
        synced: bool,
    },
    Stream {
        table: u64,
        key: u64,
        value: ValuePlan,
    },
    Transaction {
        steps: Vec<Step>,
        serializable: bool,
        synced: bool,
        commit: bool,
    },
    Load {
        table: u64,
        first: u64,
        rows: u64,
        seed: u64,
    },
    DeleteRange(Range),
    Flush,
    Compact,
    Vacuum,
    Define(Definition),
    /// To another, memory among them.
    SetStorage {
        table: u64,
    },
    CreateIndex {
        table: u64,
        on: IndexOn,
    },
    DropIndex {
        index: u64,
    },
    /// To a disk of its own, whose power may go at the end.
    Publish {
        fault: Option<Fault>,
        crash: bool,
    },
    /// To a disk of its own, whose power may go at the end.
    Backup {
        fault: Option<Fault>,
        crash: bool,
    },
    Snapshot,
    DropSnapshot,
    Verify,
    Check,
    Inject(Fault),
    /// Room for so many more bytes.
    Capacity(u64),
    Heal,
    Reopen(Reopen),
}

type Choose = fn(&mut Random) -> Operation;

/// How often an operation is chosen, in relation to the others.
const CHOICES: &[(u64, Choose)] = &[
    (300, |r| Operation::Write(write(r))),
    (60, |r| Operation::Batch {
        writes: (0..1 + r.below(12)).map(|_| write(r)).collect(),
        synced: r.one_in(4),
    }),
    (25, |r| Operation::Stream { table: r.next(), key: r.below(KEYS), value: medium(r) }),
    (120, transaction),
    (15, |r| Operation::Load { table: r.next(), first: r.below(KEYS), rows: r.below(KEYS), seed: r.next() }),
    (30, |r| Operation::DeleteRange(range(r))),
    (30, |_| Operation::Flush),
    (20, |_| Operation::Compact),
    (10, |_| Operation::Vacuum),
    (20, |r| Operation::Define(create(r))),
    (8, |r| Operation::Define(Definition::Drop { table: r.next() })),
    (8, |r| Operation::Define(Definition::Rename { table: r.next() })),
    (8, |r| Operation::Define(Definition::Truncate { table: r.next() })),
    (20, |r| Operation::Define(Definition::Alter { table: r.next(), compression: compression(r) })),
    (16, |r| Operation::Define(Definition::Columns { table: r.next(), seed: r.next() })),
    (12, |r| Operation::SetStorage { table: r.next() }),
    (20, |r| Operation::CreateIndex { table: r.next(), on: index(r) }),
    (8, |r| Operation::DropIndex { index: r.next() }),
    (12, |r| Operation::Publish { fault: r.one_in(2).then(|| target_fault(r)), crash: r.one_in(2) }),
    (16, |r| Operation::Backup { fault: r.one_in(2).then(|| target_fault(r)), crash: r.one_in(2) }),
    (30, |_| Operation::Snapshot),
    (20, |_| Operation::DropSnapshot),
    (30, |_| Operation::Verify),
    (8, |_| Operation::Check),
    (20, fault),
    (6, |r| Operation::Capacity(r.below(200 << 10))),
    (25, |_| Operation::Heal),
    (36, |r| Operation::Reopen(*r.pick(&[Reopen::Close, Reopen::Kill, Reopen::Crash, Reopen::Crash]))),
];

/// The operations of a run. Each run likes some operations and leaves others out (swarm testing: Groce et al. 2012), so that rare
/// things meet each other.
pub fn operations(random: &mut Random) -> Vec<Operation> {
    let liking = [0, 1, 1, 1, 1, 4];
    let choices: Vec<(u64, Choose)> =
        CHOICES.iter().map(|(weight, choose)| (weight * random.pick(&liking), *choose)).collect();
    let weights: u64 = choices.iter().map(|(weight, _)| weight).sum();
    let count = 20 + random.below(140);
    let keys = *random.pick(&[Keys::Any, Keys::Eight, Keys::Sorted]);
    let kind = *random.pick(&[Kind::Logged, Kind::Logged, Kind::Column]);
    let first = Definition::Create { kind, keys, compression: compression(random) };
    let mut out = vec![Operation::Define(first)];
    for _ in 0..count {
        let mut at = random.below(weights);
        let choice = choices.iter().find(|(weight, _)| {
            let found = at < *weight;
            at = at.saturating_sub(*weight);
            found
        });
        out.push(choice.expect("the weights add up").1(random));
    }
    out.push(Operation::Reopen(Reopen::Crash));
    out.push(Operation::Reopen(Reopen::Close));
    out
}

fn create(random: &mut Random) -> Definition {
    let kinds = [Kind::Logged, Kind::Logged, Kind::LogOff, Kind::Memory, Kind::Column, Kind::Column];
    Definition::Create {
        kind: *random.pick(&kinds),
        keys: *random.pick(&[Keys::Any, Keys::Four, Keys::Eight, Keys::Sorted]),
        compression: compression(random),
    }
}

fn index(random: &mut Random) -> IndexOn {
    *random.pick(&[
        IndexOn::Key,
        IndexOn::UniqueKey,
        IndexOn::Value,
        IndexOn::UniqueValue,
        IndexOn::KeyPostings,
        IndexOn::ValuePostings,
    ])
}

/// A change of definitions inside a transaction.
fn define(random: &mut Random) -> Step {
    let table = random.next();
    match random.below(12) {
        0..3 => Step::Define(create(random)),
        3 => Step::Define(Definition::Drop { table }),
        4 => Step::Define(Definition::Rename { table }),
        5 => Step::Define(Definition::Truncate { table }),
        6 => Step::Define(Definition::Alter { table, compression: compression(random) }),
        7..9 => Step::Define(Definition::Columns { table, seed: random.next() }),
        9..11 => Step::CreateIndex { table, on: index(random) },
        _ => Step::DropIndex { index: random.next() },
    }
}

/// Half of the time none.
fn compression(random: &mut Random) -> Compression {
    let keys = random.one_in(2).then(|| *random.pick(&IntegerCodec::ALL));
    let records = random.one_in(2).then(|| *random.pick(&RecordCodec::ALL));
    let dictionary = matches!(records, Some(RecordCodec::Zstd { .. })) && random.one_in(2);
    Compression { keys, records, dictionary }
}

fn write(random: &mut Random) -> Write {
    let value = (!random.one_in(4)).then(|| value(random));
    Write { table: random.next(), key: random.below(KEYS), value }
}

fn range(random: &mut Random) -> Range {
    Range {
        table: random.next(),
        from: random.below(KEYS),
        to: (!random.one_in(6)).then(|| random.below(KEYS)),
    }
}

fn value(random: &mut Random) -> ValuePlan {
    let len = match random.below(400) {
        0 => (1 << 20) + 1 + random.below(200 << 10),
        1..15 => 1000 + random.below(12 << 10),
        15..100 => 100 + random.below(1000),
        _ => random.below(40),
    };
    ValuePlan { seed: random.next(), len: len as usize }
}

fn medium(random: &mut Random) -> ValuePlan {
    ValuePlan { seed: random.next(), len: random.below(30 << 10) as usize }
}

fn transaction(random: &mut Random) -> Operation {
    // Most transactions leave definitions alone.
    let defines = random.one_in(3);
    let any = |random: &mut Random| if defines && random.one_in(3) { define(random) } else { step(random) };
    let steps = (0..1 + random.below(12)).map(|_| any(random)).collect();
    Operation::Transaction {
        steps,
        serializable: random.one_in(3),
        synced: random.one_in(6),
        commit: !random.one_in(6),
    }
}

fn step(random: &mut Random) -> Step {
    let (table, key) = (random.next(), random.below(KEYS));
    match random.below(26) {
        0..12 => Step::Write(write(random)),
        12..15 => Step::Read { table, key },
        15 => Step::Scan { table },
        16 => Step::Count { table, from: random.below(KEYS), to: random.below(KEYS) },
        17..19 => Step::Savepoint,
        19..21 => Step::RollBack,
        21 => Step::Lock { table, key },
        22 => Step::Interfere(write(random)),
        23 => Step::DeleteRange(range(random)),
        24 => Step::InterfereRange(range(random)),
        _ => Step::Flush,
    }
}

/// A fault of the disk that a backup goes to.
fn target_fault(random: &mut Random) -> Fault {
    let op = *random.pick(&[
        Op::Write,
        Op::Write,
        Op::Sync,
        Op::SetLen,
        Op::Open,
        Op::Create,
        Op::Remove,
        Op::Rename,
        Op::List,
        Op::SyncDirectory,
    ]);
    let kind = if random.one_in(2) { FaultKind::NoSpace } else { FaultKind::Io };
    Fault { op, file_prefix: None, after: random.below(8), kind, once: random.one_in(2) }
}

fn fault(random: &mut Random) -> Operation {
    let op = *random.pick(&[
        Op::Read,
        Op::Write,
        Op::Write,
        Op::Write,
        Op::Sync,
        Op::Sync,
        Op::SetLen,
        Op::Allocate,
        Op::Allocate,
        Op::Punch,
        Op::Open,
        Op::Create,
        Op::Remove,
        Op::Rename,
        Op::List,
        Op::SyncDirectory,
    ]);
    let grows = matches!(op, Op::Write | Op::Allocate | Op::Create | Op::SetLen | Op::Sync);
    Operation::Inject(Fault {
        op,
        file_prefix: random.pick(&[None, Some("pages".to_owned()), Some("log-".to_owned())]).clone(),
        after: random.below(12),
        kind: if grows && random.one_in(2) { FaultKind::NoSpace } else { FaultKind::Io },
        once: !random.one_in(4),
    })
}
