//! Publications among the operations: whatever fails when, the newest is whole, and so is every one that is kept.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ambo_engine::{
    Error,
    database::{Options, PublishOptions, publications},
    io::{
        Disk,
        sim::{Fault, SimDisk},
    },
};

use super::{
    backup::on_disk,
    oracle::{State, difference},
    world::World,
};
use crate::support::{assert_sound, open};

/// The disk that is published to, and what may be found there.
pub struct Publications {
    disk: SimDisk,
    /// What is in those that are known to be whole, by number.
    whole: BTreeMap<u64, State>,
    /// What is in those that were broken off: each may have become whole at the last moment.
    perhaps: Vec<State>,
}

impl Publications {
    pub fn new(seed: u64) -> Self {
        Self { disk: SimDisk::new(seed ^ 0x9AB), whole: BTreeMap::new(), perhaps: Vec::new() }
    }
}

const OPTIONS: PublishOptions = PublishOptions { keep: 2, grace: Duration::ZERO, bundle_bytes: 64 << 10 };

impl World {
    pub fn publish(&mut self, fault: Option<&Fault>, crash: bool) {
        if let Some(fault) = fault {
            self.publications.disk.inject(fault.clone());
        }
        let target: Arc<dyn Disk> = Arc::new(self.publications.disk.clone());
        let made = self.engine().publish_to(&target, &OPTIONS);
        drop(target);
        self.publications.disk.clear_faults();
        self.trace(|| format!("  published: {made:?}"));
        let now = on_disk(&self.oracle.now);
        match made {
            Ok(report) => {
                assert!(!self.poisoned, "a checkpoint is made while writes are refused");
                self.oracle.flushed();
                self.publications.whole.insert(report.number, now);
            }
            Err(error) => {
                let is_of_target = matches!(error, Error::Io { .. } | Error::DiskFull(_)) && fault.is_some();
                if !is_of_target {
                    self.excuse(&error);
                }
                self.publications.perhaps.push(now);
            }
        }
        if crash {
            self.publications.disk = self.publications.disk.crash();
        }
        self.verify_publications();
    }

    /// Each one that is there is sound, and what was published under its number, or may have been.
    fn verify_publications(&mut self) {
        let options = Options { read_only: true, ..self.options.clone() };
        let env = self.publications.disk.env();
        let found = match publications(env.clone(), &options) {
            Ok(found) => found,
            Err(error) => {
                assert!(self.publications.whole.is_empty(), "publications are lost: {error}");
                assert!(matches!(error, Error::NotFound(_)), "{error}");
                return;
            }
        };
        let newest = found.last().expect("there is one").number;
        let known = self.publications.whole.last_key_value().map(|(number, _)| *number);
        assert!(Some(newest) >= known, "{newest} is the newest after {known:?}");
        for publication in found {
            let number = (publication.number != newest).then_some(publication.number);
            let opened = open(&env, &Options { publication: number, ..options.clone() });
            let (engine, report) = opened.unwrap_or_else(|error| panic!("{publication:?}: {error}"));
            assert!(report.is_clean(), "a publication is closed in order: {report:?}");
            assert_sound(&engine);
            let (state, _) = self.read_all(&engine).expect("nothing fails");
            let there = &self.publications;
            let differences: Vec<_> = match there.whole.get(&publication.number) {
                Some(expected) => vec![difference(expected, &state)],
                None => there.perhaps.iter().map(|expected| difference(expected, &state)).collect(),
            };
            assert!(differences.iter().any(String::is_empty), "{publication:?}: {differences:#?}");
        }
    }
}
