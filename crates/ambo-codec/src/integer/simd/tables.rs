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

/// For `LANES` integers of a width in a row: the bytes that each lane needs, and how far it is shifted then.
#[repr(align(64))]
pub(super) struct Spread<const LANES: usize, const WIDTHS: usize> {
    /// `64 / LANES` bytes a lane, by width.
    pub bytes: [[u8; 64]; WIDTHS],
    /// By width.
    pub shift: [[u8; LANES]; WIDTHS],
}

impl<const LANES: usize, const WIDTHS: usize> Spread<LANES, WIDTHS> {
    pub(super) const fn new() -> Self {
        let mut spread = Self { bytes: [[0; 64]; WIDTHS], shift: [[0; LANES]; WIDTHS] };
        let mut width = 0;
        while width < WIDTHS {
            let mut at = 0;
            while at < 64 {
                let lane = at / (64 / LANES);
                let bit = lane * width;
                spread.bytes[width][at] = (bit / 8 + at % (64 / LANES)) as u8;
                spread.shift[width][lane] = (bit % 8) as u8;
                at += 1;
            }
            width += 1;
        }
        spread
    }
}

/// Sixteen integers of a width up to 25 out of the bytes of a row, all constants of a vector as they are loaded.
#[repr(C, align(64))]
pub(super) struct Sixteen {
    /// The four bytes of each lane, from the one that its integer begins in.
    pub bytes: [[u8; 4]; 16],
    /// How far it is shifted then.
    pub shift: [u32; 16],
    /// The bits of it; none in a lane without an integer.
    pub mask: [u32; 16],
}

impl Sixteen {
    const NONE: Self = Self { bytes: [[0; 4]; 16], shift: [0; 16], mask: [0; 16] };

    /// Integers `from`, `from + step`, …; byte 0 is the one that integer `origin` begins in. Integer -1 is none.
    const fn new(width: usize, origin: usize, from: isize, step: usize) -> Self {
        let mut sixteen = Self::NONE;
        let mut lane = 0;
        while lane < 16 {
            let integer = from + (lane * step) as isize;
            if integer >= 0 {
                let bit = integer as usize * width - origin * width / 8 * 8;
                let mut byte = 0;
                while byte < 4 {
                    sixteen.bytes[lane][byte] = (bit / 8 + byte) as u8;
                    byte += 1;
                }
                sixteen.shift[lane] = (bit % 8) as u32;
                sixteen.mask[lane] = (1 << width) - 1;
            }
            lane += 1;
        }
        sixteen
    }
}

/// How a block of gaps in a row becomes values, by its width. Before the first value there is no gap.
pub(super) struct GapPlan {
    /// The gaps of the first 16 values, and those of 16 values behind others.
    pub first: Sixteen,
    pub next: Sixteen,
}

impl GapPlan {
    /// By width.
    pub(super) const ALL: [Self; 26] = {
        let mut all = [const { Self { first: Sixteen::NONE, next: Sixteen::NONE } }; 26];
        let mut width = 0;
        while width < 26 {
            all[width] = Self { first: Sixteen::new(width, 0, -1, 1), next: Sixteen::new(width, 15, 15, 1) };
            width += 1;
        }
        all
    };
}

/// As [`GapPlan`], 32 values at a time.
#[repr(C, align(64))]
pub(super) struct PairPlan {
    /// The gaps of the first even values, of even values behind others, and of odd values.
    pub first: Sixteen,
    pub even: Sixteen,
    pub odd: Sixteen,
    /// The last lane, in each.
    pub last: [u32; 16],
}

impl PairPlan {
    /// By width.
    pub(super) const ALL: [Self; 17] = {
        let mut all = [const {
            Self { first: Sixteen::NONE, even: Sixteen::NONE, odd: Sixteen::NONE, last: [15; 16] }
        }; 17];
        let mut width = 0;
        while width < 17 {
            all[width] = Self {
                first: Sixteen::new(width, 0, -1, 2),
                even: Sixteen::new(width, 31, 31, 2),
                odd: Sixteen::new(width, 0, 0, 2),
                last: [15; 16],
            };
            width += 1;
        }
        all
    };
}
