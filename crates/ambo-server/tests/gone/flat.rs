//! Results that are larger than the memory that they may have.

use std::{path::PathBuf, process::Command, time::Duration};

use ambo_server::Protocol;

use crate::{idle::resident, support::Served};

/// Bytes of a row.
const BYTES: usize = 1000;
/// How much more memory a result may have than another of a tenth of its rows, with what other tests do meanwhile.
const MOST: usize = 128 << 20;

/// Has a program read so many rows by Flight; returns how much memory the server had at most.
fn read(python: &PathBuf, address: &str, rows: usize) -> usize {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/reads_by_flight.py");
    let mut command = Command::new(python);
    command.arg("-B").arg(script).args([address, &rows.to_string(), &BYTES.to_string()]);
    let mut child = crate::support::start(command);
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(resident());
        std::thread::sleep(Duration::from_millis(5));
    }
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    most
}

// Keeps away: rows that are made ahead of who takes them.
#[test]
fn a_large_result_of_flight_needs_little_memory() {
    let served = Served::with("", |options| options.flight("127.0.0.1:0".parse().unwrap()));
    let address = served.running().address(Protocol::Flight).unwrap().to_string();
    let python = std::env::var_os("AMBO_SERVER_PYTHON");
    let python =
        python.expect("AMBO_SERVER_PYTHON names no Python with ADBC: `make test` makes one and says where");
    let python = PathBuf::from(python);
    let few = read(&python, &address, 100_000);
    let many = read(&python, &address, 1_000_000);
    let more = many.saturating_sub(few);
    assert!(more < MOST, "a result of {} bytes had {more} more in memory", 1_000_000 * BYTES);
}
