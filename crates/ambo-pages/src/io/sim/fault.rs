//! Which call fails, and how often each was made.

use std::{collections::BTreeMap, io};

/// An operation that can fail and is counted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// [`File::read_at`](crate::io::File::read_at)
    Read,
    /// [`File::write_at`](crate::io::File::write_at)
    Write,
    /// [`File::sync`](crate::io::File::sync)
    Sync,
    /// [`File::set_len`](crate::io::File::set_len)
    SetLen,
    /// [`File::allocate`](crate::io::File::allocate)
    Allocate,
    /// [`File::punch_hole`](crate::io::File::punch_hole)
    Punch,
    /// [`Disk::open`](crate::io::Disk::open) of a file that exists.
    Open,
    /// [`Disk::open`](crate::io::Disk::open) that creates.
    Create,
    /// [`Disk::remove`](crate::io::Disk::remove)
    Remove,
    /// [`Disk::rename`](crate::io::Disk::rename); its file is the old name.
    Rename,
    /// [`Disk::list`](crate::io::Disk::list); its file is the empty name.
    List,
    /// [`Disk::sync_directory`](crate::io::Disk::sync_directory); its file is the empty name.
    SyncDirectory,
}

/// How an operation fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The device fails (`EIO`).
    Io,
    /// There is no space (`ENOSPC`).
    NoSpace,
    /// The call panics, in the thread that made it.
    Panic,
}

impl FaultKind {
    fn error(self) -> io::Error {
        match self {
            Self::Io => io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error()),
            Self::NoSpace => io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()),
            Self::Panic => panic!("an injected panic"),
        }
    }
}

/// A failure to come.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The operation that fails.
    pub op: Op,
    /// Only for files whose name starts so.
    pub file_prefix: Option<String>,
    /// How many matching calls succeed before.
    pub after: u64,
    /// The failure.
    pub kind: FaultKind,
    /// Whether only one call fails, or all from then on.
    pub once: bool,
}

/// How often each operation was called (failures included), and how much was moved.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Calls by operation; absent is zero.
    pub calls: BTreeMap<Op, u64>,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

impl Counters {
    /// How often `op` was called.
    pub fn calls(&self, op: Op) -> u64 {
        self.calls.get(&op).copied().unwrap_or(0)
    }
}

/// The faults that wait, and the counters.
#[derive(Debug, Default)]
pub(super) struct Faults {
    waiting: Vec<Fault>,
    pub counters: Counters,
}

impl Faults {
    pub fn inject(&mut self, fault: Fault) {
        self.waiting.push(fault);
    }

    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Counts a call, and fails it if a fault is due.
    pub fn call(&mut self, op: Op, file: &str) -> io::Result<()> {
        *self.counters.calls.entry(op).or_default() += 1;
        let mut due = None;
        for (i, fault) in self.waiting.iter_mut().enumerate() {
            let matches = fault.op == op && fault.file_prefix.as_ref().is_none_or(|p| file.starts_with(p));
            match (matches, fault.after) {
                (false, _) => {}
                (true, 0) => due = due.or(Some(i)),
                (true, _) => fault.after -= 1,
            }
        }
        let Some(i) = due else { return Ok(()) };
        let kind = self.waiting[i].kind;
        if self.waiting[i].once {
            self.waiting.remove(i);
        }
        Err(kind.error())
    }
}
