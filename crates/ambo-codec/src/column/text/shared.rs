//! What the blocks of a column chunk have in common, stored once: symbols, and a dictionary.
//!
//! # Format
//! | part | size | meaning |
//! |---|---|---|
//! | version | 1 | 1 |
//! | parts | 1 | bit 0: symbols, bit 1: dictionary |
//! | symbols | | when bit 0 is set; see [`super::symbols`] |
//! | count | varint | when bit 1 is set: different strings |
//! | dictionary | to the end | when bit 1 is set: the different strings in ascending order, as a text block without a dictionary |

use std::sync::Arc;

use rapidhash::{RapidHashMap, RapidHashSet};

use super::{
    BLOCK_ROWS_MAX, BytesView, Goal, TextBlock,
    block::Nesting,
    encode,
    reader::Reader,
    strings::Strings,
    symbols::{SymbolEncoder, Symbols},
};
use crate::{Result, varint};

const VERSION: u8 = 1;
const SYMBOLS: u8 = 1;
const DICTIONARY: u8 = 2;

/// The most bytes of different strings in a shared dictionary: it is decoded whole.
const DICTIONARY_BYTES_MAX: usize = 4 << 20;
/// A shared dictionary pays when its strings come this often on average.
const REPEATS_MIN: usize = 8;

/// What decodes blocks that were encoded with a [`TextTable`].
#[derive(Clone, Debug, Default)]
pub struct SharedTable {
    symbols: Option<Arc<Symbols>>,
    dictionary: Option<Arc<Strings>>,
}

impl SharedTable {
    /// Reads what [`TextTable::bytes`] gave.
    ///
    /// # Errors
    /// Bytes that no [`TextTable`] gave.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        if reader.byte()? != VERSION {
            return Err(reader.damaged("unknown version of a shared table"));
        }
        let parts = reader.byte()?;
        if parts & !(SYMBOLS | DICTIONARY) != 0 {
            return Err(reader.damaged("unknown part of a shared table"));
        }
        let mut table = Self::default();
        if parts & SYMBOLS != 0 {
            table.symbols = Some(Arc::new(Symbols::parse(&mut reader)?));
        }
        if parts & DICTIONARY != 0 {
            let count = reader.length()?;
            let block = TextBlock::parse_at(reader.rest(), count, Some(&table), Nesting::Entries)?;
            if block.decoded_len() > DICTIONARY_BYTES_MAX {
                return Err(reader.damaged("a shared dictionary is too large"));
            }
            table.dictionary = Some(Arc::new(block.to_strings()?));
        }
        reader.end()?;
        Ok(table)
    }

    pub(super) fn symbols(&self) -> Option<&Arc<Symbols>> {
        self.symbols.as_ref()
    }

    pub(super) fn dictionary(&self) -> Option<&Arc<Strings>> {
        self.dictionary.as_ref()
    }
}

/// A shared table that encodes. It is trained once for a column chunk; its bytes are stored beside the blocks.
pub struct TextTable {
    symbols: Option<Arc<SymbolEncoder>>,
    codes: RapidHashMap<Box<[u8]>, u32>,
    table: SharedTable,
    bytes: Vec<u8>,
}

impl TextTable {
    /// Trains a table on the strings of a chunk. Symbols need a sample of it only; a dictionary is of use for the
    /// blocks whose strings were all seen here.
    pub fn train(strings: &BytesView<'_>, goal: Goal) -> Self {
        let mut table = Self {
            symbols: SymbolEncoder::train(strings).map(Arc::new),
            codes: RapidHashMap::default(),
            table: SharedTable::default(),
            bytes: vec![VERSION, 0],
        };
        if let Some(symbols) = &table.symbols {
            table.bytes[1] |= SYMBOLS;
            table.bytes.extend_from_slice(symbols.bytes());
        }
        if let Some(entries) = different(strings) {
            let entries = Strings::collect(entries.into_iter());
            let mut bytes = Vec::new();
            let encoded =
                encode::encode_at(&entries.view(), goal, Some(&table), Nesting::Entries, &mut bytes);
            if encoded.is_ok() {
                table.bytes[1] |= DICTIONARY;
                varint::encode(entries.len() as u64, &mut table.bytes);
                table.bytes.extend_from_slice(&bytes);
                table.codes = entries.view().iter().map(Box::from).zip(0..).collect();
            }
        }
        table.table = SharedTable::parse(&table.bytes).expect("a table reads what it writes");
        table
    }

    /// What is stored: [`SharedTable::parse`] reads it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What decodes the blocks that are encoded with this table.
    pub fn shared(&self) -> &SharedTable {
        &self.table
    }

    pub(super) fn symbols(&self) -> Option<&Arc<SymbolEncoder>> {
        self.symbols.as_ref()
    }

    /// The codes of `strings`; `None` when there is no dictionary or it lacks one of them.
    pub(super) fn codes(&self, strings: &BytesView<'_>) -> Option<Vec<u32>> {
        if self.codes.is_empty() {
            return None;
        }
        strings.iter().map(|string| self.codes.get(string).copied()).collect()
    }
}

/// The different strings in ascending order, if they are few enough for a shared dictionary.
fn different<'s>(strings: &BytesView<'s>) -> Option<Vec<&'s [u8]>> {
    let count_max = (strings.len() / REPEATS_MIN).min(BLOCK_ROWS_MAX);
    let mut seen = RapidHashSet::default();
    let mut bytes = 0;
    for string in strings.iter() {
        if seen.insert(string) {
            bytes += string.len();
            if seen.len() > count_max || bytes > DICTIONARY_BYTES_MAX {
                return None;
            }
        }
    }
    let mut entries: Vec<&[u8]> = seen.into_iter().collect();
    entries.sort_unstable();
    Some(entries).filter(|entries| entries.len() > 1)
}
