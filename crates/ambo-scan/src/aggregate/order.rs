//! Sorting keys by their numbers or bytes.
//!
//! What is compared is 16 bytes of each key, which stand beside its number; where they are the same, all with these are sorted by the next
//! 16 (as in multikey quicksort: Bentley and Sedgewick, 1997), so that a key in memory is looked at once for every 16 bytes, and not for
//! every comparison. Threads sort parts of keys that are less than those of the next one.

use ambo_types::record::key_head_wide;

/// A key's head, and its number.
pub(super) type Headed = (u128, u32);

/// Bytes of a head.
const HEAD: usize = size_of::<u128>();
/// With fewer keys to sort, a thread costs more than it gains.
const SORTED_BY_A_THREAD: usize = 1 << 15;
/// Keys that are looked at to find the middle.
const SAMPLE: usize = 255;
/// Up to so many keys are compared as a whole.
const FEW: usize = 8;

/// Bytes of a key from `depth` on as a number, zeros where there are fewer. Where two differ, they order as the keys do, if these are the
/// same before.
pub(super) fn head(key: &[u8], depth: usize) -> u128 {
    key_head_wide(&key[depth.min(key.len())..])
}

/// The numbers of keys in the order of their heads; `rest` sorts those with the same head in a part that is sorted by heads.
pub(super) fn sorted(
    heads: impl Iterator<Item = u128>,
    threads: usize,
    rest: &(dyn Fn(&mut [Headed]) + Sync),
) -> Vec<u32> {
    let mut keys: Vec<Headed> = heads.zip(0..).collect();
    sort(&mut keys, threads, rest);
    keys.into_iter().map(|(_, number)| number).collect()
}

fn sort(keys: &mut [Headed], threads: usize, rest: &(dyn Fn(&mut [Headed]) + Sync)) {
    let threads = threads.min(keys.len() / SORTED_BY_A_THREAD);
    if threads > 1 {
        let here = threads / 2;
        let mut sample: Vec<u128> = keys.iter().step_by(keys.len() / SAMPLE).map(|key| key.0).collect();
        sample.sort_unstable();
        let (less, others) = divide(keys, sample[sample.len() * here / threads]);
        return std::thread::scope(|scope| {
            scope.spawn(|| sort(others, threads - here, rest));
            sort(less, here, rest);
        });
    }
    keys.sort_unstable();
    rest(keys);
}

/// Moves keys with a lesser head to the front, and returns them and the others.
fn divide(keys: &mut [Headed], least: u128) -> (&mut [Headed], &mut [Headed]) {
    let mut less = 0;
    for at in 0..keys.len() {
        let is_less = keys[at].0 < least;
        keys.swap(less, at);
        less += usize::from(is_less);
    }
    debug_assert!(keys[..less].iter().all(|key| key.0 < least), "lesser keys come first");
    debug_assert!(keys[less..].iter().all(|key| key.0 >= least), "no lesser key comes behind");
    keys.split_at_mut(less)
}

/// Sorts keys of bytes that are sorted by their heads from `depth` on, and the same before.
pub(super) fn sort_rest<'a>(keys: &mut [Headed], key: &impl Fn(u32) -> &'a [u8], depth: usize) {
    debug_assert!(keys.is_sorted_by_key(|key| key.0), "keys are sorted by their heads");
    for same in keys.chunk_by_mut(|one, other| one.0 == other.0).filter(|same| same.len() > 1) {
        if same.len() <= FEW {
            same.sort_unstable_by_key(|(_, number)| key(*number));
            continue;
        }
        let depth = depth + HEAD;
        let mut longest = 0;
        for (of, number) in &mut *same {
            longest = longest.max(key(*number).len());
            *of = head(key(*number), depth);
        }
        match longest > depth {
            true => {
                same.sort_unstable();
                sort_rest(same, key, depth);
            }
            // They differ in zeros at the end.
            false => same.sort_unstable_by_key(|(_, number)| key(*number).len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keeps away: keys that are left unsorted, or lost, where several threads sort them.
    #[test]
    fn threads_sort_as_one() {
        let keys = (0..200_001u32).map(|number| u128::from(number.wrapping_mul(0x9e37_79b1)));
        let one = sorted(keys.clone(), 1, &|_| {});
        assert!(one.is_sorted_by_key(|number| number.wrapping_mul(0x9e37_79b1)));
        for threads in [2, 3, 100] {
            assert_eq!(sorted(keys.clone(), threads, &|_| {}), one);
        }
        // No middle to divide them at.
        assert!(sorted((0..200_001).map(|_| 7), 3, &|_| {}).len() == 200_001);
    }

    proptest! {
        /// Keeps away: keys that are told apart by their first bytes only, or not by zeros at their end.
        #[test]
        fn bytes_sort_as_bytes(
            parts in proptest::collection::vec((0..3usize, 0..3usize, 0..30usize, 0..20usize), 1..200),
        ) {
            let letter = |of: usize| [b"\0", b"a", b"b"][of];
            let key = |(one, other, ones, others): &(usize, usize, usize, usize)| {
                [letter(*one).repeat(*ones), letter(*other).repeat(*others)].concat()
            };
            let mut keys: Vec<Vec<u8>> = parts.iter().map(key).collect();
            keys.sort();
            keys.dedup();
            let count = keys.len();
            keys.rotate_left(parts.len() / 3 % count);
            let key = |number: u32| &keys[number as usize][..];
            let order = sorted(keys.iter().map(|key| head(key, 0)), 1, &|part| sort_rest(part, &key, 0));
            prop_assert!(order.is_sorted_by(|one, other| key(*one) < key(*other)));
            prop_assert_eq!(order.len(), count);
        }
    }
}
