//! The commands that both the shell and the prompt have.

pub mod advise;
pub mod archive;
pub mod backup;
pub mod check;
pub mod info;
pub mod publish;
pub mod record;
pub mod uqi;

pub use publish::PublishArguments;

use crate::arguments::{Command, TableArgument};
use crate::engine::{Access, Store, Tuning};
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::view::View;
use crate::word::Spelling;
use crate::{compression, dump, index, load, role, serve};

/// Runs a command of the shell: with the database, or with the process that has it open.
pub fn run(command: Command, tuning: &Tuning, out: &mut Output) -> Result<()> {
    #[cfg(feature = "http")]
    if let Some(dir) = elsewhere(&command) {
        let again = command.clone();
        let dir = dir.to_path_buf();
        // Both write to the same place, one of them.
        let out = std::cell::RefCell::new(out);
        return crate::remote::or_remote(
            &dir,
            || here(command, tuning, &mut out.borrow_mut()),
            |client| crate::remote::run_command(client, again, &mut out.borrow_mut()),
        );
    }
    here(command, tuning, out)
}

/// The database of a command that is also done by the process that has it open.
#[cfg(feature = "http")]
fn elsewhere(command: &Command) -> Option<&std::path::Path> {
    match command {
        Command::Put { place, .. }
        | Command::Get { place, .. }
        | Command::Del { place, .. }
        | Command::Scan { place, .. }
        | Command::Count { place, .. }
        | Command::Info { place } => Some(&place.dir),
        Command::Check { dir } => Some(dir),
        _ => None,
    }
}

fn here(command: Command, tuning: &Tuning, out: &mut Output) -> Result<()> {
    match command {
        Command::Put { place, words, file } => {
            let store = Store::open(&place.dir, Access::Create, tuning)?;
            let table = store.table_to_write(place.table.as_deref())?;
            let words = Spelling::Shell.read_all(&words)?;
            let mut view = View { dir: &place.dir, table: &table, tx: None };
            match file {
                Some(file) => record::put_file(&mut view, &words, &file)?,
                None => record::put(&mut view, &words)?,
            }
            store.close()
        }
        Command::Get { place, key, raw } => with_view(&place, Access::Read, tuning, |view| {
            record::get(view, &Spelling::Shell.read_all(&key)?, raw, out)
        }),
        Command::Del { place, key } => with_view(&place, Access::Write, tuning, |view| {
            record::delete(view, &Spelling::Shell.read_all(&key)?)
        }),
        Command::Scan { place, scan } => with_view(&place, Access::Read, tuning, |view| {
            record::scan(view, &scan, Spelling::Shell, out).map(drop)
        }),
        Command::Count { place, range } => {
            with_view(&place, Access::Read, tuning, |view| record::count(view, &range, Spelling::Shell, out))
        }
        Command::Info { place } => {
            let store = Store::open(&place.dir, Access::Read, tuning)?;
            info::info(&store, place.table.as_deref(), out)
        }
        Command::Check { dir } => check::check_dir(&dir, tuning, out),
        Command::Vacuum { dir } => {
            let store = Store::open(&dir, Access::Write, tuning)?;
            check::vacuum(&store, out)?;
            store.close()
        }
        Command::Backup { dir, to, verify } => backup::backup(&dir, &to, verify, tuning, out),
        Command::Publish(arguments) => publish::publish(&arguments, tuning, out),
        Command::Archive { dir, to, stop } => archive::archive(&dir, to.as_deref(), stop, tuning, out),
        Command::Restore { from, to, new_key, plain, point } => {
            let key = match (new_key.source(), plain) {
                (Some(key), _) => ambo::RestoredKey::New(key),
                (None, true) => ambo::RestoredKey::Plain,
                (None, false) => ambo::RestoredKey::Same,
            };
            match &point.archive {
                Some(archive) => archive::restore(&from, &to, &key, (archive, point.point()?), tuning, out),
                None => backup::restore(&from, &to, &key, tuning, out),
            }
        }
        Command::Rekey { dir, new_key } => match new_key.source() {
            Some(key) => backup::rekey(&dir, key, tuning, out),
            None => Err(Failure::usage(
                "which key? say --new-key-file, --new-key-environment or --new-passphrase-environment",
            )),
        },
        Command::NewKey { file } => backup::new_key(&file),
        Command::Alter { dir, table, changes } => {
            let store = Store::open(&dir, Access::Write, tuning)?;
            compression::alter(&store, &table, &changes, out)?;
            store.close()
        }
        Command::CreateIndex { dir, index } => {
            let store = Store::open(&dir, Access::Write, tuning)?;
            index::create(&store, &index, out)?;
            store.close()
        }
        Command::DropIndex { dir, name } => {
            let store = Store::open(&dir, Access::Write, tuning)?;
            index::drop_index(&store, &name)?;
            store.close()
        }
        Command::Advise { dir, table, rows } => {
            let store = Store::open(&dir, Access::Read, tuning)?;
            advise::advise(&store, &table, rows, out)
        }
        Command::Serve(arguments) => serve::run(&arguments, tuning),
        Command::Role(arguments) => role::run(arguments, out),
        Command::Uqi { dir, query, plugins } => {
            let store = Store::open(&dir, Access::Read, tuning)?;
            if let Some(plugins) = plugins {
                store.db.uqi_plugins().set_directory(plugins);
            }
            uqi::query(&store, &query, out)
        }
        Command::Load(arguments) => load::run(&arguments, tuning, out),
        Command::Dump(arguments) => dump::run(&arguments, tuning, out),
    }
}

/// Opens the database and the table, and closes the database if it was written to.
fn with_view(
    place: &TableArgument,
    access: Access,
    tuning: &Tuning,
    action: impl FnOnce(&mut View<'_>) -> Result<()>,
) -> Result<()> {
    let store = Store::open(&place.dir, access, tuning)?;
    let table = store.table_to_read(place.table.as_deref())?;
    action(&mut View { dir: &place.dir, table: &table, tx: None })?;
    match access {
        Access::Read => Ok(()),
        Access::Write | Access::Create => store.close(),
    }
}
