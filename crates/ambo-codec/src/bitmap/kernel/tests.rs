use proptest::prelude::*;

use super::*;

fn list() -> impl Strategy<Value = Vec<Low>> {
    (prop::collection::btree_set(0u16..2000, 0..300), any::<bool>()).prop_map(|(set, wide)| {
        let lows = set.into_iter().map(|low| if wide { (low * 32).to_le_bytes() } else { low.to_le_bytes() });
        lows.collect()
    })
}

fn words() -> impl Strategy<Value = Box<Words>> {
    (any::<u64>(), 0u32..3).prop_map(|(seed, sparseness)| {
        let mut random = seed;
        let mut word = |_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let noise = random ^ random >> 29;
            let word = match sparseness {
                0 => noise,
                1 => noise & noise << 13 & noise >> 7,
                _ if noise & 3 == 0 => !0,
                _ => 0,
            };
            word.to_le_bytes()
        };
        Box::new(std::array::from_fn(&mut word))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    // Keeps away a vector form that differs from the scalar one, and a search that differs from the merge. The unsorted
    // lists are what damaged bytes give: no form may leave its slices.
    #[test]
    fn keep_forms(x in list(), y in list(), wanted: bool, damage in prop::collection::vec(any::<u16>(), 0..100)) {
        let run = |form: &dyn Fn(&[Low], &[Low], bool, &mut [Low]) -> usize, x: &[Low], y: &[Low]| {
            let mut out = vec![[0; 2]; x.len() + SLACK];
            let len = form(x, y, wanted, &mut out);
            out[..len].to_vec()
        };
        let expected = x.iter().filter(|low| y.contains(low) == wanted).copied().collect::<Vec<_>>();
        prop_assert_eq!(&run(&scalar::keep, &x, &y), &expected);
        prop_assert_eq!(&run(&scalar::keep_few, &x, &y), &expected);
        prop_assert_eq!(&run(&keep, &x, &y), &expected);
        let both = |form: &dyn Fn(&[Low], &[Low], &mut [Low]) -> usize, x: &[Low], y: &[Low]| {
            let mut out = vec![[0; 2]; x.len() + y.len() + SLACK];
            let len = form(x, y, &mut out);
            out[..len].to_vec()
        };
        let numbers = |list: &[Low]| list.iter().map(|low| u16::from_le_bytes(*low)).collect::<std::collections::BTreeSet<_>>();
        let in_either = (&numbers(&x) | &numbers(&y)).into_iter().map(u16::to_le_bytes).collect::<Vec<_>>();
        let in_one = (&numbers(&x) ^ &numbers(&y)).into_iter().map(u16::to_le_bytes).collect::<Vec<_>>();
        prop_assert_eq!(&both(&scalar::union, &x, &y), &in_either);
        prop_assert_eq!(&both(&union, &x, &y), &in_either);
        prop_assert_eq!(&both(&difference, &x, &y), &in_one);
        let steps = x.windows(2).filter(|pair| u16::from_le_bytes(pair[0]) + 1 != u16::from_le_bytes(pair[1])).count();
        prop_assert_eq!(count_steps(&x), steps);
        let damage: Vec<Low> = damage.into_iter().map(u16::to_le_bytes).collect();
        prop_assert!(both(&union, &damage, &y).len() <= damage.len() + y.len());
        prop_assert!(both(&union, &y, &damage).len() <= damage.len() + y.len());
        prop_assert!(run(&keep, &damage, &y).len() <= damage.len());
        prop_assert!(run(&scalar::keep_few, &damage, &y).len() <= damage.len());
        #[cfg(target_arch = "x86_64")]
        for (has, form) in x86::keep_forms() {
            if has {
                prop_assert_eq!(&run(&form, &x, &y), &expected);
                prop_assert!(run(&form, &damage, &y).len() <= damage.len());
                prop_assert!(run(&form, &y, &damage).len() <= y.len());
            }
        }
    }

    // Keeps away a vector form that differs from the scalar one.
    #[test]
    fn word_forms(x in words(), y in words(), flips in any::<[bool; 3]>()) {
        let how = And { flip_x: flips[0], flip_y: flips[1], flip: flips[2] };
        let (mut expected, mut out) = ([[0; 8]; 1024], [[0; 8]; 1024]);
        prop_assert_eq!(and(&x, &y, how, &mut out), scalar::and(&x, &y, how, &mut expected));
        prop_assert!(out == expected);
        prop_assert_eq!(xor(&x, &y, flips[0], &mut out), scalar::xor(&x, &y, flips[0], &mut expected));
        prop_assert!(out == expected);
        prop_assert_eq!(count(&x), scalar::count(&x));
        prop_assert_eq!(count_runs(&x), scalar::count_runs(&x));
        let (mut lows, mut expected) = (vec![[0; 2]; 65_536 + 96], vec![[0; 2]; 65_536 + 96]);
        let len = decode(&x[..], 0, flips[0], &mut lows);
        prop_assert_eq!(len, scalar::decode(&x[..], 0, flips[0], &mut expected));
        prop_assert!(lows[..len] == expected[..len]);
        let short = decode(&x[..], 0, flips[0], &mut lows[..1000]);
        prop_assert_eq!(short, scalar::decode(&x[..], 0, flips[0], &mut expected[..1000]));
        prop_assert!(lows[..short] == expected[..short]);
        #[cfg(target_arch = "x86_64")]
        for (has, form) in x86::and_forms() {
            if has {
                let (mut a, mut b) = ([[0; 8]; 1024], [[0; 8]; 1024]);
                prop_assert_eq!(form(&x, &y, how, &mut a), scalar::and(&x, &y, how, &mut b));
                prop_assert!(a == b);
            }
        }
    }
}
