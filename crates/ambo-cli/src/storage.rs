//! How a new table is kept, as options of commands.

use ambo::{Storage, TableDefinition};
use clap::{Args, ValueEnum};

use crate::compression::CompressionArguments;
use crate::failure::{Failure, Result};

/// Where a table's rows are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StorageName {
    /// Row by row in packed B+trees
    Btree,
    /// As btree, merged a few parts at a time: for tables far larger than memory
    Lsm,
    /// Column by column in segments; what was written last is kept as rows
    Column,
    /// Record by record in extents: facts that are appended and not updated
    Append,
    /// In memory only: the rows are gone when the database is closed
    Memory,
}

impl From<StorageName> for Storage {
    fn from(name: StorageName) -> Self {
        match name {
            StorageName::Btree => Self::BTree,
            StorageName::Lsm => Self::Lsm,
            StorageName::Column => Self::Column,
            StorageName::Append => Self::Append,
            StorageName::Memory => Self::Memory,
        }
    }
}

/// How a new table is kept; what is not said is as the engine has it.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct NewTableArguments {
    /// Where the new table's rows are kept [default: btree]
    #[arg(long, value_name = "STORAGE")]
    pub storage: Option<StorageName>,
    /// How they are compressed.
    #[command(flatten)]
    pub compression: CompressionArguments,
}

impl NewTableArguments {
    /// The definition, with these wishes.
    pub fn apply(&self, definition: TableDefinition) -> Result<TableDefinition> {
        let definition = match self.storage {
            Some(storage) => definition.storage(storage.into()),
            None => definition,
        };
        let definition = self.compression.options().apply(definition);
        let definition = match definition.expiry.ttl {
            Some(ttl) if definition.is_raw() => definition.ttl_of_commits(ttl),
            _ => definition,
        };
        match refused(&definition) {
            true => Err(Failure::usage(
                "a table of storage column encodes each column by itself; leave --key-compression and \
                 --record-compression away, or say --storage btree",
            )),
            false => Ok(definition),
        }
    }
}

/// Whether a column table is to be compressed as rows are.
pub fn refused(definition: &TableDefinition) -> bool {
    let compressed = definition.key_compression.is_some()
        || definition.record_compression.is_some()
        || definition.record_dictionary;
    definition.storage.traits().by_column && compressed
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: NewTableArguments,
    }

    // Keeps away a storage that is not the one that was said, and options that a column table would ignore.
    #[test]
    fn storages_are_what_was_said() {
        let make = |words: &[&str]| {
            let line = Line::try_parse_from([&["ambo"], words].concat()).unwrap();
            line.arguments.apply(TableDefinition::key_value("t"))
        };
        for (name, storage) in [
            ("btree", Storage::BTree),
            ("lsm", Storage::Lsm),
            ("column", Storage::Column),
            ("append", Storage::Append),
            ("memory", Storage::Memory),
        ] {
            assert_eq!(make(&["--storage", name]).unwrap().storage, storage);
            assert_eq!(storage.name(), name);
        }
        assert_eq!(make(&[]).unwrap().storage, Storage::BTree);
        assert!(make(&["--storage", "column", "--record-compression", "none"]).is_ok());
        for option in ["--record-compression=lz4", "--key-compression=for", "--record-dictionary=on"] {
            assert!(make(&["--storage", "column", option]).is_err(), "{option}");
        }
        assert!(Line::try_parse_from(["ambo", "--storage", "row"]).is_err());
    }
}
