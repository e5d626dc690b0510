//! Tables in Markdown: absolute medians, and ratios of Ambo to the best peer and to named ones.

use std::fmt::Write as _;

use super::engines;
use crate::contender::Contender;
use crate::statistics::{Summary, larger_is_better};

/// The metric of phases that were ended early.
pub const LIMITED: &str = "done within the limit";
/// Peers that every table in which they are shows a ratio to.
const NAMED_PEERS: [&str; 4] = ["rocksdb", "lmdb", "parquet-snappy", "parquet-zstd"];

/// Throughput: one row for a workload and a number of threads.
pub fn throughput(rows: &[Summary]) -> String {
    let rows: Vec<&Summary> = rows.iter().filter(|row| row.key.metric == "throughput").collect();
    let name = |row: &Summary| (phase(row), row.key.threads.to_string());
    table("Records a second", &["workload", "threads"], &rows, |row| {
        let (workload, threads) = name(row);
        vec![workload, threads]
    })
}

/// Latencies in microseconds, `p50 / p99 / p99.9 / max` in a cell.
pub fn latencies(rows: &[Summary]) -> String {
    let metrics = ["p50", "p99", "p99.9", "max"];
    let first: Vec<&Summary> = rows.iter().filter(|row| row.key.metric == metrics[0]).collect();
    let kinds = engines(first.iter().flat_map(|row| row.medians.keys()));
    if first.is_empty() {
        return String::new();
    }
    let mut text = String::from("Latency in µs: p50 / p99 / p99.9 / max\n\n| workload | threads |");
    kinds.iter().for_each(|kind| write!(text, " {} |", kind.name()).unwrap_or_default());
    text.push_str("\n|---|--:|");
    text.push_str(&"--:|".repeat(kinds.len()));
    text.push('\n');
    for row in first {
        let _ = write!(text, "| {} | {} |", phase(row), row.key.threads);
        for kind in &kinds {
            let cell: Vec<String> = metrics
                .iter()
                .filter_map(|metric| {
                    let same = |other: &&Summary| {
                        (&other.key.workload, other.key.threads, other.key.metric.as_str())
                            == (&row.key.workload, row.key.threads, *metric)
                    };
                    let found = rows.iter().find(same)?;
                    found.medians.get(kind).map(|&value| short(value))
                })
                .collect();
            let _ = write!(text, " {} |", if cell.is_empty() { "–".into() } else { cell.join(" / ") });
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Everything else: times, sizes, memory, written bytes.
pub fn costs(rows: &[Summary]) -> String {
    let shown = |row: &&Summary| {
        let metric = row.key.metric.as_str();
        let elsewhere = matches!(metric, "throughput" | "p50" | "p99" | "p99.9" | "max" | LIMITED);
        // Phases that only read write nothing, and a processor's time for one record follows its rate.
        let idle = row.unit == "MiB" && metric == "written" && row.medians.values().all(|&mib| mib < 1.0);
        !(elsewhere || idle || row.unit == "µs/record")
    };
    let rows: Vec<&Summary> = rows.iter().filter(shown).collect();
    table("Costs (less is better)", &["workload", "threads", "metric", "unit"], &rows, |row| {
        vec![phase(row), row.key.threads.to_string(), row.key.metric.clone(), row.unit.clone()]
    })
}

/// What stands before the colon in the name of a row's data: rows of one group are of one table.
fn group(row: &Summary) -> String {
    phase(row).split_once(": ").map_or(String::new(), |(group, _)| group.to_owned())
}

/// One table for each group and metric, for suites whose rows are data and whose columns are ways to store them.
pub fn metrics(rows: &[Summary]) -> String {
    let mut groups: Vec<(String, &str, Vec<&Summary>)> = Vec::new();
    for row in rows {
        let (group, metric) = (group(row), row.key.metric.as_str());
        match groups.iter_mut().find(|(g, m, _)| (g.as_str(), *m) == (group.as_str(), metric)) {
            Some((_, _, rows)) => rows.push(row),
            None => groups.push((group, metric, vec![row])),
        }
    }
    let mut text = String::new();
    for (group, metric, rows) in groups {
        let unit = &rows[0].unit;
        let better = if larger_is_better(unit) { "more" } else { "less" };
        let before = if group.is_empty() { String::new() } else { format!("{group}: ") };
        let title = format!("**{before}{metric}**, {unit} ({better} is better)");
        text.push_str(&table(&title, &["data"], &rows, |row| {
            let phase = phase(row);
            vec![phase.strip_prefix(&before).unwrap_or(&phase).to_owned()]
        }));
    }
    text
}

/// Phases that the time limit ended, with the share of their operations that were done.
pub fn limited(rows: &[Summary]) -> String {
    let notes: Vec<String> = rows
        .iter()
        .filter(|row| row.key.metric == LIMITED)
        .flat_map(|row| {
            row.medians.iter().map(|(kind, share)| {
                let (phase, threads) = (phase(row), row.key.threads);
                format!("{phase} ({threads}) on {}: {:.0} %", kind.name(), share * 100.0)
            })
        })
        .collect();
    if notes.is_empty() {
        return String::new();
    }
    format!(
        "Ended by the time limit, with the share of the operations that were done: {}.\n\n",
        notes.join("; ")
    )
}

fn table(title: &str, heads: &[&str], rows: &[&Summary], cells: impl Fn(&Summary) -> Vec<String>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let kinds = engines(rows.iter().flat_map(|row| row.medians.keys()));
    let has_best = kinds.iter().any(Contender::is_peer);
    let ratios = kinds.iter().any(Contender::is_ambo) && has_best;
    let mut text = format!("{title}\n\n|");
    heads.iter().for_each(|head| write!(text, " {head} |").unwrap_or_default());
    kinds.iter().for_each(|kind| write!(text, " {} |", kind.name()).unwrap_or_default());
    let shown = |name: &&str| ratios && kinds.iter().any(|kind| kind.name() == *name);
    let named: Vec<&str> = NAMED_PEERS.into_iter().filter(shown).collect();
    text.push_str(if ratios { " best peer | ambo ÷ best |" } else { " best |" });
    named.iter().for_each(|name| write!(text, " ÷ {name} |").unwrap_or_default());
    text.push_str("\n|");
    text.push_str(&"---|".repeat(heads.len()));
    text.push_str(&"--:|".repeat(kinds.len()));
    text.push_str(if ratios { "---|--:|" } else { "---|" });
    text.push_str(&"--:|".repeat(named.len()));
    text.push('\n');
    for row in rows {
        text.push('|');
        cells(row).iter().for_each(|cell| write!(text, " {cell} |").unwrap_or_default());
        for kind in &kinds {
            let cell = row.medians.get(kind).map_or("–".into(), |&value| figure(value, &row.unit));
            let _ = write!(text, " {cell} |");
        }
        let best = row.best_peer();
        let _ = write!(text, " {} |", best.map_or("–", |(kind, _)| kind.name()));
        if ratios {
            let to_best = best.and_then(|(kind, _)| row.ratio_to(kind.name()));
            for value in std::iter::once(to_best).chain(named.iter().map(|name| row.ratio_to(name))) {
                let _ = write!(text, " {} |", value.map_or("–".into(), ratio));
            }
        }
        text.push('\n');
    }
    if ratios {
        text.push_str("\nA ratio above 1 means that Ambo is better, also where less is better.\n");
    }
    text.push('\n');
    text
}

/// The workload without its suite.
fn phase(row: &Summary) -> String {
    row.key.workload.split_once('/').map_or(row.key.workload.clone(), |(_, phase)| phase.to_owned())
}

fn ratio(value: f64) -> String {
    if value >= 1.0 { format!("**{value:.2}**") } else { format!("{value:.2}") }
}

fn figure(value: f64, unit: &str) -> String {
    if unit == "records/s" || value.abs() >= 1000.0 { grouped(value) } else { short(value) }
}

/// Three digits or so.
pub fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1000.0 => grouped(value),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A whole number with its thousands apart.
pub fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::example;
    use crate::statistics::summarise;

    #[test]
    fn numbers_can_be_read() {
        // Keeps away: a table of digits that nobody can compare.
        assert_eq!(grouped(1_234_567.4), "1,234,567");
        assert_eq!(grouped(-12.0), "-12");
        assert_eq!(grouped(999.0), "999");
        assert_eq!(
            (short(0.012_34), short(3.456), short(45.67)),
            ("0.0123".into(), "3.46".into(), "45.7".into())
        );
    }

    #[test]
    fn tables_name_the_best_peer_and_the_ratio() {
        // Keeps away: a ratio to an engine other than the one named.
        let figures = [
            example("kekskv/get", "ambo", "throughput", 3000.0, 1),
            example("kekskv/get", "lmdb", "throughput", 2000.0, 1),
            example("kekskv/get", "rocksdb", "throughput", 1000.0, 1),
        ];
        let text = throughput(&summarise(&figures));
        assert!(
            text.contains("| get | 1 | 3,000 | 1,000 | 2,000 | lmdb | **1.50** | **3.00** | **1.50** |"),
            "{text}"
        );
        assert!(text.contains("| best peer | ambo ÷ best | ÷ rocksdb | ÷ lmdb |\n"), "{text}");
    }
}
