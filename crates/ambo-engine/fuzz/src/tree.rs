//! Pages of trees.

use std::sync::{Arc, atomic::AtomicBool};

use ambo_codec::{
    integer::IntegerCodec,
    record::{Dictionary, RecordCodec},
};
use ambo_engine::{
    Result,
    base::btree::{
        BuildOptions, CheckOptions, MergeOptions, RecordCompression, Tree, TreeBuilder, TreeMeta, merge,
    },
    page::{Access, PageKind, PageRange, PageStore, header},
    record::Record,
};

use super::input::Input;

const PAGE: usize = 4096;

/// The number of the dictionary that the store of this thread knows.
const DICTIONARY: u32 = 7;

/// Runs `with` on a store of this thread, which is empty each time: making one takes long. `with` gives back the pages it used.
fn with_store(with: impl FnOnce(&Arc<PageStore>, &Dictionary) -> Vec<PageRange>) {
    thread_local!(static STORE: (Arc<PageStore>, Dictionary) = {
        let samples: Vec<Vec<u8>> = (0..2000).map(sample).collect();
        let samples: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        let dictionary = Dictionary::train(&samples, 4096).expect("enough samples");
        let store = PageStore::memory(PAGE);
        store.dictionaries().insert(DICTIONARY, dictionary.clone());
        (store, dictionary)
    });
    STORE.with(|(store, dictionary)| {
        let pages = with(store, dictionary);
        store.free(pages);
        assert_eq!(store.stats().used_pages, (2 * 4096 / PAGE) as u64, "all but the superblocks' is free");
    });
}

/// A record that is like others.
fn sample(number: u64) -> Vec<u8> {
    format!(
        "order {number} of customer {} is {}",
        number * 7919 % 1000,
        ["open", "paid"][number as usize % 2]
    )
    .into_bytes()
}

/// A root page as the builder makes it, in which then some bytes are changed.
pub fn leaf(bytes: &[u8]) {
    let mut input = Input(bytes);
    let width = input.pick(&[4, 8]);
    let codec = input.byte();
    let keys = IntegerCodec::ALL.get(usize::from(codec) % (IntegerCodec::ALL.len() + 1));
    let codec = input.byte();
    let records = RecordCodec::ALL.get(usize::from(codec) % (RecordCodec::ALL.len() + 1));
    with_store(|store, dictionary| {
        let with_dictionary = codec & 0x80 != 0 && matches!(records, Some(RecordCodec::Zstd { .. }));
        let dictionary = with_dictionary.then(|| (DICTIONARY, dictionary.clone()));
        let options = BuildOptions {
            keys: keys.map(|codec| (*codec, width)),
            records: records.map(|codec| RecordCompression { codec: *codec, dictionary }),
            ..BuildOptions::default()
        };
        let mut builder = TreeBuilder::new(store, options);
        let shape = input.byte();
        let count = u64::from(input.byte()) * [1, 4][usize::from(shape & 1)] + 1;
        let step = 1 + u64::from(input.byte()) * [1, 251][usize::from(shape >> 1 & 1)];
        let odd = [u64::MAX, 16][usize::from(shape >> 2 & 1)];
        for number in 0..count {
            let mut key = (number * step + number / 7 * 3).to_be_bytes()[8 - width..].to_vec();
            // Of another length now and then.
            key.extend((number % odd == 5).then_some(b'x'));
            let value = match shape >> 3 & 3 {
                0 => Vec::new(),
                1 => vec![number as u8; 8],
                2 => sample(number),
                _ => vec![b'r'; (number % 60) as usize],
            };
            let deleted = shape & 0x80 != 0 && number % 9 == 4;
            let record = if deleted { Record::TOMBSTONE } else { Record::inline(&value) };
            builder.push(&key, record).expect("keys ascend");
        }
        let meta = builder.finish().expect("memory has room");
        let tree = Tree::open(Arc::clone(store), meta);
        let mut used = tree.all_pages().expect("a sound tree");
        let mut page = store.read(meta.root, Access::Point).expect("a sound page").to_vec();
        let sound = page.clone();
        // Header and front of the list, the records at the end, or anything: but not what the writer fills in.
        input.damage(&mut page[header::HEADER_BYTES..]);
        used.extend(read(store, TreeMeta { root: meta.root, ..meta }, &page, page != sound));
        drop(tree);
        used
    });
}

/// A page of any bytes behind a header that may fit, as the root of a tree.
pub fn page(bytes: &[u8]) {
    let mut input = Input(bytes);
    let kind = input.pick(&[PageKind::Leaf, PageKind::Inner]);
    let mut page = Vec::with_capacity(PAGE);
    page.extend_from_slice(&[0; header::HEADER_BYTES]);
    let keys = input.number(2) as u32 % 600;
    page.extend_from_slice(&keys.to_le_bytes());
    page.extend_from_slice(&[input.byte() % 5, input.byte() % 4, input.byte() % 9, input.byte() % 9]);
    let (prefix, key_list, suffix) = (input.number(1), 48 + input.number(1) % 8, input.number(2));
    let (records, tombstones, used) = (input.number(2), input.number(1), input.number(2));
    for number in [prefix, key_list, suffix, records, tombstones, used] {
        page.extend_from_slice(&(number as u32).to_le_bytes());
    }
    let (rows, height) = (input.number(2), input.byte() % 3 + 1);
    // What is left is at the front, or at the end where records are.
    let behind = input.byte();
    page.extend_from_slice(&input.0[..input.0.len().min(PAGE - page.len())]);
    page.resize(PAGE, behind);
    if behind & 1 != 0 {
        let records = input.0.len().min(1000);
        page[PAGE - records..].copy_from_slice(&input.0[input.0.len() - records..]);
    }
    header::set_header(&mut page, kind, 0);
    with_store(|store, _| {
        let meta = TreeMeta { rows: rows.max(1), height, ..TreeMeta::default() };
        read(store, meta, &page, true)
    });
}

/// Reads a tree whose root is `page` in every way. Of one that a check finds sound all ways agree. The pages that this took.
fn read(store: &Arc<PageStore>, meta: TreeMeta, page: &[u8], damaged: bool) -> Vec<PageRange> {
    let mut writer = store.writer();
    let root = writer.write(page).expect("memory has room");
    let mut used = writer.finish().expect("memory has room");
    let tree = Tree::open(Arc::clone(store), TreeMeta { root, ..meta });
    let report =
        tree.check(&CheckOptions { tombstones_allowed: true, problems_max: 10 }).expect("only damage");
    let sound = report.problems.is_empty();
    assert!(sound || damaged, "{:?}", report.problems);
    let forward = scan(&tree, true);
    let backward = scan(&tree, false);
    let mut probes: Vec<Vec<u8>> = vec![vec![], vec![0; 4], vec![1], vec![0, 0, 1], vec![0xff; 8]];
    if let Ok(entries) = &forward {
        probes.extend(entries.iter().step_by(entries.len() / 8 + 1).map(|(key, _)| key.clone()));
    }
    for key in &probes {
        let found = tree.get(key).map(|record| record.map(|record| record.to_vec()));
        let mut cursor = tree.cursor();
        let (below, at) =
            (tree.rank(key), cursor.seek_ge(key).map(|there| there.then(|| cursor.key().to_vec())));
        let _ = (cursor.seek_lt(key), cursor.seek_gt(key), cursor.seek_le(key));
        if let (true, Ok(entries)) = (sound, &forward) {
            let place = entries.partition_point(|(other, _)| other < key);
            let expected = entries.get(place).map(|(key, _)| key.clone());
            let there = expected.as_ref() == Some(key);
            assert_eq!(below.expect("sound"), place as u64);
            assert_eq!(at.expect("sound"), expected);
            assert_eq!(found.expect("sound"), there.then(|| entries[place].1.clone()));
        }
    }
    let all = tree.sum_keys(None, None);
    let _ = tree.sum_keys(probes.last().map(Vec::as_slice), Some(&[0x7f; 8]));
    let _ = (tree.nth(0), tree.nth(meta.rows / 2), tree.first_key(), tree.last_key(), tree.all_pages());
    let _ = tree.space(4);
    if sound {
        let (forward, mut backward) = (forward.expect("sound"), backward.expect("sound"));
        backward.reverse();
        assert_eq!(forward.len() as u64, meta.rows);
        assert!(forward == backward && forward.is_sorted_by(|a, b| a.0 < b.0));
        if let Ok(all) = all {
            assert_eq!(all.count, meta.rows);
            let number = |key: &[u8]| key.iter().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
            assert_eq!(all.sum, forward.iter().map(|(key, _)| number(key)).sum::<u128>());
        }
    }
    // One way to merge a time, or it would take most of the time.
    let cancel = AtomicBool::new(false);
    let how = page.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    let (drop_tombstones, rewrite) = (how & 1 != 0, how & 2 != 0);
    let options = MergeOptions { drop_tombstones, rewrite, ..MergeOptions::new(&cancel) };
    let inputs = [Arc::clone(&tree), tree];
    if let Ok(merged) = merge(&inputs[usize::from(how >> 2 & 1)..], &options) {
        used.extend(merged.written);
    }
    used
}

/// All keys and stored records of a tree, as far as it goes.
fn scan(tree: &Arc<Tree>, forward: bool) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut cursor = tree.cursor();
    let mut there = if forward { cursor.seek_first()? } else { cursor.seek_last()? };
    let mut entries = Vec::new();
    while there && entries.len() < 5000 {
        entries.push((cursor.key().to_vec(), cursor.record().bytes.to_vec()));
        there = if forward { cursor.next()? } else { cursor.prev()? };
    }
    Ok(entries)
}
