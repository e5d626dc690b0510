//! Record codecs, one record at a time, on records that databases have. The codecs are the contenders.

use std::hint::black_box;

use ambo_codec::record::{Compressor, Decompressor, RecordCodec};

use crate::contender::PLAIN;
use crate::engine::Result;
use crate::random::Random;
use crate::timing::fastest;
use crate::workload::sheet::Sheet;
use crate::workload::texts::{Texts, document};

/// Bytes of a set of records: it stays in the processor's second-level cache.
const SET_BYTES: usize = 512 << 10;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    for texts in Texts::ALL {
        let set = fill(|random| texts.record(random));
        one(sheet, &format!("VARCHAR(8000), {}", texts.name()), &set)?;
    }
    one(sheet, "small documents", &fill(document))?;
    one(sheet, "random bytes", &fill(|random| (0..200).map(|_| random.below(256) as u8).collect()))
}

fn fill(mut record: impl FnMut(&mut Random) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut random = Random::new(0xe1e7);
    let mut records = Vec::new();
    let mut bytes = 0;
    while bytes < SET_BYTES {
        let record = record(&mut random);
        bytes += record.len();
        records.push(record);
    }
    records
}

fn one(sheet: &mut Sheet, name: &str, records: &[Vec<u8>]) -> Result<()> {
    let name = &format!("records: {name}");
    let raw_bytes: usize = records.iter().map(Vec::len).sum();
    let longest = records.iter().map(Vec::len).max().unwrap_or(0);
    let mut copy = vec![0; longest];
    let seconds = fastest(&mut [&mut || {
        for record in records {
            copy[..record.len()].copy_from_slice(record);
            black_box(&copy);
        }
    }]);
    sheet.figure(name, PLAIN, "decode", "GB/s", raw_bytes as f64 / seconds[0] / 1e9);
    for codec in RecordCodec::ALL {
        let mut compressor = Compressor::new(codec, None);
        let mut decompressor = Decompressor::new(codec, None);
        let mut stored = Vec::new();
        for record in records {
            let mut bytes = Vec::new();
            compressor.compress(record, &mut bytes);
            let mut back = Vec::new();
            decompressor.decompress(&bytes, record.len(), &mut back)?;
            if back != *record {
                return Err(format!("{codec}: another record came back").into());
            }
            stored.push(bytes);
        }
        let stored_bytes: usize = stored.iter().map(Vec::len).sum();
        let mut bytes = Vec::with_capacity(2 * longest);
        let mut back = Vec::with_capacity(longest);
        let seconds = fastest(&mut [
            &mut || {
                for record in records {
                    bytes.clear();
                    compressor.compress(record, &mut bytes);
                    black_box(&bytes);
                }
            },
            &mut || {
                for (record, stored) in records.iter().zip(&stored) {
                    back.clear();
                    // What could fail has been tried above.
                    let _ = decompressor.decompress(stored, record.len(), &mut back);
                    black_box(&back);
                }
            },
        ]);
        sheet.figure(name, codec.name(), "stored / raw", "%", stored_bytes as f64 / raw_bytes as f64 * 100.0);
        sheet.figure(name, codec.name(), "encode", "GB/s", raw_bytes as f64 / seconds[0] / 1e9);
        sheet.figure(name, codec.name(), "decode", "GB/s", raw_bytes as f64 / seconds[1] / 1e9);
    }
    Ok(())
}
