//! The system's disk, and that the simulated one behaves as it does.

use std::io::ErrorKind;

use super::*;
use crate::io::sim::SimDisk;

fn directory() -> (tempfile::TempDir, Env) {
    let directory = tempfile::tempdir().unwrap();
    let env = Env::os(directory.path(), false).unwrap();
    (directory, env)
}

#[test]
fn both_disks_answer_alike() {
    // Keeps away a simulation that allows what the system refuses, or reads other bytes than it.
    for seed in 0..40 {
        let (_directory, os) = directory();
        let sim = SimDisk::new(seed).env();
        let mut state = seed;
        let mut random = |n: u64| split_mix(&mut state) % n;
        let names = ["a", "b", "c"];
        let mut open: Vec<(Arc<dyn File>, Arc<dyn File>)> = Vec::new();
        for step in 0..200 {
            let name = names[random(3) as usize];
            let context = format!("seed {seed} step {step}");
            let same = |a: io::Result<()>, b: io::Result<()>| {
                assert_eq!(a.map_err(|e| e.kind()), b.map_err(|e| e.kind()), "{context}");
            };
            match random(12) {
                0..2 => {
                    let mode = [OpenMode::Create, OpenMode::ReadWrite][random(2) as usize];
                    match (os.disk.open(name, mode), sim.disk.open(name, mode)) {
                        (Ok(a), Ok(b)) => open.push((a, b)),
                        (a, b) => same(a.map(drop), b.map(drop)),
                    }
                }
                2 if random(3) == 0 => same(os.disk.remove(name), sim.disk.remove(name)),
                3 if random(3) == 0 => {
                    let to = names[random(3) as usize];
                    same(os.disk.rename(name, to), sim.disk.rename(name, to));
                }
                4 => same(os.disk.sync_directory(), sim.disk.sync_directory()),
                what => {
                    if let Some((a, b)) = open.get(random(open.len().max(1) as u64) as usize) {
                        let (offset, len) = (random(20_000), random(9_000));
                        change_both(&**a, &**b, what, offset, len, random(255) as u8 + 1);
                        compare(&**a, &**b, &context);
                    }
                }
            }
            let (mut a, mut b) = (os.disk.list().unwrap(), sim.disk.list().unwrap());
            a.sort();
            b.sort();
            assert_eq!(a, b, "{context}");
        }
    }
}

fn change_both(a: &dyn File, b: &dyn File, what: u64, offset: u64, len: u64, byte: u8) {
    for file in [a, b] {
        match what {
            5 => file.set_len(offset).unwrap(),
            6 if len > 0 => file.allocate(offset, len).unwrap(),
            7 => file.punch_hole(offset, len).unwrap(),
            8 => file.sync().unwrap(),
            _ => file.write_at(&vec![byte; len as usize], offset).unwrap(),
        }
    }
}

fn compare(a: &dyn File, b: &dyn File, context: &str) {
    let len = a.len().unwrap();
    assert_eq!(len, b.len().unwrap(), "{context}");
    let (mut x, mut y) = (vec![0; len as usize], vec![0xFF; len as usize]);
    a.read_at(&mut x, 0).unwrap();
    b.read_at(&mut y, 0).unwrap();
    assert!(x == y, "{context}");
    for file in [a, b] {
        assert_eq!(
            file.read_at(&mut [0; 2], len.saturating_sub(1)).unwrap_err().kind(),
            ErrorKind::UnexpectedEof
        );
    }
}

#[test]
fn space_is_reserved_and_given_back() {
    // Keeps away a `punch_hole` that frees nothing, and a bounded simulated disk that never gets space back.
    let (_directory, os) = directory();
    for env in [os, SimDisk::new(1).env()] {
        let file = env.disk.open("f", OpenMode::Create).unwrap();
        file.allocate(0, 1 << 20).unwrap();
        assert_eq!(file.len().unwrap(), 1 << 20);
        assert!(file.allocated_len().unwrap() >= 1 << 20);
        file.write_at(&[7; 1 << 16], 0).unwrap();
        file.sync().unwrap();
        file.punch_hole(0, 1 << 19).unwrap();
        file.sync().unwrap();
        assert_eq!(file.len().unwrap(), 1 << 20);
        let allocated = file.allocated_len().unwrap();
        assert!((1 << 19..=(1 << 19) + 65_536).contains(&allocated), "{env:?}: {allocated}");
    }
}

#[test]
fn a_lock_keeps_others_out() {
    // Keeps away two writers in one directory, be it from one process.
    let (_directory, os) = directory();
    for env in [os, SimDisk::new(1).env()] {
        let writer = env.disk.lock("lock", true).unwrap().expect("free");
        assert!(env.disk.lock("lock", true).unwrap().is_none());
        assert!(env.disk.lock("lock", false).unwrap().is_none());
        drop(writer);
        let readers = [env.disk.lock("lock", false).unwrap(), env.disk.lock("lock", false).unwrap()];
        assert!(readers.iter().all(Option::is_some));
        assert!(env.disk.lock("lock", true).unwrap().is_none());
        drop(readers);
        assert!(env.disk.lock("lock", true).unwrap().is_some());
    }
}

#[test]
fn a_directory_is_created_only_when_asked() {
    // Keeps away an empty database where the path was mistyped, and files outside the directory.
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("x/y");
    assert!(Env::os(&path, false).is_err());
    let env = Env::os(&path, true).unwrap();
    env.disk.open("f", OpenMode::Create).unwrap();
    assert!(path.join("f").is_file());
    for name in ["", "..", "../f", "a/b"] {
        assert_eq!(env.disk.open(name, OpenMode::Create).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
    assert!(Env::os(path.join("f"), true).is_err());
}

#[test]
fn clocks_advance_and_chance_differs() {
    // Keeps away equal database ids.
    let (_directory, os) = directory();
    let before = os.clock.now();
    assert!(os.clock.now() >= before);
    let other = OsChance::new().unwrap();
    assert_ne!(os.chance.next_u64(), other.next_u64());
}
