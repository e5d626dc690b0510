//! How the shell shows what it finds.

use clap::ValueEnum;

/// The form of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Mode {
    /// Aligned columns that fit the terminal
    Table,
    /// One column a line, for rows that are too wide
    Line,
    /// One row a line, fields separated by tabs, special characters as escapes
    List,
    /// Comma-separated, with a line of names
    Csv,
    /// One JSON object a line
    Json,
    /// A table for documents
    Markdown,
    /// An Arrow IPC stream, for programs
    Arrow,
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

/// How many rows a person is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxRows(pub Option<u64>);

impl std::str::FromStr for MaxRows {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self(None)),
            number => match number.parse() {
                Ok(0) | Err(_) => Err(format!("{number} is no number of rows; say one, or all")),
                Ok(rows) => Ok(Self(Some(rows))),
            },
        }
    }
}

/// What can be set at the prompt.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The form of rows.
    pub mode: Mode,
    /// Whether times are shown.
    pub timer: bool,
    /// Whether each query's plan is shown before its rows.
    pub explain: bool,
    /// So many rows are shown in a table on a terminal.
    pub max_rows: Option<u64>,
    /// Whether a script ends with the first statement that fails.
    pub bail: bool,
}

/// A person sees so many rows unless they ask for more.
pub const MAX_ROWS: u64 = 100;
