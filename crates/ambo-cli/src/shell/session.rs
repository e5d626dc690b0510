//! What the shell remembers from statement to statement, and how it obeys.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use ambo::{Table, TableDefinition};
use ambo_sql::{Connection, Database, Interrupter};
use clap::{CommandFactory, Parser};

use super::commands::{DotCommand, Line};
use super::settings::{MAX_ROWS, MaxRows, Mode, Settings, Switch};
use super::show::Reader;
use super::{backslash, describe, export, script};
use crate::arguments::ScanArguments;
use crate::command::{advise, check, info, record, uqi};
use crate::engine::{DEFAULT_TABLE, OrFail, Store};
use crate::failure::{Failure, Result};
use crate::load::{self, LoadArguments};
use crate::output::{Form, Output, remark};
use crate::schema::{self, short_name};
use crate::view::View;
use crate::word::{self, Spelling};
use crate::{compression, index, interrupt};

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// With the next line.
    Stay,
    /// The user is done.
    Leave,
}

/// An open database, a connection to it, and how results are shown.
pub struct Session<'o> {
    pub(super) store: Store,
    pub(super) connection: Connection,
    pub(super) settings: Settings,
    /// Standard output.
    pub(super) out: &'o mut Output,
    /// What `.output` named.
    pub(super) file: Option<(PathBuf, Output)>,
    pub(super) sql: Database,
    /// The form that the program was started with.
    form: Form,
    /// In use for the commands that work on keys.
    table: Option<Table>,
    /// How many files are being read, one by the other.
    pub(super) depth: usize,
}

/// A person sees so many records of a scan unless they ask for more.
const LIMIT: u64 = 100;

impl<'o> Session<'o> {
    /// The table in use is the default one, or the only one.
    pub fn new(store: Store, mode: Option<Mode>, out: &'o mut Output) -> Result<Self> {
        let names = store.table_names();
        let name = match names.as_slice() {
            [only] => Some(only.as_str()),
            names => names.iter().map(String::as_str).find(|name| *name == DEFAULT_TABLE),
        };
        let table = name.and_then(|name| store.table(name).ok());
        let is_human = out.form == Form::Human;
        let plain = if is_human { Mode::Table } else { Mode::List };
        let settings = Settings {
            mode: mode.unwrap_or(plain),
            timer: is_human && mode.is_none(),
            explain: false,
            max_rows: Some(MAX_ROWS),
            bail: true,
        };
        let sql = Database::new(store.db.clone());
        let (connection, form) = (sql.connect(), out.form);
        Ok(Self { store, connection, settings, out, file: None, sql, form, table, depth: 0 })
    }

    /// What ends the statement that runs.
    pub fn interrupter(&self) -> Interrupter {
        self.connection.interrupter()
    }

    /// `ambo>`, with a star while a transaction is open.
    pub fn prompt(&self) -> &'static str {
        if self.connection.in_transaction() { "ambo*> " } else { "ambo> " }
    }

    /// Gives up an open transaction, and says so.
    pub fn abandon(&mut self) {
        if self.connection.in_transaction() && self.connection.sql("rollback").is_ok() {
            remark("the open transaction was rolled back");
        }
    }

    /// At the end of a script an open transaction is a mistake of the script.
    pub fn refuse_open_transaction(&self) -> Result<()> {
        match self.connection.in_transaction() {
            true => Err(Failure::usage(
                "the statements end within a transaction; end them with COMMIT or ROLLBACK",
            )),
            false => Ok(()),
        }
    }

    /// Writes out what was shown so far.
    pub fn flush(&mut self) -> Result<()> {
        if let Some((path, file)) = &mut self.file {
            file.flush().map_err(|error| Failure::file(path, &error))?;
        }
        Ok(self.out.flush()?)
    }

    /// Whether a person looks at the rows.
    pub(super) fn is_watched(&self) -> bool {
        self.form == Form::Human && self.file.is_none()
    }

    /// For whom rows are shown.
    pub(super) fn reader(&self) -> Reader {
        match self.is_watched() {
            false => Reader::PROGRAM,
            true => Reader {
                width: Some(self.out.width()),
                colours: super::has_colours(),
                max_rows: self.settings.max_rows,
            },
        }
    }

    /// Obeys a line that begins with a dot or a backslash.
    pub fn command(&mut self, line: &str) -> Result<Next> {
        interrupt::watch();
        let line = match line.trim().strip_prefix('.') {
            Some(line) => line.trim_end_matches(';').to_owned(),
            None => backslash::translate(line)?,
        };
        let words = match line.split_whitespace().next() {
            // A query is not words.
            Some("export") => raw_words(&line),
            Some("uqi") => whole_rest(&line),
            _ => word::split(&line)?,
        };
        if words.is_empty() {
            return Err(Failure::usage("which command? `.help` lists them"));
        }
        let command = Line::try_parse_from(words).map_err(|error| Failure::Usage(one_line(&error)))?.command;
        self.obey(command)
    }

    fn obey(&mut self, command: DotCommand) -> Result<Next> {
        match command {
            DotCommand::Quit => return Ok(Next::Leave),
            DotCommand::Help { command } => self.help(command.as_deref())?,
            DotCommand::Put { words } => {
                let words = Spelling::Prompt.read_all(&words)?;
                self.table_to_write()?;
                record::put(&mut self.view()?.0, &words)?;
            }
            DotCommand::Get { key } => {
                let (view, out) = self.view()?;
                record::get(&view, &Spelling::Prompt.read_all(&key)?, false, out)?;
            }
            DotCommand::Del { key } => {
                record::delete(&mut self.view()?.0, &Spelling::Prompt.read_all(&key)?)?
            }
            DotCommand::Scan(arguments) => self.scan(arguments)?,
            DotCommand::Count(range) => {
                let (view, out) = self.view()?;
                record::count(&view, &range, Spelling::Prompt, out)?;
            }
            DotCommand::Uqi { query } => {
                self.refuse_transaction("a query of UQI reads what is committed")?;
                uqi::query(&self.store, &query, self.out)?;
            }
            DotCommand::Use { table } => self.table = Some(self.store.table(&table)?),
            DotCommand::Read { file } => return script::read_file(self, &path(&file)?),
            DotCommand::Output { file } => self.output(file.as_deref().map(path).transpose()?)?,
            DotCommand::Import { file, words } => self.import(file, words)?,
            DotCommand::Export { file, what } => {
                let what: Vec<_> = what.iter().map(|word| word.to_string_lossy()).collect();
                export::export(self, &path(&file)?, &what.join(" "))?;
            }
            DotCommand::Tables => describe::tables(self)?,
            DotCommand::Describe { table } => describe::describe(self, &table)?,
            DotCommand::Schema { table } => describe::schema(self, table.as_deref())?,
            DotCommand::Indexes => describe::indexes(self)?,
            DotCommand::Schemas => describe::schemas(self)?,
            DotCommand::Info { table } => info::info(&self.store, table.as_deref(), self.out)?,
            DotCommand::Advise { table, rows } => advise::advise(&self.store, &table, rows, self.out)?,
            DotCommand::Check => check::check(&self.store, self.out)?,
            setting @ (DotCommand::Mode { .. }
            | DotCommand::ToggleLines
            | DotCommand::Maxrows { .. }
            | DotCommand::Timer { .. }
            | DotCommand::Explain { .. }
            | DotCommand::Bail { .. }) => self.set(setting),
            other => self.administer(other)?,
        }
        Ok(Next::Stay)
    }

    fn set(&mut self, setting: DotCommand) {
        let settings = &mut self.settings;
        let turn = |setting: &mut bool, switch: Option<Switch>, name: &str| {
            *setting = switch.map_or(!*setting, |switch| switch == Switch::On);
            if switch.is_none() {
                remark(&format!("{name} is {}", if *setting { "on" } else { "off" }));
            }
        };
        match setting {
            DotCommand::Mode { mode: Some(mode) } => settings.mode = mode,
            DotCommand::Mode { mode: None } => {
                remark(&format!("mode is {}", format!("{:?}", settings.mode).to_lowercase()));
            }
            DotCommand::ToggleLines => {
                let is_on = settings.mode == Mode::Line;
                settings.mode = if is_on { Mode::Table } else { Mode::Line };
                remark(if is_on { "mode is table" } else { "mode is line" });
            }
            DotCommand::Maxrows { rows: MaxRows(rows) } => settings.max_rows = rows,
            DotCommand::Timer { switch } => turn(&mut settings.timer, switch, "timer"),
            DotCommand::Explain { switch } => turn(&mut settings.explain, switch, "explain"),
            DotCommand::Bail { switch } => turn(&mut settings.bail, switch, "bail"),
            _ => {}
        }
        self.out.form = if self.settings.mode == Mode::Json { Form::Json } else { self.form };
    }

    fn output(&mut self, path: Option<PathBuf>) -> Result<()> {
        self.flush()?;
        self.file = match path {
            None => None,
            Some(path) => {
                let file = std::fs::File::create(&path).map_err(|error| Failure::file(&path, &error))?;
                Some((path, Output::to(file, Form::Plain)))
            }
        };
        Ok(())
    }

    fn import(&mut self, file: OsString, words: Vec<OsString>) -> Result<()> {
        /// As the program takes them.
        #[derive(Parser)]
        #[command(name = ".import")]
        struct Import {
            #[command(flatten)]
            arguments: LoadArguments,
        }
        self.refuse_transaction("a file is loaded")?;
        let mut line = vec![OsString::from(".import"), self.store.dir.clone().into_os_string()];
        line.push(path(&file)?.into_os_string());
        let mut words = words.into_iter().peekable();
        if let Some(table) = words.next_if(|word| !word.as_encoded_bytes().starts_with(b"-")) {
            line.extend([OsString::from("--table"), path(&table)?.into_os_string()]);
        }
        for word in words {
            line.push(path(&word)?.into_os_string());
        }
        let import = Import::try_parse_from(line).map_err(|error| Failure::Usage(one_line(&error)))?;
        load::load_into(&self.store, &import.arguments, self.out)
    }

    /// The table in use, in the open transaction if there is one, and where results go.
    fn view(&mut self) -> Result<(View<'_>, &mut Output)> {
        let table = self.table.as_ref().ok_or_else(|| {
            Failure::usage(
                "no table in use; `.use NAME` takes one up, `.create NAME` makes one, `.tables` lists them",
            )
        })?;
        let is_open = self.connection.in_transaction();
        let tx = self.connection.transaction();
        if is_open && tx.is_none() {
            return Err(Failure::usage(
                "the transaction is read only, and keys are not sought in such; COMMIT first, or use SELECT",
            ));
        }
        Ok((View { dir: &self.store.dir, table, tx }, self.out))
    }

    /// The first put into a database without tables makes the default one.
    fn table_to_write(&mut self) -> Result<()> {
        if self.table.is_none() && self.store.table_names().is_empty() {
            self.table = Some(self.store.table_to_write(None)?);
        }
        Ok(())
    }

    fn scan(&mut self, mut arguments: ScanArguments) -> Result<()> {
        let is_human = self.out.form == Form::Human;
        if is_human {
            arguments.limit.get_or_insert(LIMIT);
        }
        let (view, out) = self.view()?;
        let more = record::scan(&view, &arguments, Spelling::Prompt, out)?;
        if more && is_human {
            writeln!(out, "… and more; -n N shows up to N")?;
        }
        Ok(())
    }

    fn refuse_transaction(&self, what: &str) -> Result<()> {
        match self.connection.in_transaction() {
            true => Err(Failure::usage(format!("{what} outside of a transaction; COMMIT or ROLLBACK first"))),
            false => Ok(()),
        }
    }

    /// What changes tables as a whole is no part of a transaction.
    fn administer(&mut self, command: DotCommand) -> Result<()> {
        let dir = self.store.dir.clone();
        self.refuse_transaction("tables are changed")?;
        match command {
            DotCommand::Create { table, columns, key, new_table } => {
                let definition = match columns {
                    None if key.is_empty() => Ok(TableDefinition::key_value(&table)),
                    None => {
                        Err("a key needs columns: .create NAME id:bigint,note:text? --key id".to_string())
                    }
                    Some(columns) => {
                        schema::parse(&columns).and_then(|c| schema::definition(&table, &c, &key))
                    }
                };
                let definition = new_table.apply(definition.map_err(Failure::Usage)?)?;
                self.table = Some(self.store.db.create_table(definition).or_fail(&dir)?);
            }
            DotCommand::Alter { table, changes } => {
                compression::alter(&self.store, &table, &changes, self.out)?;
                self.use_again(&table, &table)?;
            }
            DotCommand::CreateIndex(arguments) => index::create(&self.store, &arguments, self.out)?,
            DotCommand::DropIndex { name } => index::drop_index(&self.store, &name)?,
            DotCommand::Drop { table } => {
                self.store.db.drop_table(&table).or_fail(&dir)?;
                self.table = self.table.take().filter(|used| schema::name_of(used) != short_name(&table));
            }
            DotCommand::Rename { from, to } => {
                self.store.db.rename_table(&from, &to).or_fail(&dir)?;
                self.use_again(&from, &to)?;
            }
            DotCommand::Truncate { table } => {
                self.store.db.truncate_table(&table).or_fail(&dir)?;
                self.use_again(&table, &table)?;
            }
            DotCommand::Compact => self.store.db.compact().or_fail(&dir)?,
            DotCommand::Vacuum => check::vacuum(&self.store, self.out)?,
            other => unreachable!("{other:?} is obeyed elsewhere"),
        }
        Ok(())
    }

    /// Takes up a table again that was changed while it was in use.
    fn use_again(&mut self, before: &str, now: &str) -> Result<()> {
        if self.table.as_ref().is_some_and(|used| schema::name_of(used) == short_name(before)) {
            self.table = Some(self.store.table(now)?);
        }
        Ok(())
    }

    fn help(&mut self, only: Option<&str>) -> Result<()> {
        let mut commands = Line::command();
        if let Some(name) = only {
            let name = name.trim_start_matches('.');
            let Some(command) = commands.find_subcommand_mut(name) else {
                return Err(Failure::Negative(format!("there is no command .{name}; `.help` lists them")));
            };
            let command = command.clone().bin_name(format!(".{name}")).disable_help_flag(true);
            write!(self.out, "{}", command.clone().render_help())?;
            return Ok(());
        }
        writeln!(
            self.out,
            "A statement of SQL ends with a semicolon and may have several lines. Commands have one line:\n"
        )?;
        for command in commands.get_subcommands().filter(|command| !command.is_hide_set()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            writeln!(self.out, ".{:<13} {about}", command.get_name())?;
        }
        writeln!(
            self.out,
            "\nAs in psql: \\d \\dt \\di \\dn \\l \\timing \\x \\i \\o \\q. Tab completes, Ctrl-C ends a statement, Ctrl-D leaves.\n\
             In commands, words with blanks are quoted, \"so\" or 'so'; \\xNN is any byte; NULL is no value."
        )?;
        Ok(())
    }
}

/// Whether a line is a command rather than SQL.
pub fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    // `.5` may begin a number.
    line.starts_with('\\') || line.starts_with('.') && !line[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// The first word of a line, and the rest as it is.
fn whole_rest(line: &str) -> Vec<String> {
    let line = line.trim();
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    [command, rest.trim()].into_iter().filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The first two words of a line, and the rest as it is.
fn raw_words(line: &str) -> Vec<String> {
    let line = line.trim();
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim_start();
    let mut words = vec![command.to_owned()];
    // The file's name may be quoted.
    let end = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].find(quote).map_or(rest.len(), |end| end + 2),
        _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
    };
    let what = rest[end..].trim();
    words.extend([&rest[..end], what].into_iter().filter(|word| !word.is_empty()).map(str::to_owned));
    words
}

/// A word as the name of a file, without quotes and escapes.
fn path(word: &(impl AsRef<std::ffi::OsStr> + ?Sized)) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let bytes = Spelling::Prompt.read(word.as_ref())?.bytes;
    let path = PathBuf::from(OsString::from_vec(bytes));
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Ok(Path::new(&home).join(rest)),
        _ => Ok(path),
    }
}

/// clap explains itself in paragraphs; a prompt answers in a line.
fn one_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = lines.next().unwrap_or_default().trim_start_matches("error: ");
    let is_unknown = what.contains("unrecognized subcommand");
    let what = what.replace("unrecognized subcommand '", "unknown command '.");
    let missing = what.ends_with(':').then(|| lines.next()).flatten();
    let what = match missing {
        Some(missing) => format!("{what} {missing}"),
        None => what,
    };
    if let Some(values) = lines.clone().find_map(|line| line.strip_prefix("[possible values: ")) {
        return format!("{what}; there are {}", values.trim_end_matches(']'));
    }
    let near = lines.find_map(|line| line.strip_prefix("tip: ")?.split_once("exist")?.1.split_once(": "));
    match near {
        Some((_, near)) if is_unknown => {
            format!(
                "{what}; did you mean {}?",
                near.replace('\'', "")
                    .split(", ")
                    .map(|near| format!(".{near}"))
                    .collect::<Vec<_>>()
                    .join(" or ")
            )
        }
        Some((_, near)) => format!("{what}; did you mean {}?", near.replace(", ", " or ")),
        None => format!("{what}; `.help` lists the commands"),
    }
}
