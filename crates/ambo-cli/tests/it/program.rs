//! Running a program and looking at what it says; the tests of `ambo-tools` have this file, too. No run may take longer than [`PATIENCE`].

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A run that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What a run left.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A scratch directory with a database in it.
pub struct Scratch {
    dir: TempDir,
}

impl Scratch {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The database's directory.
    pub fn db(&self) -> String {
        self.path("db").display().to_string()
    }

    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), contents).unwrap();
        self.path(name).display().to_string()
    }
}

pub fn command(words: &[&str]) -> Command {
    let mut command = Command::new(crate::PROGRAM);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program.
pub fn ambo(words: &[&str]) -> Outcome {
    finish(command(words).spawn().unwrap())
}

/// Runs the program with these lines on standard input.
pub fn ambo_with_input(words: &[&str], input: &str) -> Outcome {
    let mut child = command(words).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    finish(child)
}

/// Waits for the end, and reads what was said meanwhile.
pub fn finish(mut child: Child) -> Outcome {
    drop(child.stdin.take());
    let read = |mut pipe: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(Box::new(child.stdout.take().unwrap()));
    let err = read(Box::new(child.stderr.take().unwrap()));
    let status = wait(&mut child);
    Outcome { code: status.code(), out: out.join().unwrap(), err: err.join().unwrap() }
}

fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the program hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Outcome {
    /// Asserts success; what was printed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.out
    }

    /// Asserts an exit code, nothing printed, and one line of explanation that has these words in it.
    #[track_caller]
    pub fn fails(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        let line = self.err.lines().last().unwrap_or_default();
        assert!(line.starts_with(crate::BEGIN), "{self:?}");
        for word in words {
            assert!(line.contains(word), "no {word:?} in {line:?}");
        }
    }

    /// Asserts an exit code, and an explanation of several lines that has these words in it; what was printed before.
    #[track_caller]
    pub fn explains(self, code: i32, words: &[&str]) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.err.lines().any(|line| line.starts_with(crate::BEGIN)), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in {}", self.err);
        }
        self.out
    }

    /// Asserts success and one JSON document.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }
}

/// `ambo check` finds nothing wrong.
#[track_caller]
pub fn assert_sound(db: &str) {
    assert_eq!(ambo(&["check", db, "--json"]).json()["sound"], true);
}

/// How many rows a table has, by `info` and by counting.
#[track_caller]
pub fn rows(db: &str, table: &str) -> u64 {
    let info = ambo(&["info", db, "--table", table, "--json"]).json();
    let rows = info["tables"][0]["rows"].as_u64().unwrap();
    assert_eq!(ambo(&["count", db, "--table", table]).ok().trim(), rows.to_string());
    rows
}

/// The database's directory exists.
pub fn exists(db: &str) -> bool {
    Path::new(db).exists()
}
