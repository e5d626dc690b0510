//! The fuzz targets, for a moment, on bytes from a fixed seed: they need no nightly compiler here.

use std::{collections::BTreeSet, fs, path::Path};

use ambo_server::fuzz::TARGETS;

/// Bytes that look like what clients send more often than noise does. The generator is SplitMix64.
struct Noise(u64);

/// What decoders look for.
const PARTS: [&[u8]; 16] = [
    b"\0\0\0\x04",
    b"\xff\xff\xff\xff",
    b"\x80\x01\0\x01",
    b"n,,n=,r=",
    b",p=",
    b"SCRAM-SHA-256\0",
    b"PGCOPY\n\xff\r\n\0",
    b"\\N",
    b"\"",
    b"\n",
    b"\\.\n",
    b"prefix=%ff&",
    b"from=",
    b"\x0c\0\x01",
    b"\x0f\x0b\0\0\0\x02",
    b"select $1\0",
];

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![b"QPBDECSHdcfpFX\x01\x02"[(self.next() % 16) as usize]];
        for _ in 0..self.next() % 12 {
            match self.next() % 3 {
                0 => bytes.extend_from_slice(PARTS[(self.next() % 16) as usize]),
                1 => bytes.push((self.next() & 0x0f) as u8),
                _ => bytes.extend_from_slice(&self.next().to_le_bytes()[..1 + (self.next() % 7) as usize]),
            }
        }
        bytes
    }
}

#[test]
fn what_clients_may_send_breaks_no_decoder() {
    for (name, target) in TARGETS {
        let mut noise = Noise(name.len() as u64);
        for _ in 0..20_000 {
            target(&noise.bytes());
        }
    }
}

// Keeps away a target that the tests, or the fuzzer, do not know.
#[test]
fn all_targets_are_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let stems = fs::read_dir(folder).expect("the folder of targets").map(|entry| {
        let path = entry.expect("an entry").path();
        path.file_stem().expect("a name").to_string_lossy().into_owned()
    });
    let known: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(stems.collect::<BTreeSet<_>>(), known);
}
