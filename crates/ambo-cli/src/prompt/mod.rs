//! The prompt: commands typed one line at a time, or read from a pipe or from `-c`.

mod commands;
mod completion;
mod session;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::engine::{Access, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{self, Output};
use completion::Completion;
use session::{Next, Session};

/// Opens the database and obeys. Commands from `-c` or a pipe end at the first failure; a person may try again.
pub fn run(dir: &Path, commands: &[String], tuning: &Tuning, out: &mut Output) -> Result<()> {
    refuse_mistyped_command(dir)?;
    let store = Store::open(dir, Access::Create, tuning)?;
    let mut session = Session::new(store.clone())?;
    let result = match (commands.is_empty(), io::stdin().is_terminal()) {
        (false, _) => obey_all(commands.iter().map(|line| Ok(line.clone())), &mut session, out),
        (true, false) => obey_all(io::stdin().lock().lines(), &mut session, out),
        (true, true) => converse(&mut session, &store, out),
    };
    session.abandon();
    drop(session);
    result.and(store.close())
}

/// `ambo chekc` means a command, not a new database of that name.
fn refuse_mistyped_command(dir: &Path) -> Result<()> {
    use clap::CommandFactory;
    let plain = dir.components().count() == 1 && !dir.exists();
    let name = dir.to_string_lossy();
    let arguments = crate::arguments::Arguments::command();
    let mut names =
        arguments.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    match names.find(|known| plain && is_near(known, &name)) {
        Some(known) => Err(Failure::usage(format!(
            "{name} is no database; did you mean the command {known}? For a new database of that name say ./{name}"
        ))),
        None => Ok(()),
    }
}

/// Whether one letter added, left out, changed or swapped with its neighbour makes one of the other.
fn is_near(known: &str, typed: &str) -> bool {
    let (a, b) = (known.as_bytes(), typed.as_bytes());
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    let swapped = a.len() == 2 && b.len() == 2 && a[0] == b[1] && a[1] == b[0];
    known.len() >= 3 && (a.len() <= 1 && b.len() <= 1 || swapped)
}

fn obey_all(
    lines: impl Iterator<Item = io::Result<String>>,
    session: &mut Session,
    out: &mut Output,
) -> Result<()> {
    interrupt::watch();
    for (number, line) in lines.enumerate() {
        let line = line.map_err(|error| Failure::usage(format!("input line {}: {error}", number + 1)))?;
        if matches!(session.obey(&line, out)?, Next::Leave) {
            return Ok(());
        }
        out.flush()?;
    }
    session.refuse_open_transaction()
}

fn converse(session: &mut Session, store: &Store, out: &mut Output) -> Result<()> {
    let config = Config::builder().auto_add_history(true).max_history_size(10_000).map_err(terminal)?.build();
    let mut editor: Editor<Completion, FileHistory> = Editor::with_config(config).map_err(terminal)?;
    editor.set_helper(Some(Completion::new(store.clone())));
    let history = history_file();
    if let Some(history) = &history {
        // A missing history is an empty one.
        editor.load_history(history).ok();
    }
    output::remark(&greeting(store));
    let result = dialogue(session, &mut editor, out);
    if let Some(history) = &history {
        // Nobody loses work by a history that cannot be kept.
        history.parent().map(std::fs::create_dir_all).transpose().ok();
        editor.save_history(history).ok();
    }
    result
}

fn dialogue(
    session: &mut Session,
    editor: &mut Editor<Completion, FileHistory>,
    out: &mut Output,
) -> Result<()> {
    loop {
        let line = match editor.readline(&session.prompt()) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(terminal(error)),
        };
        interrupt::watch();
        let answer = session.obey(&line, out);
        out.flush()?;
        match answer {
            Ok(Next::Stay) => {}
            Ok(Next::Leave) => return Ok(()),
            Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
            Err(failure) => failure.text().into_iter().for_each(output::remark),
        }
    }
}

fn greeting(store: &Store) -> String {
    let tables = store.table_names().len();
    format!(
        "Ambo {}, {} with {}. `help` lists the commands, Tab completes, Ctrl-D leaves.",
        env!("CARGO_PKG_VERSION"),
        store.dir.display(),
        if tables == 1 { "1 table".to_string() } else { format!("{tables} tables") },
    )
}

fn terminal(error: ReadlineError) -> Failure {
    Failure::Database(format!("the terminal: {error}"))
}

/// `$AMBO_HISTORY`, or `ambo/history` in the user's state directory.
fn history_file() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("AMBO_HISTORY").or_else(|| {
        let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")))?;
        Some(state.join("ambo/history"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a new database that is called `lod` because somebody mistyped `load`.
    #[test]
    fn mistyped_commands() {
        for typed in ["chekc", "lod", "scann", "git"] {
            assert!(["check", "load", "scan", "get"].iter().any(|known| is_near(known, typed)), "{typed}");
        }
        for other in ["shop", "flights", "data"] {
            assert!(
                !["check", "load", "scan", "get", "del", "put"].iter().any(|known| is_near(known, other)),
                "{other}"
            );
        }
    }
}
