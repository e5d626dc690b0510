//! A table whose pages stay while it is read: see "Who may read a page" in `lineage`.

use std::{ops::Deref, sync::Arc};

use ambo_types::{Result, id::TableId};

use super::{
    engine::Engine,
    version::{DatabaseVersion, TableVersion},
};

/// A table as it was at one moment, with the version that keeps its pages.
pub(super) struct KeptTable {
    version: Arc<DatabaseVersion>,
    id: TableId,
}

impl KeptTable {
    /// The version that it is of.
    pub(super) fn version(&self) -> &DatabaseVersion {
        &self.version
    }
}

impl Deref for KeptTable {
    type Target = TableVersion;

    fn deref(&self) -> &TableVersion {
        &self.version.tables[&self.id]
    }
}

impl Engine {
    /// A table as it is now, whose pages stay as long as this lives.
    ///
    /// # Errors
    /// As [`DatabaseVersion::table`].
    pub(super) fn kept_table(&self, id: TableId) -> Result<KeptTable> {
        let version = self.current();
        version.table(id)?;
        Ok(KeptTable { version, id })
    }
}
