//! The sixteen codes of a field.
//!
//! | code | payload, bytes | integers, date | time | timestamp | double | real | decimal | text, binary | bool |
//! |---|---|---|---|---|---|---|---|---|---|
//! | 0 reserved | | the half byte behind an odd last field, nothing else | | | | | | | |
//! | 1 NULL | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL |
//! | 2 ZERO | 0 | 0 | 0 | 0 | +0.0 | +0.0 | 0 | empty | false |
//! | 3 ONE | 0 | 1 | 1 | 1 | 1.0 | 1.0 | 1 | one blank | true |
//! | 4 DEFAULT | 0 | the column's default | ″ | ″ | ″ | ″ | ″ | ″ | ″ |
//! | 5 W1 | 1 | integer | ns | µs | integer | integer | integer | 1 byte | |
//! | 6 W2 | 2 | integer | ns | µs | integer | integer | integer | 2 bytes | |
//! | 7 W2B | 2 | | | days | hundredths | hundredths | | repeated byte | |
//! | 8 W3 | 3 | integer | whole s | µs | hundredths | hundredths | integer | 3 bytes | |
//! | 9 W4 | 4 | integer | ns | µs | bits of a single | bits | integer | 4 bytes | |
//! | 10 W4B | 4 | | | whole s | hundredths | | | | |
//! | 11 W6 | 6 | integer | ns | whole ms | integer | | integer | 6 bytes | |
//! | 12 W8 | 8 | integer | ns | µs | bits | | integer | 8 bytes | |
//! | 13 W16 | 16 | | | | | | 128 bits | 16 bytes | |
//! | 14 SHORT | 1 + n | | | | digits | | | n in one byte, n bytes | |
//! | 15 LONG | any | | | | | | | n in LEB128, n bytes | |
//!
//! Integers are unsigned in unsigned columns and in "whole s" of a time, zigzag everywhere else. The 128 bits
//! of a decimal are two's complement. Hundredths are the float times 100, stored only if dividing by 100
//! gives the float back to the bit. Digits are a length of 1 to 6 and so many bytes: the zigzag of all decimal
//! digits of the float, times 8, plus how many of them are behind the point less 2. So 52.37021 is 5,237,021 with
//! 3: `04 D3 91 FE 04`. A repeated byte is the byte (below `80`) and its count (1 to 255).
//! An empty cell is malformed.
//!
//! Why these: NULL, zero, false, empty and the default are the commonest values of wide tables, then true
//! and 1; measures in doubles are mostly counts or amounts with two digits behind the point, then positions and
//! readings with up to nine; timestamps are mostly days, whole seconds or milliseconds, which take 2, 4 or 6
//! bytes instead of 8; codes, flags and hashes are texts of 1 to 16 bytes of one length, which need no length
//! byte; a column of fixed-width text that nobody filled is all blanks.

pub(super) const PADDING: u8 = 0;
pub(super) const NULL: u8 = 1;
pub(super) const ZERO: u8 = 2;
pub(super) const ONE: u8 = 3;
pub(super) const DEFAULT: u8 = 4;
pub(super) const W1: u8 = 5;
pub(super) const W2: u8 = 6;
pub(super) const W2B: u8 = 7;
pub(super) const W3: u8 = 8;
pub(super) const W4: u8 = 9;
pub(super) const W4B: u8 = 10;
pub(super) const W6: u8 = 11;
pub(super) const W8: u8 = 12;
pub(super) const W16: u8 = 13;
pub(super) const SHORT: u8 = 14;
pub(super) const LONG: u8 = 15;

/// Stands for a payload whose length is not known from its code.
pub(super) const ODD: u8 = 0xff;

/// The payload's length in bytes by code, or [`ODD`].
pub(super) const WIDTH: [u8; 16] = [ODD, 0, 0, 0, 0, 1, 2, 2, 3, 4, 4, 6, 8, 16, ODD, ODD];

/// The length in bytes of the payloads of two codes in one byte, or [`ODD`].
pub(super) const PAIR_WIDTH: [u8; 256] = {
    let mut widths = [ODD; 256];
    let mut pair = 0;
    while pair < 256 {
        let (first, second) = (WIDTH[pair & 15], WIDTH[pair >> 4]);
        if first != ODD && second != ODD {
            widths[pair] = first + second;
        }
        pair += 1;
    }
    widths
};

/// By the number of bytes that an integer needs, 0 to 8, the code that has room for it.
pub(super) const CODE_FOR_BYTES: [u8; 9] = [ZERO, W1, W2, W3, W4, W6, W6, W8, W8];

/// The largest number of bytes of a payload whose length its code says.
pub(super) const WIDTH_MAX: usize = 16;

const _: () = assert!(WIDTH[W16 as usize] as usize == WIDTH_MAX && PADDING == 0 && LONG == 15);
