//! What Ambo has to reach, and whether it does.

use std::fmt::Write as _;

use crate::contender::{AMBO, Contender, UNCOMPRESSED};
use crate::statistics::Summary;

/// What a figure of Ambo is held against.
#[derive(Debug, Clone, Copy)]
enum Against {
    /// At least so many times as good as a named peer.
    Peer(&'static str, f64),
    /// At least so many times as good as the best peer.
    Best(f64),
    /// At most this, in the metric's unit.
    AtMost(f64),
    /// At least this, in the metric's unit.
    AtLeast(f64),
    /// Each of some contenders, or of all if none is named, so many times as good as another one.
    Each(&'static [&'static str], &'static str, f64),
    /// At most this, of a named contender.
    Within(&'static str, f64),
    /// At least this, of a named contender.
    NotBelow(&'static str, f64),
}

/// One thing to reach. A workload with a `*` stands for all that begin and end so.
struct Target {
    what: &'static str,
    workload: &'static str,
    /// None: at every number of threads that was measured.
    threads: Option<usize>,
    metric: &'static str,
    against: Against,
}

const fn target(
    what: &'static str,
    workload: &'static str,
    threads: Option<usize>,
    metric: &'static str,
    against: Against,
) -> Target {
    Target { what, workload, threads, metric, against }
}

use Against::{AtLeast, AtMost, Best, Each, NotBelow, Peer, Within};

/// The contenders that are tables of Ambo, by their storage.
const STORAGES: &[&str] = &["ambo, btree", "ambo, column"];

/// The targets of the suites.
const TARGETS: [Target; 74] = [
    target("put, log off", "kekskv/put, log off", Some(1), "throughput", Peer("rocksdb", 1.5)),
    target("put, log off", "kekskv/put, log off", Some(16), "throughput", Peer("rocksdb", 1.5)),
    target("put, log on, no sync", "kekskv/put, log on, no sync", None, "throughput", Peer("rocksdb", 1.2)),
    target("durable commits", "durable/commit", Some(8), "throughput", Best(1.0)),
    target("get settled", "kekskv/get settled", Some(1), "throughput", Peer("lmdb", 1.0)),
    target("get settled", "kekskv/get settled", Some(1), "throughput", Peer("rocksdb", 2.0)),
    target("get before settling", "kekskv/get before settling", None, "throughput", Peer("rocksdb", 1.0)),
    target("full scan", "kekskv/full scan", Some(1), "throughput", Peer("lmdb", 1.0)),
    target("ranges of 10", "kekskv/ranges of 10", Some(1), "throughput", Peer("lmdb", 1.0)),
    target("sorted bulk load", "bulk/sorted load and close", Some(1), "throughput", Peer("lmdb", 1.0)),
    target("disk after settling", "kekskv/settled", Some(1), "disk / raw data", AtMost(1.1)),
    target("memory over budget", "kekskv/*", None, "memory over budget", AtMost(64.0)),
    target("memory over budget", "redbtable/*", None, "memory over budget", AtMost(64.0)),
    target("memory over budget", "ycsb/*", None, "memory over budget", AtMost(64.0)),
    target("memory over budget", "bigger/*", None, "memory over budget", AtMost(64.0)),
    target("memory over budget", "durable/*", None, "memory over budget", AtMost(64.0)),
    target("memory over budget", "bulk/*", None, "memory over budget", AtMost(64.0)),
    target(
        "open after a kill, 256 MiB of log",
        "open/after a kill",
        Some(1),
        "time for 256 MiB",
        AtMost(1.0),
    ),
    target(
        "open after a clean close",
        "open/after a clean close",
        Some(1),
        "time to first read",
        AtMost(0.02),
    ),
    target("decode", "codecs/integers: bp128, * u32", None, "decode", Peer("bitpacking", 1.0)),
    target("decode", "codecs/integers: simd-for, * u32", None, "decode", Peer("bitpacking", 1.0)),
    target("decode", "codecs/integers: stream-vbyte, * u32", None, "decode", Peer("stream-vbyte crate", 1.0)),
    target("decode", "codecs/columns: bit-packed*", None, "decode per cycle", AtLeast(1.0)),
    target("decode", "codecs/columns: ALP*", None, "decode per cycle", AtLeast(1.0)),
    target(
        "size",
        "codecs/records: VARCHAR(8000), all NULL",
        None,
        "stored / raw",
        Each(&["elekt-rle"], "firebird-rle", 10.0),
    ),
    target("size", "codecs/records: VARCHAR(8000)*", None, "stored / raw", Within("elekt-rle", 100.1)),
    target(
        "insert, settled",
        "compressed-tables/keys: *",
        None,
        "insert, settled",
        Each(&[], UNCOMPRESSED, 1.0 / 1.1),
    ),
    target("look-up", "compressed-tables/keys: *", None, "look-up", Each(&[], UNCOMPRESSED, 1.0 / 1.25)),
    target("sum", "compressed-tables/keys: *", None, "sum", Each(&["simd-for", "bp128"], UNCOMPRESSED, 1.0)),
    target(
        "pages for keys",
        "compressed-tables/keys: dense, no records",
        None,
        "pages less records",
        Each(&["bp128"], UNCOMPRESSED, 10.0),
    ),
    target(
        "memory saved",
        "compressed-tables/300 doubles: *",
        None,
        "memory saved",
        NotBelow("sparse rows", 53.0),
    ),
    target("size", "space/*: total", None, "size", Peer("parquet-snappy", 1.0)),
    target("decode", "space/*: total", None, "decode", Peer("parquet-zstd", 3.0)),
    target("seek", "columns/seeks, *: seek on b, warm", None, "p50", AtMost(20.0)),
    target("seek", "columns/seeks, *: seek on a, warm", None, "p50", AtMost(20.0)),
    target(
        "seek",
        "columns/seeks, 100 M rows: scan ÷ median seek on b, warm",
        None,
        "advantage",
        AtLeast(1000.0),
    ),
    target("batches", "columns/UUIDs *: all batches", None, "time", Peer("duckdb", 3.0)),
    target(
        "batches",
        "columns/UUIDs *: median of the last five ÷ of the first five",
        None,
        "growth",
        AtMost(1.2),
    ),
    target("upserts", "columns/1,000 random upserts*", None, "rate", Peer("duckdb", 10.0)),
    target("updates", "columns/1,956 single updates*", None, "rate", Peer("duckdb", 10.0)),
    target("upserts", "columns/16 columns, *: single upsert", None, "rate", Peer("sqlite", 1.0)),
    target("upserts", "columns/16 columns, *: single upsert", None, "rate", Peer("duckdb", 50.0)),
    target("reads", "columns/16 columns, *: point read", None, "p50", AtMost(10.0)),
    target("reads", "columns/16 columns, *: point read", None, "p50", Peer("duckdb", 20.0)),
    target("reads", "columns/lineitem, *: point read of 16 columns", None, "p50", AtMost(10.0)),
    target("reads", "columns/lineitem, *: point read of 16 columns", None, "p50", Peer("duckdb", 20.0)),
    target("better of both", "columns/16 columns, *: point read", None, "rate", Best(1.0)),
    target("better of both", "columns/16 columns, *: single update", None, "rate", Best(1.0)),
    target("better of both", "columns/16 columns, *: group-by, 2 threads", None, "time", Best(1.0)),
    target("better of both", "columns/16 columns, *: loaded", None, "size", Best(1.0)),
    target("scans", "columns/lineitem, * fresh", None, "time", Peer("duckdb", 1.0)),
    target("slow-down", "columns/lineitem, *", None, "slow-down", AtMost(1.3)),
    target("bulk load", "columns/lineitem, *: bulk load", None, "time", Peer("duckdb", 1.0)),
    target("size", "columns/lineitem, *: loaded", None, "size", Best(1.0)),
    target("deletion", "columns/half of the rows deleted, *: after ÷ before", None, "size left", AtMost(0.6)),
    target("small commits", "columns/*: files ÷ files of a bulk load", None, "growth", AtMost(1.2)),
    target("mixed", "columns/writer and scanner, *", None, "of the lone rate per core", AtLeast(70.0)),
    target(
        "prepared select",
        "sql/points, *: prepared select",
        None,
        "rate",
        Each(&["ambo, btree"], "sqlite", 1.0),
    ),
    target(
        "prepared select",
        "sql/points, *: prepared select",
        None,
        "rate",
        Each(&["ambo, column"], "sqlite", 1.0 / 1.5),
    ),
    target("unprepared select", "sql/points, *: unprepared select", None, "p50", Within("ambo, btree", 30.0)),
    target(
        "unprepared select",
        "sql/points, *: unprepared select",
        None,
        "p50",
        Within("ambo, column", 30.0),
    ),
    target("update", "sql/points, *: update, no sync", None, "rate", Each(STORAGES, "sqlite", 1.0)),
    target("update", "sql/points, *: update, no sync", None, "rate", Each(STORAGES, "duckdb", 20.0)),
    target("update", "sql/points, *: update, synced", None, "rate", Each(STORAGES, "sqlite", 1.0)),
    target("insert", "sql/points, *: insert, no sync", None, "rate", Each(STORAGES, "sqlite", 1.0)),
    target("insert", "sql/points, *: insert, no sync", None, "rate", Each(STORAGES, "duckdb", 20.0)),
    target("insert", "sql/points, *: insert, synced", None, "rate", Each(STORAGES, "sqlite", 1.0)),
    target("SmallBank", "sql/bank, *: alone", None, "rate", Peer("sqlite", 2.0)),
    target("SmallBank", "sql/bank, *: with an analyst", None, "rate", Peer("sqlite", 2.0)),
    target("query", "sql/TPC-H, *: Q1", None, "time", Peer("duckdb", 1.0)),
    target("query", "sql/TPC-H, *: Q6", None, "time", Peer("duckdb", 1.0)),
    target("query", "sql/TPC-H, *", None, "time", Peer("duckdb", 0.25)),
    target("all queries", "sql/TPC-H, *: all queries", None, "time", Peer("duckdb", 1.0 / 1.5)),
    target("memory", "sql/TPC-H, *: all queries", None, "peak memory", AtMost(16_384.0)),
];

impl Target {
    fn applies(&self, row: &Summary) -> bool {
        let workload = match self.workload.split_once('*') {
            Some((start, end)) => row.key.workload.starts_with(start) && row.key.workload.ends_with(end),
            None => row.key.workload == self.workload,
        };
        workload && self.threads.is_none_or(|t| t == row.key.threads) && self.metric == row.key.metric
    }

    /// What was reached, in words, and whether it is enough. None if something was not measured.
    fn judge(&self, row: &Summary) -> Option<(String, bool)> {
        let against_peer = |peer: &str, asked: f64| {
            let reached = row.ratio_to(peer)?;
            Some((format!("{reached:.2} × {peer}"), reached >= asked))
        };
        match self.against {
            Peer(peer, asked) => against_peer(peer, asked),
            Best(asked) => against_peer(row.best_peer()?.0.name(), asked),
            AtMost(most) => {
                let value = row.median(AMBO)?;
                Some((format!("{value:.3} {}", row.unit), value <= most))
            }
            AtLeast(least) => {
                let value = row.median(AMBO)?;
                Some((format!("{value:.2} {}", row.unit), value >= least))
            }
            Within(whose, most) => {
                let value = row.median(whose)?;
                Some((format!("{whose}: {value:.3} {}", row.unit), value <= most))
            }
            NotBelow(whose, least) => {
                let value = row.median(whose)?;
                Some((format!("{whose}: {value:.1} {}", row.unit), value >= least))
            }
            Each(whose, than, asked) => {
                let names = row.medians.keys().map(Contender::name);
                let wanted = names.filter(|name| *name != than && (whose.is_empty() || whose.contains(name)));
                let ratios = wanted.map(|name| Some((name, row.ratio(name, than)?)));
                let ratios: Vec<(&str, f64)> = ratios.collect::<Option<_>>()?;
                if ratios.len() < whose.len().max(1) {
                    return None;
                }
                let (name, worst) = ratios.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
                Some((format!("{worst:.2} × {than} ({name})"), worst >= asked))
            }
        }
    }

    fn asked(&self, row: &Summary) -> String {
        match self.against {
            Peer(peer, asked) => format!("≥ {} × {peer}", (asked * 100.0).round() / 100.0),
            Best(asked) => format!("≥ {asked} × the best peer"),
            AtMost(most) | Within(_, most) => format!("≤ {most} {}", row.unit),
            AtLeast(least) | NotBelow(_, least) => format!("≥ {least} {}", row.unit),
            Each(whose, than, asked) => {
                let whose = if whose.is_empty() { "each".into() } else { whose.join(", ") };
                format!("{whose} ≥ {asked:.2} × {than}")
            }
        }
    }
}

/// The table of targets, in Markdown.
pub fn table(rows: &[Summary]) -> String {
    let mut text =
        String::from("### Targets\n\n| target | threads | asked | reached | |\n|---|--:|---|---|---|\n");
    for target in &TARGETS {
        for row in rows.iter().filter(|row| target.applies(row)) {
            let (reached, verdict) = match target.judge(row) {
                Some((reached, true)) => (reached, "pass"),
                Some((reached, false)) => (reached, "**short**"),
                None => ("–".into(), "not measured"),
            };
            // Where only one row applies, the target's words say enough.
            let wide = target.workload.contains('*') || target.workload.contains(": ");
            let what =
                if wide { format!("{}, {}", target.what, row.key.workload) } else { target.what.into() };
            let asked = target.asked(row);
            let _ = writeln!(text, "| {what} | {} | {asked} | {reached} | {verdict} |", row.key.threads);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::example;
    use crate::statistics::summarise;

    #[test]
    fn targets_pass_at_the_asked_ratio_and_not_below() {
        // Keeps away: a target that passes whatever was measured.
        let put = |ambo: f64| {
            let figures = [
                example("kekskv/put, log off", "ambo", "throughput", ambo, 1),
                example("kekskv/put, log off", "rocksdb", "throughput", 100.0, 1),
                example("kekskv/put, log off", "lmdb", "throughput", 500.0, 1),
            ];
            table(&summarise(&figures))
        };
        assert!(put(150.0).contains("| 1.50 × rocksdb | pass |"), "{}", put(150.0));
        assert!(put(149.0).contains("| 1.49 × rocksdb | **short** |"), "{}", put(149.0));
    }

    #[test]
    fn the_worst_codec_decides() {
        // Keeps away: a target for every codec that the best codec reaches.
        let tables = |bp128: f64| {
            let workload = "compressed-tables/keys: random";
            let figures = [
                example(workload, "none", "look-up", 100.0, 1),
                example(workload, "vbyte", "look-up", 300.0, 1),
                example(workload, "bp128", "look-up", bp128, 1),
            ];
            table(&summarise(&figures))
        };
        assert!(tables(81.0).contains("0.81 × none (bp128) | pass"), "{}", tables(81.0));
        assert!(tables(79.0).contains("0.79 × none (bp128) | **short**"), "{}", tables(79.0));
        let alone = [example("compressed-tables/keys: random", "none", "look-up", 1.0, 1)];
        assert!(table(&summarise(&alone)).contains("not measured"));
    }

    #[test]
    fn what_was_not_measured_does_not_pass() {
        // Keeps away: an engine left out that turns a target into a pass.
        let figures = [example("kekskv/full scan", "lmdb", "throughput", 1.0, 1)];
        let text = table(&summarise(&figures));
        assert!(text.contains("not measured") && !text.contains("pass"), "{text}");
    }

    #[test]
    fn limits_hold_for_every_process_of_a_suite() {
        // Keeps away: a memory limit checked for one workload only.
        let mut figures = Vec::new();
        for (name, value) in [("kekskv/log-off whole process", 65.0), ("kekskv/log-on whole process", -3.0)] {
            let mut figure = example(name, "ambo", "memory over budget", value, 1);
            figure.unit = "MiB".into();
            figures.push(figure);
        }
        let text = table(&summarise(&figures));
        assert!(text.contains("65.000 MiB | **short**") && text.contains("-3.000 MiB | pass"), "{text}");
    }
}
