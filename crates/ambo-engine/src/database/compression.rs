//! How a table's pages are compressed, and the dictionaries that this takes.
//!
//! A dictionary is trained when a table that wants one is merged into one tree and has none yet, and anew when
//! [`Engine::vacuum`] writes all of it again. It is published with the tree that needs it, in the catalog; while
//! leaves that were compressed with an older one may be left, that is kept.

use std::sync::Arc;

use ambo_base::btree::{BuildOptions, DICTIONARY_BYTES, RecordCompression, TRAINING_BYTES_MIN, Tree};
use ambo_codec::record::{Dictionary, RecordCodec};
use ambo_pages::page::{NAME, PageStore};
use ambo_types::{Error, Result, id::TableId, record::RecordKind};

use super::{engine::Engine, version::DatabaseVersion};
use crate::catalog::Catalog;

/// How many records, and bytes of them, a dictionary is trained with: a hundred times its length, as Zstandard
/// recommends.
const SAMPLES: u64 = 1 << 14;
const SAMPLE_BYTES: usize = 100 * DICTIONARY_BYTES;
impl DatabaseVersion {
    /// How new pages of a table are built.
    pub(super) fn build_options(&self, id: TableId, store: &PageStore) -> BuildOptions {
        let Some(definition) = self.catalog.table(id) else { return BuildOptions::default() };
        let number = self.catalog.dictionaries(id).next_back().map(|(number, _)| number);
        let number = number.filter(|_| definition.record_dictionary);
        let dictionary = number.and_then(|number| Some((number, store.dictionaries().get(number)?)));
        BuildOptions {
            keys: definition.key_compression.zip(definition.key_width().map(|width| width.bytes())),
            records: definition.record_compression.map(|codec| RecordCompression { codec, dictionary }),
            filters: definition.storage.traits().leaf_filters,
            ..BuildOptions::default()
        }
    }

    /// How pages of a table are built that rows of another store, or this one, are copied to.
    pub(super) fn copy_options(
        &self,
        id: TableId,
        from: &Arc<PageStore>,
        to: &Arc<PageStore>,
    ) -> BuildOptions {
        let mut options = BuildOptions { keep_in_cache: to.is_memory(), ..self.build_options(id, to) };
        if let Some(records) = &mut options.records
            && !Arc::ptr_eq(from, to)
        {
            // A dictionary that this store knew before is none that the catalog goes on to keep.
            records.dictionary = None;
        }
        options
    }

    /// The codec of new long values of a table.
    pub(super) fn blob_codec(&self, id: TableId) -> Option<RecordCodec> {
        self.catalog.table(id).and_then(|definition| definition.record_compression)
    }
}

/// Makes the dictionaries in the catalog known to the store of their tables.
pub(super) fn load_dictionaries(store: &PageStore, catalog: &Catalog) -> Result<()> {
    for (table, _) in catalog.tables() {
        for (number, bytes) in catalog.dictionaries(table) {
            let dictionary = Dictionary::from_bytes(RecordCodec::Zstd { level: 3 }, bytes);
            let dictionary = dictionary.map_err(|error| {
                Error::damaged(NAME, 0, format!("dictionary {number} of table {table}: {error}"))
            })?;
            store.dictionaries().insert(number, dictionary);
        }
    }
    Ok(())
}

impl Engine {
    /// Trains a dictionary for merging `trees` of a table, if it wants one and has none, or is written anew. No other merge is
    /// under way.
    pub(super) fn train_dictionary(
        &self,
        version: &DatabaseVersion,
        id: TableId,
        trees: &[Arc<Tree>],
        rewrite: bool,
    ) -> Result<Option<(u32, Dictionary)>> {
        let wanted = version.catalog.table(id).is_some_and(|definition| definition.record_dictionary);
        let has_one = version.catalog.dictionaries(id).next().is_some();
        let bytes: u64 = trees.iter().map(|tree| tree.meta().value_bytes).sum();
        if !wanted || (has_one && !rewrite) || bytes < TRAINING_BYTES_MIN {
            return Ok(None);
        }
        let samples = sample(trees)?;
        let samples: Vec<&[u8]> = samples.iter().map(Vec::as_slice).collect();
        let Some(dictionary) = Dictionary::train(&samples, DICTIONARY_BYTES) else { return Ok(None) };
        let number = version.catalog.next_dictionary();
        trees[0].store().dictionaries().insert(number, dictionary.clone());
        Ok(Some((number, dictionary)))
    }
}

/// Notes in the catalog that a table's pages need this dictionary, which a compaction may have dropped or that is new.
pub(super) fn keep_dictionary(
    catalog: &mut Arc<Catalog>,
    id: TableId,
    dictionary: Option<&(u32, Dictionary)>,
) {
    if let Some((number, dictionary)) = dictionary
        && catalog.dictionaries(id).all(|(known, _)| known != *number)
    {
        Arc::make_mut(catalog).put_dictionary(id, *number, dictionary.bytes().into());
    }
}

/// Inline records from all over the trees.
fn sample(trees: &[Arc<Tree>]) -> Result<Vec<Vec<u8>>> {
    let rows: u64 = trees.iter().map(|tree| tree.meta().rows).sum();
    let step = (rows / SAMPLES).max(1);
    let mut samples = Vec::new();
    let mut bytes = 0;
    for tree in trees {
        // A larger step for longer records, so that the samples are from all over the tree and not from its beginning.
        let length = tree.meta().value_bytes / tree.meta().rows.max(1);
        let wanted = (SAMPLE_BYTES as u64 / length.max(1)).max(1);
        let step = step.max(rows / wanted);
        let mut cursor = tree.cursor();
        let mut position = 0;
        while bytes < 2 * SAMPLE_BYTES && cursor.seek_nth(position)? {
            let record = cursor.record();
            if record.kind == RecordKind::Inline && !record.bytes.is_empty() {
                bytes += record.bytes.len();
                samples.push(record.bytes.to_vec());
            }
            position += step;
        }
    }
    Ok(samples)
}
