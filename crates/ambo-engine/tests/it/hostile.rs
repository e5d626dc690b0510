//! The fuzz targets, for a moment, on bytes from a fixed seed and on their corpus: they need no nightly compiler here.

#[path = "../../fuzz/src/lib.rs"]
mod targets;

use std::{collections::BTreeSet, fs, path::Path};

use crate::support::Random;

/// Bytes that look like lengths, counts and small numbers more often than noise does.
fn noise(random: &mut Random) -> Vec<u8> {
    let common = [0x00, 0x01, 0x02, 0x03, 0x10, 0x7f, 0x80, 0xff];
    let byte = |number: u64| match number >> 8 & 3 {
        0 => common[(number & 7) as usize],
        1 => number as u8 & 0x0f,
        _ => number as u8,
    };
    let len = 1 << (2 + random.below(8));
    (0..random.below(len)).map(|_| byte(random.next())).collect()
}

fn run(name: &str, rounds: u64) {
    let mut random = Random::new(0xF022);
    (0..rounds).for_each(|_| targets::run(name, &noise(&mut random)));
}

// Keeps away: a panic, memory without bound, or two readings of the same page, on damaged pages and on bytes that nobody wrote.
#[test]
fn trees() {
    run("tree_leaf", 300);
    run("tree_page", 2_000);
}

// Keeps away: the same on groups, and rows that nobody wrote.
#[test]
fn logs() {
    run("log_group", 1_500);
    run("log_segment", 500);
}

// Keeps away: the same on superblocks and free lists.
#[test]
fn superblocks() {
    run("superblock", 500);
}

// Keeps away: the same on the catalog's rows, and a definition that is valid but cannot be used.
#[test]
fn catalogs() {
    run("catalog_row", 10_000);
    run("table_definition", 50_000);
}

// Keeps away: the same on references to blobs, chunks and their index.
#[test]
fn blobs() {
    run("blob_reference", 20_000);
    run("blob_chunks", 300);
}

// Keeps away: the same on segments of column tables, whatever reads them.
#[test]
fn segments() {
    run("segment", 1_500);
}

// Keeps away: the same on extents of append tables.
#[test]
fn extents() {
    run("extent", 1_500);
}

// Keeps away: the same on postings of indexes in files.
#[test]
fn postings() {
    run("posting", 1_500);
}

// Keeps away: what was found once, and what fuzzing found that leads to rare code.
#[test]
fn corpus() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in targets::TARGETS {
        for entry in fs::read_dir(root.join(name)).into_iter().flatten() {
            target(&fs::read(entry.expect("an entry").path()).expect("a file"));
        }
    }
}

// Keeps away: a target that the tests, or the fuzzer, do not know.
#[test]
fn all_targets_are_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let stems = fs::read_dir(folder).expect("the folder of targets").map(|entry| {
        let path = entry.expect("an entry").path();
        path.file_stem().expect("a name").to_string_lossy().into_owned()
    });
    let known: BTreeSet<String> = targets::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(stems.collect::<BTreeSet<_>>(), known);
}
