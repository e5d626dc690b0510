//! Tables that cannot be read: the others stay in use.
//!
//! When a database is opened and a segment of a column table is missing, or it, or its deleted rows, cannot be read, the table is there and
//! whoever wants it is told what is wrong. Nothing of it is changed: commits of the log's tail wait in its memtable and its runs,
//! checkpoints carry on its roots, and their files stay. Once they are put back, the table is read again at the next opening; or it is
//! dropped.
//!
//! So it is with a table whose rows this process does not have at all: it reads beside another, which has them in memory.

use ambo_base::Root;
use ambo_pages::page::PageRange;
use ambo_types::Error;

/// What is wrong with a table, and what the catalog says of it.
#[derive(Debug)]
pub struct Damage {
    what: What,
    /// Its roots.
    pub(super) roots: Vec<Root>,
    /// The pages that they name.
    pub(super) pages: Vec<PageRange>,
}

#[derive(Debug)]
enum What {
    Damaged {
        file: String,
        offset: u64,
        what: String,
    },
    /// Nothing is damaged, but it cannot be read here.
    Elsewhere(String),
}

impl Damage {
    /// What an error says; the error itself if it is of another kind than damage.
    pub(super) fn of(error: Error, roots: Vec<Root>, pages: Vec<PageRange>) -> Result<Self, Error> {
        match error {
            Error::Damaged { file, offset, what } => {
                Ok(Self { what: What::Damaged { file, offset, what }, roots, pages })
            }
            error => Err(error),
        }
    }

    /// The error for whoever wants the table.
    pub fn error(&self) -> Error {
        match &self.what {
            What::Damaged { file, offset, what } => Error::damaged(file.clone(), *offset, what.clone()),
            What::Elsewhere(what) => Error::Invalid(what.clone()),
        }
    }

    /// Of a table that cannot be read here, although nothing is wrong with it.
    pub(super) fn elsewhere(what: String) -> Self {
        Self { what: What::Elsewhere(what), roots: Vec::new(), pages: Vec::new() }
    }

    /// Whether nothing is wrong with it.
    pub(super) fn is_elsewhere(&self) -> bool {
        matches!(self.what, What::Elsewhere(_))
    }
}
