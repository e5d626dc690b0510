//! How long a run of one byte is, eight or more bytes at a time.

/// The bits of `word` that are set below the first byte that is not zero, in bytes.
fn zero_bytes(word: u64) -> usize {
    word.trailing_zeros() as usize / 8
}

/// Bytes looked at together once a run is known to be long; the compiler makes vectors of them.
const STRIDE: usize = 64;

/// The length of the run of its first byte at the beginning of `bytes`; 0 of nothing.
#[inline]
pub(super) fn run_len(bytes: &[u8]) -> usize {
    let Some(&byte) = bytes.first() else { return 0 };
    let pattern = u64::from_le_bytes([byte; 8]);
    let word_at = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?) ^ pattern);
    let mut len = 0;
    match word_at(0) {
        Some(0) => len = 8,
        Some(word) => return zero_bytes(word),
        None => {}
    }
    for chunk in bytes[len..].chunks_exact(STRIDE) {
        if chunk.iter().fold(0, |differs, other| differs | (other ^ byte)) != 0 {
            break;
        }
        len += STRIDE;
    }
    while let Some(word) = word_at(len) {
        if word != 0 {
            return len + zero_bytes(word);
        }
        len += 8;
    }
    len + bytes[len..].iter().take_while(|other| **other == byte).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a run that ends early or late at the borders of words and strides.
    #[test]
    fn every_length() {
        for byte in [0, 7, 0xff] {
            for len in 1..300 {
                let mut bytes = vec![byte; len];
                assert_eq!(run_len(&bytes), len);
                bytes.push(byte ^ 0x80);
                bytes.push(byte);
                assert_eq!(run_len(&bytes), len);
            }
        }
        assert_eq!(run_len(&[]), 0);
    }
}
