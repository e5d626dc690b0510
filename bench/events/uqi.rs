//! UQI: aggregates over random keys by each codec, beside those that are not compressed; a plug-in beside the function that is built in.

use std::ffi::c_void;

use ambo::{
    Database, IntegerCodec, Options, Table, TableDefinition, TableOptions, Type,
    uqi::{AMBO_UQI_ABI, AmboBytes, AmboUqiBatch, AmboUqiInput, AmboUqiPlugin, AmboUqiResult},
};

use crate::{Settings, flows::Random, quickest};

const CODECS: [&str; 6] = ["none", "for", "simd-for", "bp128", "masked-vbyte", "stream-vbyte"];

/// SUM of u64 records as a plug-in, with the interface of C.
unsafe extern "C" fn init(_: *const AmboUqiInput, state: *mut *mut c_void) -> i32 {
    // SAFETY: there is a place for the state.
    unsafe { *state = Box::into_raw(Box::new(0u64)).cast() };
    0
}

unsafe extern "C" fn cleanup(state: *mut c_void) {
    // SAFETY: `init` made it.
    drop(unsafe { Box::from_raw(state.cast::<u64>()) });
}

unsafe extern "C" fn many(state: *mut c_void, batch: *const AmboUqiBatch) -> i32 {
    // SAFETY: `init` made the state, and there are so many records of 8 bytes.
    unsafe {
        let (sum, batch) = (&mut *state.cast::<u64>(), &*batch);
        let records = batch.record_data.cast::<u64>();
        for row in 0..batch.rows as usize {
            *sum = sum.wrapping_add(records.add(row).read_unaligned());
        }
    }
    0
}

unsafe extern "C" fn merge(into: *mut c_void, from: *mut c_void) -> i32 {
    // SAFETY: `init` made both.
    unsafe { *into.cast::<u64>() += *from.cast::<u64>() };
    0
}

unsafe extern "C" fn finish(state: *mut c_void, result: *mut AmboUqiResult) -> i32 {
    let key = AmboBytes { data: b"S".as_ptr(), len: 1 };
    // SAFETY: both are there while this is called.
    unsafe { ((*result).add_row)(result, key, AmboBytes { data: state.cast(), len: 8 }) }
}

fn plugin() -> &'static AmboUqiPlugin {
    Box::leak(Box::new(AmboUqiPlugin {
        struct_size: size_of::<AmboUqiPlugin>() as u32,
        abi: AMBO_UQI_ABI,
        name: c"plugin_sum".as_ptr(),
        kind: 2,
        flags: 2,
        init: Some(init),
        cleanup: Some(cleanup),
        one: None,
        many: Some(many),
        test: None,
        test_many: None,
        merge: Some(merge),
        finish: Some(finish),
    }))
}

fn fill(table: &Table, rows: impl Iterator<Item = (u64, u64)>) -> ambo::Result<()> {
    let mut load = table.bulk_load()?;
    let is_narrow = table.definition().columns[0].kind == Type::U32;
    for (key, value) in rows {
        let key = if is_narrow { (key as u32).into() } else { key.into() };
        let (key, value) = table.stored_row(&[key, value.into()])?;
        load.push(&key, &value)?;
    }
    load.finish().map(drop)
}

fn table(db: &Database, name: &str, key: Type, codec: &str) -> Result<Table, Box<dyn std::error::Error>> {
    let codec: Option<IntegerCodec> = if codec == "none" { None } else { Some(codec.parse()?) };
    let table =
        TableDefinition::new(name).column("key", key).column("value", Type::U64).primary_key(&["key"]);
    Ok(db.create_table(TableOptions::new().key_compression(codec).apply(table))?)
}

/// Milliseconds of all processors that a query takes.
fn time(db: &Database, runs: usize, text: &str) -> f64 {
    let now = db.snapshot();
    quickest(runs, || db.uqi(&now, text).unwrap_or_else(|error| panic!("{text}: {error}"))).processor * 1e3
}

pub fn run(settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    let rows = settings.rows.unwrap_or(10_000_000);
    if settings.dir.exists() {
        std::fs::remove_dir_all(&settings.dir)?;
    }
    std::fs::create_dir_all(&settings.dir)?;
    let db = Options::new().cache_bytes(2 << 30).open(settings.dir.join("db"))?;
    // SAFETY: the description stays, and its functions do what the header says.
    unsafe { db.uqi_plugins().register_c(plugin())? };
    let mut random = Random(3);
    let mut keys: Vec<u32> = (0..rows + rows / 300 + 16).map(|_| random.next() as u32).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.truncate(rows);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{} random u32 keys with records of 8 bytes, {threads} threads, milliseconds of processor time\n",
        keys.len()
    );
    let queries = [
        ("SUM($key)", ""),
        ("COUNT($key)", ""),
        ("AVERAGE($key)", ""),
        ("MIN($key)", ""),
        ("TOP($key)", " LIMIT 10"),
        ("DISTINCT SUM($key)", ""),
        ("SUM($record)", ""),
        ("plugin_sum($record)", ""),
        ("MAX($record)", ""),
        ("BOTTOM($record)", " LIMIT 10"),
        ("COUNT($record)", " WHERE $record < 1000"),
        ("SUM($record)", " WHERE $key % 2 = 0"),
    ];
    println!("| codec | {} | MiB |", queries.map(|(function, rest)| format!("{function}{rest}")).join(" | "));
    println!("|---|{}--:|", "--:|".repeat(queries.len()));
    for codec in CODECS {
        let name = format!("keys_{}", codec.replace('-', "_"));
        let table = table(&db, &name, Type::U32, codec)?;
        let mut random = Random(9);
        fill(&table, keys.iter().map(|key| (u64::from(*key), random.next() % 100_000)))?;
        let measured: Vec<_> = queries
            .iter()
            .map(|(function, rest)| {
                format!("{:.2}", time(&db, settings.runs, &format!("{function} FROM {name}{rest}")))
            })
            .collect();
        let info = db.info()?;
        let of = info.tables.iter().find(|of| of.definition.name.ends_with(&name)).ok_or("no such table")?;
        let mebibytes = of.stored_bytes(info.page_size) as f64 / f64::from(1 << 20);
        println!("| {codec} | {} | {mebibytes:.0} |", measured.join(" | "));
        db.drop_table(&name)?;
    }
    println!("\n{rows} ascending u64 time stamps, appended\n");
    println!(
        "| codec | AVERAGE($key) | COUNT($key) | SUM($record) | load, M rows/s |\n|---|--:|--:|--:|--:|"
    );
    for codec in ["none", "bp128", "simd-for"] {
        let name = format!("times_{}", codec.replace('-', "_"));
        let table = table(&db, &name, Type::U64, codec)?;
        let mut random = Random(5);
        let mut now = 1_500_000_000_000_000u64;
        let mut next = |_| {
            now += 1 + random.next() % 50;
            (now, random.next() % 1000)
        };
        let taken = quickest(1, || fill(&table, (0..rows).map(&mut next)));
        let seconds = taken.wall;
        taken.said?;
        let of = |function: &str| time(&db, settings.runs, &format!("{function} FROM {name}"));
        println!(
            "| {codec} | {:.2} | {:.3} | {:.2} | {:.1} |",
            of("AVERAGE($key)"),
            of("COUNT($key)"),
            of("SUM($record)"),
            rows as f64 / seconds / 1e6
        );
        db.drop_table(&name)?;
    }
    Ok(())
}
