//! Records of network flows, as the text that the suite is after has them: a month of 151,137,635 records of 64 bytes, 656,047 different
//! addresses, 39 protocols.
//!
//! Addresses are drawn by their rank: rank = addresses × u^4 for u in [0, 1) has, as Zipf's law, a tenth of the addresses in more than half
//! of the records. Protocols likewise, most of them TCP and UDP. The same seed makes the same records.

use ambo::{Type, predicate::Layout};

/// The columns, each with its type.
pub const COLUMNS: [(&str, Type); 14] = [
    ("first", Type::I64),
    ("last", Type::I64),
    ("bytes", Type::U64),
    ("packets", Type::U64),
    ("src", Type::U32),
    ("dst", Type::U32),
    ("next_hop", Type::U32),
    ("src_as", Type::U32),
    ("dst_as", Type::U32),
    ("src_port", Type::U16),
    ("dst_port", Type::U16),
    ("proto", Type::U8),
    ("flags", Type::U8),
    ("tos", Type::U8),
];

/// The place of a column.
pub fn column(name: &str) -> usize {
    COLUMNS.iter().position(|(column, _)| *column == name).expect("one of the columns")
}

const ADDRESSES: f64 = 656_047.0;
const PROTOCOLS: f64 = 39.0;

/// The layout of the records: 59 bytes, in 64.
pub fn layout() -> Layout {
    let columns: Vec<_> = COLUMNS.iter().map(|(_, ty)| (*ty, false)).collect();
    Layout::of(&columns, true).expect("all columns have a fixed width")
}

/// A generator of random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A rank below `of`, the low ones far more often.
    fn rank(&mut self, of: f64) -> u32 {
        let u = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (of * u.powi(4)) as u32
    }
}

/// The address of a rank: ranks are spread over all addresses.
pub fn address(rank: u32) -> u32 {
    rank.wrapping_mul(0x9E37_79B1)
}

/// So many records, one behind the other.
pub fn records(rows: usize) -> Vec<u8> {
    let layout = layout();
    let mut random = Random(7);
    let mut records = vec![0; rows * layout.size()];
    let offset = |name: &str| usize::from(layout.fields()[column(name)].offset);
    let offsets = COLUMNS.map(|(name, _)| offset(name));
    let mut now = 1_500_000_000_000_000i64;
    for record in records.chunks_exact_mut(layout.size()) {
        now += (random.next() % 35_000) as i64;
        let packets = 1 + random.next() % 50;
        let words = random.next();
        let numbers = [
            now as u64,
            (now + (words % 1_000_000) as i64) as u64,
            packets * (40 + words % 1460),
            packets,
            address(random.rank(ADDRESSES)).into(),
            address(random.rank(ADDRESSES)).into(),
            words >> 60,
            words >> 20 & 0xFFFF,
            words >> 30 & 0xFFFF,
            random.next() % 65_536,
            [80, 443, 53, 22, words >> 48][(words >> 8) as usize % 5],
            random.rank(PROTOCOLS).into(),
            words >> 16 & 0x1F,
            words >> 24 & 0x3,
        ];
        for (place, (number, (_, ty))) in offsets.iter().zip(numbers.iter().zip(COLUMNS)) {
            let width = match ty {
                Type::U8 => 1,
                Type::U16 => 2,
                Type::U32 => 4,
                _ => 8,
            };
            record[*place..place + width].copy_from_slice(&number.to_le_bytes()[..width]);
        }
    }
    records
}
