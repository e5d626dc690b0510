//! Everything that a simulated disk is: files, names, what of the names is durable, faults and space.

use std::{
    collections::{BTreeMap, HashMap},
    io, mem,
    ops::Range,
};

use super::{
    contents::{BLOCK, Contents, SECTOR},
    fault::{Faults, Op},
    split_mix,
};
use crate::io::OpenMode;

/// Names one file, whatever its name in the directory is.
pub(super) type NodeId = u64;

#[derive(Debug, Default)]
struct Node {
    contents: Contents,
    handles: usize,
}

/// A change of the directory that is not durable yet.
#[derive(Debug)]
enum Change {
    Create(String, NodeId),
    Remove(String),
    Rename(String, NodeId),
}

type Directory = BTreeMap<String, NodeId>;

/// The holders of a lock.
#[derive(Debug)]
enum Holders {
    Exclusive,
    Shared(usize),
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct State {
    nodes: HashMap<NodeId, Node>,
    next_node: NodeId,
    directory: Directory,
    durable_directory: Directory,
    changes: Vec<Change>,
    locks: HashMap<String, Holders>,
    /// Who has which place of which file.
    slots: BTreeMap<(NodeId, u64), u64>,
    slot_owners: u64,
    pub faults: Faults,
    capacity_blocks: Option<u64>,
    seed: u64,
    crashed: bool,
}

impl State {
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    pub fn random(&mut self) -> u64 {
        split_mix(&mut self.seed)
    }

    /// Counts a call; fails after a crash or when a fault is due.
    fn call(&mut self, op: Op, file: &str) -> io::Result<()> {
        self.alive()?;
        self.faults.call(op, file)
    }

    fn alive(&self) -> io::Result<()> {
        match self.crashed {
            true => Err(io::Error::other("the simulated disk has crashed")),
            false => Ok(()),
        }
    }

    fn find(&self, name: &str) -> io::Result<NodeId> {
        self.directory.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create(&mut self, name: &str) -> NodeId {
        let id = self.next_node;
        self.next_node += 1;
        self.nodes.insert(id, Node::default());
        self.directory.insert(name.to_owned(), id);
        self.changes.push(Change::Create(name.to_owned(), id));
        id
    }

    pub fn open(&mut self, name: &str, mode: OpenMode) -> io::Result<NodeId> {
        let id = match mode {
            OpenMode::Create => {
                self.call(Op::Create, name)?;
                if name.is_empty() || name.contains('/') {
                    return Err(io::ErrorKind::InvalidInput.into());
                }
                if self.directory.contains_key(name) {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
                self.create(name)
            }
            OpenMode::Read | OpenMode::ReadWrite => {
                self.call(Op::Open, name)?;
                self.find(name)?
            }
        };
        self.node_mut(id).handles += 1;
        Ok(id)
    }

    pub fn close(&mut self, id: NodeId) {
        if !self.crashed {
            self.node_mut(id).handles -= 1;
            self.forget_unreachable();
        }
    }

    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        self.call(Op::Remove, name)?;
        self.find(name)?;
        self.directory.remove(name);
        self.changes.push(Change::Remove(name.to_owned()));
        Ok(())
    }

    pub fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.call(Op::Rename, from)?;
        let id = self.find(from)?;
        self.directory.remove(from);
        self.directory.insert(to.to_owned(), id);
        self.changes.push(Change::Rename(to.to_owned(), id));
        Ok(())
    }

    pub fn list(&mut self) -> io::Result<Vec<String>> {
        self.call(Op::List, "")?;
        Ok(self.directory.keys().cloned().collect())
    }

    pub fn sync_directory(&mut self) -> io::Result<()> {
        self.call(Op::SyncDirectory, "")?;
        self.changes.clear();
        self.durable_directory = self.directory.clone();
        self.forget_unreachable();
        Ok(())
    }

    /// Drops files that neither a name, nor a crash, nor a handle can reach.
    fn forget_unreachable(&mut self) {
        if !self.changes.is_empty() {
            return; // An undone change may bring any of them back.
        }
        let (live, durable) = (&self.directory, &self.durable_directory);
        if self.nodes.len() > live.len() {
            self.nodes.retain(|id, node| {
                node.handles > 0 || live.values().any(|n| n == id) || durable.values().any(|n| n == id)
            });
        }
    }

    pub fn lock(&mut self, name: &str, exclusive: bool) -> io::Result<bool> {
        self.alive()?;
        if !self.directory.contains_key(name) {
            self.create(name);
        }
        match (self.locks.get_mut(name), exclusive) {
            (None, true) => self.locks.insert(name.to_owned(), Holders::Exclusive),
            (None, false) => self.locks.insert(name.to_owned(), Holders::Shared(1)),
            (Some(Holders::Shared(n)), false) => {
                *n += 1;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        Ok(true)
    }

    pub fn unlock(&mut self, name: &str) {
        match self.locks.get_mut(name) {
            Some(Holders::Shared(n)) if *n > 1 => *n -= 1,
            _ => drop(self.locks.remove(name)),
        }
    }

    /// Opens a file for its places; the file and who has them. Not counted as a call.
    pub fn open_slots(&mut self, name: &str, create: bool) -> io::Result<Option<(NodeId, u64)>> {
        self.alive()?;
        let id = match (self.find(name), create) {
            (Ok(id), _) => id,
            (Err(_), true) => self.create(name),
            (Err(_), false) => return Ok(None),
        };
        self.node_mut(id).handles += 1;
        self.slot_owners += 1;
        Ok(Some((id, self.slot_owners)))
    }

    pub fn take_slot(&mut self, id: NodeId, owner: u64, slot: u64) -> io::Result<bool> {
        self.alive()?;
        Ok(*self.slots.entry((id, slot)).or_insert(owner) == owner)
    }

    pub fn give_slots_back(&mut self, id: NodeId, owner: u64, slots: Range<u64>) {
        self.slots.retain(|(of, slot), by| (*of, *by) != (id, owner) || !slots.contains(slot));
    }

    pub fn taken_slots(&self, id: NodeId, owner: u64, slots: Range<u64>) -> io::Result<Vec<u64>> {
        self.alive()?;
        let taken = self.slots.range((id, slots.start)..(id, slots.end));
        Ok(taken.filter(|(_, by)| **by != owner).map(|((_, slot), _)| *slot).collect())
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes.get_mut(&id).expect("a file with a handle or a name is kept")
    }

    fn file(&mut self, id: NodeId) -> &mut Contents {
        &mut self.node_mut(id).contents
    }

    pub fn read(&mut self, id: NodeId, name: &str, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.call(Op::Read, name)?;
        let end = offset.checked_add(buffer.len() as u64).ok_or(io::ErrorKind::InvalidInput)?;
        if end > self.file(id).len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.faults.counters.bytes_read += buffer.len() as u64;
        self.file(id).read(buffer, offset);
        Ok(())
    }

    pub fn write(&mut self, id: NodeId, name: &str, bytes: &[u8], offset: u64) -> io::Result<()> {
        let fault = self.call(Op::Write, name);
        self.alive()?;
        offset.checked_add(bytes.len() as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        let mut result = fault;
        let mut written = match result {
            Ok(()) => bytes.len() as u64,
            Err(_) => {
                // A proper prefix: what was written whole would not have failed.
                let sectors = self.random() % (bytes.len() as u64).div_ceil(SECTOR).max(1);
                sectors * SECTOR
            }
        };
        if let Some(free) = self.free_blocks() {
            let room = self.file(id).writable_bytes(offset, written, free);
            if room < written {
                (written, result) = (room, Err(io::ErrorKind::StorageFull.into()));
            }
        }
        self.faults.counters.bytes_written += written;
        self.file(id).write(&bytes[..written as usize], offset);
        result
    }

    pub fn len(&mut self, id: NodeId) -> io::Result<u64> {
        self.alive()?;
        Ok(self.file(id).len())
    }

    pub fn allocated_len(&mut self, id: NodeId) -> io::Result<u64> {
        self.alive()?;
        Ok(self.file(id).blocks() * BLOCK)
    }

    pub fn set_len(&mut self, id: NodeId, name: &str, len: u64) -> io::Result<()> {
        self.call(Op::SetLen, name)?;
        self.file(id).set_len(len);
        Ok(())
    }

    pub fn allocate(&mut self, id: NodeId, name: &str, offset: u64, len: u64) -> io::Result<()> {
        self.call(Op::Allocate, name)?;
        offset.checked_add(len).ok_or(io::ErrorKind::FileTooLarge)?;
        let free = self.free_blocks().unwrap_or(u64::MAX);
        if self.file(id).blocks_needed(offset, len) > free {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file(id).allocate(offset, len);
        Ok(())
    }

    pub fn punch(&mut self, id: NodeId, name: &str, offset: u64, len: u64) -> io::Result<()> {
        self.call(Op::Punch, name)?;
        self.file(id).punch(offset, len);
        Ok(())
    }

    pub fn sync(&mut self, id: NodeId, name: &str) -> io::Result<()> {
        let result = self.call(Op::Sync, name);
        self.alive()?;
        match result {
            Ok(()) => self.file(id).sync(),
            Err(_) => {
                let mut seed = self.random();
                self.file(id).sync_failed(|| split_mix(&mut seed));
            }
        }
        result
    }

    pub fn corrupt(&mut self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.alive()?;
        let id = self.find(name)?;
        self.file(id).corrupt(bytes, offset);
        Ok(())
    }

    pub fn contents(&mut self, name: &str) -> io::Result<Vec<u8>> {
        self.alive()?;
        let id = self.find(name)?;
        let mut bytes = vec![0; self.file(id).len() as usize];
        self.file(id).read(&mut bytes, 0);
        Ok(bytes)
    }

    pub fn set_capacity(&mut self, bytes: Option<u64>) {
        self.capacity_blocks = bytes.map(|bytes| bytes / BLOCK);
    }

    pub fn used(&self) -> u64 {
        self.used_blocks() * BLOCK
    }

    fn used_blocks(&self) -> u64 {
        let named = |id: &NodeId| self.directory.values().any(|n| n == id);
        self.nodes
            .iter()
            .filter(|(id, node)| node.handles > 0 || named(id))
            .map(|(_, node)| node.contents.blocks())
            .sum()
    }

    pub fn free_bytes(&self) -> Option<u64> {
        self.free_blocks().map(|blocks| blocks * BLOCK)
    }

    /// How many blocks are left, if the disk is bounded.
    fn free_blocks(&self) -> Option<u64> {
        self.capacity_blocks.map(|capacity| capacity.saturating_sub(self.used_blocks()))
    }

    /// Stops this disk; returns what survives.
    pub fn crash(&mut self) -> Self {
        assert!(!self.crashed, "a disk crashes once");
        self.crashed = true;
        let mut seed = self.random();
        let mut survivor = Self::new(split_mix(&mut seed));
        survivor.capacity_blocks = self.capacity_blocks;
        survivor.next_node = self.next_node;
        survivor.directory = self.surviving_names(&mut seed);
        let mut nodes = mem::take(&mut self.nodes);
        for id in survivor.directory.values() {
            let node = nodes.remove(id).expect("a file that a crash can bring back is kept");
            let contents = node.contents.crash(|| split_mix(&mut seed));
            survivor.nodes.insert(*id, Node { contents, handles: 0 });
        }
        survivor.durable_directory = survivor.directory.clone();
        survivor
    }

    fn surviving_names(&mut self, seed: &mut u64) -> Directory {
        let mut names = mem::take(&mut self.durable_directory);
        let changes = mem::take(&mut self.changes);
        let prefix = split_mix(seed).is_multiple_of(2);
        let kept = (split_mix(seed) % (changes.len() as u64 + 1)) as usize;
        for (i, change) in changes.into_iter().enumerate() {
            let happened = if prefix { i < kept } else { split_mix(seed).is_multiple_of(2) };
            match change {
                _ if !happened => {}
                Change::Create(name, id) => {
                    names.insert(name, id);
                }
                Change::Remove(name) => {
                    names.remove(&name);
                }
                Change::Rename(to, id) => {
                    // Whatever name it had: earlier renames may not have happened.
                    names.retain(|_, n| *n != id);
                    names.insert(to, id);
                }
            }
        }
        names
    }
}
