//! Bitmaps from any bytes.

use ambo_codec::bitmap::{Bitmap, BitmapRef, Positions};

/// All operations on a bitmap whose containers nobody checked are safe and end; a bitmap that is checked is what it says.
pub fn bitmap_read(bytes: &[u8]) {
    let Ok(set) = BitmapRef::parse(bytes) else { return };
    let sound = set.check().is_ok();
    let other = Bitmap::from_sorted((0..3_000).map(|n| n * 7).chain(70_000..90_000)).expect("ascending");
    let first = set.first().unwrap_or(0);
    for results in [
        [set.and(&other), set.or(&other), set.and_not(&other), set.xor(&other)],
        [other.and_not(&set), set.xor(&set), Bitmap::union([&set, &set, &set]), set.to_bitmap()],
    ] {
        results.iter().for_each(|result| read(result, first));
    }
    read(&set, first);
    let mut changed = set.to_bitmap();
    for position in [0, 1, first, first + 1, 65_535] {
        changed.insert(position);
        changed.remove(position);
    }
    changed.remove_range(first..first.saturating_add(1000));
    read(&changed, first);
    if sound {
        assert_eq!(set.iter().count() as u64, set.cardinality());
        assert!(set.iter().is_sorted_by(|a, b| a < b));
        let mut again = Vec::new();
        set.encode(&mut again);
        assert!(Bitmap::decode(&again).expect("just encoded").equals(&set));
        assert!(again.len() <= bytes.len(), "the encoder takes the smallest form");
    }
}

fn read(set: &impl Positions, first: u64) {
    let mut mask = [!0; 40];
    let start = first & !63;
    set.mask(start, &mut mask);
    set.select_from(start, &mut mask);
    set.deselect_from(start, &mut mask);
    let sum = set.range(first..first.saturating_add(100_000)).fold(0, u64::wrapping_add);
    for probe in [0, first, first.saturating_add(sum % 65_536), u64::MAX] {
        set.contains(probe);
        set.rank(probe);
        set.select(probe % (1 << 20));
    }
    set.last();
    set.encode(&mut Vec::new());
}
