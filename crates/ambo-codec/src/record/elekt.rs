//! `elekt-rle`: zeros, one repeated byte, or bytes as they are, with headers of one, two and three bytes.
//!
//! The idea is Elekt Labs' for the record buffers of Firebird (Slavomír Skopalík, 2015); the bits are ours.
//! A record is a sequence of blocks, each a header and what is behind it. The header's first byte says the kind
//! of the block and how many bytes the header has:
//!
//! | first byte | block | header, bytes | length | behind the header |
//! |---|---|---|---|---|
//! | `00`–`3F` | literal | 1 | 1 + low 6 bits: 1 to 64 | the bytes |
//! | `40`–`7F` | zeros | 1 | 1 + low 6 bits: 1 to 64 | |
//! | `80`–`9F` | repeated | 1 | 3 + low 5 bits: 3 to 34 | the byte |
//! | `A0`–`AF` | literal | 2 | 65 + 12 bits: 65 to 4,160 | the bytes |
//! | `B0`–`BF` | zeros | 2 | 65 + 12 bits: 65 to 4,160 | |
//! | `C0`–`CF` | repeated | 2 | 35 + 12 bits: 35 to 4,130 | the byte |
//! | `D0`–`DF` | literal | 3 | 4,161 + 20 bits: 4,161 to 1,052,736 | the bytes |
//! | `E0`–`EF` | zeros | 3 | 4,161 + 20 bits: 4,161 to 1,052,736 | |
//! | `F0`–`FF` | repeated | 3 | 4,131 + 20 bits: 4,131 to 1,052,706 | the byte |
//!
//! Of 12 and 20 bits the highest four are the low half of the first byte; the rest follow, the lowest byte first.
//!
//! **Bound.** A run ends a literal only if it saves at least what the next literal's header takes, unless that
//! header has three bytes: then it may take one byte more, for at least 4,161 bytes. So nothing grows by more than
//! a byte in 4,161 and three more ([`encoded_len_max`]).
//!
//! Example, `Delft`, 995 zeros:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | `04` | literal of 1 + 4 bytes, header of 1 byte |
//! | 1 | `44 65 6C 66 74` | `Delft` |
//! | 6 | `B3 A2` | zeros, header of 2 bytes: 65 + `3A2` = 65 + 930 |

use super::run::run_len;
use crate::Damaged;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Literal = 0,
    Zeros = 1,
    Repeated = 2,
}

/// Kinds, in the order of their numbers.
const KINDS: [Kind; 3] = [Kind::Literal, Kind::Zeros, Kind::Repeated];

/// By kind, the first byte of the shortest length with a header of one byte.
const SHORT_FIRST: [u8; 3] = [0x00, 0x40, 0x80];
/// By kind, how many lengths have a header of one byte.
const SHORT_COUNT: [usize; 3] = [64, 64, 32];
/// By kind, the shortest length.
const LEN_MIN: [usize; 3] = [1, 1, 3];
/// The first bytes of headers of two and of three bytes; each kind has sixteen.
const MEDIUM_FIRST: u8 = 0xa0;
const LONG_FIRST: u8 = 0xd0;
const MEDIUM_COUNT: usize = 1 << 12;
const LONG_COUNT: usize = 1 << 20;

impl Kind {
    const fn medium_min(self) -> usize {
        LEN_MIN[self as usize] + SHORT_COUNT[self as usize]
    }

    const fn long_min(self) -> usize {
        self.medium_min() + MEDIUM_COUNT
    }

    const fn len_max(self) -> usize {
        self.long_min() + LONG_COUNT - 1
    }
}

const _: () = assert!(Kind::Literal.medium_min() == 65 && Kind::Repeated.medium_min() == 35);
const _: () = assert!(Kind::Zeros.long_min() == 4_161 && Kind::Repeated.long_min() == 4_131);
const _: () = assert!(Kind::Repeated.len_max() == 1_052_706 && Kind::Zeros.len_max() >= 1 << 20);
const _: () = assert!(SHORT_FIRST[2] as usize + SHORT_COUNT[2] == MEDIUM_FIRST as usize);

/// What a header's first byte says.
#[derive(Clone, Copy)]
struct Header {
    kind: Kind,
    /// How many bytes of length follow.
    more: u8,
    /// The length if those are zero.
    base: u32,
}

/// By first byte.
static HEADERS: [Header; 256] = {
    let mut headers = [Header { kind: Kind::Literal, more: 0, base: 0 }; 256];
    let mut first = 0;
    while first < 256 {
        let nibble = first & 15;
        headers[first] = if first >= LONG_FIRST as usize {
            let kind = KINDS[(first - LONG_FIRST as usize) / 16];
            Header { kind, more: 2, base: (kind.long_min() + (nibble << 16)) as u32 }
        } else if first >= MEDIUM_FIRST as usize {
            let kind = KINDS[(first - MEDIUM_FIRST as usize) / 16];
            Header { kind, more: 1, base: (kind.medium_min() + (nibble << 8)) as u32 }
        } else {
            let kind = KINDS[first / 64];
            let number = kind as usize;
            Header { kind, more: 0, base: (LEN_MIN[number] + first - SHORT_FIRST[number] as usize) as u32 }
        };
        first += 1;
    }
    headers
};

/// The most bytes that a record of `raw_len` bytes takes.
pub(super) const fn encoded_len_max(raw_len: usize) -> usize {
    raw_len + raw_len / Kind::Literal.long_min() + 3
}

/// Appends the blocks of `raw` to `out`.
pub(super) fn encode(raw: &[u8], out: &mut Vec<u8>) {
    out.reserve(encoded_len_max(raw.len()));
    let mut at = 0;
    while at < raw.len() {
        let len = run_len(&raw[at..]);
        let kind = if raw[at] == 0 { Kind::Zeros } else { Kind::Repeated };
        // There is no literal to go on with here, so a run pays one byte earlier than within a literal.
        if len >= SHORTEST_RUN[kind as usize] {
            put_run(kind, raw[at], len, out);
            at += len;
        } else {
            let end = literal_end(raw, at + 1);
            put_literal(&raw[at..end], out);
            at = end;
        }
    }
}

/// By kind, the shortest run that is smaller than its bytes.
const SHORTEST_RUN: [usize; 3] = [usize::MAX, 2, 3];

fn put_run(kind: Kind, byte: u8, mut len: usize, out: &mut Vec<u8>) {
    while len > 0 {
        // What is left is long enough for a block of its own.
        let rest_min = LEN_MIN[kind as usize];
        let block = if len > kind.len_max() { kind.len_max().min(len - rest_min) } else { len };
        put_header(kind, block, out);
        if kind == Kind::Repeated {
            out.push(byte);
        }
        len -= block;
    }
}

fn put_literal(bytes: &[u8], out: &mut Vec<u8>) {
    for bytes in bytes.chunks(Kind::Literal.len_max()) {
        put_header(Kind::Literal, bytes.len(), out);
        out.extend_from_slice(bytes);
    }
}

#[inline]
fn put_header(kind: Kind, len: usize, out: &mut Vec<u8>) {
    let number = kind as usize;
    if len < kind.medium_min() {
        out.push(SHORT_FIRST[number] + (len - LEN_MIN[number]) as u8);
    } else if len < kind.long_min() {
        let rest = len - kind.medium_min();
        out.extend_from_slice(&[MEDIUM_FIRST + 16 * number as u8 + (rest >> 8) as u8, rest as u8]);
    } else {
        let rest = len - kind.long_min();
        let first = LONG_FIRST + 16 * number as u8 + (rest >> 16) as u8;
        out.extend_from_slice(&[first, rest as u8, (rest >> 8) as u8]);
    }
}

/// Places looked at together; the compiler makes vectors of them.
const STRIDE: usize = 32;
/// How many bytes say whether a run begins at the first of them.
const LOOK_AHEAD: usize = 4;

/// Where the first run at or behind `at` begins that pays for ending a literal: three zeros, or four of another
/// byte.
fn literal_end(raw: &[u8], mut at: usize) -> usize {
    while let Some(window) = raw.get(at..).and_then(<[u8]>::first_chunk::<{ STRIDE + LOOK_AHEAD - 1 }>) {
        let begins = |place: usize| {
            let [first, second, third, fourth] = std::array::from_fn(|ahead| window[place + ahead]);
            (first == second) & (second == third) & ((third == fourth) | (first == 0))
        };
        if (0..STRIDE).fold(false, |found, place| found | begins(place)) {
            return at + (0..STRIDE).position(begins).unwrap_or(STRIDE);
        }
        at += STRIDE;
    }
    let begins = |rest: &[u8]| {
        rest.starts_with(&[0; LOOK_AHEAD - 1])
            || rest.first_chunk::<LOOK_AHEAD>().is_some_and(|bytes| *bytes == [bytes[0]; LOOK_AHEAD])
    };
    (at..raw.len()).find(|place| begins(&raw[*place..])).unwrap_or(raw.len())
}

/// Appends the `raw_len` bytes of the blocks in `bytes` to `out`. On an error some of them may be there.
pub(super) fn decode(mut bytes: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Result<(), Damaged> {
    const CUT_OFF: Damaged = Damaged("a block of run lengths is cut off");
    let end = out.len() + raw_len;
    while let Some((&first, rest)) = bytes.split_first() {
        let header = HEADERS[usize::from(first)];
        let (low, rest) = match header.more {
            0 => (0, rest),
            1 => rest.split_first().map(|(&low, rest)| (low.into(), rest)).ok_or(CUT_OFF)?,
            _ => {
                rest.split_first_chunk().map(|(low, rest)| (u16::from_le_bytes(*low), rest)).ok_or(CUT_OFF)?
            }
        };
        let len = header.base as usize + usize::from(low);
        if len > end - out.len() {
            return Err(Damaged("run lengths of more bytes than the record has"));
        }
        bytes = match header.kind {
            Kind::Literal => {
                let (literal, rest) = rest.split_at_checked(len).ok_or(CUT_OFF)?;
                out.extend_from_slice(literal);
                rest
            }
            Kind::Zeros => {
                out.resize(out.len() + len, 0);
                rest
            }
            Kind::Repeated => {
                let (&byte, rest) = rest.split_first().ok_or(CUT_OFF)?;
                out.resize(out.len() + len, byte);
                rest
            }
        };
    }
    if out.len() < end {
        return Err(Damaged("run lengths of fewer bytes than the record has"));
    }
    Ok(())
}
