//! Columns of the pages of an extent.
//!
//! Scans, look-ups and aggregates ask for blocks. A block of records is made when it is asked for: the values of a field, one behind the
//! other, as they are. The page is read and verified once for all its columns: each thread keeps the one that it read last.

use std::{
    cell::RefCell,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use ambo_codec::column::{BytesView, ColumnSlice, Kind, Mask, encode_raw};

use super::{head::Head, layout::Field};

/// Numbers of extents that are open, so that a page that a thread keeps is of the extent that it is asked for.
static OPENED: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept { of: (0, 0), page: Vec::new() }) };
}

/// The page that a thread read last.
struct Kept {
    /// Of which extent, and which page. No extent has the number 0.
    of: (u64, usize),
    page: Vec<u8>,
}

/// What is wrong with bytes.
type Found<T> = Result<T, &'static str>;

/// The records of an extent.
#[derive(Debug)]
pub(crate) struct Records {
    head: Head,
    number: u64,
}

impl Records {
    pub(crate) fn new(head: Head) -> Self {
        Self { head, number: OPENED.fetch_add(1, Ordering::Relaxed) }
    }

    /// Where the records of a page are in the file.
    pub(crate) fn span(&self, rows: &Range<u32>) -> (u64, usize) {
        let width = self.head.layout.width;
        (u64::from(rows.start) * width as u64, rows.len() * width)
    }

    /// The checksum of a page.
    pub(crate) fn crc(&self, page: usize) -> u32 {
        self.head.crcs[page]
    }

    /// Whether a column has a heap for each page.
    pub(crate) fn has_heap(&self, column: usize) -> bool {
        matches!(self.head.layout.fields[column], Field::Text(_))
    }

    /// Lends the records of a page, read by `load` unless this thread has them.
    pub(crate) fn with_page<T, E>(
        &self,
        page: usize,
        load: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
        then: impl FnOnce(&[u8]) -> Result<T, E>,
    ) -> Result<T, E> {
        KEPT.with_borrow_mut(|kept| {
            if kept.of != (self.number, page) {
                kept.of = (0, 0);
                load(&mut kept.page)?;
                kept.of = (self.number, page);
            }
            then(&kept.page)
        })
    }

    /// Whether a column is in the records: others need no page to be read.
    pub(crate) fn is_in_records(&self, column: usize) -> bool {
        self.head.layout.fields[column].offset().is_some()
    }

    /// The block of a column of these rows, whose records are `page`. `heap`: that of the page, if the column has one.
    pub(crate) fn block(
        &self,
        column: usize,
        kind: Kind,
        rows: Range<u32>,
        page: &[u8],
        heap: Option<&[u8]>,
    ) -> Found<Vec<u8>> {
        let layout = &self.head.layout;
        let count = rows.len();
        let field = layout.fields[column];
        let validity = match layout.null_bit(column) {
            _ if field == Field::Absent => Some(Mask::none(count)),
            None => None,
            Some((byte, bit)) => {
                let mut valid = Mask::all(count);
                for (row, record) in page.chunks_exact(layout.width).enumerate() {
                    if record[byte] & bit != 0 {
                        valid.set(row, false);
                    }
                }
                Some(valid)
            }
        };
        let validity = validity.as_ref().map(Mask::view);
        let mut out = Vec::new();
        let mut put = |values: ColumnSlice<'_>| {
            encode_raw(values, validity, &mut out).map_err(|_| "values that no block holds")
        };
        macro_rules! gather {
            ($ty:ty, $variant:ident, $offset:expr) => {{
                const SIZE: usize = size_of::<$ty>();
                let value = |record: &[u8]| {
                    <$ty>::from_le_bytes(record[$offset..$offset + SIZE].try_into().expect("its bytes"))
                };
                let values: Vec<$ty> = match field {
                    Field::Absent => vec![Default::default(); count],
                    _ => page.chunks_exact(layout.width).map(value).collect(),
                };
                put(ColumnSlice::$variant(&values))?;
            }};
        }
        let offset = field.offset().unwrap_or(0);
        match kind {
            _ if field == Field::Number => {
                let numbers = self.head.numbers.as_ref().ok_or("an extent without numbers")?;
                let mut values = Vec::with_capacity(count);
                numbers.of(rows, &mut values);
                put(ColumnSlice::U64(&values))?;
            }
            Kind::Bool => {
                let mut bits = Mask::none(count);
                if field != Field::Absent {
                    for (row, record) in page.chunks_exact(layout.width).enumerate() {
                        match record[offset] {
                            0 => {}
                            1 => bits.set(row, true),
                            _ => return Err("a boolean that is neither true nor false"),
                        }
                    }
                }
                put(ColumnSlice::Bool(bits.view()))?;
            }
            Kind::I8 => gather!(i8, I8, offset),
            Kind::I16 => gather!(i16, I16, offset),
            Kind::I32 => gather!(i32, I32, offset),
            Kind::I64 => gather!(i64, I64, offset),
            Kind::U8 => gather!(u8, U8, offset),
            Kind::U16 => gather!(u16, U16, offset),
            Kind::U32 => gather!(u32, U32, offset),
            Kind::U64 => gather!(u64, U64, offset),
            Kind::F32 => gather!(f32, F32, offset),
            Kind::F64 => gather!(f64, F64, offset),
            Kind::I128 => gather!(i128, I128, offset),
            Kind::Bytes => {
                let (mut offsets, mut data) = (vec![0u32; 1], Vec::new());
                if field == Field::Absent {
                    offsets.resize(count + 1, 0);
                } else {
                    let heap = Heap::parse(heap.ok_or("a column of texts without a heap")?)?;
                    for (row, record) in page.chunks_exact(layout.width).enumerate() {
                        if validity.is_none_or(|valid| valid.get(row)) {
                            let number = record[offset..offset + 4].try_into().expect("four bytes");
                            data.extend_from_slice(heap.get(u32::from_le_bytes(number))?);
                        }
                        let end =
                            i32::try_from(data.len()).map_err(|_| "more than 2 GiB of text in a page")?;
                        offsets.push(end as u32);
                    }
                }
                put(ColumnSlice::Bytes(BytesView::new(&offsets, &data)))?;
            }
        }
        Ok(out)
    }
}

/// The texts of a column that records of a page have.
struct Heap<'a> {
    ends: &'a [[u8; 4]],
    texts: &'a [u8],
}

impl<'a> Heap<'a> {
    fn parse(bytes: &'a [u8]) -> Found<Self> {
        const CUT: &str = "a heap that is cut off";
        let (count, rest) = bytes.split_first_chunk().ok_or(CUT)?;
        let bytes = (u32::from_le_bytes(*count) as usize).checked_mul(4).ok_or(CUT)?;
        let (ends, texts) = rest.split_at_checked(bytes).ok_or(CUT)?;
        Ok(Self { ends: ends.as_chunks().0, texts })
    }

    fn get(&self, number: u32) -> Found<&'a [u8]> {
        let end = |number: usize| self.ends.get(number).map(|end| u32::from_le_bytes(*end) as usize);
        let number = number as usize;
        let start = if number == 0 { Some(0) } else { end(number - 1) };
        let range = start.zip(end(number)).ok_or("the number of a text that is not there")?;
        self.texts.get(range.0..range.1).ok_or("texts that end behind their heap")
    }
}
