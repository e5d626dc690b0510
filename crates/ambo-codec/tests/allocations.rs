//! How often point reads ask for memory: never, once the thread has its contexts.
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ambo_codec::record::{Compressor, RecordCodec};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: it passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller keeps the promises that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above, and `place` is of the system's allocator.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// Keeps away a codec that asks for memory for each record that it reads or writes.
#[test]
fn records_need_none() {
    let records: Vec<Vec<u8>> = (1..50usize)
        .map(|id| {
            format!("{{\"id\":{id},\"city\":\"Delft\",\"name\":\"{}\"}}", "name ".repeat(id)).into_bytes()
        })
        .collect();
    for codec in RecordCodec::ALL {
        let mut compressor = Compressor::new(codec, None);
        let (mut stored, mut raw) = (Vec::with_capacity(1 << 12), Vec::with_capacity(1 << 12));
        let mut counts = Vec::new();
        for record in &records {
            stored.clear();
            raw.clear();
            let before = COUNT.get();
            compressor.compress(record, &mut stored);
            codec.decompress_into(None, &stored, record.len(), &mut raw).expect("just compressed");
            counts.push(COUNT.get() - before);
            assert_eq!(&raw, record);
        }
        // The first record makes the contexts.
        assert!(counts[1..].iter().all(|count| *count == 0), "{codec}: {counts:?}");
    }
}
