//! Tables made at compile time: where the bytes of integers are.

use crate::integer::lengths::LengthCode;

/// What a control byte says, by its value.
pub(super) struct Controls {
    /// Which of the 16 bytes of the integers are stored.
    pub stored: [u16; 256],
    /// For each of the 16 bytes which of the stored ones it is, or `80`.
    pub shuffle: [[u8; 16]; 256],
}

impl Controls {
    /// That of `code`.
    pub(super) fn of(code: LengthCode) -> &'static Self {
        static ONE_TO_FOUR: Controls = Controls::new(LengthCode::OneToFour, 4);
        static ZERO_TO_FOUR: Controls = Controls::new(LengthCode::ZeroToFour, 4);
        static ZERO_TO_EIGHT: Controls = Controls::new(LengthCode::ZeroToEight, 2);
        match code {
            LengthCode::OneToFour => &ONE_TO_FOUR,
            LengthCode::ZeroToFour => &ZERO_TO_FOUR,
            LengthCode::ZeroToEight => &ZERO_TO_EIGHT,
        }
    }

    const fn new(code: LengthCode, per_control: usize) -> Self {
        let mut tables = Self { stored: [0; 256], shuffle: [[0x80; 16]; 256] };
        let (bits, bytes) = (8 / per_control, 16 / per_control);
        let mut control = 0;
        while control < 256 {
            let (mut index, mut source) = (0, 0);
            while index < per_control {
                let length = code.bytes((control >> (index * bits)) as u8 & ((1 << bits) - 1));
                let mut byte = 0;
                while byte < length {
                    tables.stored[control] |= 1 << (index * bytes + byte);
                    tables.shuffle[control][index * bytes + byte] = source;
                    source += 1;
                    byte += 1;
                }
                index += 1;
            }
            control += 1;
        }
        tables
    }
}

/// For `LANES` integers of a width in a row: the bytes that each lane needs, and how far it is shifted then. They are integer
/// `FROM` of all and each `STEP`-th behind it; the bytes begin with the one that it begins in.
#[repr(align(64))]
pub(super) struct Spread<const LANES: usize, const WIDTHS: usize> {
    /// `64 / LANES` bytes a lane, by width.
    pub bytes: [[u8; 64]; WIDTHS],
    /// By width.
    pub shift: [[u8; LANES]; WIDTHS],
}

impl<const LANES: usize, const WIDTHS: usize> Spread<LANES, WIDTHS> {
    pub(super) const fn new<const FROM: usize, const STEP: usize>() -> Self {
        let mut spread = Self { bytes: [[0; 64]; WIDTHS], shift: [[0; LANES]; WIDTHS] };
        let mut width = 0;
        while width < WIDTHS {
            let mut at = 0;
            while at < 64 {
                let lane = at / (64 / LANES);
                let bit = FROM * width % 8 + lane * STEP * width;
                spread.bytes[width][at] = (bit / 8 + at % (64 / LANES)) as u8;
                spread.shift[width][lane] = (bit % 8) as u8;
                at += 1;
            }
            width += 1;
        }
        spread
    }
}
