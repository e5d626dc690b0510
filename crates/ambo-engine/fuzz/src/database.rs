//! A small database whose files are damaged before it is opened.

use ambo_engine::{
    database::{Options, Sync},
    io::{Disk, OpenMode, sim::SimDisk},
};
use crc_fast::{CrcAlgorithm, checksum};

/// The files of a database that is closed, with their names.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// One whose work is done by who asks for it.
pub(crate) fn options() -> Options {
    Options {
        cache_bytes: 1 << 20,
        memtable_bytes: 1 << 20,
        log_segment_bytes: 8 << 10,
        page_size: 4096,
        background_threads: false,
        background_merge: false,
        sync: Sync::Off,
        ..Options::default()
    }
}

/// What is on a disk.
pub(crate) fn files_of(disk: &SimDisk) -> Files {
    let names = disk.list().expect("a disk");
    names.into_iter().map(|name| (name.clone(), disk.contents(&name).expect("a file"))).collect()
}

/// A disk with these files, one of them damaged.
pub(crate) fn damaged(files: &Files, which: &str, damage: impl FnOnce(&mut Vec<u8>)) -> SimDisk {
    let disk = SimDisk::new(2);
    let mut damage = Some(damage);
    for (name, contents) in files {
        let mut contents = contents.clone();
        if name == which
            && let Some(damage) = damage.take()
        {
            damage(&mut contents);
        }
        let file = disk.open(name, OpenMode::Create).expect("a new file");
        file.write_at(&contents, 0).and_then(|()| file.sync()).expect("room");
    }
    disk.sync_directory().expect("a disk");
    disk
}

/// The checksum of bytes as files have it.
pub(crate) fn crc(bytes: &[u8]) -> [u8; 4] {
    (checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32).to_le_bytes()
}
