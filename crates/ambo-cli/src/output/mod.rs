//! Standard output: one buffered writer that knows for whom it writes.

mod human;
mod table;

use std::io::{self, BufWriter, IsTerminal, Write};

pub use human::{bytes, count, duration, rate};
pub use table::{Align, Table};

/// How results are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Aligned tables and separated counts, for a person at a terminal.
    Human,
    /// One record a line, fields separated by tabs, for a pipe.
    Plain,
    /// JSON, for programs.
    Json,
}

/// Where results go, and in which form.
pub struct Output {
    to: Box<dyn Write + Send>,
    /// How results are shown.
    pub form: Form,
    /// Characters in a line, for a person.
    width: usize,
}

/// A terminal that does not say how wide it is.
const WIDTH_UNKNOWN: usize = 200;

impl Output {
    /// Standard output; `json` when programs asked for it.
    pub fn stdout(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let form = match (json, terminal) {
            (true, _) => Form::Json,
            (false, true) => Form::Human,
            (false, false) => Form::Plain,
        };
        let width = terminal_width();
        Self { to: Box::new(BufWriter::with_capacity(64 << 10, io::stdout())), form, width }
    }

    /// Another place, such as a file.
    pub fn to(to: impl Write + Send + 'static, form: Form) -> Self {
        Self { to: Box::new(BufWriter::with_capacity(256 << 10, to)), form, width: WIDTH_UNKNOWN }
    }

    /// Characters in a line of the terminal, as it is now.
    pub fn width(&self) -> usize {
        terminal_width()
    }

    /// Whether programs read the output.
    pub fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// One JSON value on a line of its own.
    pub fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, value)?;
        self.to.write_all(b"\n")
    }
}

fn terminal_width() -> usize {
    console::Term::stdout().size_checked().map_or(WIDTH_UNKNOWN, |(_, columns)| columns.into())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// A remark for the person at the keyboard, on standard error, so that it never mixes with results.
#[expect(clippy::print_stderr, reason = "the one place where remarks and errors are printed")]
pub fn remark(text: &str) {
    eprintln!("{text}");
}
