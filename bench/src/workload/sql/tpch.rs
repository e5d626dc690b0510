//! TPC-H: the 22 queries on column tables, warm, beside DuckDB.

use ambo::Sync;

use super::{check, open};
use crate::engine::Result;
use crate::measure::Usage;
use crate::workload::columns::{
    fastest, parquet,
    peer::{DUCKDB, Peer},
};
use crate::workload::sheet::Sheet;

/// The tables and their keys.
const TABLES: [(&str, &[&str]); 8] = [
    ("region", &["r_regionkey"]),
    ("nation", &["n_nationkey"]),
    ("supplier", &["s_suppkey"]),
    ("customer", &["c_custkey"]),
    ("part", &["p_partkey"]),
    ("partsupp", &["ps_partkey", "ps_suppkey"]),
    ("orders", &["o_orderkey"]),
    ("lineitem", &["l_orderkey", "l_linenumber"]),
];

const QUERIES: [&str; 22] = {
    macro_rules! queries {
        ($($number:literal),*) => {
            [$(include_str!(concat!("../../../../crates/ambo-sql/tests/tpch/queries/q", $number, ".sql"))),*]
        };
    }
    queries!(
        "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17",
        "18", "19", "20", "21", "22"
    )
};

/// From this scale factor on DuckDB's memory is bounded.
const LARGE: f64 = 10.0;

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let scale = sheet.options.scale;
    let file = |table: &str| sheet.inputs.join(format!("tpch-all-{scale}/{table}.parquet"));
    if !file("lineitem").exists() {
        let (inputs, file) = (sheet.inputs.display(), file("lineitem"));
        return Err(format!("no {}: run bench/sql/fetch.sh {inputs} {scale}", file.display()).into());
    }
    let db = open(sheet, "tpch", Sync::Off)?;
    let mut duckdb = Peer::start(sheet, DUCKDB, "tpch.duckdb", false)?;
    if scale >= LARGE {
        // Both processes are on one machine.
        duckdb.run(&["set memory_limit = '8GB'"])?;
    }
    let mut rows = 0;
    for (table, key) in TABLES {
        let path = file(table);
        rows += parquet::load(&db, table, key, &path)?.1;
        let create = format!("create table {table} as select * from read_parquet('{}')", path.display());
        duckdb.run(&[&create])?;
    }
    duckdb.run(&["checkpoint"])?;
    sheet.records = rows;
    db.settle_due()?;
    let mut connection = db.connect();
    let mut sums = [0.0; 2];
    for (number, query) in QUERIES.into_iter().enumerate() {
        let what = format!("TPC-H, SF {scale}: Q{}", number + 1);
        let (ours, found) = fastest(|| {
            let mut rows = 0;
            for batch in connection.sql(query)?.batches() {
                rows += batch?.num_rows();
            }
            Ok(rows)
        })?;
        let (_, theirs, answer) = duckdb.repeat(query)?;
        if found != answer.len() {
            return Err(format!("{what} has {found} rows, DuckDB's has {}", answer.len()).into());
        }
        sheet.figure(&what, "ambo", "time", "ms", ours * 1e3);
        sheet.figure(&what, DUCKDB, "time", "ms", theirs * 1e3);
        sheet.note(&format!("Q{}: {:.1} ms, DuckDB {:.1} ms", number + 1, ours * 1e3, theirs * 1e3));
        sums[0] += ours;
        sums[1] += theirs;
    }
    let what = format!("TPC-H, SF {scale}: all queries");
    sheet.figure(&what, "ambo", "time", "ms", sums[0] * 1e3);
    sheet.figure(&what, DUCKDB, "time", "ms", sums[1] * 1e3);
    let memory = Usage::now().memory_peak_bytes as f64;
    sheet.figure(&what, "ambo", "peak memory", "MiB", memory / (1 << 20) as f64);
    drop(connection);
    check(&db)?;
    duckdb.close()?;
    Ok(())
}
