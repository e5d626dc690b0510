//! The files of postings that a segment is known to have.

use std::sync::Arc;

use ambo_types::{Error, Result, id::TableId};
use parking_lot::RwLock;

use super::file::PostingFile;

/// A file, or what is wrong with it: file, offset, what.
#[derive(Debug)]
enum Attached {
    File(Arc<PostingFile>),
    Broken(String, u64, String),
}

/// See the module.
#[derive(Debug, Default)]
pub(in crate::column) struct AttachedFiles(RwLock<Vec<(TableId, Attached)>>);

impl AttachedFiles {
    /// Notes a file that is there.
    pub(in crate::column) fn attach(&self, file: Arc<PostingFile>) {
        let mut all = self.0.write();
        all.retain(|(index, _)| *index != file.index());
        all.push((file.index(), Attached::File(file)));
    }

    /// Notes that the file of an index is damaged.
    pub(super) fn note_broken(&self, index: TableId, (file, offset, what): (String, u64, String)) {
        self.0.write().push((index, Attached::Broken(file, offset, what)));
    }

    /// Whether anything is known of the file of an index.
    pub(super) fn knows(&self, index: TableId) -> bool {
        self.0.read().iter().any(|(known, _)| *known == index)
    }

    /// The file of an index; none if it is not known to be there.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is damaged.
    pub(in crate::column) fn get(&self, index: TableId) -> Result<Option<Arc<PostingFile>>> {
        match self.0.read().iter().find(|(known, _)| *known == index) {
            None => Ok(None),
            Some((_, Attached::File(file))) => Ok(Some(file.clone())),
            Some((_, Attached::Broken(file, offset, what))) => {
                let what = format!("{what}; drop the index and create it again");
                Err(Error::damaged(file.clone(), *offset, what))
            }
        }
    }

    /// All files that are there.
    pub(in crate::column) fn all(&self) -> Vec<Arc<PostingFile>> {
        let file = |(_, attached): &(TableId, Attached)| match attached {
            Attached::File(file) => Some(file.clone()),
            Attached::Broken(..) => None,
        };
        self.0.read().iter().filter_map(file).collect()
    }

    /// Forgets the files of other indexes than these; the owner's go with their last reader.
    pub(super) fn keep(&self, is_owner: bool, is_kept: impl Fn(TableId) -> bool) {
        if self.0.read().iter().all(|(index, _)| is_kept(*index)) {
            return;
        }
        self.0.write().retain(|(index, attached)| {
            if let (true, false, Attached::File(file)) = (is_owner, is_kept(*index), attached) {
                file.discard();
            }
            is_kept(*index)
        });
    }

    /// Has all of them go with their last reader.
    pub(in crate::column) fn discard(&self) {
        self.all().iter().for_each(|file| file.discard());
    }
}
