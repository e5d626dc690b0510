//! Open files and locks of a simulated disk.

use std::{fmt, io, ops::Range, sync::Arc};

use parking_lot::Mutex;

use super::state::{NodeId, State};
use crate::io::{File, Lock, OpenMode, Slots};

/// An open simulated file.
pub(super) struct SimFile {
    state: Arc<Mutex<State>>,
    node: NodeId,
    /// The name it was opened with, which faults are matched with.
    name: String,
    writable: bool,
}

impl SimFile {
    /// The handle that [`State::open`] counted.
    pub fn new(state: &Arc<Mutex<State>>, node: NodeId, name: &str, mode: OpenMode) -> Self {
        Self { state: Arc::clone(state), node, name: name.to_owned(), writable: mode != OpenMode::Read }
    }

    fn writable(&self) -> io::Result<()> {
        match self.writable {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(rustix::io::Errno::BADF.raw_os_error())),
        }
    }
}

impl fmt::Debug for SimFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimFile").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        self.state.lock().close(self.node);
    }
}

impl File for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.state.lock().read(self.node, &self.name, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.writable()?;
        self.state.lock().write(self.node, &self.name, bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.state.lock().len(self.node)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.writable()?;
        self.state.lock().set_len(self.node, &self.name, len)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.writable()?;
        self.state.lock().allocate(self.node, &self.name, offset, len)
    }

    fn punch_hole(&self, offset: u64, len: u64) -> io::Result<()> {
        self.writable()?;
        self.state.lock().punch(self.node, &self.name, offset, len)
    }

    fn sync(&self) -> io::Result<()> {
        self.state.lock().sync(self.node, &self.name)
    }

    fn will_need(&self, _offset: u64, _len: u64) {}

    fn allocated_len(&self) -> io::Result<u64> {
        self.state.lock().allocated_len(self.node)
    }
}

/// A held lock of a simulated disk.
pub(super) struct SimLock {
    state: Arc<Mutex<State>>,
    name: String,
}

impl SimLock {
    /// The lock that [`State::lock`] granted.
    pub fn new(state: &Arc<Mutex<State>>, name: &str) -> Self {
        Self { state: Arc::clone(state), name: name.to_owned() }
    }
}

impl fmt::Debug for SimLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimLock").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.state.lock().unlock(&self.name);
    }
}

impl Lock for SimLock {}

/// Places of a file of a simulated disk.
pub(super) struct SimSlots {
    file: SimFile,
    owner: u64,
}

impl SimSlots {
    /// The handle that [`State::open_slots`] counted.
    pub fn new(state: &Arc<Mutex<State>>, (node, owner): (NodeId, u64), name: &str) -> Self {
        Self { file: SimFile::new(state, node, name, OpenMode::ReadWrite), owner }
    }
}

impl fmt::Debug for SimSlots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimSlots").field("owner", &self.owner).finish_non_exhaustive()
    }
}

impl Drop for SimSlots {
    fn drop(&mut self) {
        self.file.state.lock().give_slots_back(self.file.node, self.owner, 0..u64::MAX);
    }
}

impl Slots for SimSlots {
    fn file(&self) -> &dyn File {
        &self.file
    }

    fn take(&self, slot: u64) -> io::Result<bool> {
        self.file.state.lock().take_slot(self.file.node, self.owner, slot)
    }

    fn give_back(&self, slot: u64) -> io::Result<()> {
        self.file.state.lock().give_slots_back(self.file.node, self.owner, slot..slot + 1);
        Ok(())
    }

    fn taken(&self, slots: Range<u64>) -> io::Result<Vec<u64>> {
        self.file.state.lock().taken_slots(self.file.node, self.owner, slots)
    }
}
