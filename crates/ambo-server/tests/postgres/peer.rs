//! The two servers that are asked.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{Served, run};

/// One that answers psql.
pub trait Peer {
    /// Where psql finds it.
    fn url(&self) -> String;

    /// What psql writes for a statement, as CSV; or what it says of one that fails.
    fn ask(&self, statement: &str) -> Result<String, String> {
        let mut command = Command::new("psql");
        command.args(["-X", "--csv", "-v", "ON_ERROR_STOP=1", "-d", &self.url(), "-c", statement]);
        let done = run(command);
        match done.status.success() {
            true => Ok(String::from_utf8(done.stdout).unwrap()),
            false => Err(String::from_utf8_lossy(&done.stderr).trim_end().to_owned()),
        }
    }
}

/// This server, with a database in memory.
pub struct Ours(Served);

impl Ours {
    pub fn new(script: &str) -> Self {
        Self(Served::new(script))
    }
}

impl Peer for Ours {
    fn url(&self) -> String {
        self.0.url()
    }
}

/// PostgreSQL 15, in a directory of its own, by a socket there.
pub struct Theirs {
    directory: tempfile::TempDir,
    programs: PathBuf,
}

const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

impl Theirs {
    /// `None` where PostgreSQL is not installed.
    pub fn new(script: &str) -> Option<Self> {
        let programs = PathBuf::from(PROGRAMS);
        if !programs.join("postgres").exists() {
            return None;
        }
        let directory = tempfile::Builder::new().prefix("pg").tempdir_in("/tmp").unwrap();
        let theirs = Self { directory, programs };
        let root = theirs.directory.path();
        // PostgreSQL does not run as root.
        if is_root() {
            assert!(run(with_args("chown", &["postgres", &shown(root)])).status.success());
        }
        let data = shown(&root.join("data"));
        theirs.program(
            "initdb",
            &["-D", &data, "-A", "trust", "-U", "ada", "--no-sync", "--locale=C", "--encoding=UTF8"],
        );
        let options = format!("-k {} -c listen_addresses= -c fsync=off -c jit=off", shown(root));
        theirs.program(
            "pg_ctl",
            &["-D", &data, "-o", &options, "-l", &shown(&root.join("log")), "-w", "start"],
        );
        let made = run(with_args(
            "psql",
            &["-X", "-d", &theirs.in_database("postgres"), "-c", "create database ambo"],
        ));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        theirs.ask(script).unwrap();
        Some(theirs)
    }

    fn in_database(&self, name: &str) -> String {
        format!("postgresql://ada@/{name}?host={}", shown(self.directory.path()))
    }

    fn program(&self, name: &str, args: &[&str]) {
        let path = shown(&self.programs.join(name));
        let mut command = match is_root() {
            true => with_args("setpriv", &["--reuid=postgres", "--regid=postgres", "--clear-groups", &path]),
            false => Command::new(&path),
        };
        // What it starts must not hold on to pipes of ours.
        let done = command
            .args(args)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        assert!(done.status().unwrap().success(), "{name} {args:?}");
    }
}

impl Peer for Theirs {
    fn url(&self) -> String {
        self.in_database("ambo")
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let data = shown(&self.directory.path().join("data"));
        self.program("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
    }
}

fn with_args(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn is_root() -> bool {
    let done = run(with_args("id", &["-u"]));
    done.stdout == b"0\n"
}
