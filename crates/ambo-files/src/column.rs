//! A column of a file.

use ambo::Type;

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub ty: Type,
    /// Whether it may be NULL.
    pub nullable: bool,
}
