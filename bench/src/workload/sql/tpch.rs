//! TPC-H: the 22 queries on column tables.

use super::tpc::Tpc;
use crate::engine::Result;
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

pub fn run(sheet: &mut Sheet) -> Result<()> {
    Tpc { name: "TPC-H", dir: "tpch-all", tables: &TABLES, queries: &QUERIES }.run(sheet)
}
