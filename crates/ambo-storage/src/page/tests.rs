use super::*;
use crate::id::PageNo;

/// A page whose bytes follow from a seed.
fn page(store: &PageStore, units: usize, seed: u64) -> Vec<u8> {
    let mut page: Vec<u8> = (0..units * store.page_size())
        .map(|i| (seed.wrapping_mul(0x9e37_79b9) + i as u64 / 3) as u8)
        .collect();
    header::set_header(&mut page, PageKind::Leaf, 0);
    page
}

fn assert_page(store: &PageStore, ptr: PagePtr, seed: u64) {
    let got = store.read(ptr, Access::Point).unwrap();
    let want = page(store, usize::from(ptr.units()), seed);
    assert_eq!(got[HEADER_BYTES..], want[HEADER_BYTES..], "{ptr:?}");
    header::verify(&got, ptr.number()).unwrap();
}

// Keeps away: pages in memory that are lost, mixed up, or cannot be reused.
#[test]
fn pages_in_memory_keep_their_bytes() {
    let store = PageStore::memory(4096);
    let mut writer = store.writer();
    let mut ptrs = Vec::new();
    for seed in 0..1000u64 {
        let units = if seed % 97 == 0 { 5 } else { 1 };
        ptrs.push((writer.write(&page(&store, units, seed)).unwrap(), seed));
    }
    let written = writer.finish().unwrap();
    for &(ptr, seed) in &ptrs {
        assert_page(&store, ptr, seed);
    }
    store.free(written);
    for (ptr, _) in ptrs {
        assert!(store.read(ptr, Access::Point).is_err());
    }
    assert_eq!(store.allocate(1).unwrap(), PageNo(2));
}
