//! What an index is.
//!
//! An index is a plain key-value table of its own whose rows, its *entries*, follow from those of its table (`index/entry.rs`). Its
//! definition in the catalog says so by an [`IndexOf`].

use super::{TableDefinition, names};
use crate::{Error, Result, id::TableId};

/// How entries are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum IndexKind {
    /// By the values themselves, in their order: equality, the first columns only, ranges.
    Ordered = 1,
    /// By a hash of the values: equality of all columns. Entries are short however long the values are.
    Hash = 2,
    /// By a bitmap for each value, of one column with few of them, in a table of storage column: equality and lists of values. It has no
    /// entries: the bitmaps follow from the segments, and what is newer is looked at.
    Bitmap = 3,
    /// By postings in a file beside each segment: which of its rows have each value, or each values of several columns. Equality, lists,
    /// ranges, the first columns only. It has no entries: postings are written with their segment, and what is newer is looked at.
    Br64 = 4,
    /// As [`Br64`](Self::Br64), with each row under the value of each of the columns, which are of one type.
    Br64Any = 5,
}

impl IndexKind {
    /// The name in definitions and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Hash => "hash",
            Self::Bitmap => "bitmap",
            Self::Br64 | Self::Br64Any => "br64",
        }
    }

    /// Whether there is an entry for each row; otherwise rows are found by scans that ask what is known of segments.
    pub fn has_entries(self) -> bool {
        matches!(self, Self::Ordered | Self::Hash)
    }

    /// Whether its postings are in files.
    pub fn has_postings(self) -> bool {
        matches!(self, Self::Br64 | Self::Br64Any)
    }
}

/// An index that is asked for: its name, its table, and the columns by name.
///
/// ```
/// use ambo_types::IndexDefinition;
/// let index = IndexDefinition::new("users_by_mail", "users", &["mail"]).unique();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it is not created yet"]
pub struct IndexDefinition {
    /// Its name, in the schema of its table; tables and indexes share their names.
    pub name: String,
    /// The table.
    pub table: String,
    /// The columns in their order.
    pub columns: Vec<String>,
    /// How entries are found.
    pub kind: IndexKind,
    /// Whether no two rows may have the same values; rows with a NULL among them may.
    pub unique: bool,
}

impl IndexDefinition {
    /// An ordered index that is not unique.
    pub fn new(name: impl Into<String>, table: impl Into<String>, columns: &[&str]) -> Self {
        Self {
            name: name.into(),
            table: table.into(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
            kind: IndexKind::Ordered,
            unique: false,
        }
    }

    /// Finds entries by a hash.
    pub fn hash(mut self) -> Self {
        self.kind = IndexKind::Hash;
        self
    }

    /// Finds rows by a bitmap for each value.
    pub fn bitmap(mut self) -> Self {
        self.kind = IndexKind::Bitmap;
        self
    }

    /// Finds rows by postings in files.
    pub fn br64(mut self) -> Self {
        self.kind = IndexKind::Br64;
        self
    }

    /// Finds rows by postings in files, by a value in any of the columns.
    pub fn br64_any(mut self) -> Self {
        self.kind = IndexKind::Br64Any;
        self
    }

    /// Refuses rows with values that another row has.
    pub fn unique(mut self) -> Self {
        self.unique = true;
        self
    }
}

/// What makes a table an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexOf {
    /// The table whose rows it finds.
    pub table: TableId,
    /// Places of the columns in that table's definition.
    pub columns: Vec<usize>,
    /// How entries are found.
    pub kind: IndexKind,
    /// Whether no two rows may have the same values without NULL.
    pub unique: bool,
    /// Whether it has an entry for each row. While an index is built it only has those of what was written since.
    pub ready: bool,
}

/// The most columns of an index.
pub const INDEX_COLUMNS_MAX: usize = 64;

impl IndexOf {
    /// What is asked for, over the table with this id and definition.
    pub fn resolve(wanted: &IndexDefinition, id: TableId, table: &TableDefinition) -> Result<Self> {
        if table.expiry.stamped {
            return Err(Error::Invalid(format!(
                "table \"{}\" keeps the time of commits behind its values, and has no indexes",
                table.name
            )));
        }
        let invalid = |what: String| Err(Error::Invalid(format!("index \"{}\": {what}", wanted.name)));
        if wanted.columns.is_empty() || wanted.columns.len() > INDEX_COLUMNS_MAX {
            return invalid(format!(
                "it has {} columns; 1 to {INDEX_COLUMNS_MAX} are possible",
                wanted.columns.len()
            ));
        }
        let mut columns = Vec::new();
        for name in &wanted.columns {
            let Some(column) = table.column_index(name) else {
                let known: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
                return Err(Error::NotFound(format!(
                    "column \"{name}\" of table \"{}\" for index \"{}\"; the table has {}",
                    table.name,
                    wanted.name,
                    known.join(", ")
                )));
            };
            if columns.contains(&column) {
                return invalid(format!("column \"{name}\" is in it twice"));
            }
            if let Err(what) = table.columns[column].require_ordered("in an index") {
                return invalid(what);
            }
            columns.push(column);
        }
        let is_by_positions = !wanted.kind.has_entries();
        if is_by_positions && (!table.storage.traits().bitmap_indexes || wanted.unique) {
            return invalid(format!(
                "a {} index is of a table of storage column or append, and not unique; \"{}\" is of storage {}",
                wanted.kind.name(),
                table.name,
                table.storage.name()
            ));
        }
        if wanted.kind == IndexKind::Bitmap && columns.len() > 1 {
            return invalid(
                "a bitmap index is over one column; one of kind br64 may have several".to_owned(),
            );
        }
        if wanted.kind == IndexKind::Br64Any {
            let first = table.columns[columns[0]].kind;
            if columns.len() < 2 || columns.iter().any(|column| table.columns[*column].kind != first) {
                return invalid("ANY is over two columns or more, all of one type".to_owned());
            }
        }
        // What is known of segments is made beside them, and asked as far as it is there.
        Ok(Self { table: id, columns, kind: wanted.kind, unique: wanted.unique, ready: is_by_positions })
    }

    /// The definition of the table that holds the entries.
    pub fn definition(self, name: &str, table: &TableDefinition) -> Result<TableDefinition> {
        let (schema, _) = table.name.split_once('.').expect("qualified names have a dot");
        let name = match name.split_once('.') {
            Some((other, _)) if other != schema => {
                return Err(Error::Invalid(format!(
                    "index \"{name}\": it is in the schema of its table, \"{schema}\""
                )));
            }
            Some(_) => name.to_owned(),
            None => format!("{schema}.{name}"),
        };
        let mut definition = TableDefinition::key_value(names::qualify(&name)?);
        definition = definition.storage(table.storage.of_indexes()).log(table.log);
        definition.index = Some(self);
        definition.validate()?;
        Ok(definition)
    }
}
