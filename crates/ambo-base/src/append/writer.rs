//! Records of an extent that is being written: in memory until it is finished, as the blocks of a segment are.

use std::sync::Arc;

use ambo_codec::{Error, Result};
use ambo_pages::checksum::crc32c;
use ambo_scan::buffer::{ColumnBuffer, Values};
use rapidhash::RapidHashMap;

use super::{
    head::Head,
    layout::{Field, Layout},
    numbers::Numbers,
    schema::RecordSchema,
};

/// See the module.
pub(crate) struct RecordWriter {
    schema: Arc<RecordSchema>,
    layout: Layout,
    numbers: Option<Numbers>,
    bytes: Vec<u8>,
    rows: usize,
}

impl RecordWriter {
    /// Nothing yet.
    pub(crate) fn new(schema: &Arc<RecordSchema>) -> Self {
        let layout = schema.layout().clone();
        let numbers = layout.fields.contains(&Field::Number).then(Numbers::default);
        Self { schema: schema.clone(), layout, numbers, bytes: Vec::new(), rows: 0 }
    }

    /// Bytes of records so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Appends a page of rows, a buffer for each column. Returns the heap of each column that has one.
    pub(crate) fn push(&mut self, page: &[ColumnBuffer]) -> Result<Vec<Option<Vec<u8>>>> {
        assert_eq!(page.len(), self.layout.fields.len(), "a buffer for each column");
        let rows = page[0].len();
        self.admit_nulls(page)?;
        let start = self.bytes.len();
        self.bytes.resize(start + rows * self.layout.width, 0);
        let mut heaps = Vec::with_capacity(page.len());
        for (column, buffer) in page.iter().enumerate() {
            debug_assert_eq!(buffer.len(), rows, "columns of a page have the same rows");
            let heap = match self.layout.fields[column] {
                Field::Absent => None,
                Field::Number => {
                    self.push_numbers(buffer)?;
                    None
                }
                Field::At(offset) => {
                    self.put_values(start, offset, buffer);
                    None
                }
                Field::Text(offset) => Some(self.put_texts(start, offset, buffer)?),
            };
            heaps.push(heap);
            self.put_nulls(start, column, buffer);
        }
        self.rows += rows;
        Ok(heaps)
    }

    /// Gives each column that has a NULL in a page a bit for it. What a column refuses now it may have taken before.
    fn admit_nulls(&mut self, page: &[ColumnBuffer]) -> Result<()> {
        let mut more = Vec::new();
        for (column, _) in page.iter().enumerate().filter(|(_, buffer)| buffer.nulls() > 0) {
            match self.layout.fields[column] {
                Field::Number => return Err(Error::invalid("NULL in a key")),
                Field::Absent => {}
                Field::At(_) | Field::Text(_) if self.layout.null_bit(column).is_none() => more.push(column),
                Field::At(_) | Field::Text(_) => {}
            }
        }
        for (buffer, _) in page.iter().zip(&self.layout.fields).filter(|(_, field)| **field == Field::Absent)
        {
            if buffer.nulls() != buffer.len() {
                return Err(Error::invalid("a value of a column that was dropped"));
            }
        }
        if more.is_empty() {
            return Ok(());
        }
        let wider = self.layout.with_nullable(more.into_iter(), self.schema.width());
        if wider.width != self.layout.width {
            let mut bytes = vec![0; self.rows * wider.width];
            let records = bytes.chunks_exact_mut(wider.width).zip(self.bytes.chunks_exact(self.layout.width));
            for (to, from) in records {
                // What is behind the narrower of both is empty.
                let len = to.len().min(from.len());
                to[..len].copy_from_slice(&from[..len]);
            }
            self.bytes = bytes;
        }
        self.layout = wider;
        Ok(())
    }

    fn push_numbers(&mut self, buffer: &ColumnBuffer) -> Result<()> {
        let (Values::U64(values), Some(numbers)) = (buffer.values(), &mut self.numbers) else {
            return Err(Error::invalid("row numbers that are no numbers"));
        };
        values.iter().for_each(|number| numbers.push(*number));
        Ok(())
    }

    fn put_values(&mut self, start: usize, offset: usize, buffer: &ColumnBuffer) {
        let records = self.bytes[start..].chunks_exact_mut(self.layout.width);
        let all = buffer.nulls() == 0;
        macro_rules! put {
            ($values:expr, $bytes:ident => $of:expr) => {
                for (row, (record, value)) in records.zip($values).enumerate() {
                    if all || buffer.is_valid(row) {
                        let $bytes = value;
                        let bytes = $of;
                        record[offset..offset + bytes.len()].copy_from_slice(&bytes);
                    }
                }
            };
        }
        match buffer.values() {
            Values::Bool(words) => {
                let bits = (0..buffer.len()).map(|row| ambo_scan::buffer::bit(words, row));
                put!(bits, value => [u8::from(value)]);
            }
            Values::I8(values) => put!(values, value => value.to_le_bytes()),
            Values::I16(values) => put!(values, value => value.to_le_bytes()),
            Values::I32(values) => put!(values, value => value.to_le_bytes()),
            Values::I64(values) => put!(values, value => value.to_le_bytes()),
            Values::U8(values) => put!(values, value => value.to_le_bytes()),
            Values::U16(values) => put!(values, value => value.to_le_bytes()),
            Values::U32(values) => put!(values, value => value.to_le_bytes()),
            Values::U64(values) => put!(values, value => value.to_le_bytes()),
            Values::F32(values) => put!(values, value => value.to_le_bytes()),
            Values::F64(values) => put!(values, value => value.to_le_bytes()),
            Values::I128(values) => put!(values, value => value.to_le_bytes()),
            Values::Bytes { .. } => unreachable!("texts have fields of another kind"),
        }
    }

    /// Puts the numbers of texts into the records, and returns their heap.
    fn put_texts(&mut self, start: usize, offset: usize, buffer: &ColumnBuffer) -> Result<Vec<u8>> {
        let Values::Bytes { offsets, data } = buffer.values() else {
            unreachable!("a column of texts has texts")
        };
        let mut known: RapidHashMap<&[u8], u32> = RapidHashMap::default();
        let (mut ends, mut texts) = (Vec::new(), Vec::new());
        for (row, record) in self.bytes[start..].chunks_exact_mut(self.layout.width).enumerate() {
            if !buffer.is_valid(row) {
                continue;
            }
            let text = &data[offsets[row] as usize..offsets[row + 1] as usize];
            let number = *known.entry(text).or_insert_with(|| {
                texts.extend_from_slice(text);
                ends.push(texts.len() as u32);
                ends.len() as u32 - 1
            });
            record[offset..offset + 4].copy_from_slice(&number.to_le_bytes());
        }
        let mut heap = Vec::with_capacity(4 + ends.len() * 4 + texts.len());
        heap.extend_from_slice(&(ends.len() as u32).to_le_bytes());
        ends.iter().for_each(|end: &u32| heap.extend_from_slice(&end.to_le_bytes()));
        heap.append(&mut texts);
        Ok(heap)
    }

    fn put_nulls(&mut self, start: usize, column: usize, buffer: &ColumnBuffer) {
        if buffer.nulls() == 0 {
            return;
        }
        let Some((byte, bit)) = self.layout.null_bit(column) else { return };
        for (row, record) in self.bytes[start..].chunks_exact_mut(self.layout.width).enumerate() {
            if !buffer.is_valid(row) {
                record[byte] |= bit;
            }
        }
    }

    /// The records, and what the end of the extent says of them. `pages`: the rows of each page.
    pub(crate) fn finish(self, pages: &[u32]) -> (Vec<u8>, Head) {
        let mut crcs = Vec::with_capacity(pages.len());
        let mut rest = &self.bytes[..];
        for rows in pages {
            let page;
            (page, rest) = rest.split_at(*rows as usize * self.layout.width);
            crcs.push(crc32c(page));
        }
        assert!(rest.is_empty(), "each record is in a page");
        debug_assert!(self.numbers.as_ref().is_none_or(|numbers| numbers.count() as usize == self.rows));
        let head = Head { layout: self.layout, numbers: self.numbers, crcs, rows: self.rows as u32 };
        (self.bytes, head)
    }
}
