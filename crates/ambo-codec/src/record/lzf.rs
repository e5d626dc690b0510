//! `lzf`: the format of Marc Lehmann's LibLZF, in safe Rust. The crate of that name is deprecated and allocates
//! its table for each record.
//!
//! | first byte | behind it | meaning |
//! |---|---|---|
//! | `000LLLLL` | L + 1 bytes | 1 to 32 bytes as they are |
//! | `LLLooooo`, L of 1 to 6 | `oooooooo` | L + 2 bytes (3 to 8), copied from o + 1 bytes before |
//! | `111ooooo` | `LLLLLLLL oooooooo` | L + 9 bytes (9 to 264), copied from o + 1 bytes before |
//!
//! Of the 13 bits of o the high five are in the first byte. A copy may overlap what it writes.
//!
//! Example, `abcabcabcabc`: `02 61 62 63` (3 bytes as they are), `E0 00 02` (9 bytes from 3 before).

use crate::Damaged;

const LITERAL_MAX: usize = 32;
const DISTANCE_MAX: usize = 1 << 13;
const MATCH_MIN: usize = 3;
/// The shortest match that takes three bytes.
const MATCH_LONG: usize = 9;
const MATCH_MAX: usize = 264;
const HASH_BITS: u32 = 12;
/// The step grows by one for each 2^6 bytes without a match.
const SKIP_SHIFT: u32 = 6;

/// The most bytes that a record of `raw_len` bytes takes.
pub(super) const fn encoded_len_max(raw_len: usize) -> usize {
    raw_len + raw_len.div_ceil(LITERAL_MAX)
}

/// Where sequences of three bytes were last seen. Never cleared between records: a place counts from `base`, and
/// what is below it belongs to an earlier record.
pub(super) struct Encoder {
    places: Box<[u32; 1 << HASH_BITS]>,
    base: u32,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { places: Box::new([0; 1 << HASH_BITS]), base: 1 }
    }

    /// Appends the compressed form of `raw` to `out`.
    pub(super) fn encode(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        out.reserve(encoded_len_max(raw.len()));
        // Distances are short, so what is larger than the places can be cut without loss of size.
        for part in raw.chunks(1 << 30) {
            self.encode_part(part, out);
        }
    }

    fn encode_part(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        if u32::MAX - self.base < raw.len() as u32 {
            self.places.fill(0);
            self.base = 1;
        }
        let (mut literal, mut at) = (0, 0);
        while let Some(three) = raw.get(at..).and_then(<[u8]>::first_chunk::<MATCH_MIN>) {
            let seen = self.replace(*three, at);
            let Some(seen) = seen.filter(|seen| at - seen <= DISTANCE_MAX && raw[*seen..].starts_with(three))
            else {
                // Bytes without matches are stepped over faster and faster.
                at += 1 + ((at - literal) >> SKIP_SHIFT);
                continue;
            };
            put_literals(&raw[literal..at], out);
            let len = match_len(raw, seen, at);
            put_match(at - seen - 1, len, out);
            at += len;
            literal = at;
            // The place before the end often begins the next match.
            if let Some(three) = raw[at - 1..].first_chunk() {
                self.replace(*three, at - 1);
            }
        }
        put_literals(&raw[literal..], out);
        self.base += raw.len() as u32;
    }

    /// Notes that `three` is at `at`, and returns where it was before in this record, perhaps.
    fn replace(&mut self, three: [u8; MATCH_MIN], at: usize) -> Option<usize> {
        let [first, second, third] = three;
        let hash = u32::from_le_bytes([first, second, third, 0]).wrapping_mul(0x9e37_79b1);
        let place = &mut self.places[(hash >> (u32::BITS - HASH_BITS)) as usize];
        let seen = place.checked_sub(self.base);
        *place = self.base + at as u32;
        seen.map(|seen| seen as usize)
    }
}

/// How long the bytes at `seen` and at `at` are the same, at most [`MATCH_MAX`].
fn match_len(raw: &[u8], seen: usize, at: usize) -> usize {
    let limit = MATCH_MAX.min(raw.len() - at);
    let (left, right) = (&raw[seen..seen + limit], &raw[at..at + limit]);
    let mut len = 0;
    while let (Some(left), Some(right)) = (left[len..].first_chunk::<8>(), right[len..].first_chunk::<8>()) {
        let differs = u64::from_le_bytes(*left) ^ u64::from_le_bytes(*right);
        if differs != 0 {
            return len + differs.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + left[len..].iter().zip(&right[len..]).take_while(|(left, right)| left == right).count()
}

fn put_literals(bytes: &[u8], out: &mut Vec<u8>) {
    for bytes in bytes.chunks(LITERAL_MAX) {
        out.push(bytes.len() as u8 - 1);
        out.extend_from_slice(bytes);
    }
}

/// `distance` is one less than it is.
fn put_match(distance: usize, len: usize, out: &mut Vec<u8>) {
    let (high, low) = ((distance >> 8) as u8, distance as u8);
    if len < MATCH_LONG {
        out.extend_from_slice(&[(len as u8 - 2) << 5 | high, low]);
    } else {
        out.extend_from_slice(&[7 << 5 | high, (len - MATCH_LONG) as u8, low]);
    }
}

/// Fills `out`, which is as long as the record was.
pub(super) fn decode(mut bytes: &[u8], out: &mut [u8]) -> Result<(), Damaged> {
    const CUT_OFF: Damaged = Damaged("LZF bytes are cut off");
    let mut at = 0;
    while let Some((&first, rest)) = bytes.split_first() {
        let high = usize::from(first & 31);
        let (len, rest) = match first >> 5 {
            0 => {
                let (literal, rest) = rest.split_at_checked(high + 1).ok_or(CUT_OFF)?;
                let room = out.get_mut(at..at + literal.len()).ok_or(TOO_LONG)?;
                room.copy_from_slice(literal);
                at += literal.len();
                bytes = rest;
                continue;
            }
            7 => {
                rest.split_first().map(|(&len, rest)| (usize::from(len) + MATCH_LONG, rest)).ok_or(CUT_OFF)?
            }
            len => (usize::from(len) + 2, rest),
        };
        let (&low, rest) = rest.split_first().ok_or(CUT_OFF)?;
        copy_match(out, at, (high << 8 | usize::from(low)) + 1, len)?;
        at += len;
        bytes = rest;
    }
    if at < out.len() {
        return Err(Damaged("LZF of fewer bytes than the record has"));
    }
    Ok(())
}

const TOO_LONG: Damaged = Damaged("LZF of more bytes than the record has");

/// Copies `len` bytes to `at` from `distance` before, where the copy may overlap itself.
fn copy_match(out: &mut [u8], at: usize, distance: usize, len: usize) -> Result<(), Damaged> {
    let from = at.checked_sub(distance).ok_or(Damaged("an LZF copy from before the record"))?;
    if len > out.len() - at {
        return Err(TOO_LONG);
    }
    // What was copied doubles what can be copied next.
    let mut copied = 0;
    while copied < len {
        let step = (distance + copied).min(len - copied);
        out.copy_within(from..from + step, at + copied);
        copied += step;
    }
    Ok(())
}
