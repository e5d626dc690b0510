//! The storages, and what each can do.

/// The shape of a table's base.
///
/// What a storage can do is said by its [`Storage::traits`]; nothing but the bases asks which one it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Storage {
    /// Packed B+trees in the `pages` file.
    #[default]
    BTree = 1,
    /// The same trees in memory only: the definition is kept, the rows live as long as the database is open. Never logged.
    Memory = 2,
    /// Immutable segments of encoded columns, each a file, and sets of deleted rows. What was written last is in packed B+trees
    /// until there is enough of it.
    Column = 3,
    /// Immutable extents of records of one width, each a file, and sets of deleted rows: written behind each other, and read at a
    /// position by multiplication. What was written last is in packed B+trees until there is enough of it.
    Append = 4,
    /// Packed B+trees, of which the oldest follow each other and are merged a few at a time: for tables that are far larger than memory.
    Lsm = 5,
    /// What `btree` does, through a storage of its own. For tests.
    #[cfg(feature = "stub")]
    Stub = 255,
}

/// What a storage can do, and what it asks of its tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StorageTraits {
    /// The name in definitions and messages.
    pub name: &'static str,
    /// Its rows outlive the process: they are in the database's files, and commits are logged unless a table asks for the contrary.
    pub durable: bool,
    /// Rows are stored by column. They have to fit their columns; scans, aggregates, bulk loads and bulk changes go by column; keys and
    /// records are not compressed as a whole.
    pub by_column: bool,
    /// Columns may have bitmap indexes.
    pub bitmap_indexes: bool,
    /// Compacted rows are records of one width, which [`Records`](super::Records) describe.
    pub records: bool,
    /// Trees have filters of the keys of each leaf: look-ups of keys that are not there read no leaf.
    pub leaf_filters: bool,
    /// The storage of the entries of indexes. It is the same for all that are durable, so they may follow each other.
    pub of_indexes: Storage,
}

const BTREE: StorageTraits = StorageTraits {
    name: "btree",
    durable: true,
    by_column: false,
    bitmap_indexes: false,
    records: false,
    leaf_filters: false,
    of_indexes: Storage::BTree,
};
const MEMORY: StorageTraits =
    StorageTraits { name: "memory", durable: false, of_indexes: Storage::Memory, ..BTREE };
const LSM: StorageTraits = StorageTraits { name: "lsm", leaf_filters: true, ..BTREE };
const COLUMN: StorageTraits =
    StorageTraits { name: "column", by_column: true, bitmap_indexes: true, ..BTREE };
const APPEND: StorageTraits = StorageTraits { name: "append", records: true, ..COLUMN };

#[cfg(feature = "stub")]
const STUB: StorageTraits = StorageTraits { name: "stub", ..BTREE };

impl Storage {
    /// All storages, in the order in which messages list them.
    pub const ALL: &[Self] = &[Self::BTree, Self::Lsm, Self::Column, Self::Append, Self::Memory];

    /// The same, with those that are there for tests.
    pub const KNOWN: &[Self] = &[
        Self::BTree,
        Self::Lsm,
        Self::Column,
        Self::Append,
        Self::Memory,
        #[cfg(feature = "stub")]
        Self::Stub,
    ];

    /// What it can do.
    #[inline]
    pub const fn traits(self) -> &'static StorageTraits {
        match self {
            Self::BTree => &BTREE,
            Self::Lsm => &LSM,
            Self::Memory => &MEMORY,
            Self::Column => &COLUMN,
            Self::Append => &APPEND,
            #[cfg(feature = "stub")]
            Self::Stub => &STUB,
        }
    }

    /// The storage of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::KNOWN.iter().copied().find(|storage| storage.name() == name)
    }

    /// The storage with this number in definitions.
    pub(super) fn numbered(number: u8) -> Option<Self> {
        Self::KNOWN.iter().copied().find(|storage| *storage as u8 == number)
    }

    /// The name in definitions and messages.
    pub const fn name(self) -> &'static str {
        self.traits().name
    }

    /// The storage of the indexes of such a table.
    pub const fn of_indexes(self) -> Self {
        self.traits().of_indexes
    }
}
