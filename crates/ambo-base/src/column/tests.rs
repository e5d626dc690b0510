//! Segments, runs and sets as a whole.

use std::{collections::BTreeMap, sync::Arc, sync::atomic::AtomicBool};

use ambo_codec::{Type, Value, ValueRef};
use ambo_pages::{
    io::{Env, sim::SimDisk},
    page::Access,
};
use ambo_types::{Result, TableDefinition, record::Record};

use super::{writer::GROUP_ROWS, *};
use crate::{
    btree::RowStream,
    conformance::{self, Model, Subject, SubjectCursor},
};

/// Rows of a model as a stream.
struct Rows<'m> {
    rows: std::collections::btree_map::Iter<'m, Vec<u8>, conformance::Value>,
}

impl RowStream for Rows<'_> {
    fn next_row(&mut self) -> Result<Option<(&[u8], Record<'_>)>> {
        let row = self.rows.next();
        Ok(row.map(|(key, value)| (&key[..], value.as_deref().map_or(Record::TOMBSTONE, Record::inline))))
    }
}

static GO_ON: AtomicBool = AtomicBool::new(false);

fn no_blobs(_: &[u8]) -> Result<Vec<u8>> {
    unreachable!("no row is a blob")
}

fn world() -> (Env, Arc<SegmentStore>) {
    let env = SimDisk::new(0).env();
    let store = SegmentStore::new(env.disk.clone(), 77, &ambo_pages::budget::MemoryBudget::new(1 << 20));
    (env, store)
}

fn raw_schema() -> Arc<ColumnSchema> {
    Arc::new(ColumnSchema::new(&TableDefinition::key_value("t")).unwrap())
}

fn empty(store: &Arc<SegmentStore>, schema: &Arc<ColumnSchema>) -> ColumnSet {
    ColumnSet::new(store.clone(), schema.clone(), Vec::new())
}

fn compact(set: &ColumnSet, model: &Model) -> ColumnSet {
    set.compact(&mut Rows { rows: model.iter() }, &no_blobs, &GO_ON).unwrap()
}

fn assert_sound(set: &ColumnSet) {
    assert_eq!(set.check().unwrap().problems, Vec::<String>::new());
}

/// A set of one run under the conformance suite.
struct OneRun(Arc<ColumnSet>);

struct Cursor(Option<RunCursor>);

impl SubjectCursor for Cursor {
    fn seek_first(&mut self) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.seek_first().unwrap())
    }
    fn seek_last(&mut self) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.seek_last().unwrap())
    }
    fn seek_ge(&mut self, key: &[u8]) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.seek_ge(key).unwrap())
    }
    fn seek_gt(&mut self, key: &[u8]) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.seek_gt(key).unwrap())
    }
    fn seek_le(&mut self, key: &[u8]) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.seek_le(key).unwrap())
    }
    fn seek_lt(&mut self, key: &[u8]) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.seek_lt(key).unwrap())
    }
    fn next(&mut self) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.next().unwrap())
    }
    fn prev(&mut self) -> bool {
        self.0.as_mut().is_some_and(|cursor| cursor.prev().unwrap())
    }
    fn key(&self) -> Vec<u8> {
        self.0.as_ref().unwrap().key().to_vec()
    }
    fn value(&self) -> conformance::Value {
        Some(self.0.as_ref().unwrap().record().bytes.to_vec())
    }
}

impl Subject for OneRun {
    fn get(&self, key: &[u8]) -> Option<conformance::Value> {
        self.0.get(key).unwrap().map(Some)
    }
    fn cursor(&self) -> Box<dyn SubjectCursor + '_> {
        Box::new(Cursor(self.0.cursors(CursorRows::Rows).next()))
    }
    fn rank(&self, key: &[u8]) -> u64 {
        self.0.rank(key).unwrap()
    }
    fn nth(&self, position: u64) -> Option<Vec<u8>> {
        let run = self.0.runs().first()?;
        let place = run.nth(position)?;
        let mut key = Vec::new();
        run.parts[place.part].key_of(self.0.schema(), place.row, &mut key).unwrap();
        Some(key)
    }
    fn check(&self) {
        assert_sound(&self.0);
    }
    fn has_tombstones(&self) -> bool {
        false
    }
}

/// Keeps away: a segment that does as a base what others do not.
#[test]
fn a_run_conforms() {
    conformance::run(&|model| {
        let (_, store) = world();
        Box::new(OneRun(Arc::new(compact(&empty(&store, &raw_schema()), model))))
    });
}

/// Keeps away: deleted rows that are found, counted, or stood on.
#[test]
fn a_run_with_deleted_rows_conforms() {
    conformance::run(&|model| {
        let (_, store) = world();
        // Between any two keys, and in front, one more that is deleted again.
        let mut more = Model::new();
        for key in model.keys() {
            let mut other = key.clone();
            other.push(0);
            more.insert(key.clone(), Some(b"old".to_vec()));
            if !model.contains_key(&other) && other.len() < 9 {
                more.insert(other, Some(b"doomed".to_vec()));
            }
        }
        let old = compact(&empty(&store, &raw_schema()), &more);
        let doomed = more.keys().filter(|key| !model.contains_key(*key));
        let tombstones: Model = doomed.map(|key| (key.clone(), None)).collect();
        let mut set = compact(&old, &tombstones);
        // The rows themselves, in the place of their old ones, and then in one run with what is left of those.
        set = compact(&set, model);
        let merged = set.merge_segments(true, &GO_ON).unwrap();
        assert!(merged.runs().len() <= 1);
        Box::new(OneRun(Arc::new(merged)))
    });
}

fn number_key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

fn random(seed: &mut u64) -> u64 {
    ambo_pages::io::sim::split_mix(seed)
}

/// Keeps away: rows lost, doubled or of an old version when runs overlap and are merged, in whatever order they come.
#[test]
fn many_compactions_are_as_the_model() {
    let (_, store) = world();
    let schema = raw_schema();
    let mut seed = 5;
    let mut set = empty(&store, &schema);
    let mut model = Model::new();
    for round in 0..60u64 {
        let mut fresh = Model::new();
        for _ in 0..random(&mut seed) % 1500 {
            let key = number_key(random(&mut seed) % 4000);
            let value =
                (!random(&mut seed).is_multiple_of(4)).then(|| format!("{round} {}", key[7]).into_bytes());
            fresh.insert(key, value);
        }
        set = compact(&set, &fresh);
        model.extend(fresh);
        if round % 3 == 2 {
            set = set.merge_segments(round % 15 == 14, &GO_ON).unwrap();
        }
        let live: BTreeMap<_, _> = model.iter().filter(|(_, value)| value.is_some()).collect();
        assert_eq!(set.live_rows(), live.len() as u64, "round {round}");
        for number in (0..4000).filter(|number| number % 3 == round % 3) {
            let key = number_key(number);
            assert_eq!(set.get(&key).unwrap(), model.get(&key).cloned().flatten(), "round {round}, {number}");
        }
        // All together, and a few, which are kept.
        let keys: Vec<_> = (0..4000).map(number_key).collect();
        for together in [4000, 50] {
            let keys = keys.iter().map(|key| &key[..]).collect::<Vec<_>>();
            let found = keys.chunks(together).flat_map(|keys| set.get_many(keys, None).unwrap());
            let expected = keys.iter().map(|key| model.get(*key).cloned().flatten());
            assert!(found.eq(expected), "round {round}, {together}");
        }
        assert_sound(&set);
    }
    assert!(set.parts().all(|part| part.deleted_rows() * 2 < part.rows()), "worn segments stay");
}

/// Keeps away: rows lost, out of order or deleted no more where runs of many groups are merged, whose keys differ behind their heads only.
#[test]
fn runs_of_many_groups_are_merged() {
    let (_, store) = world();
    let mut seed = 3;
    for prefix in ["", "longer than a head is: "] {
        let key = |number: u64| format!("{prefix}{number:06}").into_bytes();
        let mut set = empty(&store, &raw_schema());
        let mut model = Model::new();
        for run in 0..3u64 {
            // Blocks of a few keys, so that stretches are of one row and of many.
            let blocks = (0..6000).filter(|_| random(&mut seed).is_multiple_of(2));
            let numbers =
                blocks.flat_map(|block| (block * 30 + run * 9)..(block * 30 + run * 9 + 1 + block % 9));
            let fresh: Model =
                numbers.map(|number| (key(number), Some(number.to_le_bytes().to_vec()))).collect();
            assert!(fresh.len() > GROUP_ROWS + 100);
            set = compact(&set, &fresh);
            // The first rows of each group, some on their own, and all of the second group.
            let doomed = fresh.keys().enumerate().filter(|(row, _)| {
                let (group, in_group) = (row / GROUP_ROWS, row % GROUP_ROWS);
                in_group < 5 + group || in_group.is_multiple_of(700) || run == 1 && group == 1
            });
            let tombstones: Model = doomed.map(|(_, key)| (key.clone(), None)).collect();
            set = compact(&set, &tombstones);
            model.extend(fresh);
            tombstones.keys().for_each(|key| _ = model.remove(key));
        }
        assert_eq!(set.runs().len(), 3);
        let merged = set.merge_segments(true, &GO_ON).unwrap();
        let [run] = merged.runs() else { panic!("{} runs", merged.runs().len()) };
        for part in &run.parts {
            let directory = part.segment.directory();
            assert!((0..directory.groups()).all(|group| directory.group(group).len() <= GROUP_ROWS));
        }
        assert_sound(&merged);
        let mut cursor = Arc::new(merged).cursors(CursorRows::Rows).next().unwrap();
        let mut found = cursor.seek_first().unwrap();
        for (key, value) in &model {
            assert!(
                found && cursor.key() == &key[..] && Some(&cursor.record().bytes.to_vec()) == value.as_ref()
            );
            found = cursor.next().unwrap();
        }
        assert!(!found, "more rows than there should be");
    }
}

/// Keeps away: rows that come back, are lost or doubled where segments were merged while rows went on to compact, and others were merged,
/// too.
#[test]
fn merged_segments_follow_what_became_of_their_set() {
    let (_, store) = world();
    let schema = raw_schema();
    let mut seed = 11;
    for round in 0..60u64 {
        let mut model = Model::new();
        let fresh = |seed: &mut u64| -> Model {
            let keys = 200 + random(seed) % 3000;
            let from = random(seed) % 3000;
            (0..random(seed) % 1500)
                .map(|_| {
                    let value =
                        (!random(seed).is_multiple_of(3)).then(|| random(seed).to_be_bytes().to_vec());
                    (number_key(from + random(seed) % keys), value)
                })
                .collect()
        };
        let mut set = empty(&store, &schema);
        for _ in 0..2 + random(&mut seed) % 6 {
            let rows = fresh(&mut seed);
            set = compact(&set, &rows);
            model.extend(rows);
        }
        let merge_segments = set.merge_segments(round % 2 == 0, &GO_ON).unwrap();
        let mut now = set.clone();
        for _ in 0..random(&mut seed) % 4 {
            let rows = fresh(&mut seed);
            now = compact(&now, &rows);
            model.extend(rows);
            if random(&mut seed).is_multiple_of(4) {
                now = now.merge_segments(round % 3 == 0, &GO_ON).unwrap();
            }
        }
        let rebased = merge_segments.rebased(&set, &now).unwrap();
        assert_sound(&rebased);
        let live = model.values().flatten().count() as u64;
        assert_eq!((rebased.live_rows(), now.live_rows()), (live, live), "round {round}");
        for number in 0..6500 {
            let key = number_key(number);
            assert_eq!(
                rebased.get(&key).unwrap(),
                model.get(&key).cloned().flatten(),
                "round {round}, {number}"
            );
        }
    }
}

/// Keeps away: segments in order that are rewritten although nothing lies between them; files that nobody has.
#[test]
fn appended_runs_are_adopted_and_old_files_go() {
    let (env, store) = world();
    let schema = Arc::new(
        ColumnSchema::new(&TableDefinition::new("t").column("k", Type::U32).primary_key(&["k"])).unwrap(),
    );
    let half = SEGMENT_ROWS_MAX as u32 / 2;
    let build = |keys: &mut dyn Iterator<Item = u32>| {
        let mut builder = RunBuilder::new(&store, &schema);
        let row = ambo_codec::RowSpec::new(Vec::new()).unwrap();
        let mut record = Vec::new();
        row.encode(&[], &mut record).unwrap();
        keys.for_each(|key| builder.push(&key.to_be_bytes(), &record).unwrap());
        builder.finish().unwrap()
    };
    // The small one has rows in front of and behind a large one.
    let (third, last) = (half + 60, 2 * half + 60);
    let runs = [
        build(&mut (0..half)),
        build(&mut (half..third).chain(last..last + 40)),
        build(&mut (third..last)),
        build(&mut (last + 40..last + 43 + half)),
    ];
    let large: Vec<_> = [0, 2, 3].map(|run| runs[run].parts[0].segment.id()).into();
    let set = ColumnSet::new(store.clone(), schema.clone(), runs.into());
    let compacted = set.merge_segments(true, &GO_ON).unwrap();
    let kept: Vec<_> = compacted.segments().map(|segment| segment.id()).collect();
    assert_eq!(kept.len(), 5);
    assert!(large.iter().all(|id| kept.contains(id)), "{large:?} {kept:?}");
    assert_sound(&compacted);
    assert_eq!(compacted.get(&(half + 7).to_be_bytes()).unwrap().map(|row| row.len()), Some(1));
    assert_eq!(store.list().unwrap().len(), 6, "the small one is there as long as it may be read");
    drop(set);
    assert_eq!(store.list().unwrap().len(), 5, "nobody kept it");
    compacted.segments().for_each(|segment| segment.keep());
    drop(compacted);
    let mut left = store.list().unwrap();
    left.sort_unstable();
    assert_eq!(
        left,
        kept.iter().copied().collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    );
    drop(env);
}

/// A table with a column of every type behind its own, every other of them nullable.
pub(crate) fn with_all_types(mut table: TableDefinition) -> TableDefinition {
    let types = [
        Type::Bool,
        Type::I8,
        Type::I16,
        Type::I32,
        Type::I64,
        Type::U8,
        Type::U16,
        Type::U32,
        Type::U64,
        Type::F32,
        Type::F64,
        Type::decimal(10, 2).unwrap(),
        Type::Date32,
        Type::Time64,
        Type::Timestamp,
        Type::Utf8,
        Type::Binary,
    ];
    for (index, ty) in types.into_iter().enumerate() {
        table = match index % 2 {
            0 => table.column_nullable(format!("c{index}"), ty),
            _ => table.column(format!("c{index}"), ty),
        };
    }
    table
}

/// A key of two columns, and all types.
fn wide_table() -> TableDefinition {
    let table = TableDefinition::new("wide").column("a", Type::Utf8).column("b", Type::I64);
    with_all_types(table).primary_key(&["a", "b"])
}

fn wide_value(ty: Type, number: u64) -> Value {
    let n = number as i64;
    match ty {
        Type::Bool => Value::Bool(n % 3 == 0),
        Type::I8 => Value::I8(n as i8),
        Type::I16 => Value::I16(n as i16),
        Type::I32 => Value::I32((n as i32).wrapping_mul(0x9e37_79b9u32 as i32)),
        Type::I64 => Value::I64(n - 2500),
        Type::U8 => Value::U8(n as u8),
        Type::U16 => Value::U16(n as u16),
        Type::U32 => Value::U32(7),
        Type::U64 => Value::U64(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        Type::F32 => Value::F32(n as f32 / 4.0),
        Type::F64 => Value::F64(if n % 100 == 99 { f64::NAN } else { n as f64 / 100.0 }),
        Type::Decimal128 { scale, .. } => Value::Decimal128 { unscaled: i128::from(n) - 1000, scale },
        Type::Date32 => Value::Date32(n as i32),
        Type::Time64 => Value::Time64(n),
        Type::Timestamp => Value::Timestamp(n * 1_000_000),
        Type::TimestampTz => Value::TimestampTz(n * 1_000_000),
        Type::Utf8 => Value::Utf8(format!("text {}", n % 50)),
        Type::Binary => Value::Binary(vec![n as u8; (n % 40) as usize]),
    }
}

/// Keeps away: values of any type that come back as others, from rows and through merges.
#[test]
fn rows_of_all_types_come_back() {
    let table = wide_table();
    let (_, store) = world();
    let schema = Arc::new(ColumnSchema::new(&table).unwrap());
    let rows = 20_000u64;
    let make = |number: u64| {
        let key = [Value::Utf8(format!("key {}", number / 1000)), Value::I64(number as i64)];
        let values: Vec<Value> = table.columns[2..]
            .iter()
            .enumerate()
            .map(|(index, column)| match index % 2 == 0 && number % 7 == index as u64 % 7 {
                true => Value::Null,
                false => wide_value(column.kind, number),
            })
            .collect();
        let (mut k, mut v) = (Vec::new(), Vec::new());
        table.key_spec().unwrap().encode(&key.each_ref().map(ValueRef::from), &mut k).unwrap();
        table
            .row_spec()
            .unwrap()
            .encode(&values.iter().map(ValueRef::from).collect::<Vec<_>>(), &mut v)
            .unwrap();
        schema.check(&k, &v).unwrap();
        (k, v)
    };
    let all: Vec<_> = (0..rows).map(make).collect();
    let half = |odd: usize| -> Model {
        all.iter().skip(odd).step_by(2).map(|(key, value)| (key.clone(), Some(value.clone()))).collect()
    };
    let set = compact(&compact(&empty(&store, &schema), &half(0)), &half(1));
    assert_eq!(set.runs().len(), 2);
    let merged = set.merge_segments(true, &GO_ON).unwrap();
    let rows = table.row_spec().unwrap();
    for set in [set, merged] {
        for (key, value) in all.iter().step_by(17) {
            assert_eq!(set.get(key).unwrap().as_ref(), Some(value));
        }
        for step in [1, 5, 900, 9000] {
            let some: BTreeMap<_, _> = all.iter().skip(3).step_by(step).cloned().collect();
            let keys: Vec<_> = some.keys().map(Vec::as_slice).collect();
            // Every third column. What is read of few rows is kept only if it is all of them.
            let picked: Vec<_> = (0..table.columns.len() - 2).map(|slot| slot % 3 == 1).collect();
            let parts = set.get_many(&keys, Some(&picked)).unwrap();
            for (part, whole) in parts.iter().zip(some.values()) {
                let part = part.as_ref().expect("a row");
                for slot in (1..picked.len()).step_by(3) {
                    let column = |row| rows.decode_column(row, slot).unwrap().to_value();
                    assert_eq!(format!("{:?}", column(part)), format!("{:?}", column(whole)), "every {step}");
                }
            }
            for _ in 0..3 {
                let whole = set.get_many(&keys, None).unwrap();
                assert!(whole.iter().map(Option::as_ref).eq(some.values().map(Some)), "every {step}");
            }
        }
        assert_sound(&set);
    }
    assert!(schema.check(b"no key", &all[0].1).is_err());
    assert!(schema.check(&all[0].0, b"").is_err());
}

/// Keeps away: damage of any byte of a segment that goes unnoticed, or ends in a panic.
#[test]
fn damage_is_reported() {
    let (env, store) = world();
    let schema = raw_schema();
    let model: Model = (0..300).map(|n| (number_key(n), Some(format!("value {n}").into_bytes()))).collect();
    let set = compact(&empty(&store, &schema), &model);
    let segment = set.segments().next().unwrap().clone();
    segment.keep();
    let (id, len) = (segment.id(), segment.file_bytes());
    let file = env.disk.open(&SegmentStore::name(id), ambo_pages::io::OpenMode::ReadWrite).unwrap();
    let open = || store.open(id, len, &schema);
    assert!(open().is_ok());
    for at in (0..len).step_by(3) {
        let mut byte = [0];
        file.read_at(&mut byte, at).unwrap();
        file.write_at(&[byte[0] ^ 0x20], at).unwrap();
        let noticed = match open() {
            Err(ambo_types::Error::Damaged { .. }) => true,
            Err(error) => panic!("byte {at}: {error}"),
            Ok(segment) => {
                let run = ColumnRun { parts: vec![Part::new(segment)] };
                let set = ColumnSet::new(store.clone(), schema.clone(), vec![run]);
                // The header's zeros are all that nobody reads.
                !set.check().unwrap().problems.is_empty() || (40..44).contains(&at)
            }
        };
        assert!(noticed, "byte {at} of {len}");
        file.write_at(&byte, at).unwrap();
    }
    let error = store.open(id, len - 1, &schema).unwrap_err().to_string();
    assert!(error.contains("segment-") && error.contains("should have"), "{error}");
    let other = Arc::new(
        ColumnSchema::new(&TableDefinition::new("t").column("k", Type::U32).primary_key(&["k"])).unwrap(),
    );
    assert!(store.open(id, len, &other).is_err());
    store.remove(id).unwrap();
    assert!(open().unwrap_err().to_string().contains("missing"));
}

/// Keeps away: a full disk or a failed write that leaves a file behind, or loses rows of the old set.
#[test]
fn failed_writes_leave_nothing() {
    let disk = SimDisk::new(3);
    let store =
        SegmentStore::new(disk.env().disk.clone(), 77, &ambo_pages::budget::MemoryBudget::new(1 << 20));
    let schema = raw_schema();
    let model: Model = (0..300).map(|n| (number_key(n), Some(vec![n as u8; 100]))).collect();
    let set = compact(&empty(&store, &schema), &model);
    let files = store.list().unwrap();
    let cancel = AtomicBool::new(true);
    let cancelled = set.compact(&mut Rows { rows: model.iter() }, &no_blobs, &cancel);
    assert!(matches!(cancelled, Err(ambo_types::Error::Cancelled)));
    assert_eq!(store.list().unwrap(), files);
    assert_eq!(set.live_rows(), 300);
    let block = set.segments().next().unwrap();
    assert!(block.block(0, 0, Access::Point).is_ok());
}
