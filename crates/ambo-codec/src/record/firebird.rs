//! `firebird-rle`: the run lengths of Firebird 3's records, for comparison.
//!
//! | control byte, signed | behind it | meaning |
//! |---|---|---|
//! | 1 to 127 | that many bytes | the bytes as they are |
//! | -1 to -128 | one byte | the byte, repeated 1 to 128 times |
//! | 0 | | malformed |
//!
//! Example, `Delft` and 300 zeros: `05 44 65 6C 66 74`, `80 00`, `80 00`, `D4 00`: 5 bytes as they are, then
//! 128, 128 and 44 zeros.

use super::run::run_len;
use crate::Damaged;

const LITERAL_MAX: usize = 127;
const REPEATED_MAX: usize = 128;
/// A shorter run is no smaller than its bytes.
const REPEATED_MIN: usize = 3;

/// The most bytes that a record of `raw_len` bytes takes.
pub(super) const fn encoded_len_max(raw_len: usize) -> usize {
    raw_len + raw_len.div_ceil(LITERAL_MAX)
}

/// Appends the blocks of `raw` to `out`.
pub(super) fn encode(raw: &[u8], out: &mut Vec<u8>) {
    out.reserve(encoded_len_max(raw.len()));
    let mut at = 0;
    while at < raw.len() {
        let len = run_len(&raw[at..]);
        if len >= REPEATED_MIN {
            put_repeated(raw[at], len, out);
            at += len;
            continue;
        }
        let triple = raw[at..].windows(REPEATED_MIN).position(|three| three == [three[0]; REPEATED_MIN]);
        let end = triple.map_or(raw.len(), |triple| at + triple);
        for literal in raw[at..end].chunks(LITERAL_MAX) {
            out.push(literal.len() as u8);
            out.extend_from_slice(literal);
        }
        at = end;
    }
}

fn put_repeated(byte: u8, mut len: usize, out: &mut Vec<u8>) {
    while len > 0 {
        let block = len.min(REPEATED_MAX);
        out.extend_from_slice(&[(block as u8).wrapping_neg(), byte]);
        len -= block;
    }
}

/// Appends the `raw_len` bytes of the blocks in `bytes` to `out`. On an error some of them may be there.
pub(super) fn decode(mut bytes: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Result<(), Damaged> {
    const CUT_OFF: Damaged = Damaged("a block of run lengths is cut off");
    let end = out.len() + raw_len;
    while let Some((&control, rest)) = bytes.split_first() {
        let control = control as i8;
        let len = usize::from(control.unsigned_abs());
        if len > end - out.len() {
            return Err(Damaged("run lengths of more bytes than the record has"));
        }
        bytes = if control > 0 {
            let (literal, rest) = rest.split_at_checked(len).ok_or(CUT_OFF)?;
            out.extend_from_slice(literal);
            rest
        } else if control < 0 {
            let (&byte, rest) = rest.split_first().ok_or(CUT_OFF)?;
            out.resize(out.len() + len, byte);
            rest
        } else {
            return Err(Damaged("a run length of zero"));
        };
    }
    if out.len() < end {
        return Err(Damaged("run lengths of fewer bytes than the record has"));
    }
    Ok(())
}
