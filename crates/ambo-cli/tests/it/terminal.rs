//! The shell at a terminal: typed keys, Ctrl-C, Tab, and what is seen.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::pty::{Winsize, openpty};

use crate::program::{PATIENCE, Scratch, ambo, assert_sound};

const CONTROL_C: &str = "\x03";
const CONTROL_D: &str = "\x04";
const UP: &str = "\x1b[A";

/// A program at a terminal of 80 columns.
struct Terminal {
    child: Child,
    keys: File,
    seen: Arc<Mutex<Vec<u8>>>,
    /// What was waited for ends here.
    read: usize,
}

impl Terminal {
    /// `ambo` with a database in the scratch directory, and its history there, too.
    fn new(scratch: &Scratch) -> Self {
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).unwrap();
        // `setsid --ctty` makes it the terminal whose Ctrl-C is a signal.
        let child = Command::new("setsid")
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_ambo"), &scratch.db()])
            .env("TERM", "xterm")
            .env("XDG_STATE_HOME", scratch.path("state"))
            .env_remove("AMBO_HISTORY")
            .env_remove("NO_COLOR")
            .stdin(pty.slave.try_clone().unwrap())
            .stdout(pty.slave.try_clone().unwrap())
            .stderr(pty.slave)
            .spawn()
            .unwrap();
        let keys = File::from(pty.master);
        let seen: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (mut screen, to) = (keys.try_clone().unwrap(), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end of the program is an error here.
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                to.lock().unwrap().extend_from_slice(&bytes[..length]);
            }
        });
        let mut terminal = Self { child, keys, seen, read: 0 };
        terminal.expect("ambo> ");
        terminal
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// What is seen since the last wait, without colours and movements.
    fn unread(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let text = String::from_utf8_lossy(&seen[self.read..]).into_owned();
        console::strip_ansi_codes(&text).replace('\r', "")
    }

    /// Waits until what is seen is so, and returns it.
    #[track_caller]
    fn wait(&mut self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let unread = self.unread();
            if is_so(&unread) {
                self.read = self.seen.lock().unwrap().len();
                return unread;
            }
            assert!(start.elapsed() < PATIENCE, "no {what:?} in {unread:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until this is seen.
    #[track_caller]
    fn expect(&mut self, text: &str) -> String {
        self.wait(text, |unread| unread.contains(text))
    }

    /// Waits until this is seen, and a prompt behind it.
    #[track_caller]
    fn expect_then(&mut self, text: &str, prompt: &str) -> String {
        let prompt = format!("\n{prompt}");
        self.wait(text, |unread| unread.contains(text) && unread.ends_with(&prompt))
    }

    /// Types a line, and waits for its answer and the next prompt.
    #[track_caller]
    fn ask(&mut self, line: &str, prompt: &str) -> String {
        self.press(&format!("{line}\r"));
        self.expect_then("", prompt)
    }

    fn leave(mut self) {
        self.press(CONTROL_D);
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("the program does not leave: {}", self.unread());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(0));
    }
}

impl Drop for Terminal {
    /// A test that fails leaves no program behind. One that has left is gone already.
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

// Keeps away: a statement that is run before its end, and answers that do not say what was done.
#[test]
fn statements_of_several_lines() {
    let scratch = Scratch::new();
    let mut terminal = Terminal::new(&scratch);
    terminal.press("create table towns (\rid bigint primary key,\rname text -- not the end;\r");
    let answer = terminal.ask(");", "ambo> ");
    assert!(answer.contains("CREATE TABLE, "), "{answer}");
    let answer = terminal.ask("insert into towns values (1, 'Bergen'), (2, null);", "ambo> ");
    assert!(answer.contains("INSERT 2 rows, "), "{answer}");
    let answer = terminal.ask("select * from towns where id = 2; select 7 as seven;", "ambo> ");
    assert!(answer.contains("\nid  name\n──  ────\n 2  NULL\n1 row, "), "{answer}");
    assert!(answer.contains("\nseven\n─────\n    7\n1 row, "), "{answer}");
    let answer = terminal.ask("select nam from towns;", "ambo> ");
    let told = "\nerror: there is no column \"nam\"\nselect nam from towns;\n       ^\nhint: did you mean \"name\"?\n";
    assert!(answer.contains(told), "{answer}");
    let answer = terminal.ask("select value from generate_series(1, 250);", "ambo> ");
    assert!(answer.contains("\n  100\n100 of 250 rows shown, .maxrows all shows all, "), "{answer}");
    assert!(!answer.contains("\n  101\n"), "{answer}");
    terminal.ask(".maxrows all", "ambo> ");
    assert!(
        terminal
            .ask("select value from generate_series(1, 2500);", "ambo> ")
            .contains("\n 2500\n2,500 rows, ")
    );
    let answer = terminal.ask("\\x", "ambo> ");
    assert!(answer.contains("mode is line"), "{answer}");
    assert!(terminal.ask("select * from towns;", "ambo> ").contains("\n  id = 2\nname = NULL\n2 rows, "));
    assert!(terminal.ask("help", "ambo> ").contains(".import"));
    terminal.leave();
    assert_sound(&scratch.db());
}

// Keeps away: a Ctrl-C that ends the session, or its transaction, or nothing; and a long statement without a sign of life.
#[test]
fn control_c_ends_the_statement_only() {
    let scratch = Scratch::new();
    let mut terminal = Terminal::new(&scratch);
    terminal.ask("create table t (id bigint primary key);", "ambo> ");
    let answer = terminal.ask("begin;", "ambo*> ");
    assert!(answer.contains("BEGIN"), "{answer}");
    terminal.ask("insert into t values (1);", "ambo*> ");
    for endless in [
        "select count(*) from generate_series(1, 1000000000000);",
        "select count(*) from generate_series(1, 3000000) as a, generate_series(1, 3000000) as b;",
        "select value from generate_series(1, 1000000000000);",
    ] {
        terminal.press(&format!("{endless}\r"));
        terminal.expect("Ctrl-C ends it");
        let start = Instant::now();
        terminal.press(CONTROL_C);
        terminal.expect_then("interrupted", "ambo*> ");
        assert!(start.elapsed() < Duration::from_secs(5), "{endless}");
    }
    // Impatience does not end it either.
    terminal.press("select count(*) from generate_series(1, 1000000000000);\r");
    terminal.expect("Ctrl-C ends it");
    terminal.press(&CONTROL_C.repeat(3));
    terminal.expect_then("interrupted", "ambo*> ");
    // At the prompt it gives up the line.
    terminal.press("select this is wrong");
    terminal.press(CONTROL_C);
    terminal.expect_then("wrong", "ambo*> ");
    let answer = terminal.ask("select count(*) as still from t;", "ambo*> ");
    assert!(answer.contains("still\n─────\n    1\n"), "{answer}");
    terminal.ask("commit;", "ambo> ");
    terminal.ask("begin; insert into t values (2);", "ambo*> ");
    terminal.leave();
    assert_eq!(ambo(&[&scratch.db(), "-c", "select * from t"]).ok(), "1\n");
    assert_sound(&scratch.db());
}

// Keeps away: a Tab that completes nothing, and statements that are forgotten, or that others can read.
#[test]
fn tab_completes_and_history_remembers() {
    let scratch = Scratch::new();
    let mut terminal = Terminal::new(&scratch);
    terminal.ask("create table towns (id bigint primary key, population bigint);", "ambo> ");
    terminal.ask("insert into towns values (1, 285900);", "ambo> ");
    let answer = terminal.ask("sel\t popul\t from tow\t;", "ambo> ");
    assert!(answer.contains("\npopulation\n──────────\n    285900\n1 row, "), "{answer}");
    assert!(terminal.ask(".desc\ttow\t", "ambo> ").contains("population  bigint"));
    terminal.ask("select\r  'two lines' as said;", "ambo> ");
    terminal.leave();
    let mut terminal = Terminal::new(&scratch);
    let answer = terminal.ask(UP, "ambo> ");
    assert!(answer.contains("said\n─────────\ntwo lines\n1 row, "), "{answer}");
    terminal.leave();
    let history = scratch.path("state/ambo/history");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(history.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_sound(&scratch.db());
}
