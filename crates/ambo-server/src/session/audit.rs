//! The audit log: who came in or tried to, and what was done, a line of JSON each.
//!
//! 1. Lines are written as things end, before the client is told. Passwords are in none of them (`session/mask.rs`).
//! 2. A file that is long enough gets a number and another is begun; the oldest go when there are many. Only the user reads them.
//! 3. Where lines cannot be written, nobody comes in any more: what is not logged is not done.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ambo::Datum;
use serde_json::{Value as Json, json};

use super::mask::masked;
use crate::{Error, Result, server::Protocol};

const NAME: &str = "audit.jsonl";
/// Of statements only so much is kept.
const TEXT_MAX: usize = 8192;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// Bytes of a file.
    pub bytes: u64,
    /// Files besides the one that is written.
    pub files: u64,
}

impl Default for Kept {
    fn default() -> Self {
        Self { bytes: 64 << 20, files: 16 }
    }
}

/// See the module.
pub(crate) struct Audit {
    directory: PathBuf,
    kept: Kept,
    now: Mutex<Now>,
    is_broken: AtomicBool,
}

struct Now {
    file: File,
    bytes: u64,
}

/// Who does something, and how.
pub(crate) struct Who<'a> {
    pub session: Option<i32>,
    pub role: &'a str,
    pub protocol: Protocol,
    pub peer: Option<SocketAddr>,
}

impl Audit {
    /// Writes to a directory, which is made if it is not there.
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn open(directory: &Path, kept: Kept) -> Result<Self> {
        let failed = |error: std::io::Error| Error::new(format!("{}: {error}", directory.display()));
        fs::create_dir_all(directory).map_err(failed)?;
        let file = append(&directory.join(NAME)).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let now = Mutex::new(Now { file, bytes });
        Ok(Self { directory: directory.to_owned(), kept, now, is_broken: AtomicBool::new(false) })
    }

    /// Whether lines are lost: nobody is to come in.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// A statement that has ended, with what went wrong.
    pub fn statement(&self, who: &Who<'_>, text: &str, took: Duration, code: Option<&str>) {
        let text = masked(text);
        let text = &text[..text.floor_char_boundary(TEXT_MAX)];
        let millis = took.as_secs_f64() * 1000.0;
        self.write(who, "statement", &[("text", json!(text)), ("ms", json!(millis)), ("code", json!(code))]);
    }

    /// Somebody came in, or did not.
    pub fn login(&self, who: &Who<'_>, is_let_in: bool) {
        self.write(who, "login", &[("ok", json!(is_let_in))]);
    }

    /// A request that is no statement.
    #[cfg(feature = "http")]
    pub fn request(&self, who: &Who<'_>, method: &str, path: &str, status: u16) {
        self.write(
            who,
            "request",
            &[("method", json!(method)), ("path", json!(path)), ("status", json!(status))],
        );
    }

    fn write(&self, who: &Who<'_>, event: &str, more: &[(&str, Json)]) {
        let mut line = json!({
            "time": time(),
            "event": event,
            "role": who.role,
            "protocol": who.protocol.name(),
            "peer": who.peer.map(|peer| peer.to_string()),
        });
        line["session"] = json!(who.session);
        for (name, value) in more {
            line[*name] = value.clone();
        }
        let line = format!("{line}\n");
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if self.put(&mut now, &line).is_err() {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }

    fn put(&self, now: &mut Now, line: &str) -> std::io::Result<()> {
        if now.bytes > 0 && now.bytes + line.len() as u64 > self.kept.bytes {
            self.rotate(now)?;
        }
        now.file.write_all(line.as_bytes())?;
        now.bytes += line.len() as u64;
        Ok(())
    }

    fn rotate(&self, now: &mut Now) -> std::io::Result<()> {
        let mut numbers = self.numbers()?;
        let next = numbers.last().map_or(1, |last| last + 1);
        fs::rename(self.directory.join(NAME), self.directory.join(numbered(next)))?;
        *now = Now { file: append(&self.directory.join(NAME))?, bytes: 0 };
        numbers.push(next);
        let old = numbers.len().saturating_sub(usize::try_from(self.kept.files).unwrap_or(usize::MAX));
        numbers[..old].iter().try_for_each(|number| fs::remove_file(self.directory.join(numbered(*number))))
    }

    /// The numbers of the files, the oldest first.
    fn numbers(&self) -> std::io::Result<Vec<u64>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("audit-")?.strip_suffix(".jsonl"));
            numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

fn numbered(number: u64) -> String {
    format!("audit-{number:06}.jsonl")
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[expect(clippy::disallowed_methods, reason = "what a log says is the machine's time")]
fn time() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    ambo_files::datum::field(&Datum::TimestampTz(micros)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> Vec<Json> {
        fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    const WHO: Who<'_> = Who { session: Some(3), role: "ada", protocol: Protocol::Postgres, peer: None };

    // Keeps away: a log that has passwords, grows without end, or is read by others.
    #[test]
    fn lines_are_masked_and_files_rotated() {
        let home = tempfile::tempdir().unwrap();
        let audit = Audit::open(&home.path().join("audit"), Kept { bytes: 1000, files: 2 }).unwrap();
        audit.login(&WHO, false);
        audit.statement(&WHO, "alter role ada password 'secret'", Duration::from_millis(2), Some("42501"));
        let written = lines(&home.path().join("audit/audit.jsonl"));
        assert_eq!((&written[0]["event"], &written[0]["ok"]), (&json!("login"), &json!(false)));
        assert_eq!(written[1]["text"], json!("alter role ada password …"));
        assert_eq!((&written[1]["code"], &written[1]["session"]), (&json!("42501"), &json!(3)));
        for nth in 0..50 {
            audit.statement(&WHO, &format!("select {nth}"), Duration::ZERO, None);
        }
        let mut names: Vec<_> = fs::read_dir(home.path().join("audit"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(names[2], "audit.jsonl");
        assert!(lines(&home.path().join("audit/audit.jsonl")).last().unwrap()["text"] == json!("select 49"));
        // What was not rotated away goes on.
        let again = Audit::open(&home.path().join("audit"), Kept { bytes: 1000, files: 2 }).unwrap();
        again.login(&WHO, true);
        assert!(!again.is_broken());
    }

    #[test]
    fn a_log_that_cannot_be_written_says_so() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("audit");
        let audit = Audit::open(&directory, Kept { bytes: 10, files: 2 }).unwrap();
        audit.login(&WHO, true);
        fs::remove_dir_all(&directory).unwrap();
        audit.login(&WHO, true);
        assert!(audit.is_broken());
    }
}
