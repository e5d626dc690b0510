//! What each codec would save and cost for a table, measured on a sample of its rows.
//!
//! Sizes are those of real pages: the sample is built into trees in memory, once for each codec. Times are those of the
//! codec alone, the best of a few runs here and now.
//!
//! The recommendation takes the codec that needs the least space; one that needs little more, if it decodes in half the time; the one that
//! the table has, if that needs little more. Little is 15 %, or a fiftieth of all that the table takes without compression. None
//! is recommended if it would not save a tenth of the keys' or records' bytes, and a fiftieth of all.

mod measure;
mod sample;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ambo_base::btree::TRAINING_BYTES_MIN;
use ambo_codec::{integer::IntegerCodec, record::RecordCodec};
use ambo_types::{KeyWidth, Result, TableDefinition, TableOptions, id::TableId};

use self::{measure::Measured, sample::Sample};
use super::{count, engine::Engine, expiry::Moment};

/// What a codec makes of the sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate<C> {
    /// The codec.
    pub codec: C,
    /// Bytes in pages.
    pub bytes: u64,
    /// Nanoseconds to encode one key or record.
    pub encode_ns: f64,
    /// Nanoseconds to decode one key or record, of many in a row.
    pub decode_ns: f64,
}

/// A way to compress records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordChoice {
    /// The codec; none is plain.
    pub codec: Option<RecordCodec>,
    /// Whether with a trained dictionary.
    pub dictionary: bool,
}

/// What is known of a table from a sample of its rows.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The table as it is now.
    pub definition: Arc<TableDefinition>,
    /// Rows of the table.
    pub rows: u64,
    /// Rows of the sample.
    pub sampled: u64,
    /// Values on the way that were left out for their length: more than 1 MiB.
    pub left_out: u64,
    /// Bytes of the sample's keys.
    pub key_bytes: u64,
    /// Bytes of the sample's values.
    pub record_bytes: u64,
    /// The sample's keys in pages, without compression first. Only that, if keys are not of 4 or 8 bytes.
    pub keys: Vec<Estimate<Option<IntegerCodec>>>,
    /// The sample's records in pages, without compression first.
    pub records: Vec<Estimate<RecordChoice>>,
    /// What to change; empty if the table is as it should be.
    pub recommended: TableOptions,
}

/// Fewer rows say nothing.
const ROWS_MIN: u64 = 16;

impl Engine {
    /// Samples about `rows` rows of a table, in stretches that are spread over it, and measures all codecs on them. The same table
    /// gives the same sample.
    pub fn advise(self: &Arc<Self>, id: TableId, rows: u64) -> Result<Advice> {
        let snapshot = self.snapshot();
        let version = snapshot.version();
        let table = version.table(id)?;
        let definition = version.catalog.table(id).expect("the table is there").clone();
        let total = count::count(table, None, Moment::all(snapshot.timestamp()), None, None)?;
        let sample = Sample::take(table, id, snapshot.timestamp(), total, rows.max(ROWS_MIN))?;
        let mut advice = Advice {
            rows: total,
            sampled: sample.rows(),
            left_out: sample.left_out,
            key_bytes: sample.key_bytes(),
            record_bytes: sample.record_bytes(),
            keys: Vec::new(),
            records: Vec::new(),
            recommended: TableOptions::new(),
            definition,
        };
        if advice.sampled >= ROWS_MIN {
            let width = advice.definition.key_width().filter(|width| sample.has_keys_of(width.bytes()));
            advice.measure(&sample, self.store.page_size(), width)?;
            advice.recommend();
        }
        Ok(advice)
    }
}

impl Advice {
    fn measure(&mut self, sample: &Sample, page_size: usize, width: Option<KeyWidth>) -> Result<()> {
        let measured = Measured::new(sample, page_size);
        self.keys.push(measured.plain_keys()?);
        if let Some(width) = width {
            for codec in IntegerCodec::ALL {
                self.keys.push(measured.keys(codec, width)?);
            }
        }
        self.records.push(measured.plain_records()?);
        let strong = [RecordCodec::Zstd { level: 1 }, RecordCodec::Zstd { level: 9 }];
        let common = || RecordCodec::ALL.into_iter().chain(strong);
        let own = self.definition.record_compression;
        for codec in common().chain(own.filter(|own| common().all(|codec| codec != *own))) {
            self.records.push(measured.records(codec)?);
        }
        // A dictionary that the table would not get is not worth a measurement.
        let record_bytes = u128::from(self.record_bytes) * u128::from(self.rows) / u128::from(self.sampled);
        if record_bytes < TRAINING_BYTES_MIN.into() && !self.definition.record_dictionary {
            return Ok(());
        }
        let usual = RecordCodec::Zstd { level: 3 };
        let own = own.filter(|_| self.definition.record_dictionary && own != Some(usual));
        for codec in [usual].into_iter().chain(own) {
            self.records.extend(measured.records_with_dictionary(codec)?);
        }
        Ok(())
    }

    fn recommend(&mut self) {
        let total = self.keys[0].bytes + self.records[0].bytes;
        let now = &self.definition;
        let has = RecordChoice { codec: now.record_compression, dictionary: now.record_dictionary };
        let keys = choose(&self.keys, now.key_compression, total);
        let records = choose(&self.records, has, total);
        if keys != now.key_compression {
            self.recommended = std::mem::take(&mut self.recommended).key_compression(keys);
        }
        if records.codec != now.record_compression {
            self.recommended = std::mem::take(&mut self.recommended).record_compression(records.codec);
        }
        if records.dictionary != self.recommended.apply((**now).clone()).record_dictionary {
            self.recommended = std::mem::take(&mut self.recommended).record_dictionary(records.dictionary);
        }
    }
}

/// The recommended codec; the first is without compression, `has` is that of the table.
fn choose<C: Copy + PartialEq>(estimates: &[Estimate<C>], has: C, total: u64) -> C {
    let (plain, coded) = estimates.split_first().expect("there is always the plain form");
    let Some(smallest) = coded.iter().min_by_key(|estimate| estimate.bytes) else { return plain.codec };
    let bound = smallest.bytes + (smallest.bytes * 15 / 100).max(total / 50);
    let near = || coded.iter().filter(|estimate| estimate.bytes <= bound);
    let best = near().find(|estimate| estimate.codec == has).unwrap_or_else(|| {
        near().fold(
            smallest,
            |best, estimate| {
                if estimate.decode_ns * 2.0 <= best.decode_ns { estimate } else { best }
            },
        )
    });
    let saved = plain.bytes.saturating_sub(best.bytes);
    if saved > 0 && saved * 10 >= plain.bytes && saved * 50 >= total { best.codec } else { plain.codec }
}
