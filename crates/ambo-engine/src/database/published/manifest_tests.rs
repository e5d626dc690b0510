use super::*;

fn manifest() -> Manifest {
    Manifest {
        database: 0x00ff_eedd_ccbb_aa99_8877_6655_4433_2211,
        number: 2,
        checkpoint: 5,
        timestamp: Timestamp(7),
        at: Duration::from_micros(1_000_000),
        salt: [3; SALT_BYTES],
        pages_bytes: 64 << 10,
        bundle_bytes: BUNDLE_BYTES_MIN,
        bundles: vec![[0xaa; HASH_BYTES]],
        segments: vec![PublishedSegment { id: 9, bytes: 4096, end: [0xbb; HASH_BYTES] }],
    }
}

fn pointer() -> Pointer {
    Pointer { database: manifest().database, number: 2 }
}

/// The example of `docs/formats/published.md`.
const EXAMPLE: &str = "616d626f20707562 01000000 00000100 112233445566778899aabbccddeeff00 0200000000000000 0500000000000000 \
     0700000000000000 40420f0000000000 03030303030303030303030303030303 0000010000000000 01000000 01000000 \
     aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0900000000000000 0010000000000000 \
     bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const POINTER_EXAMPLE: &str = "616d626f206e6577 01000000 00000000 112233445566778899aabbccddeeff00 \
     0200000000000000";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Keeps away: a manifest that the page does not describe.
#[test]
fn files_are_as_described() {
    let bytes = manifest().encode();
    assert_eq!(hex(&bytes[..bytes.len() - CRC_BYTES]), EXAMPLE.replace(' ', ""));
    assert_eq!(Manifest::decode(&bytes).unwrap(), manifest());
    let bytes = pointer().encode();
    assert_eq!(hex(&bytes[..POINTER_BYTES - CRC_BYTES]), POINTER_EXAMPLE.replace(' ', ""));
    assert_eq!(Pointer::decode(&bytes).unwrap(), pointer());
    assert_eq!(number_of(&manifest_name(0xab)), Some(0xab));
}

/// Keeps away: half a publication that is taken for whole, and bytes of others that break more than the opening.
#[test]
fn what_is_cut_or_changed_is_refused() {
    let (whole, pointer) = (manifest().encode(), pointer().encode());
    for len in 0..whole.len() {
        assert!(Manifest::decode(&whole[..len]).is_err(), "{len} bytes");
    }
    for len in 0..pointer.len() {
        assert!(Pointer::decode(&pointer[..len]).is_err(), "{len} bytes");
    }
    for bit in 0..whole.len() * 8 {
        let mut other = whole.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(Manifest::decode(&other).is_err(), "bit {bit}");
    }
    // Numbers that do not belong together, under a checksum that is right.
    for at in [BUNDLE_BYTES_AT, PAGES_AT, BUNDLES_AT, SEGMENTS_AT, VERSION_AT] {
        // Three bytes of pages are in one bundle, as there is.
        let small = if at == PAGES_AT { 0 } else { 3 };
        for value in [0_u32, small, 1 << 31, u32::MAX] {
            let mut other = whole[..whole.len() - CRC_BYTES].to_vec();
            other[at..at + 4].copy_from_slice(&value.to_le_bytes());
            other.extend(crc32c(&other).to_le_bytes());
            assert!(Manifest::decode(&other).is_err(), "{value} at {at}");
        }
    }
    let bytes = {
        let mut bytes = whole.clone();
        bytes.truncate(bytes.len() - CRC_BYTES);
        bytes[SEGMENTS_AT] = 2;
        bytes.extend_from_slice(&whole[HEAD_BYTES + HASH_BYTES..whole.len() - CRC_BYTES]);
        bytes.extend(crc32c(&bytes).to_le_bytes());
        bytes
    };
    assert!(Manifest::decode(&bytes).unwrap_err().contains("in the order of their ids"));
}
