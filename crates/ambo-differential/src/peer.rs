//! The databases that Ambo is compared with.

use crate::{Result, answer::Answer};

/// What a peer made of a statement.
pub enum Outcome {
    Rows(Answer),
    /// Written rows.
    Changed(u64),
    /// So many rows that they are not compared.
    TooMany,
    Failed(String),
}

/// A database beside Ambo. It begins empty.
pub trait Peer {
    /// Begins anew, with an empty database.
    fn reset(&mut self) -> Result<()>;

    /// Runs a statement.
    fn run(&mut self, statement: &str) -> Result<Outcome>;
}

/// Answers with more rows than these are not compared.
pub const ROWS_MAX: usize = 50_000;
