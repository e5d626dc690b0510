//! Opening a store that another process left behind: closed cleanly, or killed with its write buffer full.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::time::Instant;

use super::lab::Lab;
use super::{Case, kekskv};
use crate::engine::{Kind, Log, Reads, Result, SyncMode};
use crate::measure::disk_bytes;
use crate::options::Options;

/// Share of the write buffer that is filled before the kill, so that no engine settles.
const FILL_SHARE: f64 = 0.75;
/// Bytes of log for which recovery times are stated.
const LOG_UNIT_BYTES: f64 = (256 << 20) as f64;

/// Rows that the case writes.
fn rows(lab: &Lab) -> u64 {
    if lab.case.name == "clean" {
        return lab.records;
    }
    let buffer = (lab.options.buffer_mib << 20) as f64 * FILL_SHARE;
    (buffer as u64 / kekskv::data_set().row_bytes() as u64).min(lab.records)
}

pub(super) fn run(lab: &mut Lab) -> Result<()> {
    let data = kekskv::data_set();
    let killed = lab.case.name == "killed";
    let status = Command::new(std::env::current_exe()?).arg("fill").args(child_flags(lab)).status()?;
    if killed != (status.signal() == Some(9)) || !(killed || status.success()) {
        return Err(format!("the process that fills the store ended with {status}").into());
    }
    let bytes = disk_bytes(&lab.dir) as f64;
    let rows = rows(lab);
    let config = lab.config(&data, rows, Log::On, SyncMode::None, true);
    let start = Instant::now();
    let engine = lab.open(&config)?;
    let mut session = engine.session(Reads::Fresh)?;
    session.get(&data.key(rows / 2), &mut |_| ())?;
    let seconds = start.elapsed().as_secs_f64();
    let phase = if killed { "after a kill" } else { "after a clean close" };
    lab.figure(phase, 1, "time to first read", "s", seconds);
    if killed {
        lab.figure(phase, 1, "time for 256 MiB", "s", seconds * LOG_UNIT_BYTES / bytes.max(1.0));
        let mut found = 0;
        for record in 0..rows {
            let mut right = false;
            session.get(&data.key(record), &mut |value| right = data.matches(record, value))?;
            found += u64::from(right);
        }
        lab.figure(phase, 1, "lost", "records", (rows - found) as f64);
    }
    drop(session);
    engine.close()
}

fn child_flags(lab: &Lab) -> Vec<String> {
    let options = &lab.options;
    let mut flags = vec![
        ("--suite", lab.case.suite.name().to_owned()),
        ("--case", lab.case.name.to_owned()),
        ("--engines", lab.kind.name().to_owned()),
        ("--records", lab.records.to_string()),
        ("--buffer-mib", options.buffer_mib.to_string()),
        ("--dir", lab.dir.display().to_string()),
    ];
    if let Some(mib) = options.cache_mib {
        flags.push(("--cache-mib", mib.to_string()));
    }
    flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]).collect()
}

/// The process that fills the store and closes it, or kills itself.
pub fn fill(case: Case, kind: Kind, options: &Options) -> Result<()> {
    let mut lab = Lab::new(case, kind, options)?;
    let data = kekskv::data_set();
    let rows = rows(&lab);
    let config = lab.config(&data, rows, Log::On, SyncMode::None, true);
    let engine = lab.open(&config)?;
    if case.name == "clean" {
        super::lab::load(&*engine, &data, 0..rows, 1000)?;
        return engine.close();
    }
    let mut session = engine.session(Reads::Fresh)?;
    for record in 0..rows {
        let (key, value) = data.row(record);
        session.put(&key, value)?;
    }
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
    Err("still alive after a kill".into())
}
