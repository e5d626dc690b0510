//! Chooses an encoding and writes it.
//!
//! Every encoding that may stand at a place proposes its size: exactly where that costs one pass, from a sample where it
//! means compressing. The smallest proposal wins, each size weighed by what decoding it costs.

use std::sync::Arc;

use rapidhash::RapidHashMap;

use super::{
    BLOCK_ROWS_MAX, BytesView, DECODED_MAX, Goal, TextEncoding, TextTable,
    bits::{pack, packed_len, width_of},
    block::Nesting,
    bounds,
    compressed::{self, Compressor},
    front, fsst, positional,
    strings::Strings,
    symbols::{EXPANSION_MAX, SymbolEncoder},
};
use crate::{Error, Result, column::bits, varint};

/// Bytes of strings that are compressed to guess how all of them would be.
const SAMPLE: usize = 32 << 10;
/// Strings next to each other in a sample.
const SAMPLE_RUN: usize = 64;
/// Rows that are looked at to see whether strings repeat at all.
const PROBES: usize = 512;
/// Below this many bytes symbols of their own do not pay.
const OWN_SYMBOLS_MIN: usize = 2 << 10;

/// The encodings, those first whose size is known at the least cost.
const BY_COST: [TextEncoding; 8] = [
    TextEncoding::Constant,
    TextEncoding::Raw,
    TextEncoding::SharedDictionary,
    TextEncoding::Dictionary,
    TextEncoding::Positional,
    TextEncoding::Fsst,
    TextEncoding::Front,
    TextEncoding::Compressed,
];

/// What [`encode`] wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextSummary {
    /// The chosen encoding.
    pub encoding: TextEncoding,
    /// Bytes of the block.
    pub bytes: usize,
    /// Bytes of all strings.
    pub decoded: usize,
    /// The smallest string; empty when there is none. Rows that are NULL count as empty strings.
    pub min: Vec<u8>,
    /// The largest string; empty when there is none.
    pub max: Vec<u8>,
}

/// What an encoding would write.
enum Proposal {
    Constant,
    Dictionary { codes: Vec<u32>, count: usize, entries: Vec<u8> },
    SharedDictionary { codes: Vec<u32> },
    Raw,
    Fsst { symbols: Arc<SymbolEncoder>, shared: bool },
    Front { prefixes: Vec<u32>, suffixes: Vec<u8> },
    Positional(positional::Plan),
    Compressed(Compressor),
}

impl Proposal {
    fn encoding(&self) -> TextEncoding {
        match self {
            Self::Constant => TextEncoding::Constant,
            Self::Dictionary { .. } => TextEncoding::Dictionary,
            Self::SharedDictionary { .. } => TextEncoding::SharedDictionary,
            Self::Raw => TextEncoding::Raw,
            Self::Fsst { .. } => TextEncoding::Fsst,
            Self::Front { .. } => TextEncoding::Front,
            Self::Positional(_) => TextEncoding::Positional,
            Self::Compressed(_) => TextEncoding::Compressed,
        }
    }

    /// What a byte of this encoding counts, in hundredths: more where decoding costs more.
    fn weight(&self, goal: Goal) -> usize {
        match (self, goal) {
            (Self::Constant | Self::Dictionary { .. } | Self::SharedDictionary { .. } | Self::Raw, _) => 100,
            (_, Goal::Size) => 103,
            (Self::Fsst { .. }, _) => 108,
            // Random bytes with little in common save little, and are copied many times faster.
            (Self::Positional(_), _) => 112,
            (Self::Front { .. }, _) => 130,
            (Self::Compressed(_), _) => 150,
        }
    }
}

/// Appends a block of `strings` to `out`. Rows that are NULL stand as empty strings.
///
/// `shared`, when given, may be used by the block, and is then needed to parse it.
///
/// # Errors
/// [`Error::Invalid`] when there are more than [`BLOCK_ROWS_MAX`] strings or 2^31 - 1 bytes.
pub fn encode(
    strings: &BytesView<'_>,
    goal: Goal,
    shared: Option<&TextTable>,
    out: &mut Vec<u8>,
) -> Result<TextSummary> {
    let before = out.len();
    let encoding = encode_at(strings, goal, shared, Nesting::Column, out)?;
    let owned = |string: Option<&[u8]>| string.unwrap_or_default().to_vec();
    Ok(TextSummary {
        encoding,
        bytes: out.len() - before,
        decoded: total(strings),
        min: owned(strings.iter().min()),
        max: owned(strings.iter().max()),
    })
}

/// As [`encode`], with one encoding. `false`, and nothing is appended, when it does not suit the strings.
///
/// This is for measuring; [`encode`] knows better.
///
/// # Errors
/// As [`encode`].
pub fn encode_as(
    encoding: TextEncoding,
    strings: &BytesView<'_>,
    goal: Goal,
    shared: Option<&TextTable>,
    out: &mut Vec<u8>,
) -> Result<bool> {
    check(strings)?;
    let proposals = Proposals { strings, goal, shared };
    let Some((proposal, _)) = proposals.propose(encoding) else { return Ok(false) };
    write(&proposal, strings, out)?;
    Ok(true)
}

/// Appends a block of the best encoding for this place.
pub(super) fn encode_at(
    strings: &BytesView<'_>,
    goal: Goal,
    shared: Option<&TextTable>,
    place: Nesting,
    out: &mut Vec<u8>,
) -> Result<TextEncoding> {
    check(strings)?;
    let proposals = Proposals { strings, goal, shared };
    let mut best: Option<(Proposal, usize)> = None;
    for encoding in BY_COST.into_iter().filter(|encoding| place.allows(*encoding)) {
        if best.as_ref().is_some_and(|(_, bytes)| proposals.least(encoding) >= *bytes) {
            continue;
        }
        let Some((proposal, bytes)) = proposals.propose(encoding) else { continue };
        let score = |proposal: &Proposal, bytes| bytes * proposal.weight(goal);
        if best.as_ref().is_none_or(|(other, least)| score(&proposal, bytes) < score(other, *least)) {
            best = Some((proposal, bytes));
        }
    }
    let (proposal, _) = best.expect("any strings can be raw");
    let before = out.len();
    write(&proposal, strings, out)?;
    if out.len() - before > raw_len(strings) {
        // The sample promised too much.
        out.truncate(before);
        write(&Proposal::Raw, strings, out)?;
        return Ok(TextEncoding::Raw);
    }
    Ok(proposal.encoding())
}

fn check(strings: &BytesView<'_>) -> Result<()> {
    if strings.len() > BLOCK_ROWS_MAX {
        return Err(Error::invalid(format!("{} strings in a block", strings.len())));
    }
    if total(strings) > DECODED_MAX {
        return Err(Error::invalid("strings of more than 2^31 - 1 bytes in a block"));
    }
    Ok(())
}

/// The bytes of all strings.
fn total(strings: &BytesView<'_>) -> usize {
    (strings.offsets()[strings.len()] - strings.offsets()[0]) as usize
}

fn lengths<'s>(strings: &BytesView<'s>) -> impl ExactSizeIterator<Item = u32> + Clone + use<'s> {
    strings.iter().map(|string| string.len() as u32)
}

/// The bytes of a raw block.
fn raw_len(strings: &BytesView<'_>) -> usize {
    let total = total(strings);
    1 + varint::len(total as u64) + bounds::encoded_len_of(lengths(strings)) + total
}

fn write(proposal: &Proposal, strings: &BytesView<'_>, out: &mut Vec<u8>) -> Result<()> {
    out.push(proposal.encoding() as u8);
    varint::encode(total(strings) as u64, out);
    match proposal {
        Proposal::Constant => out.extend_from_slice(strings.iter().next().unwrap_or_default()),
        Proposal::Dictionary { codes, count, entries } => {
            varint::encode(*count as u64, out);
            varint::encode(entries.len() as u64, out);
            out.extend_from_slice(entries);
            let width = bits::width_of(count.saturating_sub(1) as u64);
            out.push(width as u8);
            bits::pack(codes, width, out);
        }
        Proposal::SharedDictionary { codes } => {
            let (lowest, width) = code_range(codes);
            let above: Vec<u32> = codes.iter().map(|code| code - lowest).collect();
            varint::encode(u64::from(lowest), out);
            out.push(width as u8);
            bits::pack(&above, width, out);
        }
        Proposal::Raw => {
            bounds::encode(lengths(strings), out);
            let offsets = strings.offsets();
            out.extend_from_slice(&strings.data()[offsets[0] as usize..offsets[strings.len()] as usize]);
        }
        Proposal::Fsst { symbols, shared } => {
            out.push(if *shared { fsst::SHARED } else { fsst::OWN });
            if !shared {
                out.extend_from_slice(symbols.bytes());
            }
            let (mut codes, mut ends) = (Vec::new(), Vec::new());
            symbols.encode(strings.iter(), &mut codes, &mut ends);
            bounds::encode(lengths_of(&ends), out);
            out.extend_from_slice(&codes);
        }
        Proposal::Front { prefixes, suffixes } => {
            let width = width_of(prefixes.iter().copied().max().unwrap_or(0));
            out.push(width);
            pack(prefixes.iter().copied(), width, out);
            out.extend_from_slice(suffixes);
        }
        Proposal::Positional(plan) => plan.encode(strings, out),
        Proposal::Compressed(compressor) => compressed::encode(strings, *compressor, out)?,
    }
    Ok(())
}

/// The lengths of strings that end at these places.
fn lengths_of(ends: &[u64]) -> impl ExactSizeIterator<Item = u32> + Clone + '_ {
    (0..ends.len()).map(|index| (ends[index] - if index == 0 { 0 } else { ends[index - 1] }) as u32)
}

/// The lowest code, and the bits of what the others are more.
fn code_range(codes: &[u32]) -> (u32, u32) {
    let lowest = codes.iter().copied().min().unwrap_or(0);
    (lowest, bits::width_of(u64::from(codes.iter().copied().max().unwrap_or(0) - lowest)))
}

/// The strings, and what every encoding proposes for them.
struct Proposals<'s> {
    strings: &'s BytesView<'s>,
    goal: Goal,
    shared: Option<&'s TextTable>,
}

impl<'s> Proposals<'s> {
    /// Bytes that this encoding takes at the least, as far as that can be said before trying it.
    fn least(&self, encoding: TextEncoding) -> usize {
        let strings = self.strings.iter().filter(|string| !string.is_empty()).count();
        match encoding {
            // At least a code for a string, and for eight bytes.
            TextEncoding::Fsst => strings.max(total(self.strings) / EXPANSION_MAX),
            // No bound, but what is an eighth already is seldom much less.
            TextEncoding::Front | TextEncoding::Compressed if self.goal == Goal::Speed => {
                total(self.strings) / EXPANSION_MAX
            }
            _ => 0,
        }
    }

    /// What this encoding would write, and its bytes; `None` when it does not suit.
    fn propose(&self, encoding: TextEncoding) -> Option<(Proposal, usize)> {
        let strings = self.strings;
        match encoding {
            TextEncoding::Constant => {
                let first = strings.iter().next().unwrap_or_default();
                strings.iter().all(|string| string == first).then_some((Proposal::Constant, 1 + first.len()))
            }
            TextEncoding::Raw => Some((Proposal::Raw, raw_len(strings))),
            TextEncoding::Dictionary => self.dictionary(),
            TextEncoding::SharedDictionary => {
                let codes = self.shared?.codes(strings)?;
                let bytes = 8 + bits::packed_len(codes.len(), code_range(&codes).1);
                Some((Proposal::SharedDictionary { codes }, bytes))
            }
            TextEncoding::Fsst => self.fsst(),
            TextEncoding::Front => self.front(),
            TextEncoding::Positional => {
                let plan = positional::Plan::new(strings)?;
                let bytes = 6 + plan.encoded_len(strings.len());
                Some((Proposal::Positional(plan), bytes))
            }
            TextEncoding::Compressed => self.compressed(),
        }
    }

    /// Some of the strings, in runs, of [`SAMPLE`] bytes or a little more.
    fn sample(&self) -> Strings {
        let rows = self.strings.len();
        let total = total(self.strings);
        if total <= SAMPLE {
            return Strings::collect(self.strings.iter());
        }
        let runs = (rows * SAMPLE / total).div_ceil(SAMPLE_RUN).max(1);
        let run = (rows * SAMPLE / total).clamp(1, SAMPLE_RUN);
        let starts = (0..runs).map(|index| index * (rows - run) / runs);
        Strings::collect(starts.flat_map(|start| start..start + run).map(|row| self.strings.get(row)))
    }

    /// Scales the bytes that a sample takes to all strings.
    fn scaled(&self, encoded: usize, sample: &Strings) -> usize {
        let sampled = total(&sample.view()).max(1);
        (encoded as u64 * total(self.strings) as u64 / sampled as u64) as usize
    }

    fn dictionary(&self) -> Option<(Proposal, usize)> {
        let strings = self.strings;
        if strings.is_empty() || !self.repeats() {
            return None;
        }
        let mut numbers: RapidHashMap<&[u8], u32> = RapidHashMap::default();
        let mut codes = Vec::with_capacity(strings.len());
        for string in strings.iter() {
            let next = numbers.len() as u32;
            codes.push(*numbers.entry(string).or_insert(next));
            if numbers.len() > strings.len() / 2 + 1 {
                return None;
            }
        }
        let mut entries: Vec<(&[u8], u32)> = numbers.into_iter().collect();
        entries.sort_unstable();
        let mut order = vec![0; entries.len()];
        entries.iter().zip(0..).for_each(|((_, number), code)| order[*number as usize] = code);
        codes.iter_mut().for_each(|code| *code = order[*code as usize]);
        let count = entries.len();
        let entries = Strings::collect(entries.into_iter().map(|(string, _)| string));
        let mut bytes = Vec::new();
        encode_at(&entries.view(), self.goal, self.shared, Nesting::Entries, &mut bytes).ok()?;
        let total = 13 + bytes.len() + bits::packed_len(codes.len(), bits::width_of(count as u64 - 1));
        Some((Proposal::Dictionary { codes, count, entries: bytes }, total))
    }

    /// Whether strings repeat, among some that are spread evenly or follow each other.
    fn repeats(&self) -> bool {
        let rows = self.strings.len();
        let probes = rows.min(PROBES);
        let mut seen: RapidHashMap<&[u8], ()> =
            RapidHashMap::with_capacity_and_hasher(probes, Default::default());
        (0..probes).for_each(|probe| {
            seen.insert(self.strings.get(probe * rows / probes), ());
        });
        // A quarter of all strings in the dictionary would be a tenth of repeats among so few.
        if seen.len() * 20 < probes * 19 || rows <= PROBES {
            return true;
        }
        let start = rows / 2;
        let run = (rows - start).min(PROBES);
        let changes =
            (1..run).filter(|at| self.strings.get(start + at) != self.strings.get(start + at - 1)).count();
        changes * 4 < run * 3
    }

    /// Symbols that are shared, or trained for these strings.
    fn symbols(&self) -> Option<(Arc<SymbolEncoder>, bool)> {
        if let Some(symbols) = self.shared.and_then(TextTable::symbols) {
            return Some((Arc::clone(symbols), true));
        }
        if total(self.strings) < OWN_SYMBOLS_MIN {
            return None;
        }
        Some((Arc::new(SymbolEncoder::train(self.strings)?), false))
    }

    fn fsst(&self) -> Option<(Proposal, usize)> {
        let (symbols, shared) = self.symbols()?;
        let sample = self.sample();
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        symbols.encode(sample.view().iter(), &mut codes, &mut ends);
        let bounds = bounds::encoded_len_of(lengths_of(&ends)) * self.strings.len() / ends.len().max(1);
        let table = if shared { 0 } else { symbols.bytes().len() };
        let bytes = 7 + table + bounds + self.scaled(codes.len(), &sample);
        Some((Proposal::Fsst { symbols, shared }, bytes))
    }

    fn front(&self) -> Option<(Proposal, usize)> {
        let strings = self.strings;
        let prefixes = front::prefixes(strings.iter());
        let common: usize = prefixes.iter().map(|prefix| *prefix as usize).sum();
        let width = width_of(prefixes.iter().copied().max()?);
        let stored = packed_len(prefixes.len(), width);
        if common < 2 * stored {
            return None;
        }
        let rests = strings.iter().zip(&prefixes).map(|(string, prefix)| &string[*prefix as usize..]);
        let rests = Strings::collect(rests);
        let mut suffixes = Vec::new();
        encode_at(&rests.view(), self.goal, self.shared, Nesting::Suffixes, &mut suffixes).ok()?;
        let bytes = 7 + stored + suffixes.len();
        Some((Proposal::Front { prefixes, suffixes }, bytes))
    }

    /// The better general compressor, when the goal allows one.
    fn compressed(&self) -> Option<(Proposal, usize)> {
        let compressors: &[Compressor] = match self.goal {
            Goal::Speed => return None,
            Goal::Size => &[Compressor::Zstd, Compressor::Lz4],
        };
        let strings = self.strings;
        let bounds = 20 + bounds::encoded_len_of(lengths(strings));
        let proposals = compressors.iter().filter_map(|compressor| {
            let (start, end) = (strings.offsets()[0] as usize, strings.offsets()[strings.len()] as usize);
            let middle = start + (end - start).saturating_sub(2 * SAMPLE) / 2;
            let sample = &strings.data()[middle..end.min(middle + 2 * SAMPLE)];
            let encoded = compressor.compress(sample).ok()?.len();
            let bytes = (encoded as u64 * (end - start) as u64 / sample.len().max(1) as u64) as usize;
            Some((Proposal::Compressed(*compressor), bounds + bytes))
        });
        // LZ4 decodes so much faster that Zstandard has to gain a tenth.
        proposals.min_by_key(|(proposal, bytes)| match proposal {
            Proposal::Compressed(Compressor::Zstd) => bytes * 11,
            _ => bytes * 10,
        })
    }
}
