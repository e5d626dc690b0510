//! Records as KeksDB's HTTP has them, back to back: their length as 32 bits, then key and value, each with 16 bits `1` in front; the
//! key has its length as 16 bits, the value as 32. All numbers are big-endian.

use super::{Done, Wrong};

/// What stands in front of each part.
const PART: i16 = 1;

/// Appends a record.
pub(super) fn write(key: &[u8], value: &[u8], out: &mut Vec<u8>) -> Done<()> {
    let key_length = i16::try_from(key.len()).map_err(|_| Wrong::new("a key has more than 32,767 bytes"))?;
    let value_length = i32::try_from(value.len()).map_err(|_| Wrong::new("a value has more than 2 GiB"))?;
    let length = 4 + 2 + 2 + key.len() + 2 + 4 + value.len();
    let length = i32::try_from(length).map_err(|_| Wrong::new("a record has more than 2 GiB"))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&PART.to_be_bytes());
    out.extend_from_slice(&key_length.to_be_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(&PART.to_be_bytes());
    out.extend_from_slice(&value_length.to_be_bytes());
    out.extend_from_slice(value);
    Ok(())
}

/// Keys with their values.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Reads records until the end.
pub(super) fn read(mut bytes: &[u8]) -> Done<Entries> {
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let nth = entries.len() + 1;
        let (entry, rest) =
            read_one(bytes).ok_or_else(|| Wrong::new(format!("record {nth} of the body is none")))?;
        entries.push(entry);
        bytes = rest;
    }
    Ok(entries)
}

/// A key and its value.
type Record = (Vec<u8>, Vec<u8>);

fn read_one(bytes: &[u8]) -> Option<(Record, &[u8])> {
    let (length, _) = bytes.split_first_chunk::<4>()?;
    let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let (_, record) = record.split_first_chunk::<4>()?;
    let (_, record) = record.split_first_chunk::<2>()?;
    let (key_length, record) = record.split_first_chunk::<2>()?;
    let (key, record) = record.split_at_checked(usize::try_from(i16::from_be_bytes(*key_length)).ok()?)?;
    let (_, record) = record.split_first_chunk::<2>()?;
    let (value_length, record) = record.split_first_chunk::<4>()?;
    let (value, nothing) =
        record.split_at_checked(usize::try_from(i32::from_be_bytes(*value_length)).ok()?)?;
    nothing.is_empty().then(|| ((key.to_vec(), value.to_vec()), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // Keeps away: another order of bytes than KeksDB's.
    #[test]
    fn the_bytes_are_those_of_keksdb() {
        let mut out = Vec::new();
        write(b"k1", b"abc", &mut out).unwrap();
        assert_eq!(out, b"\x00\x00\x00\x13\x00\x01\x00\x02k1\x00\x01\x00\x00\x00\x03abc");
        assert_eq!(read(&out).unwrap(), [(b"k1".to_vec(), b"abc".to_vec())]);
        for length in 1..out.len() {
            assert!(read(&out[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn records_come_back(entries: Vec<(Vec<u8>, Vec<u8>)>) {
            let mut out = Vec::new();
            for (key, value) in &entries {
                write(key, value, &mut out).unwrap();
            }
            prop_assert_eq!(read(&out).unwrap(), entries);
        }

        #[test]
        fn foreign_bytes_are_refused_or_read(bytes: Vec<u8>) {
            let _either = read(&bytes);
        }
    }
}
