use proptest::prelude::*;

use super::{symbols::Constant, *};

/// Owned strings in Arrow's layout.
#[derive(Clone, Debug)]
struct Sample {
    offsets: Vec<u32>,
    data: Vec<u8>,
}

impl Sample {
    fn new<S: AsRef<[u8]>>(strings: impl IntoIterator<Item = S>) -> Self {
        // Bytes in front belong to no string.
        let (mut offsets, mut data) = (vec![3], b"...".to_vec());
        for string in strings {
            data.extend_from_slice(string.as_ref());
            offsets.push(data.len() as u32);
        }
        data.extend_from_slice(b"!");
        Self { offsets, data }
    }

    fn view(&self) -> BytesView<'_> {
        BytesView::new(&self.offsets, &self.data)
    }
}

fn encoded(strings: &[&str], encoding: TextEncoding) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert!(encode_as(encoding, &Sample::new(strings).view(), Goal::Size, None, &mut bytes).unwrap());
    bytes
}

/// Strings of many kinds: few or many different ones, one length or many, sorted or not, with zeros and escapes.
fn strings() -> impl Strategy<Value = Sample> {
    let letters = |len: usize| prop::collection::vec(prop::sample::select(&b"ab\0\xff"[..]), 0..len);
    let words =
        prop::sample::select(vec!["", "furiously ", "the ", "deposits ", "x", "www.example.org/", "\0"]);
    let text = prop::collection::vec(words, 0..8).prop_map(|words| words.concat().into_bytes());
    let digits = (0u32..100_000).prop_map(|number| format!("Clerk#{number:05}").into_bytes());
    let one = prop_oneof![
        letters(3).boxed(),
        letters(40).boxed(),
        text.boxed(),
        digits.boxed(),
        prop::collection::vec(any::<u8>(), 0..100).boxed(),
    ];
    let several = |one: BoxedStrategy<Vec<u8>>| prop::collection::vec(one, 0..150);
    let rows = prop_oneof![
        several(one.boxed()),
        several(
            (0u32..100_000).prop_map(|number| format!("{number:05}-{}", number % 7).into_bytes()).boxed()
        ),
        several(prop::sample::select(vec![b"R".to_vec(), b"A".to_vec(), b"".to_vec()]).boxed()),
        several(Just(b"same".to_vec()).boxed()),
    ];
    (rows, any::<bool>(), 1usize..20).prop_map(|(mut rows, sorted, times)| {
        if sorted {
            rows.sort();
        }
        Sample::new(rows.iter().cycle().take(rows.len() * times))
    })
}

fn check_reads(block: &TextBlock<'_>, strings: &BytesView<'_>, picks: &[prop::sample::Index]) {
    let rows = strings.len();
    assert_eq!(block.decoded_len(), strings.iter().map(<[u8]>::len).sum::<usize>());
    let (mut offsets, mut data) = (vec![2], b"##".to_vec());
    block.decode(0..rows, &mut offsets, &mut data).unwrap();
    assert_eq!(&data[..2], b"##");
    let again = BytesView::new(&offsets, &data);
    assert!(again.iter().eq(strings.iter()), "{}", block.encoding());
    let bounds = strings.iter().min().zip(strings.iter().max());
    assert_eq!(block.min_max().unwrap(), bounds.map(|(low, high)| (low.to_vec(), high.to_vec())));
    if rows == 0 {
        return;
    }
    let picks: Vec<u32> = picks.iter().map(|pick| pick.index(rows) as u32).collect();
    for pair in picks.windows(2) {
        let (start, end) = (pair[0].min(pair[1]) as usize, pair[0].max(pair[1]) as usize);
        let (mut offsets, mut data) = (Vec::new(), Vec::new());
        block.decode(start..end, &mut offsets, &mut data).unwrap();
        assert!(BytesView::new(&offsets, &data).iter().eq((start..end).map(|row| strings.get(row))));
        let mut one = b"#".to_vec();
        block.get(start, &mut one).unwrap();
        assert_eq!(&one[1..], strings.get(start), "{}", block.encoding());
        if let Some(borrowed) = block.borrow(start).unwrap() {
            assert_eq!(borrowed, strings.get(start));
        }
    }
    let (mut offsets, mut data) = (Vec::new(), Vec::new());
    block.gather(&picks, &mut offsets, &mut data).unwrap();
    let wanted = picks.iter().map(|row| strings.get(*row as usize));
    assert!(BytesView::new(&offsets, &data).iter().eq(wanted), "{}", block.encoding());
    if let Some(codes) = block.codes() {
        let mut numbers = Vec::new();
        codes.read(0..rows, &mut numbers).unwrap();
        let entries = codes.entries().unwrap();
        assert!(entries.iter().is_sorted_by(|a, b| a < b));
        assert!(numbers.iter().map(|code| entries.get(*code as usize)).eq(strings.iter()));
        let mut picked = Vec::new();
        codes.gather(&picks, &mut picked).unwrap();
        assert!(picked.into_iter().eq(picks.iter().map(|row| numbers[*row as usize])));
    }
}

fn check_filters(block: &TextBlock<'_>, strings: &BytesView<'_>, constants: &[Vec<u8>], noise: u64) {
    let (low, high) = (&constants[0], &constants[1]);
    let few: Vec<&[u8]> = constants.iter().take(3).map(Vec::as_slice).collect();
    let many: Vec<&[u8]> = constants.iter().map(Vec::as_slice).collect();
    let pieces = low.split_at(low.len() / 2);
    let pieces = [pieces.0, pieces.1];
    let predicates = [
        TextPredicate::Eq(low),
        TextPredicate::Ne(low),
        TextPredicate::Lt(low),
        TextPredicate::Le(low),
        TextPredicate::Gt(low),
        TextPredicate::Ge(low),
        TextPredicate::Between(low, high),
        TextPredicate::In(&few),
        TextPredicate::In(&many),
        TextPredicate::Prefix(&low[..low.len() / 2]),
        TextPredicate::Prefix(low),
        TextPredicate::Contains(&low[low.len() / 2..]),
        TextPredicate::Contains(low),
        TextPredicate::Like(&pieces),
    ];
    // What the operators mean, once more.
    let matches = |predicate: &TextPredicate<'_>, string: &[u8]| match *predicate {
        TextPredicate::Eq(x) => string == x,
        TextPredicate::Ne(x) => string != x,
        TextPredicate::Lt(x) => string < x,
        TextPredicate::Le(x) => string <= x,
        TextPredicate::Gt(x) => string > x,
        TextPredicate::Ge(x) => string >= x,
        TextPredicate::Between(x, y) => x <= string && string <= y,
        TextPredicate::In(some) => some.contains(&string),
        TextPredicate::Prefix(x) => string.starts_with(x),
        TextPredicate::Like(_) => {
            string.starts_with(pieces[0]) && string[pieces[0].len()..].ends_with(pieces[1])
        }
        TextPredicate::Contains(x) => x.is_empty() || string.windows(x.len()).any(|part| part == x),
    };
    let rows = strings.len();
    for predicate in predicates {
        for noise in [u64::MAX, noise] {
            let mut before = Mask::none(rows);
            (0..rows).for_each(|row| before.set(row, noise.rotate_left(row as u32 / 7) & 1 == 1));
            let mut selection = before.clone();
            block.filter(&predicate, &mut selection).unwrap();
            for row in 0..rows {
                let wanted = before.get(row) && matches(&predicate, strings.get(row));
                assert_eq!(selection.get(row), wanted, "{} {predicate:?} row {row}", block.encoding());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // Keeps away a string that reads back as another, whatever the encoding and the way it is read.
    #[test]
    fn round_trip(
        sample in strings(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 2..40),
        others in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..4), 8),
        with_table in any::<bool>(),
        noise in any::<u64>(),
    ) {
        let strings = sample.view();
        let table = with_table.then(|| TextTable::train(&strings, Goal::Speed));
        let shared = table.as_ref().map(|table| SharedTable::parse(table.bytes()).unwrap());
        let mut constants = others;
        for pick in picks.iter().take(6).filter(|_| !strings.is_empty()) {
            constants.insert(0, strings.get(pick.index(strings.len())).to_vec());
        }
        for encoding in TextEncoding::ALL {
            for goal in [Goal::Speed, Goal::Size] {
                let mut bytes = vec![];
                if !encode_as(encoding, &strings, goal, table.as_ref(), &mut bytes).unwrap() {
                    prop_assert!(bytes.is_empty());
                    continue;
                }
                let block = TextBlock::parse(&bytes, strings.len(), shared.as_ref()).unwrap();
                prop_assert_eq!(block.encoding(), encoding);
                check_reads(&block, &strings, &picks);
                check_filters(&block, &strings, &constants, noise);
            }
        }
        for goal in [Goal::Speed, Goal::Size] {
            let mut bytes = b"before".to_vec();
            let summary = encode(&strings, goal, table.as_ref(), &mut bytes).unwrap();
            prop_assert_eq!(summary.bytes, bytes.len() - 6);
            let block = TextBlock::parse(&bytes[6..], strings.len(), shared.as_ref()).unwrap();
            prop_assert_eq!(block.encoding(), summary.encoding);
            check_reads(&block, &strings, &picks[..2]);
            let (low, high) = block.min_max().unwrap().unwrap_or_default();
            prop_assert_eq!((low, high), (summary.min, summary.max));
        }
    }

    // Keeps away a panic, an over-read or a huge allocation on damaged blocks.
    #[test]
    fn damage(
        sample in strings(),
        encoding in prop::sample::select(&TextEncoding::ALL[..]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        with_table in any::<bool>(),
    ) {
        let strings = sample.view();
        let table = with_table.then(|| TextTable::train(&strings, Goal::Speed));
        let mut bytes = vec![];
        if encode_as(encoding, &strings, Goal::Size, table.as_ref(), &mut bytes).unwrap() {
            for (at, value) in flips {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let shared = table.as_ref().map(TextTable::shared);
            if let Ok(block) = TextBlock::parse(&bytes, strings.len(), shared) {
                let (mut offsets, mut data) = (Vec::new(), Vec::new());
                if block.decode(0..strings.len(), &mut offsets, &mut data).is_err() {
                    prop_assert!(offsets.is_empty() && data.is_empty());
                }
                for row in 0..strings.len().min(40) {
                    let _ = block.get(row, &mut data);
                    let _ = block.borrow(row);
                }
                let _ = block.filter(&TextPredicate::Gt(b"a"), &mut Mask::all(strings.len()));
                let _ = block.filter(&TextPredicate::Contains(b"a"), &mut Mask::all(strings.len()));
                let _ = block.min_max();
            }
        }
    }
}

// Keeps away drift from the documented bytes.
#[test]
fn worked_examples() {
    assert_eq!(encoded(&["x", "x"], TextEncoding::Constant), [1, 2, b'x']);
    let raw = [2, 3, 3, 1, 1, 1, b'a', b'b', b'c'];
    assert_eq!(encoded(&["ab", "c"], TextEncoding::Raw), raw);
    let front = encoded(&["car", "cart", "cat"], TextEncoding::Front);
    let suffixes = [2, 5, 5, 1, 2, 0x02, b'c', b'a', b'r', b't', b't'];
    assert_eq!(front, [&[4, 10, 2, 0x2c][..], &suffixes].concat());
    let positional = encoded(&["a-0", "a-1", "b-1"], TextEncoding::Positional);
    let alphabets = [2, b'a', b'b', 1, b'-', 2, b'0', b'1'];
    assert_eq!(positional, [&[7, 9, 3, 3][..], &alphabets, &[0, 1, 2, 0x38]].concat());
    let mut lengths = Vec::new();
    bounds::encode([3, 5, 4].into_iter(), &mut lengths);
    assert_eq!(lengths, [12, 3, 2, 0x18]);
}

proptest! {
    // Keeps away: codes that are decoded otherwise where there are many of them, above all around escapes.
    #[test]
    fn runs_are_decoded_as_codes_one_by_one(codes in prop::collection::vec(prop_oneof![8 => 0u8..4, 1 => Just(255u8)], 0..100)) {
        let table = [1, 0, 0, 0, 0, 0, 1, 1, b'a', b'b', b'1', b'2', b'3', b'4', b'5', b'6', b'7', b'8', b'c'];
        let symbols = symbols::Symbols::parse(&mut reader::Reader::new(&table)).unwrap();
        let (mut one, mut run) = (vec![0; codes.len() * 8 + 16], vec![0; codes.len() * 8 + 16]);
        let mut places = Vec::new();
        let wanted = symbols.decode(&codes, &mut one, 0, |place| places.push(place));
        let mut run_places = vec![0; codes.len()];
        let found = symbols.decode_run(&codes, &mut run, 0, &mut run_places);
        prop_assert_eq!(&found, &wanted);
        if let Ok(end) = wanted {
            prop_assert_eq!(&run[..end], &one[..end]);
            prop_assert_eq!(run_places, places);
        }
    }
}

// Keeps away symbols that decode or compare as others than the format says.
#[test]
fn symbols_worked_example() {
    let bytes = [1, 0, 0, 0, 0, 0, 0, 1, b'a', b'b', b'c'];
    let symbols = symbols::Symbols::parse(&mut reader::Reader::new(&bytes)).unwrap();
    let codes = [0, 1, 255, b'd'];
    let mut out = vec![0; 4 + copy::SLACK];
    let mut places = Vec::new();
    assert_eq!(symbols.decode(&codes, &mut out, 0, |place| places.push(place)), Ok(4));
    assert_eq!(&out[..4], b"abcd");
    assert_eq!(places, [2, 3, symbols::INSIDE_ESCAPE, 4]);
    assert!(symbols.compare(&codes, &Constant::new(b"abc")).unwrap().prefix);
    assert!(symbols.decode(&[2], &mut out, 0, |_| ()).is_err(), "a code without a symbol");
    assert!(symbols.decode(&[255], &mut out, 0, |_| ()).is_err(), "an escape without a byte");
    assert!(symbols.decode(&[0; 99], &mut out, 0, |_| ()).is_err(), "more than there is room for");
}

// Keeps away a byte of one string that is taken for the escaped one of the string before.
#[test]
fn escape_without_its_byte() {
    let block = [3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 255, b'a'];
    let block = TextBlock::parse(&block, 2, None).unwrap();
    assert!(block.get(0, &mut Vec::new()).is_err());
    assert!(block.decode(0..2, &mut Vec::new(), &mut Vec::new()).is_err());
}

// Keeps away bytes of other strings in one whose prefix is longer than the string before, or that begins anew.
#[test]
fn prefix_of_nothing() {
    let suffixes = [2, 3, 3, 1, 1, 1, b'a', b'b', b'c'];
    let decode = |decoded, prefixes| {
        let block = [&[4, decoded, 2, prefixes][..], &suffixes].concat();
        let (mut offsets, mut data) = (Vec::new(), Vec::new());
        TextBlock::parse(&block, 2, None)?.decode(0..2, &mut offsets, &mut data).map(|()| data)
    };
    assert_eq!(decode(5, 0b1000), Ok(b"ababc".to_vec()), "two bytes of the string before");
    assert!(decode(6, 0b1100).is_err(), "three bytes of two");
    assert!(decode(4, 0b0001).is_err(), "one byte of none");
}

// Keeps away allocation that the bytes cannot stand for.
#[test]
fn stated_sizes_are_bounded() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0x07];
    let lz4 = [&[8][..], &huge, &[1, 16], &huge, &huge[..], &[0], &[1, 1, 0, 0]].concat();
    assert!(TextBlock::parse(&lz4, 1, None).is_err());
    let fsst = [&[3][..], &huge, &[1], &[0; 8], &[1, 1, 0, 0]].concat();
    assert!(TextBlock::parse(&fsst, 1, None).is_err());
    assert!(TextBlock::parse(&[1, 0], BLOCK_ROWS_MAX + 1, None).is_err());
    assert!(TextBlock::parse(&[1, 0], BLOCK_ROWS_MAX, None).is_ok());
    let mut dictionary = encoded(&["ab", "cd", "ab", "cd"], TextEncoding::Dictionary);
    assert_eq!(dictionary[1], 8, "the bytes of the rows");
    dictionary[1] = 17;
    assert!(TextBlock::parse(&dictionary, 4, None).is_err(), "more than four times both entries");
}

// Keeps away codes that differ between blocks over one table, and a block read without it.
#[test]
fn shared_dictionary() {
    let clerks = Sample::new((0..4000).map(|row| format!("Clerk#{:09}", row * 7919 % 100)));
    let table = TextTable::train(&clerks.view(), Goal::Speed);
    let mut bytes = Vec::new();
    let summary = encode(&clerks.view(), Goal::Speed, Some(&table), &mut bytes).unwrap();
    assert_eq!(summary.encoding, TextEncoding::SharedDictionary);
    assert!(TextBlock::parse(&bytes, 4000, None).is_err());
    let block = TextBlock::parse(&bytes, 4000, Some(table.shared())).unwrap();
    let codes = block.codes().unwrap();
    assert!(codes.is_shared());
    assert_eq!(codes.entries().unwrap().len(), 100);
    // Codes are stored above the lowest of the block.
    let high = Sample::new((0..300).map(|row| format!("Clerk#{:09}", 90 + row % 7)));
    let mut block = Vec::new();
    assert!(
        encode_as(TextEncoding::SharedDictionary, &high.view(), Goal::Speed, Some(&table), &mut block)
            .unwrap()
    );
    let block = TextBlock::parse(&block, 300, Some(table.shared())).unwrap();
    let mut codes = Vec::new();
    block.codes().unwrap().read(0..300, &mut codes).unwrap();
    assert!(codes.iter().zip(0..).all(|(code, row)| *code == 90 + row % 7));
    assert_eq!(block.min_max().unwrap(), Some((b"Clerk#000000090".to_vec(), b"Clerk#000000096".to_vec())));
    let foreign = Sample::new(["Clerk#000000000", "Clerk of none"]);
    assert!(
        !encode_as(TextEncoding::SharedDictionary, &foreign.view(), Goal::Speed, Some(&table), &mut bytes)
            .unwrap()
    );
}

// Keeps away a chooser that misses the encoding that was made for the strings.
#[test]
fn choices() {
    let choose = |strings: Vec<String>, goal| {
        let sample = Sample::new(strings);
        encode(&sample.view(), goal, None, &mut Vec::new()).unwrap().encoding
    };
    let mix =
        |row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ row.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 29;
    let uuid =
        |row: u64| format!("{:08x}-{:04x}-4{:03x}", mix(row) as u32, mix(row) >> 48, mix(row + 9000) & 0xfff);
    assert_eq!(choose((0..4096).map(uuid).collect(), Goal::Speed), TextEncoding::Positional);
    // Few bytes are saved of random ones that have their first in common, and it takes its time to put them together.
    let random = |row: u64| 7u128 << 120 | u128::from(mix(row)) << 52 | u128::from(mix(row + 9000) >> 12);
    let data: Vec<u8> = (0..4096).flat_map(|row| random(row).to_be_bytes()).collect();
    let offsets: Vec<u32> = (0..=4096).map(|row| row * 16).collect();
    let binary = BytesView::new(&offsets, &data);
    let mut block = Vec::new();
    assert_eq!(encode(&binary, Goal::Speed, None, &mut block).unwrap().encoding, TextEncoding::Raw);
    let flag = |row: u64| ["A", "N", "R"][mix(row) as usize % 3].to_owned();
    assert_eq!(choose((0..4096).map(flag).collect(), Goal::Speed), TextEncoding::Dictionary);
    let words = ["quickly ", "bold ", "the ", "accounts ", "sleep ", "deposits "];
    let comment =
        |row: u64| (0..4 + mix(row) % 5).map(|word| words[mix(row * 9 + word) as usize % 6]).collect();
    assert_eq!(choose((0..4096).map(comment).collect(), Goal::Speed), TextEncoding::Fsst);
    let key = |row: u64| format!("customer/{:07}/order", row * 3 + u64::from(row.is_multiple_of(7)));
    let path = |row: u64| format!("{}/{}", key(row), "x".repeat(row as usize % 9));
    assert_eq!(choose((0..4096).map(path).collect(), Goal::Speed), TextEncoding::Front);
    assert_eq!(choose(vec![String::new(); 4096], Goal::Speed), TextEncoding::Constant);
    assert_eq!(choose(vec![], Goal::Speed), TextEncoding::Constant);
}

/// The text is damage, by whatever way it is read.
fn refused(block: &[u8], rows: usize) {
    let Ok(block) = TextBlock::parse(block, rows, None) else { return };
    assert!(block.decode(0..rows, &mut Vec::new(), &mut Vec::new()).is_err());
    let last = rows - 1;
    assert!(block.get(last, &mut Vec::new()).is_err());
    assert!(block.gather(&[last as u32], &mut Vec::new(), &mut Vec::new()).is_err());
    if let Some(codes) = block.codes() {
        assert!(codes.read(0..rows, &mut Vec::new()).is_err());
        assert!(codes.gather(&[last as u32], &mut Vec::new()).is_err());
        assert!(block.min_max().is_err());
    }
}

// Keeps away a prefix where a group begins anew: whoever reads from there has nothing before it.
#[test]
fn prefix_at_a_restart() {
    let suffixes = encoded(&["b"; 17], TextEncoding::Raw);
    let block = |decoded: u8, at_16: u8| [&[4, decoded, 1, 0, 0, at_16][..], &suffixes].concat();
    let sound = block(17, 0);
    let sound = TextBlock::parse(&sound, 17, None).unwrap();
    sound.decode(0..17, &mut Vec::new(), &mut Vec::new()).unwrap();
    refused(&block(18, 1), 17);
}

// Keeps away codes that are in no dictionary.
#[test]
fn foreign_codes() {
    let mut block = encoded(&["ab", "cd", "ef", "ab", "cd", "ef", "ab", "cd"], TextEncoding::Dictionary);
    let codes = block.len() - 128;
    block[codes..].fill(0xff);
    refused(&block, 8);
}

// Keeps away an alphabet that is out of order, and codes behind its end.
#[test]
fn positional_damage() {
    let block = encoded(&["ab", "bc", "ca", "bb"], TextEncoding::Positional);
    let alphabet = block.windows(3).position(|bytes| bytes == b"abc").unwrap();
    let mut swapped = block.clone();
    swapped.swap(alphabet, alphabet + 1);
    assert!(TextBlock::parse(&swapped, 4, None).is_err());
    let mut foreign = block.clone();
    *foreign.last_mut().unwrap() = 0xff;
    refused(&foreign, 4);
}

// Keeps away strings that are together shorter than their block says.
#[test]
fn stated_sizes_are_right() {
    let strings: Vec<String> = (0..64).map(|n| format!("furiously final deposits sleep {n}")).collect();
    let strings: Vec<&str> = strings.iter().map(String::as_str).collect();
    let (mut offsets, mut data) = (Vec::new(), Vec::new());
    for encoding in [TextEncoding::Fsst, TextEncoding::Front] {
        let mut block = encoded(&strings, encoding);
        TextBlock::parse(&block, 64, None).unwrap().decode(0..64, &mut offsets, &mut data).unwrap();
        // The low byte of the varint that says how long all strings are.
        assert_eq!(block[1], (strings.concat().len() % 128) as u8 | 0x80);
        block[1] ^= 1;
        if let Ok(block) = TextBlock::parse(&block, 64, None) {
            assert!(block.decode(0..64, &mut Vec::new(), &mut Vec::new()).is_err(), "{encoding:?}");
        }
    }
}
