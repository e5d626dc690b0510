//! DuckDB and SQLite by way of `bench/columns/peers.py`: a request in JSON on a line, an answer on a line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{REPETITIONS, STRETCH, THREADS};
use crate::engine::Result;
use crate::workload::sheet::Sheet;

/// The script, next to this crate's manifest.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/columns/peers.py");

/// The names of the peers, as in the figures.
pub const DUCKDB: &str = "duckdb";
pub const SQLITE: &str = "sqlite";

/// A peer with an open database.
pub struct Peer {
    /// Its name in the figures.
    pub name: &'static str,
    /// Its database.
    pub path: PathBuf,
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// Statements that were run.
#[derive(Debug, Deserialize)]
struct Ran {
    seconds: f64,
}

/// A statement that was run several times.
#[derive(Debug, Deserialize)]
struct Repeated {
    seconds: Vec<f64>,
    rows: Vec<Vec<Value>>,
}

/// A statement that was run for each of some lists of parameters.
#[derive(Debug, Deserialize)]
pub struct Each {
    /// Seconds of all.
    pub seconds: f64,
    /// Microseconds of each.
    pub us: Vec<f64>,
    /// Rows that came.
    pub rows: u64,
}

#[derive(Deserialize)]
struct Failed {
    error: String,
}

impl Peer {
    /// Starts a peer with a new database. `sync`: commits wait for the disk.
    pub fn start(sheet: &Sheet, name: &'static str, file: &str, sync: bool) -> Result<Peer> {
        let python = sheet.inputs.join("duckdb-venv/bin/python");
        if !python.exists() {
            let inputs = sheet.inputs.display();
            return Err(format!("no {}: run bench/columns/fetch.sh {inputs}", python.display()).into());
        }
        let path = sheet.dir.join(file);
        let mut process =
            Command::new(python).args([SCRIPT, name]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err("a process without pipes".into());
        };
        let mut peer =
            Peer { name, path, process, requests: Some(requests), answers: BufReader::new(answers) };
        let path = peer.path.display().to_string();
        let opened = peer.ask(&json!({"do": "open", "path": path, "threads": THREADS, "sync": sync}))?;
        sheet.note(&format!("{name} {}", opened["version"].as_str().unwrap_or("of an unknown version")));
        Ok(peer)
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let requests = self.requests.as_mut().ok_or("the peer is closed")?;
        writeln!(requests, "{request}")?;
        requests.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("{} ended: {}", self.name, self.process.wait()?).into());
        }
        if let Ok(Failed { error }) = serde_json::from_str(&line) {
            return Err(format!("{}: {error}", self.name).into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Runs statements; returns the seconds of all.
    pub fn run(&mut self, sql: &[&str]) -> Result<f64> {
        let Ran { seconds } = serde_json::from_value(self.ask(&json!({"do": "run", "sql": sql}))?)?;
        Ok(seconds)
    }

    /// Runs a statement as often as Ambo runs its query: the seconds of the first and of the fastest, and the rows.
    pub fn repeat(&mut self, sql: &str) -> Result<(f64, f64, Vec<Vec<Value>>)> {
        let answer = self.ask(
            &json!({"do": "repeat", "sql": sql, "times": REPETITIONS, "least": STRETCH.as_secs_f64()}),
        )?;
        let Repeated { seconds, rows } = serde_json::from_value(answer)?;
        let fastest = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        Ok((*seconds.first().ok_or("no repetition")?, fastest, rows))
    }

    /// Runs a statement for each list of parameters, each a transaction or all one.
    pub fn each<const N: usize>(
        &mut self,
        sql: &str,
        parameters: &[[i64; N]],
        commits: bool,
    ) -> Result<Each> {
        let parameters: Vec<&[i64]> = parameters.iter().map(<[i64; N]>::as_slice).collect();
        let request = json!({"do": "each", "sql": sql, "parameters": parameters, "commits": commits});
        Ok(serde_json::from_value(self.ask(&request)?)?)
    }

    /// Inserts the rows of a Parquet file into an empty table, by the fastest way that the peer has from Python. Returns the seconds.
    pub fn fill(&mut self, table: &str, parquet: &Path) -> Result<f64> {
        let parquet = parquet.display();
        if self.name == DUCKDB {
            let insert = format!("INSERT INTO {table} SELECT * FROM read_parquet('{parquet}')");
            return self.run(&[&insert, "CHECKPOINT"]);
        }
        let answer = self.ask(&json!({"do": "fill", "table": table, "parquet": parquet.to_string()}))?;
        Ok(answer["seconds"].as_f64().ok_or("no seconds")?)
    }

    /// Bytes of its files as they are now.
    pub fn bytes_now(&self) -> u64 {
        let name = self.path.display();
        let files = [format!("{name}"), format!("{name}.wal"), format!("{name}-wal")];
        files.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|file| file.len()).sum()
    }

    /// Checkpoints and closes; returns the bytes of the files, which are removed.
    pub fn close(mut self) -> Result<u64> {
        let bytes = self.ask(&json!({"do": "close"}))?["bytes"].as_u64().ok_or("no bytes")?;
        std::fs::remove_file(&self.path)?;
        Ok(bytes)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends it; a peer in the middle of a statement would not hear of it.
        self.requests = None;
        if std::thread::panicking() {
            let _ = self.process.kill();
        }
        let _ = self.process.wait();
    }
}

/// A cell of a peer's row as a number: decimals come as text.
pub fn number(cell: &Value) -> Result<f64> {
    match cell {
        Value::String(text) => Ok(text.parse()?),
        other => other.as_f64().ok_or_else(|| format!("{other} is no number").into()),
    }
}
