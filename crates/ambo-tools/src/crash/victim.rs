//! A child process of this program that writes, acknowledges line by line, and is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use ambo_cli::failure::{Failure, Result};

/// What a writer says after each commit: its number, and the number of the commit.
pub type Acknowledgement = (u32, u64);

/// Runs this program with these words for so long, then kills it as `kill -9` does. The acknowledgements, in their
/// order. A child that ends by itself is a failure: it had no reason to.
pub fn run_and_kill(words: &[String], life: Duration) -> Result<Vec<Acknowledgement>> {
    let fail = |error: std::io::Error| Failure::Database(format!("cannot run the writer: {error}"));
    let program = std::env::current_exe().map_err(fail)?;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(fail)?;
    let pipe = child.stdout.take().expect("the pipe was asked for");
    let listener = std::thread::spawn(move || listen(pipe));
    std::thread::sleep(life);
    let ended = end(&mut child).map_err(fail)?;
    let acknowledged = listener.join().expect("the listener does not panic");
    match ended {
        Some(status) => {
            Err(Failure::Database(format!("the writer ended by itself before it was killed: {status}")))
        }
        None => Ok(acknowledged),
    }
}

/// Kills the child; its status when it had ended by itself.
fn end(child: &mut Child) -> std::io::Result<Option<ExitStatus>> {
    let ended = child.try_wait()?;
    if ended.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(ended)
}

/// A line that the kill cut off was no acknowledgement.
fn listen(pipe: ChildStdout) -> Vec<Acknowledgement> {
    let mut lines = BufReader::new(pipe);
    let mut acknowledged = Vec::new();
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
        let words = line.strip_suffix('\n').and_then(|line| line.split_once(' '));
        if let Some((writer, number)) = words
            && let (Ok(writer), Ok(number)) = (writer.parse(), number.parse())
        {
            acknowledged.push((writer, number));
        }
        line.clear();
    }
    acknowledged
}
