//! Superblocks and the free list that they point to.

use ambo_engine::{
    Error,
    budget::MemoryBudget,
    id::{Lsn, PageNo, Timestamp},
    io::{Disk, OpenMode, sim::SimDisk},
    page::{
        FreeListRoot, NAME, PageKind, PageStore, PageStoreOptions, Superblock, header,
        superblock::{CATALOG_BYTES_MAX, SUPERBLOCK_BYTES},
    },
};
use crc_fast::{CrcAlgorithm::Crc32Iscsi, checksum};

use super::input::Input;

const PAGE: usize = 4096;
/// Pages of the file: two copies, a page of the free list, some others.
const PAGES: usize = 12;

/// Two copies with some bytes changed, before or behind the checksum, and a page of the free list. What opens has the bounds that it
/// promises.
pub fn superblock(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut file = vec![0; PAGES * PAGE];
    let latest = u64::from(input.byte() % 4) + 2;
    let list_pages = u32::from(input.byte() % 3);
    let free_pages = u64::from(input.byte() % 16);
    for sequence in [latest - 1, latest] {
        let superblock = Superblock {
            page_size: input.pick(&[PAGE as u32, PAGE as u32, PAGE as u32, 8192]),
            database_id: 7,
            sequence,
            timestamp: Timestamp(sequence),
            log_from: Lsn(sequence * 64),
            file_pages: PAGES as u64,
            free_list: FreeListRoot { first: PageNo(u64::from(list_pages > 0) * 3), list_pages, free_pages },
            catalog: input.take(9).to_vec(),
            other: vec![1; 3],
        };
        let mut copy = superblock.encode();
        let end = SUPERBLOCK_BYTES - 4;
        input.damage(&mut copy[..end]);
        if input.byte() != 0 {
            let crc = checksum(Crc32Iscsi, &copy[..end]) as u32;
            copy[end..].copy_from_slice(&crc.to_le_bytes());
        }
        let at = (sequence % 2) as usize * SUPERBLOCK_BYTES;
        file[at..at + SUPERBLOCK_BYTES].copy_from_slice(&copy);
    }
    for number in 3..3 + list_pages as usize {
        let page = &mut file[number * PAGE..(number + 1) * PAGE];
        let next = if number < 2 + list_pages as usize { number as u64 + 1 } else { 0 };
        page[16..24].copy_from_slice(&next.to_le_bytes());
        page[24..28].copy_from_slice(&u32::from(input.byte() % 8).to_le_bytes());
        let runs = input.string();
        page[32..32 + runs.len()].copy_from_slice(runs);
        input.damage(&mut page[16..]);
        header::set_header(page, PageKind::FreeList, 0);
        page[8..16].copy_from_slice(&(number as u64).to_le_bytes());
        let crc = checksum(Crc32Iscsi, &page[4..]) as u32;
        page[..4].copy_from_slice(&crc.to_le_bytes());
    }
    file.truncate(file.len() - usize::from(input.byte()) * 200 % file.len());
    open(&file);
}

fn open(bytes: &[u8]) {
    let disk = SimDisk::new(0);
    let file = disk.open(NAME, OpenMode::Create).expect("a new file");
    file.write_at(bytes, 0).expect("room");
    let opened = match Superblock::open(&*file) {
        Ok(opened) => opened,
        Err(Error::Damaged { .. } | Error::Invalid(_)) => return,
        Err(error) => panic!("{error}"),
    };
    let found = &opened.superblock;
    assert!(found.page_size.is_power_of_two() && found.catalog.len() <= CATALOG_BYTES_MAX);
    // It comes back as it is from its own encoding.
    let again = disk.open("again", OpenMode::Create).expect("a new file");
    again.set_len(2 * SUPERBLOCK_BYTES as u64).expect("room");
    found.write(&*again).expect("room");
    assert_eq!(&Superblock::open(&*again).expect("just written").superblock, found);
    let options = PageStoreOptions { page_size: PAGE, memory: MemoryBudget::new(64 << 10) };
    match PageStore::open(file, &options, found) {
        Ok(store) => {
            let stats = store.stats();
            assert!(stats.free_pages + stats.used_pages == stats.file_pages);
        }
        Err(Error::Damaged { .. } | Error::Invalid(_)) => {}
        Err(error) => panic!("{error}"),
    }
}
