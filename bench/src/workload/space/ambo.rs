//! Ambo's column encodings: blocks of 65,536 rows. The blocks of a chunk of text share a table of symbols.

use ambo_codec::column::text::{SharedTable, TextBlock, TextTable, encode as encode_text};
use ambo_codec::column::{
    BLOCK_ROWS_MAX, BitsView, Block, BytesView, ColumnSlice, Element, Goal, Kind, Mask, encode, envelope,
};

use super::column::{Column, Texts, Values};
use crate::engine::Result;

/// Rows that share a table: as many as a column chunk of Parquet has.
const CHUNK_ROWS: usize = 1 << 20;
/// The most bytes that a compressed block of numbers may expand to.
const EXPANDED_MAX: usize = BLOCK_ROWS_MAX * 16;

/// An encoded column.
pub struct Encoded {
    kind: Kind,
    chunks: Vec<Chunk>,
    rows: usize,
    encodings: Vec<String>,
}

/// Blocks of text that share a table; of numbers, just blocks.
#[derive(Default)]
struct Chunk {
    table: Vec<u8>,
    blocks: Vec<Encoding>,
}

/// A block, and which rows of it have a value where the block itself does not say so.
struct Encoding {
    rows: usize,
    bytes: Vec<u8>,
    validity: Option<Vec<u8>>,
}

/// Encodes a column.
pub fn encode_column(column: &Column, goal: Goal) -> Result<Encoded> {
    let rows = column.values.len();
    let kind = match &column.values {
        Values::I32(_) | Values::Date(_) => Kind::I32,
        Values::I64(_) => Kind::I64,
        Values::F64(_) => Kind::F64,
        Values::Text(_) => Kind::Bytes,
    };
    let mut encoded = Encoded { kind, chunks: Vec::new(), rows, encodings: Vec::new() };
    for start in (0..rows).step_by(CHUNK_ROWS) {
        let end = (start + CHUNK_ROWS).min(rows);
        let mut chunk = Chunk::default();
        let table = match &column.values {
            Values::Text(texts) => {
                let (offsets, data) = part(texts, start, end);
                let table = TextTable::train(&BytesView::new(&offsets, data), goal);
                chunk.table = table.bytes().to_vec();
                Some(table)
            }
            _ => None,
        };
        for from in (start..end).step_by(BLOCK_ROWS_MAX) {
            let to = (from + BLOCK_ROWS_MAX).min(end);
            let valid = column.valid.as_ref().map(|valid| mask(&valid[from..to]));
            let valid = valid.as_ref().map(Mask::view);
            chunk.blocks.push(encoded.block(&column.values, from, to, valid, goal, table.as_ref())?);
        }
        encoded.chunks.push(chunk);
    }
    Ok(encoded)
}

fn part(texts: &Texts, from: usize, to: usize) -> (Vec<u32>, &[u8]) {
    let offsets = &texts.offsets[from..=to];
    let data = &texts.bytes[offsets[0] as usize..offsets[to - from] as usize];
    (offsets.iter().map(|offset| offset - offsets[0]).collect(), data)
}

fn mask(valid: &[bool]) -> Mask {
    let mut mask = Mask::none(valid.len());
    valid.iter().enumerate().filter(|(_, valid)| **valid).for_each(|(i, _)| mask.set(i, true));
    mask
}

impl Encoded {
    fn block(
        &mut self,
        values: &Values,
        from: usize,
        to: usize,
        valid: Option<BitsView<'_>>,
        goal: Goal,
        table: Option<&TextTable>,
    ) -> Result<Encoding> {
        let mut bytes = Vec::new();
        let mut validity = None;
        let encoding = match values {
            Values::I32(values) | Values::Date(values) => {
                encode(ColumnSlice::I32(&values[from..to]), valid, goal, &mut bytes)?.encoding.map(named)
            }
            Values::I64(values) => {
                encode(ColumnSlice::I64(&values[from..to]), valid, goal, &mut bytes)?.encoding.map(named)
            }
            Values::F64(values) => {
                encode(ColumnSlice::F64(&values[from..to]), valid, goal, &mut bytes)?.encoding.map(named)
            }
            Values::Text(texts) => {
                let (offsets, data) = part(texts, from, to);
                let summary = encode_text(&BytesView::new(&offsets, data), goal, table, &mut bytes)?;
                validity = valid
                    .map(|valid| -> Result<Vec<u8>> {
                        let mut bytes = Vec::new();
                        // Small, and read with every block: speed goes first here.
                        encode(ColumnSlice::Bool(valid), None, Goal::Speed, &mut bytes)?;
                        Ok(bytes)
                    })
                    .transpose()?;
                Some(named(summary.encoding))
            }
        };
        let encoding = encoding.unwrap_or("no value".into());
        if !self.encodings.contains(&encoding) {
            self.encodings.push(encoding);
        }
        Ok(Encoding { rows: to - from, bytes, validity })
    }

    /// Bytes of blocks, validity and tables.
    pub fn bytes(&self) -> usize {
        let of_block = |block: &Encoding| block.bytes.len() + block.validity.as_ref().map_or(0, Vec::len);
        let of_chunk = |chunk: &Chunk| chunk.table.len() + chunk.blocks.iter().map(of_block).sum::<usize>();
        self.chunks.iter().map(of_chunk).sum()
    }

    /// The encodings that blocks have.
    pub fn encodings(&self) -> String {
        self.encodings.join(", ")
    }

    /// Decodes all blocks into the same arrays, one after the other, and hands each to `sink`; returns the rows.
    pub fn decode(&self, arrays: &mut Arrays, sink: &mut dyn FnMut(&Arrays, usize)) -> Result<usize> {
        let mut rows = 0;
        for chunk in &self.chunks {
            let table = match chunk.table.as_slice() {
                [] => None,
                bytes => Some(SharedTable::parse(bytes)?),
            };
            for block in &chunk.blocks {
                arrays.fill(self.kind, block, table.as_ref())?;
                sink(arrays, block.rows);
                rows += block.rows;
            }
        }
        Ok(rows)
    }

    /// That what is timed decodes to what was encoded, NULLs aside.
    pub fn check(&self, column: &Column) -> Result<()> {
        let mut at = 0;
        let mut same = true;
        let decoded = self.decode(&mut Arrays::default(), &mut |arrays, rows| {
            let is_there = |i: &usize| column.valid.as_ref().is_none_or(|valid| valid[at + i]);
            same &= (0..rows).filter(is_there).all(|i| match &column.values {
                Values::I32(values) | Values::Date(values) => arrays.i32s[i] == values[at + i],
                Values::I64(values) => arrays.i64s[i] == values[at + i],
                Values::F64(values) => arrays.f64s[i].to_bits() == values[at + i].to_bits(),
                Values::Text(texts) => {
                    let (from, to) = (arrays.offsets[i] as usize, arrays.offsets[i + 1] as usize);
                    arrays.data[from..to] == *texts.get(at + i)
                }
            });
            at += rows;
        })?;
        if same && decoded == self.rows {
            Ok(())
        } else {
            Err(format!("{}: other values", column.name).into())
        }
    }
}

fn named(encoding: impl std::fmt::Debug) -> String {
    format!("{encoding:?}")
}

/// Where a block is decoded to: the array of its kind, and the rows that have a value.
#[derive(Default)]
pub struct Arrays {
    i32s: Vec<i32>,
    i64s: Vec<i64>,
    f64s: Vec<f64>,
    offsets: Vec<u32>,
    data: Vec<u8>,
    valid: Option<Mask>,
}

impl Arrays {
    fn fill(&mut self, kind: Kind, encoding: &Encoding, table: Option<&SharedTable>) -> Result<()> {
        if kind == Kind::Bytes {
            let block = TextBlock::parse(&encoding.bytes, encoding.rows, table)?;
            self.offsets.clear();
            self.data.clear();
            block.decode(0..encoding.rows, &mut self.offsets, &mut self.data)?;
            self.valid = match &encoding.validity {
                Some(bytes) => {
                    let block = Block::parse(bytes, Kind::Bool, encoding.rows)?;
                    let mut bits = Mask::all(encoding.rows);
                    block.filter(is_true(), &mut bits)?;
                    Some(bits)
                }
                None => None,
            };
            return Ok(());
        }
        let bytes = envelope::expand(&encoding.bytes, EXPANDED_MAX)?;
        let block = Block::parse(&bytes, kind, encoding.rows)?;
        match kind {
            Kind::I32 => into(&block, &mut self.i32s)?,
            Kind::I64 => into(&block, &mut self.i64s)?,
            _ => into(&block, &mut self.f64s)?,
        }
        self.valid = (!block.has_no_nulls()).then(|| block.validity());
        Ok(())
    }
}

fn is_true() -> ambo_codec::column::Predicate<'static> {
    use ambo_codec::column::{Compare, Predicate};
    Predicate::Compare(Compare::Equal, ambo_codec::ValueRef::Bool(true))
}

fn into<E: Element + Default + Clone>(block: &Block<'_>, out: &mut Vec<E>) -> Result<()> {
    out.resize(block.rows(), E::default());
    Ok(block.decode(0..block.rows(), out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_with_gaps_and_without() {
        // Keeps away: sizes of blocks that do not hold the column.
        let rows = 70_000;
        let mut texts = Texts::default();
        (0..rows).for_each(|i| texts.push(if i % 3 == 0 { "" } else { "text" }));
        let valid: Vec<bool> = (0..rows).map(|i| i % 3 != 0).collect();
        let columns = [
            Column { name: "t".into(), values: Values::Text(texts), valid: Some(valid.clone()) },
            Column { name: "i".into(), values: Values::I32((0..rows).collect()), valid: Some(valid) },
            Column::new("f", Values::F64((0..rows).map(|i| f64::from(i) / 4.0).collect())),
        ];
        for column in &columns {
            for goal in [Goal::Speed, Goal::Size] {
                let encoded = encode_column(column, goal).expect("encoded");
                encoded.check(column).expect("the same");
                assert!(encoded.bytes() < column.values.raw_bytes());
            }
        }
        let encoded = encode_column(&columns[1], Goal::Speed).expect("encoded");
        let other = Column::new("i", Values::I32(vec![7; rows as usize]));
        assert!(encoded.check(&other).is_err(), "a check that cannot fail");
    }
}
