//! The SQL shell: statements and commands, typed at a prompt, read from a pipe, or given with `-c`.
//!
//! ```text
//! editor ─┐
//! script ─┴─▶ session ─▶ statement ─▶ show      SQL, and its rows in a form
//!                  └───▶ commands               .tables, .import, .put …
//! ```

mod backslash;
mod commands;
mod completion;
mod describe;
mod editor;
mod export;
mod highlight;
mod keywords;
mod progress;
mod script;
mod session;
pub mod settings;
pub mod show;
mod split;
mod statement;

use std::io::{self, BufRead, IsTerminal};
use std::path::Path;

use crate::arguments::ShellArguments;
use crate::engine::{Access, IN_MEMORY, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::{Form, Output};
use session::{Next, Session};
use settings::Mode;
#[cfg(feature = "http")]
pub use split::{end_of_statement, is_empty as is_blank};

/// Opens the database and obeys. A script ends at the first failure; a person may try again.
pub fn run(dir: &Path, arguments: &ShellArguments, tuning: &Tuning, out: &mut Output) -> Result<()> {
    refuse_mistyped_command(dir)?;
    let access = if arguments.read_only || tuning.beside { Access::Read } else { Access::Create };
    let is_in_memory = dir == Path::new(IN_MEMORY) && access != Access::Read;
    let open = || if is_in_memory { Store::in_memory(tuning) } else { Store::open(dir, access, tuning) };
    #[cfg(feature = "http")]
    {
        let mut there = None;
        let done = crate::remote::or_remote(
            dir,
            || open().map(Some),
            |client| {
                there = Some(crate::remote::run_shell(dir, client, arguments, out));
                Ok(None)
            },
        )?;
        match (done, there) {
            (Some(store), _) => work(store, access, arguments, out),
            (None, there) => there.unwrap_or(Ok(())),
        }
    }
    #[cfg(not(feature = "http"))]
    {
        work(open()?, access, arguments, out)
    }
}

/// Obeys with a database that is open.
fn work(store: Store, access: Access, arguments: &ShellArguments, out: &mut Output) -> Result<()> {
    let mode = match (arguments.csv, arguments.arrow, out.form) {
        (true, ..) => Some(Mode::Csv),
        (_, true, _) => Some(Mode::Arrow),
        (.., Form::Json) => Some(Mode::Json),
        _ => None,
    };
    let mut session = Session::new(store.clone(), mode, out)?;
    session.settings.bail = !arguments.keep_going;
    let is_typed = arguments.commands.is_empty() && io::stdin().is_terminal();
    let result = match is_typed {
        true => editor::converse(&mut session),
        false => run_script(&arguments.commands, &mut session),
    };
    session.abandon();
    let result = result.and(session.flush());
    drop(session);
    match access {
        Access::Read => result,
        Access::Write | Access::Create => result.and(store.close()),
    }
}

fn run_script(commands: &[String], session: &mut Session<'_>) -> Result<()> {
    interrupt::watch();
    interrupt::interrupts(session.interrupter(), &interrupt::OF_SCRIPT);
    if commands.is_empty() {
        let name = Some("input line ");
        if script::run_lines(name, io::stdin().lock().lines(), session)? == Next::Leave {
            return Ok(());
        }
    }
    let mut failed = None;
    for text in commands {
        match script::run_lines(None, text.lines().map(|line| Ok(line.to_owned())), session) {
            Ok(Next::Stay) => {}
            Ok(Next::Leave) => break,
            Err(Failure::Told(failure)) => {
                failed.get_or_insert(Failure::Told(failure));
            }
            Err(failure) => return Err(failure),
        }
    }
    failed.map_or(Ok(()), Err)?;
    session.refuse_open_transaction()
}

/// Whether the terminal shows colours, and the user wants them.
pub fn has_colours() -> bool {
    io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb")
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
