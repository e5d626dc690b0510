//! DuckDB through its Python package, where python3 and the package are to be had.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::engine::Result;

/// The script, next to this crate's manifest.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/space/duckdb_size.py");
/// The release that is compared with.
const PACKAGE: &str = "duckdb==2.0.0";

/// The interpreter of a virtual environment with DuckDB, which is made below `inputs` the first time.
pub fn python(inputs: &Path) -> Result<PathBuf> {
    let environment = inputs.join("duckdb-venv");
    let python = environment.join("bin/python");
    if run(Command::new(&python).args(["-c", "import duckdb"])).is_err() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    }
    Ok(python)
}

/// Bytes of a database file with the table of a Parquet file, and with each of its columns alone, less those of an
/// empty database. The whole table comes first.
pub fn sizes(python: &Path, parquet: &Path, scratch: &Path) -> Result<Vec<u64>> {
    let text = run(Command::new(python).arg(SCRIPT).arg(parquet).arg(scratch))?;
    text.lines().map(|line| Ok(line.parse()?)).collect()
}

fn run(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout)?);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(message.lines().last().unwrap_or("no message").to_owned().into())
}
