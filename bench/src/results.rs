//! The form of the results, and their file: a JSON list, one object a line so that differences can be read.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::engine::Result;

/// One measured figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What ran: `suite/phase`, such as `kekskv/get settled`.
    pub workload: String,
    /// What it ran on.
    pub engine: Contender,
    /// Threads at work.
    pub threads: usize,
    /// What was measured: `throughput`, `p99`, `disk`, …
    pub metric: String,
    /// The unit of the value.
    pub unit: String,
    /// The figure.
    pub value: f64,
    /// Which repetition, from 1.
    pub run: usize,
    /// Records in the data set.
    pub records: u64,
    /// Where and when.
    pub machine: Machine,
    /// Why there is no figure, if the process failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Where figures were taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// Processors that the process may use.
    pub cores: usize,
    /// Memory, in GiB.
    pub memory_gib: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The file system of the data.
    pub disk: String,
    /// The day, UTC.
    pub date: String,
}

impl Machine {
    /// This machine, with the file system below `dir`.
    pub fn here(dir: &Path) -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let after = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default();
            line.split_once(':').map_or(String::new(), |(_, rest)| rest.trim().to_owned())
        };
        let memory = after(&read("/proc/meminfo"), "MemTotal");
        let memory_kib = memory.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        Machine {
            cpu: after(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_gib: (memory_kib + (1 << 19)) >> 20,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            disk: output("df", &["--output=fstype", &dir.display().to_string()]),
            date: output("date", &["-u", "+%Y-%m-%d"]),
        }
    }
}

/// The last line that a command prints; empty if there is no such command.
fn output(command: &str, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(command).args(arguments).output() else {
        return String::new();
    };
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().trim().to_owned()
}

/// Writes figures as a JSON list, by way of a new file so that a stop leaves the old or the new one.
pub fn write(path: &Path, figures: &[Figure]) -> Result<()> {
    let mut text = String::from("[\n");
    for (i, figure) in figures.iter().enumerate() {
        let comma = if i + 1 < figures.len() { "," } else { "" };
        writeln!(text, "{}{comma}", serde_json::to_string(figure)?)?;
    }
    text.push_str("]\n");
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let new = path.with_extension("json.new");
    std::fs::write(&new, text)?;
    Ok(std::fs::rename(new, path)?)
}

/// Reads figures back.
pub fn read(path: &Path) -> Result<Vec<Figure>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?)
}

#[cfg(test)]
pub(crate) fn example(workload: &str, engine: &str, metric: &str, value: f64, run: usize) -> Figure {
    Figure {
        workload: workload.into(),
        engine: engine.into(),
        threads: 1,
        metric: metric.into(),
        unit: "records/s".into(),
        value,
        run,
        records: 1000,
        machine: Machine::here(Path::new("/")),
        failure: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_survive_their_file() {
        // Keeps away: a report made from other figures than those that were measured.
        let path = std::env::temp_dir().join(format!("ambo-bench-{}.json", std::process::id()));
        let mut failed = example("durable/commit", "sqlite", "throughput", 0.0, 2);
        failed.failure = Some("timeout".into());
        let figures = vec![example("kekskv/put", "ambo", "throughput", 1.5, 1), failed];
        write(&path, &figures).expect("written");
        assert_eq!(read(&path).expect("read"), figures);
        let text = std::fs::read_to_string(&path).expect("text");
        assert_eq!(text.lines().count(), 4, "one object a line");
        std::fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn a_damaged_file_is_named() {
        // Keeps away: an error that does not say which file to look at.
        let error = read(Path::new("/nonexistent/SUITE.json")).expect_err("no such file");
        assert!(error.to_string().contains("SUITE.json"));
    }
}
