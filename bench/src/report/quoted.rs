//! upscaledb's figures beside ours.

use std::fmt::Write as _;

use super::table::{grouped, short};
use crate::statistics::{Summary, larger_is_better};

/// A figure of upscaledb, quoted, not measured in this run: built with -O3, processor seconds for 10 million u32 keys, on a
/// machine of the same kind. Without transactions, which it has neither isolation nor log for, unless it says so.
struct Quoted {
    workload: &'static str,
    metric: &'static str,
    /// Codecs and the figure in the unit of the metric.
    figures: &'static [(&'static str, f64)],
    /// How many times as good Ambo is to be.
    asked: f64,
}

const fn rate(keys: f64, seconds: f64) -> f64 {
    keys / seconds
}

const TEN: f64 = 10e6;
const RANDOM: &str = "compressed-tables/keys: random";
const LOGGED: &str = "compressed-tables/keys: random, log on";
const DENSE: &str = "compressed-tables/keys: dense, no records";

const QUOTED: [Quoted; 9] = [
    Quoted {
        workload: RANDOM,
        metric: "insert, settled",
        figures: &[
            ("none", rate(TEN, 11.9)),
            ("for", rate(TEN, 15.6)),
            ("simd-for", rate(TEN, 13.6)),
            ("bp128", rate(TEN, 19.1)),
            ("vbyte", rate(TEN, 13.9)),
        ],
        asked: 1.0,
    },
    Quoted {
        workload: RANDOM,
        metric: "look-up",
        figures: &[
            ("none", rate(TEN, 11.2)),
            ("for", rate(TEN, 11.9)),
            ("simd-for", rate(TEN, 10.7)),
            ("bp128", rate(TEN, 10.5)),
            ("vbyte", rate(TEN, 12.9)),
        ],
        asked: 1.0,
    },
    Quoted { workload: RANDOM, metric: "scan", figures: &[("none", rate(TEN, 0.45))], asked: 1.0 },
    Quoted {
        workload: RANDOM,
        metric: "sum",
        figures: &[
            ("none", rate(TEN, 0.011)),
            ("for", rate(TEN, 0.019)),
            ("simd-for", rate(TEN, 0.016)),
            ("bp128", rate(TEN, 0.020)),
            ("vbyte", rate(TEN, 0.035)),
        ],
        asked: 1.0,
    },
    // One million keys.
    Quoted {
        workload: LOGGED,
        metric: "a transaction each",
        figures: &[("none", rate(1e6, 11.2))],
        asked: 5.0,
    },
    Quoted {
        workload: LOGGED,
        metric: "1,000 a transaction",
        figures: &[("none", rate(1e6, 3.0))],
        asked: 5.0,
    },
    Quoted {
        workload: DENSE,
        metric: "insert, settled",
        figures: &[
            ("none", rate(TEN, 1.8)),
            ("for", rate(TEN, 2.2)),
            ("simd-for", rate(TEN, 2.1)),
            ("bp128", rate(TEN, 3.3)),
            ("vbyte", rate(TEN, 2.3)),
        ],
        asked: 1.0,
    },
    Quoted {
        workload: DENSE,
        metric: "sum",
        figures: &[
            ("none", rate(TEN, 0.0051)),
            ("for", rate(TEN, 0.0048)),
            ("simd-for", rate(TEN, 0.0041)),
            ("bp128", rate(TEN, 0.0042)),
            ("vbyte", rate(TEN, 0.0060)),
        ],
        asked: 1.0,
    },
    Quoted {
        workload: DENSE,
        metric: "pages less records",
        figures: &[("none", 4.02), ("for", 1.08), ("simd-for", 1.16), ("bp128", 0.22), ("vbyte", 1.06)],
        asked: 1.0,
    },
];

/// The table, in Markdown; empty if nothing of it was measured.
pub fn table(rows: &[Summary]) -> String {
    let mut text = String::new();
    for quoted in &QUOTED {
        let same = |row: &&Summary| row.key.workload == quoted.workload && row.key.metric == quoted.metric;
        let Some(row) = rows.iter().find(same) else { continue };
        for &(codec, theirs) in quoted.figures {
            let Some(ours) = row.median(codec) else { continue };
            let ratio = if larger_is_better(&row.unit) { ours / theirs } else { theirs / ours };
            let verdict = if ratio >= quoted.asked { "pass" } else { "**short**" };
            let cell = |value: f64| if value >= 1000.0 { grouped(value) } else { short(value) };
            let (_, phase) = row.key.workload.split_once('/').unwrap_or(("", &row.key.workload));
            let _ = writeln!(
                text,
                "| {phase}: {} | {codec} | {} | {} | {} | {ratio:.2} | ≥ {} | {verdict} |",
                quoted.metric,
                row.unit,
                cell(theirs),
                cell(ours),
                quoted.asked
            );
        }
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "Beside upscaledb, whose figures are quoted, not measured in this run (built with -O3, processor seconds for 10 million \
         keys, 1 million with transactions, turned into rates; it has neither isolation nor a log where the row does not say \
         \"log on\")\n\n| what | codec | unit | upscaledb, quoted | ambo | ratio | asked | |\n\
         |---|---|---|--:|--:|--:|---|---|\n{text}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::example;
    use crate::statistics::summarise;

    #[test]
    fn more_keys_and_fewer_bytes_are_better() {
        // Keeps away: a size that passes because it is larger.
        let mut size = example(DENSE, "bp128", "pages less records", 0.44, 1);
        size.unit = "bytes/key".into();
        let mut sum = example(DENSE, "bp128", "sum", rate(TEN, 0.0021), 1);
        sum.unit = "keys/s".into();
        let text = table(&summarise(&[size, sum]));
        assert!(text.contains("| 0.22 | 0.44 | 0.50 | ≥ 1 | **short** |"), "{text}");
        assert!(text.contains("| 2.00 | ≥ 1 | pass |"), "{text}");
        assert!(table(&[]).is_empty());
    }
}
