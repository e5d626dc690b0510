//! What the prompt remembers from line to line, and how it obeys.

use std::io::Write;

use ambo::{Savepoint, Table, TableDefinition, Transaction};
use clap::{CommandFactory, Parser};

use super::commands::{Line, PromptCommand};
use crate::arguments::ScanArguments;
use crate::command::{advise, check, info, record};
use crate::compression;
use crate::engine::{DEFAULT_TABLE, OrFail, Store};
use crate::failure::{Failure, Result};
use crate::index;
use crate::output::{Form, Output, remark};
use crate::schema::{self, short_name};
use crate::view::View;
use crate::word::{self, Spelling};

/// Whether to go on.
pub enum Next {
    /// With the next line.
    Stay,
    /// The user is done.
    Leave,
}

/// An open database with a table in use and perhaps a transaction.
pub struct Session {
    store: Store,
    table: Option<Table>,
    tx: Option<Transaction>,
    savepoints: Vec<(String, Savepoint)>,
}

/// A person sees so many records unless they ask for more.
const LIMIT: u64 = 100;

impl Session {
    /// The table in use is the default one, or the only one.
    pub fn new(store: Store) -> Result<Self> {
        let names = store.table_names();
        let name = match names.as_slice() {
            [only] => Some(only.as_str()),
            names => names.iter().map(String::as_str).find(|name| *name == DEFAULT_TABLE),
        };
        let table = name.map(|name| store.table(name)).transpose()?;
        Ok(Self { store, table, tx: None, savepoints: Vec::new() })
    }

    /// `flights>`, with a star while a transaction is open.
    pub fn prompt(&self) -> String {
        let table = self.table.as_ref().map_or("ambo", |table| schema::name_of(table));
        format!("{table}{}> ", if self.tx.is_some() { "*" } else { "" })
    }

    /// Gives up an open transaction, and says so.
    pub fn abandon(&mut self) {
        if let Some(tx) = self.tx.take() {
            tx.rollback();
            remark("the open transaction was rolled back");
        }
    }

    /// At the end of a script an open transaction is a mistake of the script.
    pub fn refuse_open_transaction(&self) -> Result<()> {
        match self.tx {
            Some(_) => {
                Err(Failure::usage("the commands end within a transaction; end them with commit or rollback"))
            }
            None => Ok(()),
        }
    }

    /// Obeys one line.
    pub fn obey(&mut self, line: &str, out: &mut Output) -> Result<Next> {
        let words = word::split(line)?;
        if words.is_empty() {
            return Ok(Next::Stay);
        }
        let command = Line::try_parse_from(words).map_err(|error| Failure::Usage(one_line(&error)))?.command;
        match command {
            PromptCommand::Exit => return Ok(Next::Leave),
            PromptCommand::Help => help(out)?,
            PromptCommand::Put { words } => {
                let words = Spelling::Prompt.read_all(&words)?;
                self.table_to_write()?;
                record::put(&mut self.view()?, &words)?;
            }
            PromptCommand::Get { key } => {
                record::get(&self.view()?, &Spelling::Prompt.read_all(&key)?, false, out)?
            }
            PromptCommand::Del { key } => {
                record::delete(&mut self.view()?, &Spelling::Prompt.read_all(&key)?)?
            }
            PromptCommand::Scan(arguments) => self.scan(arguments, out)?,
            PromptCommand::Count(range) => record::count(&self.view()?, &range, Spelling::Prompt, out)?,
            PromptCommand::Begin | PromptCommand::Commit => self.begin_or_commit(&command)?,
            PromptCommand::Rollback { savepoint } => self.rollback(savepoint.as_deref())?,
            PromptCommand::Savepoint { name } => self.savepoint(name)?,
            PromptCommand::Tables
            | PromptCommand::Info { .. }
            | PromptCommand::Advise { .. }
            | PromptCommand::Check => self.inspect(&command, out)?,
            other => self.administer(other, out)?,
        }
        Ok(Next::Stay)
    }

    fn view(&mut self) -> Result<View<'_>> {
        let table = self.table.as_ref().ok_or_else(|| {
            Failure::usage(
                "no table in use; `use NAME` takes one up, `create NAME` makes one, `tables` lists them",
            )
        })?;
        Ok(View { dir: &self.store.dir, table, tx: self.tx.as_mut() })
    }

    /// The first put into a database without tables makes the default one.
    fn table_to_write(&mut self) -> Result<()> {
        if self.table.is_none() && self.store.table_names().is_empty() {
            self.table = Some(self.store.table_to_write(None)?);
        }
        Ok(())
    }

    fn scan(&mut self, mut arguments: ScanArguments, out: &mut Output) -> Result<()> {
        if out.form == Form::Human {
            arguments.limit.get_or_insert(LIMIT);
        }
        let more = record::scan(&self.view()?, &arguments, Spelling::Prompt, out)?;
        if more && out.form == Form::Human {
            writeln!(out, "… and more; -n N shows up to N")?;
        }
        Ok(())
    }

    fn begin_or_commit(&mut self, command: &PromptCommand) -> Result<()> {
        match (command, self.tx.take()) {
            (PromptCommand::Begin, None) => self.tx = Some(self.store.db.begin().or_fail(&self.store.dir)?),
            (PromptCommand::Begin, open) => {
                self.tx = open;
                return Err(Failure::usage("a transaction is open already; commit or rollback ends it"));
            }
            (_, Some(tx)) => {
                self.savepoints.clear();
                tx.commit().or_fail(&self.store.dir)?;
            }
            (_, None) => return Err(Failure::usage("no transaction is open; begin opens one")),
        }
        Ok(())
    }

    fn rollback(&mut self, savepoint: Option<&str>) -> Result<()> {
        let Some(tx) = &mut self.tx else {
            return Err(Failure::usage("no transaction is open; begin opens one"));
        };
        let Some(name) = savepoint else {
            self.savepoints.clear();
            if let Some(tx) = self.tx.take() {
                tx.rollback();
            }
            return Ok(());
        };
        let position = self.savepoints.iter().rposition(|(known, _)| known == name);
        let position =
            position.ok_or_else(|| Failure::Negative(format!("no savepoint {name} in this transaction")))?;
        tx.rollback_to(self.savepoints[position].1).or_fail(&self.store.dir)?;
        self.savepoints.truncate(position + 1);
        Ok(())
    }

    fn savepoint(&mut self, name: String) -> Result<()> {
        let Some(tx) = &mut self.tx else {
            return Err(Failure::usage("no transaction is open; begin opens one"));
        };
        self.savepoints.push((name, tx.savepoint()));
        Ok(())
    }

    fn inspect(&mut self, command: &PromptCommand, out: &mut Output) -> Result<()> {
        match command {
            PromptCommand::Check => check::check(&self.store, out),
            PromptCommand::Tables if !out.is_json() => {
                info::tables(&self.store.db.info().or_fail(&self.store.dir)?, out)
            }
            PromptCommand::Advise { table, rows } => advise::advise(&self.store, table, *rows, out),
            PromptCommand::Info { table } => info::info(&self.store, table.as_deref(), out),
            _ => info::info(&self.store, None, out),
        }
    }

    /// What changes tables as a whole is no part of a transaction.
    fn administer(&mut self, command: PromptCommand, out: &mut Output) -> Result<()> {
        let dir = self.store.dir.clone();
        if let PromptCommand::Use { table } = &command {
            self.table = Some(self.store.table(table)?);
            return Ok(());
        }
        if self.tx.is_some() {
            return Err(Failure::usage(
                "tables are changed outside of a transaction; commit or rollback first",
            ));
        }
        match command {
            PromptCommand::Create { table, columns, key, new_table } => {
                let definition = match columns {
                    None if key.is_empty() => Ok(TableDefinition::key_value(&table)),
                    None => Err("a key needs columns: create NAME id:bigint,note:text? --key id".to_string()),
                    Some(columns) => {
                        schema::parse(&columns).and_then(|c| schema::definition(&table, &c, &key))
                    }
                };
                let definition = new_table.apply(definition.map_err(Failure::Usage)?)?;
                self.table = Some(self.store.db.create_table(definition).or_fail(&dir)?);
            }
            PromptCommand::Alter { table, changes } => {
                compression::alter(&self.store, &table, &changes, out)?;
                if self.table.as_ref().is_some_and(|used| schema::name_of(used) == short_name(&table)) {
                    self.table = Some(self.store.table(&table)?);
                }
            }
            PromptCommand::CreateIndex(arguments) => index::create(&self.store, &arguments, out)?,
            PromptCommand::DropIndex { name } => index::drop_index(&self.store, &name)?,
            PromptCommand::Drop { table } => {
                self.store.db.drop_table(&table).or_fail(&dir)?;
                self.table = self.table.take().filter(|used| schema::name_of(used) != short_name(&table));
            }
            PromptCommand::Rename { from, to } => {
                self.store.db.rename_table(&from, &to).or_fail(&dir)?;
                if self.table.as_ref().is_some_and(|used| schema::name_of(used) == short_name(&from)) {
                    self.table = Some(self.store.table(&to)?);
                }
            }
            PromptCommand::Truncate { table } => {
                self.store.db.truncate_table(&table).or_fail(&dir)?;
                if self.table.as_ref().is_some_and(|used| schema::name_of(used) == short_name(&table)) {
                    self.table = Some(self.store.table(&table)?);
                }
            }
            PromptCommand::Settle => self.store.db.settle().or_fail(&dir)?,
            PromptCommand::Compact => check::compact(&self.store, out)?,
            other => unreachable!("{other:?} is obeyed elsewhere"),
        }
        Ok(())
    }
}

/// clap explains itself in paragraphs; a prompt answers in a line.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let what = what.replace("unrecognized subcommand", "unknown command");
    let near = lines.find_map(|line| line.strip_prefix("tip: ")?.split_once("exist")?.1.split_once(": "));
    match near {
        Some((_, near)) => format!("{what}; did you mean {}?", near.replace(", ", " or ")),
        None => format!("{what}; `help` lists the commands"),
    }
}

fn help(out: &mut Output) -> Result<()> {
    for command in Line::command().get_subcommands() {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "{:<10} {about}", command.get_name())?;
    }
    writeln!(out, "Words with blanks are quoted, \"so\" or 'so'; \\xNN is any byte; NULL is no value.")?;
    Ok(())
}
