//! What sealed files and streams hold to, whatever is written and whatever becomes of the disk.

use std::{collections::HashSet, io, sync::Arc};

use super::{
    Keys, Kind, SealedDisk, Sealer, TRAILER_BYTES,
    cipher::new_data_key,
    file::{SEALED_BYTES, UNIT_BYTES},
};
use crate::io::{
    Disk, File, OpenMode,
    sim::{SimDisk, split_mix},
};

const FILE: &str = "pages";

fn sealed(disk: &SimDisk, keys: &Arc<Keys>) -> SealedDisk {
    SealedDisk::new(Arc::new(disk.clone()), Arc::clone(keys))
}

fn contents(file: &dyn File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// A file with these bytes, as somebody else leaves it there.
fn put(disk: &SimDisk, name: &str, bytes: &[u8]) {
    disk.open(name, OpenMode::Create).unwrap().write_at(bytes, 0).unwrap();
}

/// Random bytes, and none of them zero: zeros are what holes have.
fn bytes(random: &mut u64, len: usize) -> Vec<u8> {
    (0..len).map(|_| split_mix(random) as u8 | 1).collect()
}

/// Keeps away: a sealed file that is not what a plain one would be, whatever is written, cut, reserved and given back.
#[test]
fn a_sealed_file_is_a_file() {
    for seed in 0..60 {
        let mut random = seed;
        let keys = Keys::random().unwrap();
        let disk = SimDisk::new(seed);
        let file = sealed(&disk, &keys).open(FILE, OpenMode::Create).unwrap();
        let mut model: Vec<u8> = Vec::new();
        for _ in 0..80 {
            let place = split_mix(&mut random) % (UNIT_BYTES * 70);
            let len = (split_mix(&mut random) % (UNIT_BYTES * 3)) as usize;
            let (at, len) = match split_mix(&mut random) % 3 {
                0 => (place / UNIT_BYTES * UNIT_BYTES, len / UNIT_BYTES as usize * UNIT_BYTES as usize),
                1 => (model.len() as u64, len),
                _ => (place, len),
            };
            let end = at as usize + len;
            match split_mix(&mut random) % 8 {
                0 => {
                    file.set_len(at).unwrap();
                    model.resize(at as usize, 0);
                }
                1 => {
                    file.allocate(at, len as u64).unwrap();
                    if len > 0 {
                        model.resize(model.len().max(end), 0);
                    }
                }
                2 => {
                    file.punch_hole(at, len as u64).unwrap();
                    let (from, to) = ((at as usize).min(model.len()), end.min(model.len()));
                    model[from..to].fill(0);
                }
                _ => {
                    let new = bytes(&mut random, len);
                    file.write_at(&new, at).unwrap();
                    if len > 0 {
                        model.resize(model.len().max(end), 0);
                        model[at as usize..end].copy_from_slice(&new);
                    }
                }
            }
            assert_eq!(file.len().unwrap(), model.len() as u64, "seed {seed}");
            let from = split_mix(&mut random) as usize % (model.len() + 1);
            let mut part = vec![0; split_mix(&mut random) as usize % (model.len() - from + 1)];
            file.read_at(&mut part, from as u64).unwrap();
            assert!(part == model[from..from + part.len()], "seed {seed}");
            let beyond = file.read_at(&mut vec![0; model.len() + 1 - from], from as u64).unwrap_err();
            assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof, "seed {seed}");
        }
        assert!(contents(&*file).unwrap() == model);
        let again = sealed(&disk, &keys).open(FILE, OpenMode::Read).unwrap();
        assert!(contents(&*again).unwrap() == model, "seed {seed}: opened again");
    }
}

/// Keeps away: plain bytes, or a panic, where a unit was changed, cut, moved, or is of another file or database.
#[test]
fn what_was_not_sealed_there_is_an_error() {
    let keys = Keys::random().unwrap();
    let disk = SimDisk::new(1);
    let file = sealed(&disk, &keys).open(FILE, OpenMode::Create).unwrap();
    let plain = bytes(&mut 7, 3 * UNIT_BYTES as usize + 100);
    file.write_at(&plain, 0).unwrap();
    file.sync().unwrap();
    let stored = disk.contents(FILE).unwrap();
    assert_eq!(stored.len() as u64, 3 * SEALED_BYTES + 100 + TRAILER_BYTES as u64);
    assert!(!stored.windows(16).any(|window| window == &plain[..16]), "plain text is on the disk");

    let refused = |disk: &SimDisk, keys: &Arc<Keys>, name: &str, what: &str| {
        let file = sealed(disk, keys).open(name, OpenMode::Read).unwrap();
        let error = contents(&*file).expect_err(what);
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{what}: {error}");
    };
    for at in (0..stored.len()).step_by(97) {
        disk.corrupt(FILE, at as u64, &[stored[at] ^ 0x20]).unwrap();
        refused(&disk, &keys, FILE, &format!("byte {at} flipped"));
        disk.corrupt(FILE, at as u64, &stored[at..=at]).unwrap();
    }
    refused(&disk, &Keys::random().unwrap(), FILE, "keys of another database");
    put(&disk, "segment-1", &stored);
    refused(&disk, &keys, "segment-1", "units of another kind of file");
    let unit = SEALED_BYTES as usize;
    disk.corrupt(FILE, 0, &stored[unit..2 * unit]).unwrap();
    refused(&disk, &keys, FILE, "a unit in another's place");
    disk.corrupt(FILE, 0, &stored).unwrap();
    assert!(contents(&*file).unwrap() == plain, "put back");
    for len in 0..stored.len() {
        let cut = SimDisk::new(2);
        put(&cut, FILE, &stored[..len]);
        let opened = sealed(&cut, &keys).open(FILE, OpenMode::Read).unwrap();
        match contents(&*opened) {
            // Whole units are what they were; that some are missing is seen above, by lengths.
            Ok(read) => assert!(read.len() < plain.len() && read == plain[..read.len()], "cut to {len}"),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidData, "cut to {len}"),
        }
    }
}

/// Keeps away: a write of whole units that harms what is durable beside it when it is torn.
#[test]
fn a_torn_write_leaves_its_neighbours() {
    let unit = UNIT_BYTES as usize;
    for seed in 0..400 {
        let keys = Keys::random().unwrap();
        let disk = SimDisk::new(seed);
        let file = sealed(&disk, &keys).open(FILE, OpenMode::Create).unwrap();
        let mut random = seed;
        let old = bytes(&mut random, 6 * unit);
        file.write_at(&old, 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        let new = bytes(&mut random, 2 * unit);
        file.write_at(&new, UNIT_BYTES).unwrap();
        file.punch_hole(4 * UNIT_BYTES, UNIT_BYTES).unwrap();
        let crashed = sealed(&disk.crash(), &keys).open(FILE, OpenMode::Read).unwrap();
        let mut read = vec![0; unit];
        for number in [0, 3, 5] {
            crashed.read_at(&mut read, number * UNIT_BYTES).unwrap();
            let at = number as usize * unit;
            assert!(read == old[at..at + unit], "seed {seed}: unit {number}");
        }
        for number in [1, 2, 4] {
            let at = number as usize * unit;
            match crashed.read_at(&mut read, number * UNIT_BYTES) {
                Ok(()) => {
                    let is_new = number < 4 && read == new[at - unit..at];
                    let is_hole = number == 4 && read.iter().all(|byte| *byte == 0);
                    assert!(is_new || is_hole || read == old[at..at + unit], "seed {seed}: unit {number}");
                }
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidData, "seed {seed}"),
            }
        }
    }
}

/// Keeps away: what counts, and is harmed by being written once more to make it durable.
#[test]
fn what_is_written_again_is_never_lost() {
    for seed in 0..200 {
        let keys = Keys::random().unwrap();
        let disk = SimDisk::new(seed);
        let file = sealed(&disk, &keys).open(FILE, OpenMode::Create).unwrap();
        let old = bytes(&mut { seed }, UNIT_BYTES as usize * 2);
        file.write_at(&old, 0).unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        file.write_again(0, UNIT_BYTES).unwrap();
        let crashed = sealed(&disk.crash(), &keys).open(FILE, OpenMode::Read).unwrap();
        assert!(contents(&*crashed).unwrap() == old, "seed {seed}");
    }
}

/// Keeps away: a file that cannot grow because a crash cut it in the middle of what was never durable.
#[test]
fn a_torn_end_is_grown_over() {
    let keys = Keys::random().unwrap();
    let disk = SimDisk::new(1);
    let file = sealed(&disk, &keys).open(FILE, OpenMode::Create).unwrap();
    let old = bytes(&mut 3, UNIT_BYTES as usize * 2);
    file.write_at(&old, 0).unwrap();
    let stored = disk.contents(FILE).unwrap();
    let torn = SimDisk::new(2);
    put(&torn, FILE, &stored[..SEALED_BYTES as usize + 1000]);
    let file = sealed(&torn, &keys).open(FILE, OpenMode::ReadWrite).unwrap();
    file.allocate(2 * UNIT_BYTES, UNIT_BYTES).unwrap();
    file.write_at(&old[..UNIT_BYTES as usize], 2 * UNIT_BYTES).unwrap();
    let mut unit = vec![0; UNIT_BYTES as usize];
    for (number, is_there) in [(0, true), (1, false), (2, true)] {
        let read = file.read_at(&mut unit, number * UNIT_BYTES);
        assert_eq!(read.is_ok() && unit[..] == old[..unit.len()], is_there, "unit {number}");
    }
}

/// Keeps away: a nonce that is used twice under one key (N1 to N3), and sealing under a generation that is gone.
#[test]
fn no_nonce_comes_twice() {
    let keys = Keys::random().unwrap();
    let mut seen = HashSet::new();
    let mut seal = |sealer: &Sealer| {
        let mut unit = *b"sixteen bytes, 1";
        let trailer = sealer.seal(b"here", &mut unit).unwrap();
        assert!(seen.insert(trailer[..24].to_vec()), "a stream, generation and counter came twice");
        let mut sealed = [&unit[..], &trailer].concat();
        assert_eq!(keys.open(Kind::Pages, b"here", &mut sealed).unwrap(), b"sixteen bytes, 1");
        u32::from_le_bytes(trailer[12..16].try_into().unwrap())
    };
    for _ in 0..50 {
        // As many openings.
        let sealer = Sealer::new(Arc::clone(&keys), Kind::Pages).unwrap();
        (0..20).for_each(|_| assert_eq!(seal(&sealer), 1));
        sealer.use_up();
        (0..20).for_each(|_| assert_eq!(seal(&sealer), 1));
    }
    let sealer = Sealer::new(Arc::clone(&keys), Kind::Pages).unwrap();
    assert_eq!(seal(&sealer), 1);
    let mut generations = Vec::clone(&keys.data_keys());
    generations.push(new_data_key().unwrap());
    keys.set_data_keys(generations);
    assert_eq!(seal(&sealer), 2, "what is written after a rotation is under the new data key");
}

/// Keeps away: nonces that threads share.
#[test]
fn threads_share_no_nonce() {
    let keys = Keys::random().unwrap();
    let sealer = Sealer::new(Arc::clone(&keys), Kind::Segment).unwrap();
    let work =
        || (0..2000).map(|_| sealer.seal(b"", &mut [0; 4]).unwrap()[..24].to_vec()).collect::<Vec<_>>();
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
}

/// Keeps away: a linked file that cannot be read where it is linked to.
#[test]
fn only_files_of_the_same_keys_are_linked() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let os = |path: &std::path::Path| -> Arc<dyn Disk> {
        Arc::new(crate::io::os::OsDisk::open(path, false).unwrap())
    };
    let (keys, strange) = (Keys::random().unwrap(), Keys::random().unwrap());
    let source = SealedDisk::new(os(one.path()), Arc::clone(&keys));
    source.open("segment-1", OpenMode::Create).unwrap().write_at(b"sealed", 0).unwrap();
    assert!(!os(other.path()).link_from(&source, "segment-1", "segment-1").unwrap(), "to a plain directory");
    assert!(
        !SealedDisk::new(os(other.path()), strange).link_from(&source, "segment-1", "segment-1").unwrap()
    );
    let target = SealedDisk::new(os(other.path()), keys);
    assert!(!target.link_from(&*os(one.path()), "segment-1", "segment-1").unwrap(), "from a plain directory");
    assert!(target.link_from(&source, "segment-1", "segment-1").unwrap());
    let mut read = [0; 6];
    target.open("segment-1", OpenMode::Read).unwrap().read_at(&mut read, 0).unwrap();
    assert_eq!(&read, b"sealed");
}
