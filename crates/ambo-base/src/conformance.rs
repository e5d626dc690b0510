//! What every base must do, as tests that each base runs on itself.
//!
//! A base gives [`Subject`] for itself and calls [`run`] with a function that builds one from sorted rows.

use std::{collections::BTreeMap, ops::Bound};

/// A row as the model knows it: `None` is a tombstone.
pub type Value = Option<Vec<u8>>;
/// The model.
pub type Model = BTreeMap<Vec<u8>, Value>;

/// A base under test. Values are whole, wherever they are stored.
pub(crate) trait Subject {
    fn get(&self, key: &[u8]) -> Option<Value>;
    fn cursor(&self) -> Box<dyn SubjectCursor + '_>;
    fn rank(&self, key: &[u8]) -> u64;
    fn nth(&self, position: u64) -> Option<Vec<u8>>;
    /// Panics if the base's own check finds anything.
    fn check(&self);
    /// Whether it has tombstones, or only live rows.
    fn has_tombstones(&self) -> bool {
        true
    }
}

/// A cursor under test. All movements say whether there is an entry.
pub(crate) trait SubjectCursor {
    fn seek_first(&mut self) -> bool;
    fn seek_last(&mut self) -> bool;
    fn seek_ge(&mut self, key: &[u8]) -> bool;
    fn seek_gt(&mut self, key: &[u8]) -> bool;
    fn seek_le(&mut self, key: &[u8]) -> bool;
    fn seek_lt(&mut self, key: &[u8]) -> bool;
    fn next(&mut self) -> bool;
    fn prev(&mut self) -> bool;
    fn key(&self) -> Vec<u8>;
    fn value(&self) -> Value;
}

/// Runs all of it. `build` makes a base of a model's rows.
pub(crate) fn run(build: &dyn Fn(&Model) -> Box<dyn Subject>) {
    for (name, model) in shapes() {
        let subject = build(&model);
        subject.check();
        let model = match subject.has_tombstones() {
            true => model,
            false => model.into_iter().filter(|(_, value)| value.is_some()).collect(),
        };
        eprint_on_panic(name, || compare(&*subject, &model));
    }
}

fn eprint_on_panic(name: &str, test: impl FnOnce()) {
    struct Name<'n>(&'n str);
    impl Drop for Name<'_> {
        #[expect(clippy::print_stderr, reason = "a failing test says in which shape")]
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("in the shape: {}", self.0);
            }
        }
    }
    let _name = Name(name);
    test();
}

/// Compares everything that a subject can be asked with the model.
pub(crate) fn compare(subject: &dyn Subject, model: &Model) {
    scan_both_ways(subject, model);
    let probes = probes(model);
    for probe in &probes {
        assert_eq!(subject.get(probe), model.get(probe).cloned(), "get {probe:?}");
        let rank = model.range::<[u8], _>((Bound::Unbounded, Bound::Excluded(&probe[..]))).count() as u64;
        assert_eq!(subject.rank(probe), rank, "rank of {probe:?}");
        seek_all_ways(subject, model, probe);
    }
    for (position, key) in model.keys().enumerate().step_by(model.len() / 50 + 1) {
        assert_eq!(subject.nth(position as u64).as_ref(), Some(key), "the key at {position}");
    }
    assert_eq!(subject.nth(model.len() as u64), None);
}

/// Keeps away: scans that lose, repeat or reorder entries, or stop at the border of a page; a cursor that
/// cannot turn at either end.
fn scan_both_ways(subject: &dyn Subject, model: &Model) {
    let mut cursor = subject.cursor();
    for (key, value) in model {
        assert!(cursor.next(), "an entry before {key:?} ends the scan");
        assert_eq!((&cursor.key(), &cursor.value()), (key, value));
    }
    assert!(!cursor.next());
    assert!(!cursor.next());
    for (key, value) in model.iter().rev() {
        assert!(cursor.prev(), "an entry behind {key:?} ends the scan backwards");
        assert_eq!((&cursor.key(), &cursor.value()), (key, value));
    }
    assert!(!cursor.prev());
    assert_eq!(cursor.next(), !model.is_empty());
    assert_eq!(cursor.seek_first().then(|| cursor.key()).as_ref(), model.keys().next());
    assert_eq!(cursor.seek_last().then(|| cursor.key()).as_ref(), model.keys().next_back());
}

/// Keeps away: seeks that are off by one, most of all where the wanted entry is in the neighbouring page.
fn seek_all_ways(subject: &dyn Subject, model: &Model, probe: &[u8]) {
    let after = |bound| model.range::<[u8], _>((bound, Bound::Unbounded));
    let before = |bound| model.range::<[u8], _>((Bound::Unbounded, bound));
    let mut cursor = subject.cursor();
    let found = cursor.seek_ge(probe).then(|| (cursor.key(), cursor.value()));
    let expected = after(Bound::Included(probe)).next().map(|(k, v)| (k.clone(), v.clone()));
    assert_eq!(found, expected, "seek_ge {probe:?}");
    let found = cursor.seek_gt(probe).then(|| cursor.key());
    assert_eq!(found.as_ref(), after(Bound::Excluded(probe)).next().map(|row| row.0), "seek_gt {probe:?}");
    if found.is_some() {
        let back = cursor.prev().then(|| cursor.key());
        assert_eq!(back.as_ref(), before(Bound::Included(probe)).next_back().map(|row| row.0));
    }
    let found = cursor.seek_le(probe).then(|| cursor.key());
    assert_eq!(
        found.as_ref(),
        before(Bound::Included(probe)).next_back().map(|row| row.0),
        "seek_le {probe:?}"
    );
    let found = cursor.seek_lt(probe).then(|| cursor.key());
    assert_eq!(
        found.as_ref(),
        before(Bound::Excluded(probe)).next_back().map(|row| row.0),
        "seek_lt {probe:?}"
    );
    if found.is_some() {
        let forth = cursor.next().then(|| cursor.key());
        assert_eq!(forth.as_ref(), after(Bound::Included(probe)).next().map(|row| row.0));
    }
}

/// Keys of the model and neighbours of them that mostly are not in it.
fn probes(model: &Model) -> Vec<Vec<u8>> {
    let mut probes = vec![vec![], vec![0], vec![0xff; 9], b"m".to_vec()];
    for key in model.keys().step_by(model.len() / 150 + 1) {
        let mut longer = key.clone();
        longer.push(0);
        let mut shorter = key.clone();
        let last = shorter.pop();
        let mut lower = shorter.clone();
        if let Some(byte) = last {
            lower.push(byte.wrapping_sub(1));
        }
        lower.push(0xff);
        probes.extend([key.clone(), longer, shorter, lower]);
    }
    probes
}

/// Sets of rows, each with a weakness to look for.
fn shapes() -> Vec<(&'static str, Model)> {
    let row = |key: Vec<u8>, value: &[u8]| (key, Some(value.to_vec()));
    let numbers = |count: u64| (0..count).map(|n| (n * 3).to_be_bytes().to_vec());
    let scattered = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    vec![
        ("empty", Model::new()),
        ("a single row", [row(b"only".to_vec(), b"row")].into()),
        ("the empty key alone", [row(vec![], b"nothing")].into()),
        ("the empty key and others", [row(vec![], b""), row(vec![0], b"0"), row(vec![0, 0], b"00")].into()),
        ("numbers with values of one width", numbers(5000).map(|key| row(key, b"12345678")).collect()),
        ("numbers without values", numbers(5000).map(|key| row(key, b"")).collect()),
        (
            "scattered 12-byte keys with 500-byte values",
            (0..2000)
                .map(|n| row([&scattered(n)[..], &n.to_le_bytes()[..4]].concat(), &[n as u8; 500]))
                .collect(),
        ),
        (
            "each key a prefix of the next",
            (0..600).map(|len| row(vec![b'p'; len], &len.to_le_bytes())).collect(),
        ),
        (
            "a long common prefix",
            numbers(1000).map(|key| row([&[b'c'; 700][..], &key].concat(), &key)).collect(),
        ),
        (
            "prefixes that change from group to group",
            (0..60u8)
                .flat_map(|group| (0..20u8).map(move |n| [&[group; 300][..], &[n]].concat()))
                .map(|key| row(key, b"v"))
                .collect(),
        ),
        (
            "keys of 64 KiB among short ones",
            (0..40u8)
                .map(|n| {
                    let len = if n.is_multiple_of(3) { 64 * 1024 - 1 } else { 2 };
                    row([&vec![n; len][..], &[n]].concat(), &[n; 10])
                })
                .chain([
                    row(vec![200; 64 * 1024], &[1; 3000]),
                    row([vec![200; 64 * 1024 - 1], vec![201]].concat(), b"x"),
                ])
                .collect(),
        ),
        (
            "values of all sizes",
            (0..200u64)
                .map(|n| row(n.to_be_bytes().to_vec(), &vec![n as u8; (n * n * n / 50) as usize]))
                .collect(),
        ),
        (
            "tombstones among rows",
            (0..3000u64)
                .map(|n| (scattered(n).to_vec(), (n % 3 != 0).then(|| vec![n as u8; (n % 40) as usize])))
                .collect(),
        ),
    ]
}
