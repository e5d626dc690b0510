//! A block: a header, which rows are valid, and the values.
//!
//! # Format
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 1 | form: 1 plain; 2 and 3 are compressed as a whole, see [`super::envelope`] |
//! | 1 | 1 | the kind of the values, its number in [`Kind`] |
//! | 2 | 1 | encoding, its number in [`Encoding`]; 0 when no row has a value, and nothing follows the validity |
//! | 3 | 1 | validity: the form of [`super::bitset`] |
//! | 4 | 4 | rows, at most 65,536 |
//! | 8 | any | validity, then values; both say themselves how long they are |
//!
//! At the places of NULLs stands the value before, so that they cost little.
//!
//! Example: the ints 5, NULL, 5 are `01 04 01 03 03 00 00 00`, validity `05`, constant `05 00 00 80`.

use std::ops::Range;

use super::{
    BLOCK_ROWS_MAX, BitsView, Encoding, Kind, Mask, Native,
    bitset::{self, Bits},
    dictionary::Dictionary,
    numbers::{Numbers, Sum},
    predicate::{self, Comparable, Predicate, has_null},
    ranges::Ranges,
    text::{SharedTable, TextBlock},
    wide::Wide,
};
use crate::{Error, Result, Value};

/// The form of a block that is not compressed as a whole.
pub(crate) const FORM_PLAIN: u8 = 1;

/// A parsed block; it borrows the bytes that it was parsed from, and nothing is decoded yet.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    kind: Kind,
    encoding: Option<Encoding>,
    rows: usize,
    validity: Bits<'a>,
    body: Body<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum Body<'a> {
    /// No row has a value.
    Nothing,
    Bool(Bits<'a>),
    I8(Numbers<'a, i8>),
    I16(Numbers<'a, i16>),
    I32(Numbers<'a, i32>),
    I64(Numbers<'a, i64>),
    U8(Numbers<'a, u8>),
    U16(Numbers<'a, u16>),
    U32(Numbers<'a, u32>),
    U64(Numbers<'a, u64>),
    F32(Numbers<'a, f32>),
    F64(Numbers<'a, f64>),
    I128(Wide<'a>),
    Bytes(TextBlock<'a>),
}

/// `$body` for whichever [`Numbers`] the block has; `$native` is their type.
macro_rules! with_numbers {
    ($block:expr, $numbers:ident: $native:ident => $body:expr; $($other:tt)*) => {
        match $block.body() {
            Body::I8($numbers) => { #[allow(dead_code)] type $native = i8; $body }
            Body::I16($numbers) => { #[allow(dead_code)] type $native = i16; $body }
            Body::I32($numbers) => { #[allow(dead_code)] type $native = i32; $body }
            Body::I64($numbers) => { #[allow(dead_code)] type $native = i64; $body }
            Body::U8($numbers) => { #[allow(dead_code)] type $native = u8; $body }
            Body::U16($numbers) => { #[allow(dead_code)] type $native = u16; $body }
            Body::U32($numbers) => { #[allow(dead_code)] type $native = u32; $body }
            Body::U64($numbers) => { #[allow(dead_code)] type $native = u64; $body }
            Body::F32($numbers) => { #[allow(dead_code)] type $native = f32; $body }
            Body::F64($numbers) => { #[allow(dead_code)] type $native = f64; $body }
            $($other)*
        }
    };
}

impl<'a> Block<'a> {
    /// Reads the header and finds the parts, without looking at the values: a few tens of nanoseconds.
    ///
    /// Errors are [`Error::Malformed`]: bytes that end early or late, a header of another kind or number of
    /// rows than the caller expects, or a compressed block that was not expanded before
    /// ([`super::envelope::expand`]). What is only seen by reading all values is left to [`Block::verify`];
    /// until then damage there yields wrong values, never a panic.
    pub fn parse(bytes: &'a [u8], kind: Kind, rows: usize) -> Result<Self> {
        Self::parse_shared(bytes, kind, rows, None)
    }

    /// As [`Block::parse`], of strings that may have been encoded with a table ([`super::encode_text`]).
    pub fn parse_shared(
        bytes: &'a [u8],
        kind: Kind,
        rows: usize,
        shared: Option<&SharedTable>,
    ) -> Result<Self> {
        let Some((&[form, code, encoding, validity, r0, r1, r2, r3], mut rest)) = bytes.split_first_chunk()
        else {
            return Err(Error::malformed(0, "the header of a column block is cut off"));
        };
        if form != FORM_PLAIN {
            return Err(Error::malformed(0, "a column block of unknown form, or compressed"));
        }
        if Kind::from_code(code)? != kind {
            return Err(Error::malformed(1, "a column block of another kind"));
        }
        if u32::from_le_bytes([r0, r1, r2, r3]) as usize != rows || rows > BLOCK_ROWS_MAX {
            return Err(Error::malformed(4, "a column block of another number of rows"));
        }
        let validity = Bits::parse(validity, &mut rest, rows)?;
        let encoding = if encoding == 0 { None } else { Some(Encoding::from_code(encoding)?) };
        if encoding.is_none() != (rows == 0 || validity.is_zeros()) {
            return Err(Error::malformed(2, "values where there are none, or the other way round"));
        }
        let body = match encoding {
            None => Body::Nothing,
            Some(encoding) => Self::parse_body(kind, encoding, &mut rest, rows, shared)?,
        };
        if !rest.is_empty() {
            return Err(Error::malformed(bytes.len() - rest.len(), "bytes behind the end of a column block"));
        }
        Ok(Self { kind, encoding, rows, validity, body })
    }

    fn parse_body(
        kind: Kind,
        encoding: Encoding,
        bytes: &mut &'a [u8],
        rows: usize,
        shared: Option<&SharedTable>,
    ) -> Result<Body<'a>> {
        Ok(match kind {
            Kind::Bool if encoding == Encoding::Bits => {
                let form = super::section::take(bytes, 1)?[0];
                Body::Bool(Bits::parse(form, bytes, rows)?)
            }
            Kind::I8 => Body::I8(Numbers::parse(encoding, bytes, rows)?),
            Kind::I16 => Body::I16(Numbers::parse(encoding, bytes, rows)?),
            Kind::I32 => Body::I32(Numbers::parse(encoding, bytes, rows)?),
            Kind::I64 => Body::I64(Numbers::parse(encoding, bytes, rows)?),
            Kind::U8 => Body::U8(Numbers::parse(encoding, bytes, rows)?),
            Kind::U16 => Body::U16(Numbers::parse(encoding, bytes, rows)?),
            Kind::U32 => Body::U32(Numbers::parse(encoding, bytes, rows)?),
            Kind::U64 => Body::U64(Numbers::parse(encoding, bytes, rows)?),
            Kind::F32 => Body::F32(Numbers::parse(encoding, bytes, rows)?),
            Kind::F64 => Body::F64(Numbers::parse(encoding, bytes, rows)?),
            Kind::I128 => Body::I128(Wide::parse(encoding, bytes, rows)?),
            Kind::Bytes if encoding == Encoding::Text => {
                Body::Bytes(TextBlock::parse(std::mem::take(bytes), rows, shared)?)
            }
            Kind::Bool | Kind::Bytes => {
                return Err(Error::malformed(2, "an encoding that this kind of values has not"));
            }
        })
    }

    /// Checks what [`Block::parse`] leaves open, by reading everything.
    pub fn verify(&self) -> Result<()> {
        self.validity.verify()?;
        with_numbers!(self, numbers: N => numbers.verify();
            Body::Nothing => Ok(()),
            Body::Bool(bits) => bits.verify(),
            Body::I128(wide) => wide.verify(),
            Body::Bytes(text) => text.decode(0..self.rows, &mut Vec::new(), &mut Vec::new()),
        )
    }

    /// The kind of the values.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How the values are encoded; `None` when no row has one.
    pub fn encoding(&self) -> Option<Encoding> {
        self.encoding
    }

    /// The name of the encoding, for reports: that of the strings when the block holds strings.
    pub fn encoding_name(&self) -> &'static str {
        match (&self.body, self.encoding) {
            (Body::Bytes(text), _) => text.encoding().name(),
            (_, Some(encoding)) => encoding.name(),
            (_, None) => "nothing",
        }
    }

    /// The strings, when the block holds strings: to be decoded and gathered in Arrow's layout, and read by codes. NULLs are
    /// empty there, or any string. `None` also when no row has a value.
    pub fn text(&self) -> Option<&TextBlock<'a>> {
        match &self.body {
            Body::Bytes(text) => Some(text),
            _ => None,
        }
    }

    /// How many rows, NULLs among them.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether it is known without looking that no row is NULL.
    #[inline]
    pub fn has_no_nulls(&self) -> bool {
        self.validity.is_ones()
    }

    /// The rows that are not NULL.
    pub fn validity(&self) -> Mask {
        self.validity.to_mask()
    }

    /// Whether row `index` has a value. Panics when there is no such row.
    #[inline]
    pub fn is_valid(&self, index: usize) -> bool {
        self.validity.get(index)
    }

    /// The value of row `index`, in the type of the block's kind; a string as [`Value::Binary`]. An error when a
    /// string is damaged. Panics when there is no such row.
    pub fn get(&self, index: usize) -> Result<Value> {
        assert!(index < self.rows, "no such row");
        if !self.is_valid(index) {
            return Ok(Value::Null);
        }
        Ok(with_numbers!(self, numbers: N => Value::from(numbers.get(index));
            Body::Nothing => Value::Null,
            Body::Bool(bits) => Value::Bool(bits.get(index)),
            Body::I128(wide) => decimal(wide.get(index)),
            Body::Bytes(text) => {
                let mut bytes = Vec::new();
                text.get(index, &mut bytes)?;
                Value::Binary(bytes)
            },
        ))
    }

    /// Asks for the memory of row `index`'s value, as far as it is known without waiting for other memory. For who reads rows of several
    /// blocks: ask in all of them first, and then read.
    pub fn prefetch(&self, index: usize) {
        with_numbers!(self, numbers: N => numbers.prefetch(index);
            Body::I128(wide) => wide.prefetch(index),
            Body::Bytes(text) => text.prefetch(index),
            Body::Nothing | Body::Bool(_) => {}
        )
    }

    /// As [`Block::get`], typed. An error when `E` is of another kind.
    #[inline]
    pub fn get_as<E: Element>(&self, index: usize) -> Result<Option<E>> {
        self.check_kind(E::KIND)?;
        assert!(index < self.rows, "no such row");
        Ok(if self.is_valid(index) { E::get_from(self, index) } else { None })
    }

    /// Writes the values of the rows of `range` to `out`; at the places of NULLs stands any value.
    ///
    /// Whole vectors of 1,024 are decoded fastest. An error when `E` is of another kind; panics when `range` reaches
    /// behind the end or `out` is of another length.
    pub fn decode<E: Element>(&self, range: Range<usize>, out: &mut [E]) -> Result<()> {
        self.check_kind(E::KIND)?;
        assert!(range.start <= range.end && range.end <= self.rows, "no such rows");
        assert_eq!(range.len(), out.len(), "as many places as rows");
        E::decode_from(self, range, out);
        Ok(())
    }

    /// Writes the values of the rows at `positions` to `out`, best in increasing order; at the places of NULLs
    /// stands any value. Errors and panics as [`Block::decode`].
    pub fn gather<E: Element>(&self, positions: &[u32], out: &mut [E]) -> Result<()> {
        self.check_kind(E::KIND)?;
        assert!(positions.iter().all(|&position| (position as usize) < self.rows), "no such row");
        assert_eq!(positions.len(), out.len(), "as many places as positions");
        E::gather_from(self, positions, out);
        Ok(())
    }

    fn check_kind(&self, kind: Kind) -> Result<()> {
        match self.kind == kind {
            true => Ok(()),
            false => Err(Error::invalid(format!("a block of {:?}, read as {kind:?}", self.kind))),
        }
    }

    /// Takes out of `mask` the rows that answer `predicate` with no. Rows that are out already are not looked at, and
    /// whole vectors of them cost nothing. An error when a constant cannot be compared with this kind, or strings are
    /// damaged. Panics when the mask is of another length.
    pub fn filter(&self, predicate: Predicate<'_>, mask: &mut Mask) -> Result<()> {
        assert_eq!(mask.len(), self.rows, "a mask of as many rows");
        match predicate {
            Predicate::IsNull => self.validity.keep(false, mask),
            Predicate::IsNotNull => self.validity.keep(true, mask),
            _ => {
                self.validity.keep(true, mask);
                match predicate {
                    Predicate::Among(set) => return set.filter(self, mask),
                    Predicate::Not(inner) if has_null(inner) => {
                        mask.clear();
                        return Ok(());
                    }
                    Predicate::Not(inner) => {
                        let mut yes = mask.clone();
                        self.filter(*inner, &mut yes)?;
                        mask.and_not(yes.view());
                        return Ok(());
                    }
                    _ => {}
                }
                match &self.body {
                    Body::Bytes(text) => predicate.with_text(|predicate| match predicate {
                        Some(predicate) => text.filter(&predicate, mask),
                        None => {
                            mask.clear();
                            Ok(())
                        }
                    })??,
                    Body::Bool(bits) => {
                        let set = value_ranges::<bool>(predicate)?;
                        [false, true].into_iter().filter(|&bit| !set.contains(bit.into())).for_each(|bit| {
                            bits.keep(!bit, mask);
                        });
                    }
                    Body::I128(wide) => wide.filter(&value_ranges::<i128>(predicate)?, mask),
                    _ => {
                        with_numbers!(self, numbers: N => numbers.filter(&value_ranges::<N>(predicate)?, mask);
                            _ => {}
                        )
                    }
                }
            }
        }
        Ok(())
    }

    /// How many of the `rows`, or of all, are not NULL. Panics when the mask is of another length.
    pub fn count(&self, rows: Option<&Mask>) -> usize {
        self.present(rows, |present| present.map_or(self.rows, |present| present.count()))
    }

    /// The sum of `rows`, or of all, that are not NULL: zero when there is none. An error when the values are no
    /// numbers, or 128 bits cannot hold the sum. Panics when the mask is of another length.
    pub fn sum(&self, rows: Option<&Mask>) -> Result<Sum> {
        match self.kind {
            Kind::Bool | Kind::Bytes => return Err(Error::invalid("a sum of what are no numbers")),
            _ => {}
        }
        self.present(rows, |present| {
            let count = present.map_or(self.rows, |present| present.count());
            with_numbers!(self, numbers: N => Ok(numbers.sum(present));
                Body::I128(wide) => wide.sum(present, count).map(Sum::Integer).ok_or_else(|| {
                    Error::invalid("a sum that 128 bits cannot hold")
                }),
                _ => Ok(match self.kind {
                    Kind::F32 | Kind::F64 => Sum::Float(0.0),
                    _ => Sum::Integer(0),
                }),
            )
        })
    }

    /// The least and the largest value of `rows`, or of all, that are not NULL, in the order of [`Value`]: NaN is the
    /// largest. `None` when there is none. An error when strings are damaged. Panics when the mask is of another length.
    pub fn min_max(&self, rows: Option<&Mask>) -> Result<Option<(Value, Value)>> {
        self.present(rows, |present| {
            Ok(with_numbers!(self, numbers: N => numbers.bounds(present).map(|(low, high)| {
                (N::from_code(low).into(), N::from_code(high).into())
            });
                Body::I128(wide) => wide.bounds(present).map(|(low, high)| (decimal(low), decimal(high))),
                Body::Bool(bits) => {
                    let has = |bit: bool| {
                        let mut mask = present.map_or_else(|| Mask::all(self.rows), Mask::from_bits);
                        bits.keep(bit, &mut mask);
                        mask.words().iter().any(|&word| word != 0)
                    };
                    match (has(false), has(true)) {
                        (false, false) => None,
                        (low, high) => Some((Value::Bool(!low), Value::Bool(high))),
                    }
                },
                Body::Bytes(text) => {
                    let bounds = text_bounds(text, present)?;
                    bounds.map(|(low, high)| (Value::Binary(low), Value::Binary(high)))
                },
                Body::Nothing => None,
            ))
        })
    }

    /// Calls `then` with the bits of those of `rows`, or of all, that are not NULL; `None` stands for all rows.
    fn present<R>(&self, rows: Option<&Mask>, then: impl FnOnce(Option<BitsView<'_>>) -> R) -> R {
        if let Some(rows) = rows {
            assert_eq!(rows.len(), self.rows, "a mask of as many rows");
        }
        if self.validity.is_ones() {
            return then(rows.map(Mask::view));
        }
        let mut present = rows.cloned().unwrap_or_else(|| Mask::all(self.rows));
        self.validity.keep(true, &mut present);
        then(Some(present.view()))
    }

    /// The numbers of the dictionary's entries and the entries, when the block has a dictionary.
    pub fn codes(&self) -> Option<Codes<'a>> {
        with_numbers!(self, numbers: N => match numbers {
            Numbers::Dictionary(dictionary) => Some(Codes::new(*dictionary)),
            _ => None,
        }; _ => None)
    }

    pub(crate) fn body(&self) -> &Body<'a> {
        &self.body
    }
}

/// The least and the largest string of `rows`, or of all.
fn text_bounds(text: &TextBlock<'_>, rows: Option<BitsView<'_>>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    let Some(rows) = rows else { return text.min_max() };
    let rows: Vec<u32> = Mask::from_bits(rows).iter().map(|row| row as u32).collect();
    if rows.is_empty() {
        return Ok(None);
    }
    if let Some(codes) = text.codes() {
        let mut numbers = Vec::new();
        codes.read(0..text.len(), &mut numbers)?;
        let numbers = rows.iter().map(|&row| numbers[row as usize] as usize);
        let (low, high) = numbers.fold((usize::MAX, 0), |(low, high), code| (low.min(code), high.max(code)));
        let entries = codes.entries()?;
        return Ok(Some((entries.get(low).to_vec(), entries.get(high).to_vec())));
    }
    let (mut offsets, mut data) = (Vec::new(), Vec::new());
    text.gather(&rows, &mut offsets, &mut data)?;
    let strings = super::BytesView::new(&offsets, &data);
    let (low, high) = (strings.iter().min(), strings.iter().max());
    Ok(low.zip(high).map(|(low, high)| (low.to_vec(), high.to_vec())))
}

/// The codes that answer a question about values.
fn value_ranges<V: Comparable>(predicate: Predicate<'_>) -> Result<Ranges<V::Code>> {
    Ok(predicate::ranges::<V>(predicate)?.expect("not a question about NULL"))
}

/// The value of an unscaled integer. A block knows no scale.
pub(crate) fn decimal(unscaled: i128) -> Value {
    Value::Decimal128 { unscaled, scale: 0 }
}

pub(super) use with_numbers;

/// A block's dictionary, for grouping and joining by the numbers of its entries.
#[derive(Debug)]
pub struct Codes<'a> {
    numbers: super::frames::Frames<'a, u16>,
    entries: Vec<Value>,
}

impl<'a> Codes<'a> {
    fn new<N: Native<Code: super::ranges::Point> + Into<Value>>(dictionary: Dictionary<'a, N>) -> Self {
        let entries = (0..dictionary.entries()).map(|index| dictionary.entry(index).into()).collect();
        Self { numbers: dictionary.numbers(), entries }
    }

    /// The distinct values, in increasing order.
    pub fn entries(&self) -> &[Value] {
        &self.entries
    }

    /// Writes the number of each row's entry to `out`; NULLs have any. Of a damaged block a number may have no entry.
    /// Panics when `range` reaches behind the end or `out` is of another length.
    pub fn decode(&self, range: Range<usize>, out: &mut [u16]) {
        self.numbers.decode(range, out, super::frames::Same);
    }
}

/// A value that a block yields: `bool`, the integers and floats, and `i128`.
pub trait Element: Copy + Default + private::Read {}

mod private {
    use super::*;

    pub trait Read: Sized {
        const KIND: Kind;
        fn get_from(block: &Block<'_>, index: usize) -> Option<Self>;
        fn decode_from(block: &Block<'_>, range: Range<usize>, out: &mut [Self]);
        fn gather_from(block: &Block<'_>, positions: &[u32], out: &mut [Self]);
    }
}

macro_rules! elements {
    ($($native:ty, $kind:ident);*) => {$(
        impl Element for $native {}
        impl private::Read for $native {
            const KIND: Kind = Kind::$kind;

            #[inline]
            fn get_from(block: &Block<'_>, index: usize) -> Option<Self> {
                match block.body() {
                    Body::$kind(values) => Some(values.get(index)),
                    _ => None,
                }
            }
            fn decode_from(block: &Block<'_>, range: Range<usize>, out: &mut [Self]) {
                match block.body() {
                    Body::$kind(values) => values.decode(range, out),
                    _ => out.fill(Self::default()),
                }
            }
            fn gather_from(block: &Block<'_>, positions: &[u32], out: &mut [Self]) {
                match block.body() {
                    Body::$kind(values) => values.gather(positions, out),
                    _ => out.fill(Self::default()),
                }
            }
        }
    )*};
}

elements!(bool, Bool; i8, I8; i16, I16; i32, I32; i64, I64; u8, U8; u16, U16; u32, U32; u64, U64;
    f32, F32; f64, F64; i128, I128);

/// The smallest form of validity for `rows` rows.
pub(crate) fn encode_validity(validity: Option<BitsView<'_>>, out: &mut Vec<u8>) -> u8 {
    match validity {
        None => bitset::ONES,
        Some(validity) => bitset::encode(validity, out),
    }
}
