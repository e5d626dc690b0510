//! Sizes and times of one codec on a sample.

use std::time::{Duration, Instant};

use ambo_base::btree::{BuildOptions, DICTIONARY_BYTES, RecordCompression, Tree, TreeBuilder, TreeSpace};
use ambo_codec::{
    integer::{IntegerCodec, Word},
    record::{Compressor, Decompressor, Dictionary, RecordCodec},
};
use ambo_pages::page::PageStore;
use ambo_types::{KeyWidth, Result, record::Record};

use super::{
    Estimate, RecordChoice,
    sample::{Row, Sample},
};

/// The best of so many runs counts.
const RUNS: usize = 3;
/// So many bytes of records are enough to time a codec.
const TIMED_BYTES: usize = 2 << 20;

/// A sample and what is common to all measurements of it.
pub(super) struct Measured<'s> {
    sample: &'s Sample,
    page_size: usize,
    /// Records to time codecs with.
    timed: Vec<&'s [u8]>,
}

impl<'s> Measured<'s> {
    pub(super) fn new(sample: &'s Sample, page_size: usize) -> Self {
        let step = (sample.record_bytes() as usize / TIMED_BYTES).max(1);
        let timed = sample.all().step_by(step).map(|(_, value)| &value[..]).collect();
        Self { sample, page_size, timed }
    }

    pub(super) fn plain_keys(&self) -> Result<Estimate<Option<IntegerCodec>>> {
        let (space, _) = self.space(&self.sample.stretches, &BuildOptions::default())?;
        Ok(Estimate { codec: None, bytes: space.keys, encode_ns: 0.0, decode_ns: 0.0 })
    }

    pub(super) fn keys(
        &self,
        codec: IntegerCodec,
        width: KeyWidth,
    ) -> Result<Estimate<Option<IntegerCodec>>> {
        let options = BuildOptions { keys: Some((codec, width.bytes())), ..BuildOptions::default() };
        let (space, _) = self.space(&self.sample.stretches, &options)?;
        let (encode_ns, decode_ns) = match width {
            KeyWidth::Four => self.time_keys(codec, |key| u32::from_be_bytes(bytes_of(key))),
            KeyWidth::Eight => self.time_keys(codec, |key| u64::from_be_bytes(bytes_of(key))),
        };
        Ok(Estimate { codec: Some(codec), bytes: space.keys, encode_ns, decode_ns })
    }

    pub(super) fn plain_records(&self) -> Result<Estimate<RecordChoice>> {
        let (space, blob_bytes) = self.space(&self.sample.stretches, &BuildOptions::default())?;
        let codec = RecordChoice { codec: None, dictionary: false };
        Ok(Estimate { codec, bytes: space.records + blob_bytes, encode_ns: 0.0, decode_ns: 0.0 })
    }

    pub(super) fn records(&self, codec: RecordCodec) -> Result<Estimate<RecordChoice>> {
        let bytes = self.record_space(&self.sample.stretches, codec, None)?;
        let (encode_ns, decode_ns) = self.time_records(codec, None);
        let codec = RecordChoice { codec: Some(codec), dictionary: false };
        Ok(Estimate { codec, bytes, encode_ns, decode_ns })
    }

    /// With a dictionary that is trained with one half of the sample and measured on the other: what a dictionary was trained with flatters
    /// it. None if there is nothing to train with.
    pub(super) fn records_with_dictionary(
        &self,
        codec: RecordCodec,
    ) -> Result<Option<Estimate<RecordChoice>>> {
        let half = |which: usize| -> Vec<Vec<Row>> {
            let rows = |stretch: &Vec<Row>| stretch.iter().skip(which).step_by(2).cloned().collect();
            self.sample.stretches.iter().map(rows).collect()
        };
        let (training, others) = (half(0), half(1));
        let samples: Vec<&[u8]> = training.iter().flatten().map(|(_, value)| &value[..]).collect();
        let Some(dictionary) = Dictionary::train(&samples, DICTIONARY_BYTES) else { return Ok(None) };
        let alone = self.record_space(&others, codec, None)?;
        let with = self.record_space(&others, codec, Some(&dictionary))?;
        let all = self.record_space(&self.sample.stretches, codec, None)?;
        let (encode_ns, decode_ns) = self.time_records(codec, Some(&dictionary));
        let bytes = (u128::from(all) * u128::from(with) / u128::from(alone.max(1))) as u64;
        let codec = RecordChoice { codec: Some(codec), dictionary: true };
        Ok(Some(Estimate { codec, bytes, encode_ns, decode_ns }))
    }

    fn record_space(
        &self,
        stretches: &[Vec<Row>],
        codec: RecordCodec,
        dictionary: Option<&Dictionary>,
    ) -> Result<u64> {
        // Its number is stored with each record; those of most tables have one byte.
        let dictionary = dictionary.map(|dictionary| (1, dictionary.clone()));
        let records = Some(RecordCompression { codec, dictionary });
        let (space, blob_bytes) =
            self.space(stretches, &BuildOptions { records, ..BuildOptions::default() })?;
        Ok(space.records + blob_bytes)
    }

    /// What trees of the stretches take: in leaves, and bytes of blob pages.
    fn space(&self, stretches: &[Vec<Row>], options: &BuildOptions) -> Result<(TreeSpace, u64)> {
        let (mut space, mut blob_pages) = (TreeSpace::default(), 0);
        for rows in stretches.iter().filter(|rows| !rows.is_empty()) {
            let store = PageStore::memory(self.page_size);
            let mut builder = TreeBuilder::new(&store, options.clone());
            for (key, value) in rows {
                builder.push(key, Record::inline(value))?;
            }
            let meta = builder.finish()?;
            blob_pages += meta.blob_pages;
            space = space.plus(Tree::open(store, meta).space(u64::MAX)?);
        }
        Ok((space, blob_pages * self.page_size as u64))
    }

    /// Nanoseconds to encode and to decode a key.
    fn time_keys<W: Word>(&self, codec: IntegerCodec, word: impl Fn(&[u8]) -> W) -> (f64, f64) {
        let stretches: Vec<Vec<W>> = self
            .sample
            .stretches
            .iter()
            .map(|rows| rows.iter().map(|(key, _)| word(key)).collect())
            .collect();
        let blocks = || stretches.iter().flat_map(|keys| keys.chunks(codec.block_len()));
        let mut out = Vec::new();
        let mut ends = Vec::new();
        let encode = best(|| {
            out.clear();
            ends.clear();
            for keys in blocks() {
                codec.encode(keys, &mut out);
                ends.push(out.len());
            }
        });
        let mut keys = vec![W::default(); codec.block_len()];
        let decode = best(|| {
            let mut start = 0;
            for (block, end) in blocks().zip(&ends) {
                let decoded = codec.block(&out[start..], block[0], block.len());
                let decoded = decoded.and_then(|block| block.decode(&mut keys[..block.len()]));
                decoded.expect("it was encoded just now");
                std::hint::black_box(&keys);
                start = *end;
            }
        });
        let count = stretches.iter().map(Vec::len).sum::<usize>().max(1) as f64;
        (encode.as_nanos() as f64 / count, decode.as_nanos() as f64 / count)
    }

    /// Nanoseconds to encode and to decode a record.
    fn time_records(&self, codec: RecordCodec, dictionary: Option<&Dictionary>) -> (f64, f64) {
        let mut compressor = Compressor::new(codec, dictionary);
        let mut decompressor = Decompressor::new(codec, dictionary);
        let mut out = Vec::new();
        let mut ends = Vec::new();
        let encode = best(|| {
            out.clear();
            ends.clear();
            for record in &self.timed {
                compressor.compress(record, &mut out);
                ends.push(out.len());
            }
        });
        let mut raw = Vec::new();
        let decode = best(|| {
            let mut start = 0;
            for (record, end) in self.timed.iter().zip(&ends) {
                raw.clear();
                let decoded = decompressor.decompress(&out[start..*end], record.len(), &mut raw);
                decoded.expect("it was compressed just now");
                std::hint::black_box(&raw);
                start = *end;
            }
        });
        let count = self.timed.len().max(1) as f64;
        (encode.as_nanos() as f64 / count, decode.as_nanos() as f64 / count)
    }
}

fn best(mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..RUNS).map(time).min().expect("at least one run")
}

/// A key of the width that was asked for.
fn bytes_of<const N: usize>(key: &[u8]) -> [u8; N] {
    key.try_into().expect("all keys of the sample have this width")
}
