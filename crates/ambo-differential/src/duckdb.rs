//! DuckDB, in a Python process of its own, which is told statements line by line.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::Value;

use crate::{
    Result,
    answer::{Answer, Cell},
    peer::{Outcome, Peer},
};

/// What it runs.
const PROGRAM: &str = include_str!("duckdb.py");

pub struct DuckDb {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl DuckDb {
    /// Starts the process. REQUIRES: `python` is one that has the module `duckdb`.
    pub fn new(python: &str) -> Result<Self> {
        let mut child = Command::new(python)
            .args(["-u", "-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{python}: {error}"))?;
        let to = child.stdin.take().ok_or("no way to the process")?;
        let from = BufReader::new(child.stdout.take().ok_or("no way from the process")?);
        Ok(Self { child, to, from })
    }

    fn ask(&mut self, statement: &Value) -> Result<Value> {
        let ask = |of: &mut Self| {
            writeln!(of.to, "{statement}")?;
            let mut line = String::new();
            of.from.read_line(&mut line).map(|_| line)
        };
        let line = ask(self)?;
        match line.is_empty() {
            true => Err(format!("DuckDB ended at {statement}: {:?}", self.child.wait()).into()),
            false => {
                Ok(serde_json::from_str(&line).map_err(|error| format!("{statement}: {error} in {line}"))?)
            }
        }
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        // It has nothing to lose, and may have ended.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Peer for DuckDb {
    fn reset(&mut self) -> Result<()> {
        self.ask(&Value::Null).map(drop)
    }

    fn run(&mut self, statement: &str) -> Result<Outcome> {
        let answer = self.ask(&Value::from(statement))?;
        if let Some(error) = answer["e"].as_str() {
            return Ok(Outcome::Failed(error.to_owned()));
        }
        if answer["many"] == Value::Bool(true) {
            return Ok(Outcome::TooMany);
        }
        let Some(types) = answer["t"].as_str() else {
            return Ok(Outcome::Changed(answer["n"].as_u64().unwrap_or(0)));
        };
        let rows = answer["r"].as_array().ok_or("no rows")?;
        let rows = rows.iter().map(|row| {
            let cells = row.as_array().ok_or("no row")?;
            cells.iter().zip(types.chars()).map(|(cell, letter)| of_json(cell, letter)).collect()
        });
        Ok(Outcome::Rows(Answer {
            types: types.to_owned(),
            rows: rows.collect::<Result<_>>()?,
            changed: None,
        }))
    }
}

fn of_json(value: &Value, letter: char) -> Result<Cell> {
    let text = match value {
        Value::Null => return Ok(Cell::Null),
        Value::Bool(is) => return Ok(Cell::Bool(*is)),
        Value::String(text) => text.as_str(),
        other => return Err(format!("{other} is not a value").into()),
    };
    // What has no place in a cell, as a number of 39 digits, is told apart from what Ambo has; the others are still asked.
    Ok(cell(text, letter).unwrap_or_else(|_| Cell::Text(text.to_owned())))
}

fn cell(text: &str, letter: char) -> Result<Cell> {
    Ok(match letter {
        'I' | 'D' => exact(text)?,
        'R' => Cell::Double(text.parse()?),
        'X' => Cell::Blob(bytes(text)?),
        'A' => Cell::Date(text.parse()?),
        'M' => Cell::Time(text.parse()?),
        'P' | 'Z' => Cell::Moment(text.parse()?),
        _ => Cell::Text(text.to_owned()),
    })
}

/// A number with digits behind the point, or with an exponent.
fn exact(text: &str) -> Result<Cell> {
    let (text, exponent) = text.split_once(['E', 'e']).unwrap_or((text, "0"));
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let mut digits: i128 = format!("{whole}{part}").parse()?;
    let mut scale = i32::try_from(part.len())? - exponent.parse::<i32>()?;
    while scale < 0 {
        (digits, scale) = (digits.checked_mul(10).ok_or("too many digits")?, scale + 1);
    }
    Ok(Cell::Exact(digits, i8::try_from(scale)?))
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    let byte = |place| Ok(u8::from_str_radix(hex.get(place..place + 2).ok_or("half a byte")?, 16)?);
    (0..hex.len()).step_by(2).map(byte).collect()
}
