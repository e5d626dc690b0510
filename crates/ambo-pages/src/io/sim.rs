//! A simulated disk with crashes, faults and a bounded size.
//!
//! # Fault model
//!
//! 1. **Bytes.** [`File::sync`] makes durable what was written to that file before it. [`SimDisk::crash`] keeps what is
//!    durable; of the rest it chooses for each 512-byte sector, by the seed, any of the contents that the sector
//!    has had since its last sync: the durable one, the newest one or one between. Sectors do not tear.
//! 2. **Lengths.** `sync` makes the length durable. After a crash the length is anything between the least and
//!    the greatest length since then. What lies behind the end is lost.
//! 3. **Names.** Creations, removals and renames are durable after [`Disk::sync_directory`], never through `File::sync`.
//!    A crash keeps some of the later ones: for half of the seeds a prefix of them (as a journal does), for the other half
//!    any subset. Each happens as a whole: after a rename a file never has both names, and a target that is
//!    replaced is never missing.
//! 4. **Failures.** The n-th call of an operation fails, once or from then on ([`SimDisk::inject`]). A failed write has
//!    written a proper prefix of its bytes. A failed sync has made some sectors durable; the others look written, but
//!    *no later sync makes them durable* until they are written again: so do page caches behave. A failed
//!    operation on a name has not happened.
//! 5. **Space.** With a capacity ([`SimDisk::set_capacity`]) 4 KiB blocks are counted. Writing into allocated blocks
//!    always succeeds; a write that needs more than there is writes a prefix and fails with `StorageFull`.
//!    Holes, cuts and the removal of a file that nobody has open give space back at once.
//! 6. **Handles.** After a crash every handle and lock of the old disk fails, so that threads which still run
//!    cannot reach what survived.
//! 7. **Damage.** Never by itself; tests ask for it with [`SimDisk::corrupt`].
//!
//! Everything random comes from the seed: the same calls in the same order meet the same fate.

mod contents;
mod fault;
mod handle;
mod state;
mod world;

use std::{fmt, io, sync::Arc};

use parking_lot::Mutex;

pub use self::{
    fault::{Counters, Fault, FaultKind, Op},
    world::{SimChance, SimClock, split_mix},
};
use self::{handle::SimFile, state::State};
use super::{Disk, Env, File, Lock, NoDirectories, OpenMode, Slots};

/// A disk in memory; see the [module](self) for what may happen to it. A clone is the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
    clock: Arc<SimClock>,
}

impl fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimDisk").finish_non_exhaustive()
    }
}

impl SimDisk {
    /// An empty disk of unlimited size whose fate is decided by `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(seed))), clock: Arc::new(SimClock::default()) }
    }

    /// Cuts the power. Returns a disk with what survived, without faults and with new counters; this one
    /// and all its handles fail from now on. Capacity and clock go over.
    pub fn crash(&self) -> Self {
        Self { state: Arc::new(Mutex::new(self.state.lock().crash())), clock: Arc::clone(&self.clock) }
    }

    /// Limits the disk to `bytes`, rounded down to blocks; `None` lifts the limit. What is stored stays, even if it is more.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().set_capacity(bytes);
    }

    /// The bytes in allocated blocks of all files.
    pub fn used(&self) -> u64 {
        self.state.lock().used()
    }

    /// Lets an operation fail from now on as `fault` says; several faults may be waiting.
    pub fn inject(&self, fault: Fault) {
        self.state.lock().faults.inject(fault);
    }

    /// Forgets all faults.
    pub fn clear_faults(&self) {
        self.state.lock().faults.clear();
    }

    /// What has been done to this disk since it was made.
    pub fn counters(&self) -> Counters {
        self.state.lock().faults.counters.clone()
    }

    /// Overwrites durable bytes of a file, behind the back of everyone. Extends the file when needed.
    pub fn corrupt(&self, name: &str, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.state.lock().corrupt(name, offset, bytes)
    }

    /// All bytes of a file, without counting or failing as a read does.
    pub fn contents(&self, name: &str) -> io::Result<Vec<u8>> {
        self.state.lock().contents(name)
    }

    /// The clock of this disk's world.
    pub fn clock(&self) -> Arc<SimClock> {
        Arc::clone(&self.clock)
    }

    /// A world with this disk and its clock, and chance from its seed.
    pub fn env(&self) -> Env {
        let seed = self.state.lock().random();
        Env {
            disk: Arc::new(self.clone()),
            clock: Arc::clone(&self.clock) as _,
            chance: Arc::new(SimChance::new(seed)),
            directories: Arc::new(NoDirectories),
        }
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        let node = self.state.lock().open(name, mode)?;
        Ok(Arc::new(SimFile::new(&self.state, node, name, mode)))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.state.lock().remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.state.lock().rename(from, to)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.state.lock().list()
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.state.lock().sync_directory()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.state.lock().free_bytes()
    }

    fn lock(&self, name: &str, exclusive: bool) -> io::Result<Option<Box<dyn Lock>>> {
        let held = self.state.lock().lock(name, exclusive)?;
        Ok(held.then(|| Box::new(handle::SimLock::new(&self.state, name)) as Box<dyn Lock>))
    }

    fn slots(&self, name: &str, create: bool) -> io::Result<Option<Arc<dyn Slots>>> {
        let opened = self.state.lock().open_slots(name, create)?;
        Ok(opened.map(|opened| Arc::new(handle::SimSlots::new(&self.state, opened, name)) as _))
    }
}

#[cfg(test)]
mod tests;
