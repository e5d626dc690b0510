//! Postings of br64 indexes in files.

use std::sync::Arc;

use ambo_codec::{Type, Value, column::Compare};
use ambo_engine::{
    Result,
    catalog::{IndexDefinition, Storage, TableDefinition},
    database::{Engine, RowFormat, ScanPlan},
    id::TableId,
    io::sim::SimDisk,
    scan::{Aggregate, AggregatePlan, Expression, Filter, Test},
};

use super::{
    database::{Files, crc, damaged, files_of, options},
    input::Input,
};

const ROWS: i64 = 900;
/// As the format says (`docs/formats/postings.md`).
const TRAILER_BYTES: usize = 96;
const ROOT_ENTRY_BYTES: usize = 40;
const COLUMNS: usize = 5;

/// A database with a table of one segment and files of postings beside it, closed.
struct World {
    files: Files,
    table: TableId,
    /// The names of the files of postings.
    postings: Vec<String>,
}

fn definition() -> TableDefinition {
    TableDefinition::new("t")
        .column("key", Type::I64)
        .column("few", Type::U8)
        .column_nullable("many", Type::U32)
        .column_nullable("word", Type::Utf8)
        .column("other", Type::U8)
        .primary_key(&["key"])
        .storage(Storage::Column)
}

fn indexes() -> [IndexDefinition; 5] {
    let of = |name: &str, columns: &[&str]| IndexDefinition::new(name, "t", columns);
    [
        of("by_few", &["few"]).br64(),
        of("by_many", &["many"]).br64(),
        of("by_word", &["word"]).br64(),
        of("by_both", &["few", "word"]).br64(),
        of("by_any", &["few", "other"]).br64_any(),
    ]
}

fn row(key: i64) -> Vec<Value> {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 20;
    vec![
        key.into(),
        // One value of so many rows that its list lies apart, as a bitmap; another one's are gaps.
        Value::U8(if key < 400 {
            1
        } else if mixed & 1 == 0 {
            2
        } else {
            (mixed & 15) as u8
        }),
        if key % 7 == 0 { Value::Null } else { Value::U32((mixed & 0x3FF) as u32) },
        if key % 11 == 0 { Value::Null } else { format!("word {}", mixed & 0xFF).into() },
        Value::U8((key % 5) as u8),
    ]
}

impl World {
    fn new() -> Result<Self> {
        let disk = SimDisk::new(1);
        let engine = Arc::new(Engine::open(disk.env(), options())?.0);
        let table = engine.create_table(definition())?;
        for index in indexes() {
            engine.create_index(&index)?;
        }
        let format = RowFormat::new(Arc::new(definition()))?;
        for key in 0..ROWS {
            engine.put(table, &format.encode_key(&row(key), 0)?, &format.encode_row(&row(key))?)?;
        }
        engine.compact()?;
        for key in (0..ROWS).step_by(39) {
            engine.delete(table, &format.encode_key(&row(key), 0)?)?;
        }
        engine.compact_due()?;
        drop(engine);
        let files = files_of(&disk);
        let names = files.iter().map(|(name, _)| name.clone());
        let postings: Vec<_> = names.filter(|name| name.starts_with("posting-")).collect();
        assert_eq!(postings.len(), indexes().len(), "all rows are in one segment");
        Ok(Self { files, table, postings })
    }

    /// A disk with these files, but for some bytes of one with postings.
    fn damaged(&self, input: &mut Input<'_>) -> SimDisk {
        let chosen = &self.postings[usize::from(input.byte()) % self.postings.len()];
        damaged(&self.files, chosen, |contents| damage(input, contents))
    }

    /// Asks as the bytes say.
    fn act(&self, input: &mut Input<'_>, engine: &Arc<Engine>) -> Result<()> {
        let snapshot = engine.snapshot();
        let column = 1 + usize::from(input.byte()) % (COLUMNS - 1);
        let constant = |input: &mut Input<'_>| row(i64::from(input.byte()) * 3 + 1)[column].clone();
        let test = match input.byte() % 10 {
            0 => return engine.check().map(drop),
            1 => Test::Compare(Compare::Equal, constant(input)),
            2 => Test::Compare(Compare::Less, constant(input)),
            3 => Test::Between(constant(input), constant(input)),
            4 => Test::In(vec![constant(input), constant(input)]),
            5 => Test::Compare(Compare::NotEqual, constant(input)),
            6 => Test::IsNull,
            7 => Test::IsNotNull,
            8 => Test::Compare(Compare::Greater, constant(input)),
            _ => {
                snapshot.statistics(self.table)?;
                return snapshot.sample_distinct(self.table, column).map(drop);
            }
        };
        let filter = Filter { column, test };
        snapshot.count_answers(self.table, &filter)?;
        let is_filtered = input.byte().is_multiple_of(2);
        let filters = if is_filtered { vec![filter.clone()] } else { Vec::new() };
        let either = if is_filtered { Vec::new() } else { vec![vec![filter]] };
        let count = ScanPlan { filters: filters.clone(), ..ScanPlan::default() };
        snapshot.scan_columns(self.table, &count)?.count(1)?;
        let plan = ScanPlan { columns: vec![column], filters, either };
        let scan = snapshot.scan_columns(self.table, &plan)?;
        scan.count(1)?;
        let value = || Expression::Column(0);
        for group_by in [vec![], vec![0]] {
            let aggregates =
                vec![Aggregate::Count(value()), Aggregate::Min(value()), Aggregate::Max(value())];
            scan.aggregate(&AggregatePlan { group_by, aggregates }, 1)?;
        }
        let ends = AggregatePlan { group_by: vec![], aggregates: vec![Aggregate::Min(value())] };
        scan.aggregate(&ends, 1)?;
        Ok(())
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// Changes bytes of any place, of a leaf, of the root or of the trailer; checksums fit, if chance does not want it otherwise.
fn damage(input: &mut Input<'_>, bytes: &mut Vec<u8>) {
    let how = input.byte();
    let trailer = bytes.len() - TRAILER_BYTES;
    let of_trailer = |bytes: &[u8], at: usize| number(&bytes[trailer + at..trailer + at + 4]);
    let (leaves, root_len) = (of_trailer(bytes, 48), of_trailer(bytes, 56));
    let root = trailer - root_len;
    match how % 4 {
        0 => input.damage(bytes),
        1 => input.damage(&mut bytes[root..trailer]),
        2 => input.damage(&mut bytes[trailer..]),
        _ => {
            let entry = root + usize::from(input.byte()) % leaves.max(1) * ROOT_ENTRY_BYTES;
            let (at, len) = (number(&bytes[entry..entry + 8]), number(&bytes[entry + 24..entry + 28]));
            input.damage(&mut bytes[at..at + len]);
            let sealed = crc(&bytes[at..at + len]);
            bytes[entry + 28..entry + 32].copy_from_slice(&sealed);
        }
    }
    if how & 0x80 == 0 {
        let sealed = crc(&bytes[root..trailer]);
        bytes[trailer + 60..trailer + 64].copy_from_slice(&sealed);
        let sealed = crc(&bytes[trailer..trailer + 88]);
        bytes[trailer + 88..trailer + 92].copy_from_slice(&sealed);
    }
    if how & 0x40 != 0 {
        bytes.truncate(input.number(2) as usize % bytes.len());
    }
}

/// A file of postings in which some bytes are changed, mostly behind checksums that fit: asked in every way.
pub fn posting(bytes: &[u8]) {
    thread_local!(static WORLD: World = World::new().expect("a sound database"));
    WORLD.with(|world| {
        let mut input = Input(bytes);
        let disk = world.damaged(&mut input);
        let Ok((engine, _)) = Engine::open(disk.env(), options()) else { return };
        let engine = Arc::new(engine);
        for _ in 0..4 {
            let _ = world.act(&mut input, &engine);
        }
    });
}
