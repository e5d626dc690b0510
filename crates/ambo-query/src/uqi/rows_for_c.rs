//! Rows as C reads them: keys and records each one behind the other.

use super::{
    Batch, Input,
    batch::{dense, packed},
    c_abi::AmboUqiBatch,
};
use crate::predicate::{Column, Nulls, width};

/// The rows of a batch whose first input has a value: C knows no NULL.
#[derive(Default)]
pub(super) struct RowsForC {
    key: Packed,
    record: Packed,
    /// Where rows of the batch stand; empty if all are given.
    pub(super) places: Vec<u32>,
}

#[derive(Default)]
struct Packed {
    data: Vec<u8>,
    offsets: Vec<u64>,
}

/// One of keys and records.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) data: &'a [u8],
    /// None if all have as many bytes.
    pub(super) offsets: Option<&'a [u64]>,
    pub(super) width: usize,
}

impl<'a> Part<'a> {
    pub(super) fn row(&self, row: usize) -> &'a [u8] {
        match self.offsets {
            Some(offsets) => &self.data[offsets[row] as usize..offsets[row + 1] as usize],
            None => &self.data[row * self.width..(row + 1) * self.width],
        }
    }
}

/// Keys and records; those that were not asked for are none.
pub(super) struct Parts<'a> {
    pub(super) key: Option<Part<'a>>,
    pub(super) record: Option<Part<'a>>,
    pub(super) rows: usize,
}

impl RowsForC {
    /// Lays the rows out.
    pub(super) fn lay<'a>(&'a mut self, batch: &Batch<'a>, input: &Input) -> Parts<'a> {
        let Self { key, record, places } = self;
        places.clear();
        let Some(first) = batch.first else { return Parts { key: None, record: None, rows: 0 } };
        let is_all = batch.selected.is_none() && matches!(first.nulls, Nulls::None);
        if !is_all {
            batch.for_values(&first, |row| places.push(row as u32));
        }
        let (keys, records) =
            if input.is_record { (batch.second, Some(first)) } else { (Some(first), batch.second) };
        let rows = if is_all { batch.rows } else { places.len() };
        let places = (!is_all).then_some(&places[..]);
        Parts {
            key: keys.map(|column| key.lay(batch, column, places)),
            record: records.map(|column| record.lay(batch, column, places)),
            rows,
        }
    }
}

impl Packed {
    fn lay<'a>(&'a mut self, batch: &Batch<'a>, column: Column<'a>, places: Option<&[u32]>) -> Part<'a> {
        let width = width(column.ty);
        if places.is_none()
            && let Some(data) = dense(batch, &column)
        {
            return Part { data, offsets: None, width: width.unwrap_or(0) };
        }
        packed(batch, &column, places, &mut self.data, &mut self.offsets);
        Part {
            data: &self.data,
            offsets: width.is_none().then_some(&self.offsets),
            width: width.unwrap_or(0),
        }
    }
}

/// The same as the structure of C's.
pub(super) fn as_batch(parts: &Parts<'_>) -> AmboUqiBatch {
    let data = |part: &Option<Part<'_>>| part.map_or(std::ptr::null(), |part| part.data.as_ptr());
    let offsets = |part: &Option<Part<'_>>| {
        part.and_then(|part| part.offsets).map_or(std::ptr::null(), <[u64]>::as_ptr)
    };
    AmboUqiBatch {
        struct_size: size_of::<AmboUqiBatch>() as u32,
        reserved: 0,
        rows: parts.rows as u64,
        key_data: data(&parts.key),
        key_offsets: offsets(&parts.key),
        record_data: data(&parts.record),
        record_offsets: offsets(&parts.record),
    }
}
