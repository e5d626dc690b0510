//! The conversation with a person: lines are edited, completed, coloured and remembered.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper, Hinter};

use super::completion::Completion;
use super::script::Script;
use super::session::{Next, Session, is_command};
use super::{has_colours, highlight, split};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::remark;

/// What the line editor asks of us.
#[derive(Helper, Hinter)]
struct Help {
    completion: Completion,
}

/// Words that leave or help without a dot, as other shells have them.
fn plain_word(line: &str) -> Option<&'static str> {
    match line.trim().trim_end_matches(';') {
        "exit" | "quit" => Some(".quit"),
        "help" | "?" => Some(".help"),
        _ => None,
    }
}

impl Validator for Help {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let is_whole = is_command(text) || plain_word(text).is_some() || split::is_complete(text);
        Ok(if is_whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Highlighter for Help {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned(highlight::coloured(line))
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("\x1b[1m{prompt}\x1b[0m"))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

impl rustyline::completion::Completer for Help {
    type Candidate = rustyline::completion::Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Self::Candidate>)> {
        Ok(self.completion.complete(line, position))
    }
}

type LineEditor = Editor<Help, FileHistory>;

/// Asks and obeys until the person leaves.
pub fn converse(session: &mut Session<'_>) -> Result<()> {
    interrupt::watch_prompt();
    interrupt::interrupts(session.interrupter(), &interrupt::OF_PROMPT);
    let config = Config::builder()
        .max_history_size(10_000)
        .map_err(terminal)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .bracketed_paste(true)
        .build();
    let mut editor: LineEditor = Editor::with_config(config).map_err(terminal)?;
    editor.set_helper(Some(Help { completion: Completion::new(session.sql.clone()) }));
    let history = History::open(&mut editor);
    remark(&greeting(session));
    dialogue(session, &mut editor, &history)
}

fn dialogue(session: &mut Session<'_>, editor: &mut LineEditor, history: &History) -> Result<()> {
    loop {
        let text = match editor.readline(session.prompt()) {
            Ok(text) => text,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(terminal(error)),
        };
        history.remember(editor, &text);
        let answer = obey(session, &text);
        session.flush()?;
        match answer {
            Ok(Next::Stay) => {}
            Ok(Next::Leave) => return Ok(()),
            Err(Failure::BrokenPipe) => return Err(Failure::BrokenPipe),
            Err(failure) => {
                failure.text().into_iter().for_each(|text| remark(&format!("{}{text}", mark(&failure))));
            }
        }
    }
}

/// What stands before a message.
fn mark(failure: &Failure) -> &'static str {
    match (failure, has_colours()) {
        (Failure::Interrupted(_), _) => "",
        (_, true) => "\x1b[1;31merror:\x1b[0m ",
        (_, false) => "error: ",
    }
}

/// Runs all statements of a text, or the command that it is, up to the first that fails.
fn obey(session: &mut Session<'_>, text: &str) -> Result<Next> {
    let text = plain_word(text).unwrap_or(text);
    let bail = std::mem::replace(&mut session.settings.bail, true);
    let mut script = Script::new(None);
    let mut run = || {
        for (number, line) in (1..).zip(text.lines()) {
            if script.line(line, number, session)? == Next::Leave {
                return Ok(Next::Leave);
            }
        }
        script.end(session)?;
        Ok(Next::Stay)
    };
    let next = run();
    session.settings.bail |= bail;
    next
}

fn greeting(session: &Session<'_>) -> String {
    let tables = session.store.table_names().len();
    format!(
        "Ambo {}, {} with {}. Statements end with a semicolon; `.help` lists commands, Tab completes, Ctrl-D leaves.",
        env!("CARGO_PKG_VERSION"),
        session.store.dir.display(),
        if tables == 1 { "1 table".to_string() } else { format!("{tables} tables") },
    )
}

fn terminal(error: ReadlineError) -> Failure {
    Failure::Database(format!("the terminal: {error}"))
}

/// The file in which statements are remembered, if there is a place for one.
struct History {
    path: Option<PathBuf>,
}

impl History {
    /// Nobody loses work by a history that cannot be kept: then there is none.
    fn open(editor: &mut LineEditor) -> Self {
        let path = history_file().filter(|path| make_private(path).is_ok());
        if let Some(path) = &path {
            editor.load_history(path).ok();
        }
        Self { path }
    }

    /// At once, so that sessions beside each other, and those that are killed, lose nothing.
    fn remember(&self, editor: &mut LineEditor, text: &str) {
        let is_new = editor.add_history_entry(text.trim_end()).unwrap_or(false);
        if let (true, Some(path)) = (is_new, &self.path) {
            editor.append_history(path).ok();
        }
    }
}

/// Makes the directory and the file, for this user's eyes only: statements may hold secrets.
fn make_private(path: &PathBuf) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
    if let Some(dir) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let file = std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    match file.metadata()?.is_file() {
        true => file.set_permissions(std::fs::Permissions::from_mode(0o600)),
        false => Ok(()),
    }
}

/// `$AMBO_HISTORY`, or `ambo/history` in the user's state directory.
fn history_file() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("AMBO_HISTORY").or_else(|| {
        let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")))?;
        Some(state.join("ambo/history"))
    })
}
