//! What the catalog says of a segment: the value of a catalog row of kind 7, whose key names table and segment.
//!
//! | part | encoding |
//! |---|---|
//! | version | u8 = 1 |
//! | run | varint: segments of the same run follow each other by their keys |
//! | bytes of the file | varint |
//! | rows | varint |
//! | deleted rows | varint |
//! | where they are stored | only if there are any: the encoded [`BlobRef`] of an encoded bitmap |
//!
//! Example: run 0, 300 bytes, 20 rows, none deleted: `01 00 ac 02 14 00`.

use ambo_codec::varint;
use ambo_pages::page::BlobRef;

const VERSION: u8 = 1;

/// A segment as the catalog has it.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentRow {
    /// The run that it belongs to.
    pub run: u64,
    /// Bytes of its file.
    pub file_bytes: u64,
    /// Rows, deleted ones among them.
    pub rows: u32,
    /// How many are deleted.
    pub deleted: u32,
    /// Which are.
    pub blob: Option<BlobRef>,
}

impl SegmentRow {
    /// The row's bytes.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.deleted <= self.rows, "deleted rows are rows of the segment");
        assert_eq!(
            self.deleted > 0,
            self.blob.is_some(),
            "deleted rows are stored before a checkpoint says so"
        );
        let mut out = vec![VERSION];
        for number in [self.run, self.file_bytes, self.rows.into(), self.deleted.into()] {
            varint::encode(number, &mut out);
        }
        if let Some(blob) = &self.blob {
            out.extend_from_slice(&blob.encode());
        }
        debug_assert_eq!(Self::decode(&out).as_ref(), Ok(self));
        out
    }

    /// The row in `bytes`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn decode(mut bytes: &[u8]) -> Result<Self, String> {
        let version = bytes.split_off_first().ok_or("an empty row of a segment")?;
        if *version != VERSION {
            return Err(format!("a row of a segment of the unknown version {version}"));
        }
        let mut number = || varint::take(&mut bytes).ok_or("a row of a segment that is cut off");
        let (run, file_bytes, rows, deleted) = (number()?, number()?, number()?, number()?);
        let small = |number: u64| u32::try_from(number).map_err(|_| "more rows than a segment has");
        let (rows, deleted) = (small(rows)?, small(deleted)?);
        let blob = match bytes {
            [] => None,
            bytes => Some(BlobRef::decode(bytes).ok_or("a reference to deleted rows that cannot be read")?),
        };
        if deleted > rows || (deleted > 0) != blob.is_some() {
            return Err("a row of a segment that contradicts itself".into());
        }
        Ok(Self { run, file_bytes, rows, deleted, blob })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps away: rows that are read other than written, other than documented, or with a panic.
    #[test]
    fn rows_round_trip_and_bad_ones_are_refused() {
        let row = SegmentRow { run: 0, file_bytes: 300, rows: 20, deleted: 0, blob: None };
        assert_eq!(row.encode(), [1, 0, 0xac, 2, 20, 0]);
        assert_eq!(SegmentRow::decode(&row.encode()), Ok(row));
        for bad in [&[][..], &[2, 0, 1, 1, 0], &[1, 0, 1], &[1, 0, 1, 1, 1], &[1, 0, 1, 1, 2, 0]] {
            assert!(SegmentRow::decode(bad).is_err(), "{bad:?}");
        }
    }
}
