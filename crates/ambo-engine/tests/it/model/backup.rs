//! Backups among the operations: the directory always has the one before, or the new one, or says that it has none.

use std::sync::Arc;

use ambo_engine::{
    Error,
    database::Options,
    io::{
        Disk,
        sim::{Fault, SimDisk},
    },
};

use super::{
    oracle::{State, difference},
    plan::Kind,
    world::World,
};
use crate::support::{assert_sound, open};

/// The disk that backups go to, and what may be found there.
pub struct Backups {
    disk: SimDisk,
    seed: u64,
    /// The last backup that is known to be whole.
    whole: Option<State>,
    /// Those that were broken off since: each may have become whole at the last moment.
    perhaps: Vec<State>,
}

impl Backups {
    pub fn new(seed: u64) -> Self {
        Self { disk: SimDisk::new(seed ^ 0xBAC), seed, whole: None, perhaps: Vec::new() }
    }
}

/// What is in a file of a state: rows in memory are not.
pub fn on_disk(state: &State) -> State {
    let mut state = state.clone();
    let in_memory = state.values_mut().filter(|table| table.kind == Kind::Memory);
    in_memory.for_each(|table| table.rows.clear());
    state
}

impl World {
    pub fn back_up(&mut self, fault: Option<&Fault>, crash: bool) {
        if let Some(fault) = fault {
            self.backups.disk.inject(fault.clone());
        }
        let target: Arc<dyn Disk> = Arc::new(self.backups.disk.clone());
        let made = self.engine().backup_to(&target);
        drop(target);
        self.backups.disk.clear_faults();
        self.trace(|| format!("  backup: {made:?}"));
        let now = on_disk(&self.oracle.now);
        match made {
            Ok(_) => {
                assert!(!self.poisoned, "a checkpoint is made while writes are refused");
                self.oracle.flushed();
                (self.backups.whole, self.backups.perhaps) = (Some(now), Vec::new());
            }
            Err(error) => {
                let is_of_target = matches!(error, Error::Io { .. } | Error::DiskFull(_)) && fault.is_some();
                if !is_of_target {
                    self.excuse(&error);
                }
                self.backups.perhaps.push(now);
            }
        }
        if crash {
            self.backups.disk = self.backups.disk.crash();
        }
        self.verify_backup();
        if self.backups.whole.is_some() && self.random.one_in(6) {
            self.use_backup();
        }
    }

    /// What is there is sound, and one of those that may be there.
    fn verify_backup(&self) {
        let options = Options { read_only: true, ..self.options.clone() };
        let opened = open(&self.backups.disk.env(), &options);
        let (engine, report) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                assert!(self.backups.whole.is_none(), "a backup is lost: {error}");
                let says_so = matches!(error, Error::Invalid(_) | Error::NotFound(_));
                assert!(says_so, "a backup that is not whole: {error}");
                return;
            }
        };
        assert!(report.is_clean(), "a backup is closed in order: {report:?}");
        assert_sound(&engine);
        let (found, _) = self.read_all(&engine).expect("nothing fails");
        let known = self.backups.whole.iter().chain(&self.backups.perhaps);
        let differences: Vec<_> = known.map(|state| difference(state, &found)).collect();
        assert!(differences.iter().any(String::is_empty), "another backup: {differences:#?}");
    }

    /// Opens the backup for writing: from then on it is none.
    fn use_backup(&mut self) {
        let (engine, _) = open(&self.backups.disk.env(), &self.options).expect("a backup is a database");
        assert_sound(&engine);
        drop(engine);
        let target: Arc<dyn Disk> = Arc::new(self.backups.disk.crash());
        match self.engine().backup_to(&target) {
            Ok(_) => panic!("a database in use was taken for a backup"),
            Err(Error::Invalid(what)) => assert!(what.contains("is no backup"), "{what}"),
            Err(error) => self.excuse(&error),
        }
        // What it flushed is durable, which no test has to know.
        self.backups = Backups::new(self.backups.seed + 1);
    }
}
