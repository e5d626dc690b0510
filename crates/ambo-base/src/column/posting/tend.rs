//! Making the files that are missing, and removing those that nobody asks for.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ambo_scan::buffer::ColumnBuffer;
use ambo_types::{Error, Result, id::TableId};

use super::{file::PostingFile, gather::Gatherer, keys::IndexSpec};
use crate::column::{
    schema::ColumnSchema,
    segment::{Segment, SegmentStore},
    set::ColumnSet,
};

/// What may be done about files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tending {
    /// Those that are there are found: another process may own them.
    Find,
    /// Those of indexes that are gone are removed, too.
    Remove,
    /// Those that are missing are made, too.
    Make,
}

/// What was done for the indexes of a table.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Tended {
    /// Files that were made.
    pub made: u64,
    /// Files that are still missing.
    pub missing: u64,
}

impl ColumnSet {
    /// Finds the files of its indexes, removes those of indexes that are gone, and makes those that are missing, as far as it may.
    ///
    /// # Errors
    /// [`Error::Cancelled`]; what the operating system refuses. Files that were made are there.
    pub fn tend_postings(&self, tending: Tending, cancel: &AtomicBool) -> Result<Tended> {
        let _one = self.store().tending.lock();
        let mut tended = Tended::default();
        for segment in self.segments() {
            let specs = self.schema().indexed();
            segment
                .postings_files()
                .keep(tending != Tending::Find, |index| specs.iter().any(|spec| spec.id == index));
            for spec in specs {
                let has_columns = spec.columns.iter().all(|column| segment.has(*column));
                if !has_columns || segment.find_postings(self.schema(), spec)? {
                    continue;
                }
                if tending != Tending::Make {
                    tended.missing += 1;
                    continue;
                }
                if cancel.load(Ordering::Relaxed) {
                    return Err(Error::Cancelled);
                }
                segment.make_postings_file(self.schema(), spec)?;
                tended.made += 1;
            }
        }
        if tended.made > 0 {
            self.store().sync_directory()?;
        }
        Ok(tended)
    }
}

impl Segment {
    /// Whether the file of an index is there; looks for it if that is not known.
    fn find_postings(&self, schema: &ColumnSchema, spec: &IndexSpec) -> Result<bool> {
        if self.postings_files().knows(spec.id) {
            return Ok(true);
        }
        let ids = (self.id(), self.directory().rows());
        let types = schema.types();
        let wanted = (spec.id.0, spec.fingerprint(types), spec.form(types).width());
        match PostingFile::open(self.store(), ids, wanted) {
            Ok(None) => Ok(false),
            Ok(Some(file)) => {
                self.postings_files().attach(file);
                Ok(true)
            }
            Err(Error::Damaged { file, offset, what }) => {
                // Who asks it is told.
                self.postings_files().note_broken(spec.id, (file, offset, what));
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the file of an index of its blocks.
    fn make_postings_file(&self, schema: &ColumnSchema, spec: &IndexSpec) -> Result<()> {
        let gathered = self.gather(schema, spec)?;
        self.postings_files().attach(gathered.write(self.store(), self.id())?);
        Ok(())
    }

    /// What an index has of its rows.
    pub(in crate::column) fn gather(&self, schema: &ColumnSchema, spec: &IndexSpec) -> Result<Gatherer> {
        let mut gatherer = Gatherer::new(spec, schema.types());
        for group in 0..self.directory().groups() {
            let mut buffers: Vec<ColumnBuffer> = Vec::new();
            for column in &spec.columns {
                let bytes = self.load_block(*column, group)?;
                let block = self.parse(*column, group, &bytes)?;
                let mut buffer = ColumnBuffer::new(schema.types()[*column]);
                let read = buffer.append_block(&block, 0..block.rows());
                read.map_err(|error| self.damaged(self.entry(*column, group).offset, error))?;
                buffers.push(buffer);
            }
            let pushed = gatherer.push(&buffers.iter().collect::<Vec<_>>());
            pushed.map_err(|error| self.damaged(self.entry(spec.columns[0], group).offset, error))?;
        }
        Ok(gatherer)
    }
}

/// Whether a file of this name has postings.
pub fn is_posting_file(name: &str) -> bool {
    PostingFile::ids_of(name).is_some()
}

/// Removes files of postings whose segment or index is not known. What a reader has open stays readable to it.
///
/// # Errors
/// What the operating system refuses.
pub fn sweep_postings(store: &Arc<SegmentStore>, is_known: impl Fn(u64, TableId) -> bool) -> Result<()> {
    let disk = store.disk();
    let names = disk.list().map_err(|error| Error::io("listing the database directory", error))?;
    for name in names {
        let is_left = match PostingFile::ids_of(&name) {
            Some((segment, index)) => !is_known(segment, TableId(index)),
            None => PostingFile::is_unfinished(&name),
        };
        if is_left {
            disk.remove(&name).map_err(|error| Error::io(format!("removing {name}"), error))?;
        }
    }
    Ok(())
}
