//! Tests of trees with compressed keys and records.

use std::{
    ops::ControlFlow,
    sync::{Arc, atomic::AtomicBool},
};

use ambo_codec::{
    integer::IntegerCodec,
    record::{Compressor, Dictionary, RecordCodec},
    varint,
};
use ambo_pages::page::{Access, BlobReader, BlobRef, PageStore};
use ambo_types::record::Record;
use proptest::prelude::*;

use super::{tests::*, *};
use crate::conformance::{self, Model};

fn options(keys: Option<(IntegerCodec, usize)>, records: Option<RecordCodec>) -> BuildOptions {
    let records = records.map(|codec| RecordCompression { codec, dictionary: None });
    BuildOptions { keys, records, ..BuildOptions::default() }
}

fn build_with(store: &Arc<PageStore>, model: &Model, options: BuildOptions) -> Arc<Tree> {
    let mut builder = TreeBuilder::new(store, options);
    for (key, value) in model {
        let record = value.as_ref().map_or(Record::TOMBSTONE, |value| Record::inline(value));
        builder.push(key, record).unwrap();
    }
    Tree::open(Arc::clone(store), builder.finish().unwrap())
}

/// Numbers as they are in real tables: dense, with holes, clustered, anywhere, at the ends.
fn numbers(wide: bool) -> impl Strategy<Value = Vec<u64>> {
    let max = if wide { u64::MAX } else { u64::from(u32::MAX) };
    let dense = (0..max / 2, 1u64..5, 1usize..2000)
        .prop_map(|(from, step, len)| (0..len as u64).map(|n| from + n * step).collect::<Vec<_>>());
    let anywhere = proptest::collection::vec(0..=max, 1..400);
    let ends = proptest::collection::vec(prop_oneof![0u64..3, (max - 2)..=max], 1..4);
    (dense, anywhere, ends).prop_map(|(mut all, more, ends)| {
        all.extend(more);
        all.extend(ends);
        all
    })
}

fn values() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop_oneof![
        1 => Just(None),
        4 => Just(Some(vec![7; 8])),
        4 => (0usize..600, any::<u8>()).prop_map(|(len, byte)| Some(vec![byte; len])),
        2 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(Some),
        1 => (1000usize..9000).prop_map(|len| Some((0..len).map(|n| (n / 9) as u8).collect())),
    ]
}

fn model(wide: bool) -> impl Strategy<Value = Model> {
    (numbers(wide), proptest::collection::vec(values(), 1..40), any::<bool>()).prop_map(
        move |(numbers, values, alike)| {
            let key = |number: u64| {
                if wide { number.to_be_bytes().to_vec() } else { (number as u32).to_be_bytes().to_vec() }
            };
            let value = |index: usize| values[if alike { 0 } else { index % values.len() }].clone();
            numbers.into_iter().enumerate().map(|(index, number)| (key(number), value(index))).collect()
        },
    )
}

fn key_codec() -> impl Strategy<Value = Option<IntegerCodec>> {
    prop_oneof![
        1 => Just(None),
        6 => proptest::sample::select(IntegerCodec::ALL.to_vec()).prop_map(Some),
    ]
}

fn record_codec() -> impl Strategy<Value = Option<RecordCodec>> {
    prop_oneof![
        1 => Just(None),
        2 => proptest::sample::select(RecordCodec::ALL.to_vec()).prop_map(Some),
    ]
}

fn sum(model: &Model) -> KeySum {
    let mut sum = KeySum::default();
    model.keys().for_each(|key| sum.add(key));
    sum
}

/// Visits a range leaf by leaf, with pauses, bounds within leaves and steps between.
fn visit_in_steps(tree: &Arc<Tree>, model: &Model, lower: &[u8], upper: &[u8]) {
    let expected: Vec<_> = model.range(lower.to_vec()..upper.to_vec()).collect();
    for pause in [1, 3, usize::MAX] {
        for with_keys in [true, false] {
            let (mut cursor, mut seen) = (tree.cursor(), 0);
            cursor.seek_ge(lower).unwrap();
            while seen < expected.len() {
                // Up to a key that is near, as where newer rows lie between.
                let bound = expected.get(seen + pause.min(40)).map_or(upper, |(key, _)| key);
                let mut left = pause;
                let visit = |key: &[u8], record: Record<'_>| {
                    let (expected, value) = &expected[seen];
                    assert_eq!(key, if with_keys { expected } else { &[][..] });
                    assert_eq!(super::tests::value(&tree.store, record), **value);
                    (seen, left) = (seen + 1, left - 1);
                    Ok(if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                };
                let visited = cursor.visit_leaf(Some(bound), with_keys, visit).unwrap();
                assert!(visited > 0, "{seen} of {}", expected.len());
                if seen < expected.len() {
                    assert_eq!(cursor.key(), expected[seen].0);
                }
            }
            assert!(!cursor.is_valid() || cursor.key() == upper);
            let none = |_: &[u8], _: Record<'_>| panic!("behind the bound");
            assert_eq!(cursor.visit_leaf(Some(upper), with_keys, none).unwrap(), 0);
        }
    }
}

/// The separator at the position of an entry is the one in front of its leaf.
fn cut(tree: &Arc<Tree>) {
    let (mut walker, mut first) = (walk::LeafWalker::new(tree), 0);
    while walker.advance().unwrap() {
        let lower = (first > 0).then(|| walker.lower().to_vec());
        for position in [first, first + walker.entries() / 2, first + walker.entries() - 1] {
            assert_eq!(tree.separator_at(position).unwrap(), lower, "{position}");
        }
        first += walker.entries();
    }
    assert_eq!(first, tree.meta().rows);
    assert_eq!(tree.separator_at(first).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    // Keeps away: keys or records that come back otherwise once they are compressed, by any way of reading; sums of blocks that are
    // not the sums of their keys.
    #[test]
    fn compressed_trees_conform(
        (wide, model) in any::<bool>().prop_flat_map(|wide| (Just(wide), model(wide))),
        keys in key_codec(),
        records in record_codec(),
    ) {
        let store = PageStore::memory(PAGE);
        let width = if wide { 8 } else { 4 };
        let tree = build_with(&store, &model, options(keys.map(|codec| (codec, width)), records));
        check(&tree, true);
        conformance::compare(&TreeSubject(Arc::clone(&tree)), &model);
        prop_assert_eq!(tree.sum_keys(None, None).unwrap(), sum(&model));
        let keys: Vec<_> = model.keys().cloned().collect();
        let (lower, upper) = (&keys[keys.len() / 3], &keys[keys.len() * 2 / 3]);
        let range = model.range(lower.clone()..upper.clone()).map(|(key, value)| (key.clone(), value.clone()));
        prop_assert_eq!(tree.sum_keys(Some(lower), Some(upper)).unwrap(), sum(&range.collect()));
        visit_in_steps(&tree, &model, lower, upper);
        cut(&tree);
    }

    // Keeps away: keys of other lengths that lose entries in a tree that compresses keys, and merges that take a leaf or a record
    // for one of the codec that the new tree has.
    #[test]
    fn codecs_change_with_merges(
        (older, newer) in any::<bool>().prop_flat_map(|wide| (model(wide), model(wide))),
        (first, second, third) in (key_codec(), key_codec(), key_codec()),
        (fourth, fifth, sixth) in (record_codec(), record_codec(), record_codec()),
        width in prop_oneof![Just(4usize), Just(8)],
        rewrite in any::<bool>(),
    ) {
        let store = PageStore::memory(PAGE);
        let with = |keys: Option<IntegerCodec>, records| options(keys.map(|codec| (codec, width)), records);
        let inputs =
            [build_with(&store, &newer, with(first, fourth)), build_with(&store, &older, with(second, fifth))];
        let cancel = AtomicBool::new(false);
        let mut options = MergeOptions { drop_tombstones: true, rewrite, ..MergeOptions::new(&cancel) };
        options.build = with(third, sixth);
        let merged = merge(&inputs, &options).unwrap();
        if rewrite {
            prop_assert_eq!(merged.adopted_leaves, 0);
            prop_assert!(!merged.meta.compression.mixed);
        }
        let mut model = older;
        model.extend(newer);
        model.retain(|_, value| value.is_some());
        let tree = Tree::open(Arc::clone(&store), merged.meta);
        check(&tree, false);
        conformance::compare(&TreeSubject(tree), &model);
    }
}

// Keeps away: a change of the formats that nobody noticed.
#[test]
fn the_worked_examples_hold() {
    let mut draft = draft::LeafDraft::new(PAGE, Some((IntegerCodec::VByte, 4)));
    let mut model = Model::new();
    for number in [10u32, 11, 15].into_iter().chain((0..250).map(|n| 0x0100_0000 + n * 0x0001_0000)) {
        let key = number.to_be_bytes();
        assert!(draft.push(&draft::Entry::plain(&key, Record::inline(b""), 0, 0)));
        model.insert(key.to_vec(), Some(Vec::new()));
    }
    let (page, _) = draft.encode();
    // 253 keys are one block of up to 256.
    assert_eq!(page[20], 3, "key encoding");
    assert_eq!(page[23], IntegerCodec::VByte as u8);
    assert_eq!(page[48..52], [10, 0, 0, 0], "the first key");
    assert_eq!(page[52..54], [0, 0], "where its block begins");
    assert_eq!(page[54..56], [0, 3], "the gaps, less one each");

    let zeros = RecordCompression { codec: RecordCodec::ElektRle, dictionary: None };
    let mut packer = packed::Packer::new(&zeros);
    let packed = packer.pack(&[0; 40]).unwrap().to_vec();
    assert_eq!(packed[..2], [1, 40]);
    let mut alone = Vec::new();
    Compressor::new(RecordCodec::ElektRle, None).compress(&[0; 40], &mut alone);
    assert_eq!(packed[2..], alone);
    let store = PageStore::memory(PAGE);
    let mut value = Vec::new();
    assert_eq!(packed::unpack(&store, &packed, &mut value), Ok(()));
    assert_eq!(value, [0; 40]);
}

// Keeps away: a panic, or a read outside of the page, on compressed pages that are damaged or hostile.
#[test]
fn damaged_compressed_pages_never_panic() {
    let store = PageStore::memory(PAGE);
    let mut runner = proptest::test_runner::TestRunner::default();
    let damage = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..5);
    let inputs =
        (any::<bool>().prop_flat_map(|wide| (Just(wide), model(wide))), key_codec(), record_codec(), damage);
    runner
        .run(&inputs, |((wide, model), keys, records, damage)| {
            let width = if wide { 8 } else { 4 };
            let tree = build_with(&store, &model, options(keys.map(|codec| (codec, width)), records));
            let mut walker = walk::LeafWalker::new(&tree);
            walker.advance().unwrap();
            let leaf = walker.leaf();
            let mut page = store.read(leaf, Access::Point).unwrap().to_vec();
            for (at, byte, place) in &damage {
                let range = 16..[54, 400, page.len()][usize::from(*place)];
                page[range.start + at.index(range.len())] = *byte;
            }
            let meta = TreeMeta { root: write_page(&store, &page), height: 1, ..*tree.meta() };
            let keys: Vec<_> = model.keys().cloned().collect();
            let damaged = Tree::open(Arc::clone(&store), meta);
            exercise(&damaged, &keys);
            let _ = damaged.sum_keys(None, None);
            let _ = damaged.sum_keys(keys.first().map(Vec::as_slice), keys.last().map(Vec::as_slice));
            Ok(())
        })
        .unwrap();
}

// Keeps away: compression that does not compress.
#[test]
fn dense_keys_take_next_to_nothing() {
    let store = PageStore::memory(16 << 10);
    let model: Model = (0..1_000_000u32).map(|n| (n.to_be_bytes().to_vec(), Some(Vec::new()))).collect();
    let pages = |keys| build_with(&store, &model, options(keys, None)).meta().leaf_pages;
    let plain = pages(None);
    for codec in IntegerCodec::ALL {
        let packed = pages(Some((codec, 4)));
        assert!(packed * 3 < plain * 2, "{codec}: {packed} pages, without {plain}");
    }
    let packed = build_with(&store, &model, options(Some((IntegerCodec::Bp128, 4)), None));
    assert!(
        packed.meta().leaf_pages * 10 < plain,
        "bp128: {} pages, without {plain}",
        packed.meta().leaf_pages
    );
    let (all, some) = (packed.space(u64::MAX).unwrap(), packed.space(2).unwrap());
    assert!(all.keys * 10 < packed.meta().key_bytes, "{all:?}");
    assert_eq!(all.records, 0);
    assert_eq!(all.used, some.used);
    assert!(some.keys.abs_diff(all.keys) * 20 < all.keys, "{some:?}, {all:?}");
}

// Keeps away: long values that are not compressed, or that cannot be read in part.
#[test]
fn blobs_are_compressed() {
    let store = PageStore::memory(PAGE);
    let value: Vec<u8> = (0..1_000_003u32).map(|n| (n / 1000 + n % 7) as u8).collect();
    let model: Model = [(b"key".to_vec(), Some(value.clone()))].into();
    for codec in RecordCodec::ALL {
        let tree = build_with(&store, &model, options(None, Some(codec)));
        check(&tree, false);
        if codec != RecordCodec::FirebirdRle && codec != RecordCodec::ElektRle {
            assert!(tree.meta().blob_pages * 2 < (value.len() / PAGE) as u64, "{codec}");
        }
        let record = tree.get(b"key").unwrap().unwrap();
        let mut reader = BlobReader::new(&store, BlobRef::decode(&record).unwrap()).unwrap();
        assert_eq!(reader.read_all().unwrap(), value);
        let mut part = [0; 1000];
        for offset in [999_500, 131_000, 0, 262_144] {
            let len = reader.read_at(offset, &mut part).unwrap();
            assert_eq!(part[..len], value[offset as usize..][..len]);
        }
    }
}

// Keeps away: a record that is decompressed with another dictionary than its own.
#[test]
fn each_record_has_its_own_dictionary() {
    let store = PageStore::memory(PAGE);
    let codec = RecordCodec::Zstd { level: 3 };
    let text = |words: [&str; 2], number: usize| {
        format!("{} {number} {} {}", words[0], words[1], number * 31 % 1000).into_bytes()
    };
    let mut packed = Vec::new();
    for (id, words) in
        [(1, ["order", "of customer"]), (2, ["flight", "to airport"]), (300, ["item", "in basket"])]
    {
        let samples: Vec<Vec<u8>> = (0..2000).map(|number| text(words, number)).collect();
        let samples: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        let dictionary = Dictionary::train(&samples, 2048).unwrap();
        store.dictionaries().insert(id, dictionary.clone());
        let compression = RecordCompression { codec, dictionary: Some((id, dictionary)) };
        let raw = [text(words, 77), text(words, 78)].concat();
        packed.push((packed::Packer::new(&compression).pack(&raw).unwrap().to_vec(), raw));
    }
    let mut value = Vec::new();
    for (packed, raw) in &packed {
        assert_eq!(packed::unpack(&store, packed, &mut value), Ok(()));
        assert_eq!(&value, raw);
    }
    store.dictionaries().remove(300);
    assert!(packed::unpack(&store, &packed[2].0, &mut value).is_err());
}

// Keeps away: a record in a leaf that says to be longer than any, and is believed.
#[test]
fn packed_records_have_a_longest() {
    let store = PageStore::memory(PAGE);
    let form = |len: usize| {
        let mut packed = vec![RecordCodec::ElektRle.number()];
        varint::encode(len as u64, &mut packed);
        Compressor::new(RecordCodec::ElektRle, None).compress(&vec![0; len], &mut packed);
        packed
    };
    let mut value = Vec::new();
    let longest = packed::PACKED_BYTES_MAX;
    assert_eq!(packed::unpack(&store, &form(longest), &mut value), Ok(()));
    assert_eq!(value.len(), longest);
    assert!(packed::unpack(&store, &form(longest + 1), &mut value).is_err());
    assert!(packed::unpacked_len(&form(longest + 1)).is_err());
}

// Keeps away: a record that takes more room compressed than it would as it is, and work on what is too short to gain.
#[test]
fn records_are_only_packed_where_that_is_smaller() {
    let mut state = 7;
    let noise: Vec<u8> = (0..400).map(|_| ambo_pages::io::sim::split_mix(&mut state) as u8).collect();
    for codec in RecordCodec::ALL {
        let mut packer = packed::Packer::new(&RecordCompression { codec, dictionary: None });
        assert_eq!(packer.pack(&noise), None, "{codec}");
        assert_eq!(packer.pack(&[0; 7]), None, "{codec}");
        assert!(packer.pack(&[0; 400]).is_some_and(|packed| packed.len() < 50), "{codec}");
    }
}

// Keeps away: records that stay in the codec of before when all is to be written anew.
#[test]
fn rewriting_changes_the_codec_of_records() {
    let store = PageStore::memory(PAGE);
    let model: Model = (0..3000u32)
        .map(|n| (n.to_be_bytes().to_vec(), Some(format!("{:060} and once more {:060}", n, n).into_bytes())))
        .collect();
    let cancel = AtomicBool::new(false);
    let zstd = Some(RecordCodec::Zstd { level: 3 });
    let fresh = build_with(&store, &model, options(None, zstd)).space(u64::MAX).unwrap().records;
    for before in [None, Some(RecordCodec::FirebirdRle), Some(RecordCodec::Lz4)] {
        let tree = build_with(&store, &model, options(None, before));
        let mut options_of = MergeOptions { rewrite: true, ..MergeOptions::new(&cancel) };
        options_of.build = options(None, zstd);
        let merged = Tree::open(Arc::clone(&store), merge(&[tree], &options_of).unwrap().meta);
        assert_eq!(merged.space(u64::MAX).unwrap().records, fresh, "{before:?}");
    }
}
