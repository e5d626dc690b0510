//! Reads by key from a btree and a column table that share one budget of memory.
//!
//! `cargo run --release -p ambo --example memory -- hits|moves [budget in MiB]`. `hits` reads what is all in memory, from the one table and
//! then from the other. `moves` has a budget of 1.2 times what either table needs, unless another is given, and goes from the one to the
//! other, back, and to both at once.

#![allow(clippy::print_stdout, reason = "a program that prints its measurements")]

use std::time::Instant;

use ambo::{
    ColumnBuffer, Database, Datum, LoadOptions, Options, Storage, Sync, Table, TableDefinition, Type,
};

const PAIRS: u64 = 600_000;
const ROWS: u64 = 4_000_000;
const READS: u64 = 400_000;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let budget = std::env::args().nth(2).map(|mib| mib.parse::<usize>()).transpose()?;
    let dir = tempfile::tempdir()?;
    make(dir.path())?;
    match mode.as_str() {
        "hits" => hits(&open(dir.path(), budget.unwrap_or(1024))?),
        "moves" => moves(&open(dir.path(), budget.unwrap_or(154))?),
        _ => Err("hits or moves?".into()),
    }
}

fn open(dir: &std::path::Path, mib: usize) -> ambo::Result<Database> {
    Options::new().cache_bytes(mib << 20).sync(Sync::Off).open(dir)
}

/// 600,000 pairs of 8 and 200 bytes, and four million rows whose blocks take about as much.
fn make(dir: &std::path::Path) -> Result<()> {
    let db = open(dir, 256)?;
    let pairs = db.key_value("pairs")?;
    for key in 0..PAIRS {
        pairs.put(&key.to_be_bytes(), &[key as u8; 200])?;
    }
    let rows = db.create_table(
        TableDefinition::new("rows")
            .column("id", Type::I64)
            .column("a", Type::I64)
            .column("b", Type::I64)
            .column("c", Type::I64)
            .column("d", Type::I64)
            .primary_key(&["id"])
            .storage(Storage::Column),
    )?;
    let load = rows.load(LoadOptions::default())?;
    let mut writer = load.writer();
    for first in (0..ROWS).step_by(100_000) {
        let mut columns = [Type::I64; 5].map(ColumnBuffer::new);
        for id in first..ROWS.min(first + 100_000) {
            for (at, column) in (0u64..).zip(&mut columns) {
                let value = if at == 0 { id } else { random(id * 4 + at) };
                column.push((&Datum::I64(value as i64)).into()).map_err(|error| error.to_string())?;
            }
        }
        writer.push(columns.into())?;
    }
    writer.finish()?;
    load.finish()?;
    db.compact()?;
    db.close()?;
    Ok(())
}

fn random(seed: u64) -> u64 {
    let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ mixed >> 32
}

fn read_pairs(pairs: &Table, reads: u64, seed: u64) -> Result<f64> {
    let began = Instant::now();
    for at in 0..reads {
        let key = random(seed << 32 | at) % PAIRS;
        assert!(pairs.get(&key.to_be_bytes())?.is_some_and(|value| value[0] == key as u8));
    }
    Ok(began.elapsed().as_secs_f64() * 1e9 / reads as f64)
}

fn read_rows(rows: &Table, reads: u64, of: u64, seed: u64) -> Result<f64> {
    let began = Instant::now();
    for at in 0..reads {
        let id = random(seed << 32 | at) % of;
        assert!(rows.get_row(&[Datum::I64(id as i64)])?.is_some());
    }
    Ok(began.elapsed().as_secs_f64() * 1e9 / reads as f64)
}

fn hits(db: &Database) -> Result<()> {
    let (pairs, rows) = (db.key_value("pairs")?, db.table("rows")?);
    for key in 0..PAIRS {
        pairs.get(&key.to_be_bytes())?;
    }
    read_rows(&rows, READS / 2, ROWS, 1)?;
    read_rows(&rows, READS / 2, 1000, 1)?;
    for round in 0..7 {
        let pairs = read_pairs(&pairs, 4 * READS, round)?;
        let kept = read_rows(&rows, 2 * READS, 1000, round)?;
        let blocks = read_rows(&rows, READS / 8, ROWS, 100 + round)?;
        println!("pairs {pairs:.0} ns, kept rows {kept:.0} ns, rows of blocks {blocks:.0} ns");
    }
    Ok(())
}

fn moves(db: &Database) -> Result<()> {
    let (pairs, rows) = (db.key_value("pairs")?, db.table("rows")?);
    for phase in 0..5 {
        for round in 0..4 {
            let seed = phase * 10 + round;
            let before = db.info()?;
            let (mut of_pairs, mut of_rows) = (0.0, 0.0);
            match phase {
                0 | 2 => of_pairs = read_pairs(&pairs, READS, seed)?,
                1 | 3 => of_rows = read_rows(&rows, READS / 8, ROWS, seed)?,
                _ => {
                    for part in 0..100 {
                        of_pairs += read_pairs(&pairs, READS / 200, seed * 100 + part)? / 100.0;
                        of_rows += read_rows(&rows, READS / 1600, ROWS, seed * 100 + part)? / 100.0;
                    }
                }
            }
            let info = db.info()?;
            println!(
                "phase {phase}: pairs {of_pairs:.0} ns, rows {of_rows:.0} ns; {} pages and {} blocks read; {} MiB of pages, {} of blocks; resident {} MiB",
                info.pages.misses - before.pages.misses,
                info.block_misses - before.block_misses,
                info.pages.resident_bytes >> 20,
                info.block_cache_bytes >> 20,
                resident()? >> 10,
            );
        }
    }
    Ok(())
}

/// KiB of memory that the process has.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse()?)
}
