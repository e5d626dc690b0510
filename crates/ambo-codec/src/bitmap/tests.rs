use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{container::LIST_MAX, *};

/// Positions of one container: lists, bits, inverted lists and runs, near their crossovers as well.
fn container() -> impl Strategy<Value = BTreeSet<u64>> {
    let near = prop_oneof![1u64..40, 4090u64..4100, 500u64..3000];
    let sparse = (near, any::<u64>());
    prop_oneof![
        sparse.clone().prop_map(|(count, seed)| scattered(count, seed)),
        sparse.prop_map(|(count, seed)| {
            let gone = scattered(count, seed);
            (0..65_536).filter(|low| !gone.contains(low)).collect()
        }),
        (1u64..100, any::<u64>()).prop_map(|(tenths, seed)| {
            let mut random = seed;
            (0..65_536).filter(|_| next(&mut random) % 100 < tenths).collect()
        }),
        prop::collection::vec((0u64..65_536, 1u64..9_000), 1..6).prop_map(|runs| {
            runs.into_iter().flat_map(|(first, len)| first..(first + len).min(65_536)).collect()
        }),
        Just((0..65_536).collect()),
    ]
}

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*random ^ *random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn scattered(count: u64, mut seed: u64) -> BTreeSet<u64> {
    let mut set = BTreeSet::new();
    while (set.len() as u64) < count {
        set.insert(next(&mut seed) % 65_536);
    }
    set
}

/// A few containers, near and far apart.
fn model() -> impl Strategy<Value = BTreeSet<u64>> {
    let key = prop_oneof![4 => 0u64..3, 1 => Just(300), 1 => Just(0xffff_ffff_ffff)];
    prop::collection::vec((key, container()), 0..4).prop_map(|containers| {
        let shifted = |(key, lows): (u64, BTreeSet<u64>)| lows.into_iter().map(move |low| key << 16 | low);
        containers.into_iter().flat_map(shifted).collect()
    })
}

fn bitmap(model: &BTreeSet<u64>) -> Bitmap {
    Bitmap::from_sorted(model.iter().copied()).expect("a set ascends")
}

/// The same set without runs.
fn changed(model: &BTreeSet<u64>) -> Bitmap {
    let mut bitmap = bitmap(model);
    for probe in [0u64, 1, 2, 300, 0xffff_ffff_ffff].map(|key| key << 16 | 77) {
        if bitmap.insert(probe) {
            bitmap.remove(probe);
        } else {
            bitmap.remove(probe);
            bitmap.insert(probe);
        }
    }
    bitmap
}

fn bytes(set: &impl Positions) -> Vec<u8> {
    let mut bytes = Vec::new();
    set.encode(&mut bytes);
    bytes
}

/// That a result has the positions of the model, is sound, and has the one form on disk.
fn same(result: &Bitmap, expected: &BTreeSet<u64>) -> Result<(), TestCaseError> {
    prop_assert_eq!(result.cardinality(), expected.len() as u64);
    prop_assert!(result.iter().eq(expected.iter().copied()));
    let encoded = bytes(result);
    prop_assert!(encoded == bytes(&bitmap(expected)), "the encoding depends on the way to the set");
    let view = BitmapRef::parse(&encoded).expect("just encoded");
    prop_assert_eq!(view.check(), Ok(()));
    prop_assert!(result.equals(&view) && Bitmap::decode(&encoded).as_ref() == Ok(result));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // Keeps away a set operation that gains or loses positions for some pair of container kinds.
    #[test]
    fn set_operations(x in model(), y in model()) {
        let and = &x & &y;
        let or = &x | &y;
        let and_not = &x - &y;
        let xor = &x ^ &y;
        let y_bytes = bytes(&bitmap(&y));
        let view = BitmapRef::parse(&y_bytes).expect("just encoded");
        for left in [bitmap(&x), changed(&x)] {
            for right in [bitmap(&y), changed(&y)] {
                same(&left.and(&right), &and)?;
                same(&left.or(&right), &or)?;
                same(&left.and_not(&right), &and_not)?;
                same(&left.xor(&right), &xor)?;
                prop_assert_eq!(left == right, x == y);
            }
            same(&left.and(&view), &and)?;
            same(&left.or(&view), &or)?;
            same(&view.xor(&left), &xor)?;
        }
    }

    // Keeps away a look-up that disagrees with the positions.
    #[test]
    fn reads(x in model(), probes in prop::collection::vec((0u64..4, 0u64..65_536), 20)) {
        let encoded = bytes(&bitmap(&x));
        let view = BitmapRef::parse(&encoded).expect("just encoded");
        reads_of(&bitmap(&x), &x, &probes)?;
        reads_of(&changed(&x), &x, &probes)?;
        reads_of(&view, &x, &probes)?;
    }

    // Keeps away a change that hits another position, another version, or leaves a container in a wrong form.
    #[test]
    fn changes(x in model(), steps in prop::collection::vec((0u64..3, 0u64..65_536, any::<bool>(), 0u64..70_000), 1..30)) {
        let original = bitmap(&x);
        let mut changed = original.clone();
        let mut model = x.clone();
        for (key, low, wanted, len) in steps {
            let position = key << 16 | low;
            // Most steps change one position, some a range.
            let range = position..position + if len > 60_000 { len } else { 1 };
            match (wanted, range.end - range.start) {
                (true, 1) => prop_assert_eq!(changed.insert(position), model.insert(position)),
                (false, 1) => prop_assert_eq!(changed.remove(position), model.remove(&position)),
                (true, _) => {
                    changed.insert_range(range.clone());
                    model.extend(range);
                }
                (false, _) => {
                    changed.remove_range(range.clone());
                    model.retain(|position| !range.contains(position));
                }
            }
        }
        same(&changed, &model)?;
        same(&original, &x)?;
    }

    // Keeps away many-way operations that differ from one after the other.
    #[test]
    fn many(models in prop::collection::vec(model(), 0..5)) {
        let sets: Vec<_> = models.iter().map(bitmap).collect();
        let union = models.iter().flatten().copied().collect();
        same(&Bitmap::union(&sets), &union)?;
        let all = models.iter().skip(1).fold(models.first().cloned().unwrap_or_default(), |all, set| &all & set);
        same(&Bitmap::intersection(&sets), &all)?;
    }
}

fn reads_of(set: &impl Positions, x: &BTreeSet<u64>, probes: &[(u64, u64)]) -> Result<(), TestCaseError> {
    prop_assert_eq!(set.first(), x.first().copied());
    prop_assert_eq!(set.last(), x.last().copied());
    prop_assert_eq!(set.is_empty(), x.is_empty());
    prop_assert_eq!(set.select(x.len() as u64), None);
    let sorted: Vec<u64> = x.iter().copied().collect();
    for &(key, low) in probes {
        let position = key << 16 | low;
        prop_assert_eq!(set.contains(position), x.contains(&position));
        let rank = sorted.partition_point(|&other| other < position);
        prop_assert_eq!(set.rank(position), rank as u64);
        let nth = low as usize % sorted.len().max(1);
        prop_assert_eq!(set.select(nth as u64), sorted.get(nth).copied());
        let range = position..=position + 70_000 * (low % 2) + low % 1000;
        prop_assert!(set.range(range.clone()).eq(x.range(range).copied()));
        let start = position & !63;
        let expected: Vec<u64> = (0..20).map(|word| mask_word(x, start + 64 * word)).collect();
        let mut mask = [7; 20];
        set.mask(start, &mut mask);
        prop_assert_eq!(&mask[..], &expected[..]);
        let selection: Vec<u64> = (0..20).map(|word: u64| word.wrapping_mul(0x1234_5678_9abc_def1)).collect();
        let mut kept = selection.clone();
        set.select_from(start, &mut kept);
        let mut left = selection.clone();
        set.deselect_from(start, &mut left);
        for (word, mask) in expected.iter().enumerate() {
            prop_assert_eq!(kept[word], selection[word] & mask);
            prop_assert_eq!(left[word], selection[word] & !mask);
        }
    }
    Ok(())
}

fn mask_word(x: &BTreeSet<u64>, start: u64) -> u64 {
    x.range(start..start + 64).fold(0, |word, position| word | 1 << (position - start))
}

// Keeps away a crossover that is off by one: each form is the smallest.
#[test]
fn crossovers() {
    let every_second =
        |count: u64| bytes(&Bitmap::from_sorted((0..count).map(|n| 2 * n)).expect("ascending")).len();
    let header = 4 + 2 + 2;
    let most = u64::from(LIST_MAX);
    assert_eq!(every_second(most), header + 2 * most as usize);
    assert_eq!(every_second(most + 1), header + 8192);
    let all_but = |count: u64| {
        let mut set = Bitmap::from_range(0..65_536);
        (0..count).for_each(|n| assert!(set.remove(2 * n)));
        bytes(&set).len()
    };
    assert_eq!(all_but(0), header);
    assert_eq!(all_but(1), header + 2);
    assert_eq!(all_but(most), header + 2 * most as usize);
    assert_eq!(all_but(most + 1), header + 8192);
    assert_eq!(bytes(&Bitmap::from_range(10..60_000)).len(), header + 4);
}

// Keeps away a change of the format: the example of its documentation.
#[test]
fn worked_example() {
    let set = Bitmap::from_sorted([3, 5].into_iter().chain(65_536..131_072)).expect("ascending");
    let example =
        [0x01, 0x18, 0x02, 0x00, 0x01, 0x00, 0xff, 0xff, 0x04, 0x00, 0x04, 0x00, 0x03, 0x00, 0x05, 0x00];
    assert_eq!(bytes(&set), example);
    let runs = Bitmap::from_range(10..=1_000);
    assert_eq!(bytes(&runs), [0x01, 0x18, 0x01, 0x00, 0xde, 0x03, 0x05, 0x00, 0x0a, 0x00, 0xde, 0x03]);
    assert_eq!(bytes(&Bitmap::new()), [0x01, 0x10, 0x00, 0x00]);
}

// Keeps away damage that is answered instead of reported.
#[test]
fn damage_is_found() {
    let sets = [
        Bitmap::from_sorted((0..1000).map(|n| 3 * n)).expect("ascending"),
        Bitmap::from_sorted((0..9000).map(|n| 3 * n)).expect("ascending"),
        Bitmap::from_sorted((0..9000).map(|n| n / 100 * 200 + n % 100)).expect("ascending"),
    ];
    for set in sets {
        let good = bytes(&set);
        for len in 0..good.len() {
            assert!(Bitmap::decode(&good[..len]).is_err(), "cut to {len} bytes");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            // A flipped bit may give another set, but a sound one.
            if let Ok(other) = Bitmap::decode(&bad) {
                assert_ne!(other, set, "bit 4 of byte {at}");
                assert!(other.iter().is_sorted_by(|a, b| a < b), "bit 4 of byte {at}");
                assert_eq!(other.iter().count() as u64, other.cardinality(), "bit 4 of byte {at}");
            }
        }
        assert!(Bitmap::decode(&[&good[..], &[0]].concat()).is_err());
    }
}

// Keeps away a set made of positions that are not ascending.
#[test]
fn unsorted() {
    assert!(Bitmap::from_sorted([1, 1]).is_err());
    assert!(Bitmap::from_sorted([65_536, 1]).is_err());
    assert_eq!([70_000, 1, 1].into_iter().collect::<Bitmap>().iter().collect::<Vec<_>>(), [1, 70_000]);
}

// Keeps away an overflow at the highest positions.
#[test]
fn highest_positions() {
    let set = Bitmap::from_range(u64::MAX - 9..);
    assert_eq!((set.cardinality(), set.last()), (10, Some(u64::MAX)));
    assert_eq!(set.range(u64::MAX..).collect::<Vec<_>>(), [u64::MAX]);
    assert_eq!(set.rank(u64::MAX), 9);
    let mut mask = [0; 2];
    set.mask(u64::MAX - 63, &mut mask);
    assert_eq!(mask, [0x3ff << 54, 0]);
    let mut set = Bitmap::from_sorted([0, u64::MAX]).expect("ascending");
    set.remove_range(1..);
    assert_eq!(set.iter().collect::<Vec<_>>(), [0]);
}

// Keeps away: the first or last position of a run that is not in it, in memory or as bytes.
#[test]
fn runs_contain_their_ends() {
    let positions = || (10..20).chain(30..41).chain(65_000..65_536).chain(65_536..66_000);
    let set = Bitmap::from_sorted(positions()).unwrap();
    let mut bytes = Vec::new();
    set.encode(&mut bytes);
    assert!(bytes.len() < 50, "runs");
    let stored = BitmapRef::parse(&bytes).unwrap();
    for position in (0..50).chain(64_990..66_010) {
        let expected = positions().any(|other| other == position);
        assert_eq!((set.contains(position), stored.contains(position)), (expected, expected), "{position}");
    }
}
