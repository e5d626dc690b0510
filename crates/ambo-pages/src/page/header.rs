//! The header that every page begins with.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 4 | CRC32C of everything after it, over all units of the page |
//! | 4 | 1 | kind: 1 leaf, 2 inner, 3 blob, 4 free list ([`PageKind`]) |
//! | 5 | 1 | version of the kind's layout: 1, or 2 for inner pages that have filters of leaves |
//! | 6 | 2 | flags, meaning up to the kind |
//! | 8 | 8 | the page's own number: a write that went astray is noticed |
//! | 16 | … | payload |
//!
//! A leaf with number 7 and flags 0 begins, after its checksum `cc cc cc cc`, with
//! `01 01 00 00 07 00 00 00 00 00 00 00`.

use ambo_types::id::PageNo;

/// The bytes of the header; the payload starts here.
pub const HEADER_BYTES: usize = 16;
/// The layout version written by this code.
pub const PAGE_VERSION: u8 = 1;
/// The layout version of inner pages that have filters of leaves.
pub const PAGE_VERSION_FILTERS: u8 = 2;

const CRC_AT: usize = 0;
const KIND_AT: usize = 4;
const VERSION_AT: usize = 5;
const FLAGS_AT: usize = 6;
const NUMBER_AT: usize = 8;
const _: () = assert!(KIND_AT == CRC_AT + size_of::<u32>());
const _: () = assert!(VERSION_AT == KIND_AT + size_of::<PageKind>());
const _: () = assert!(FLAGS_AT == VERSION_AT + size_of::<u8>());
const _: () = assert!(NUMBER_AT == FLAGS_AT + size_of::<u16>());
const _: () = assert!(HEADER_BYTES == NUMBER_AT + size_of::<PageNo>());

/// What a page holds. The numbers are on disk; zero is reserved, so that a zeroed page is of no kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PageKind {
    /// Keys and records of a B+tree.
    Leaf = 1,
    /// Separators and children of a B+tree.
    Inner = 2,
    /// A part of a value that is stored out of line.
    Blob = 3,
    /// A part of the list of free pages.
    FreeList = 4,
}

impl PageKind {
    /// The kind with this number on disk, if there is one.
    pub fn from_u8(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Leaf),
            2 => Some(Self::Inner),
            3 => Some(Self::Blob),
            4 => Some(Self::FreeList),
            _ => None,
        }
    }
}

/// Writes kind, version and flags; checksum and number are filled in when the page is written.
pub fn set_header(page: &mut [u8], kind: PageKind, flags: u16) {
    page[KIND_AT] = kind as u8;
    page[VERSION_AT] = PAGE_VERSION;
    page[FLAGS_AT..NUMBER_AT].copy_from_slice(&flags.to_le_bytes());
}

/// Says that an inner page has filters of leaves, which older programs do not know.
pub fn set_filters(page: &mut [u8]) {
    debug_assert_eq!(kind(page), Some(PageKind::Inner), "inner pages have filters");
    page[VERSION_AT] = PAGE_VERSION_FILTERS;
}

/// The kind of a verified page; `None` for a number that no kind has.
pub fn kind(page: &[u8]) -> Option<PageKind> {
    PageKind::from_u8(page[KIND_AT])
}

/// The flags of a page.
pub fn flags(page: &[u8]) -> u16 {
    u16::from_le_bytes([page[FLAGS_AT], page[FLAGS_AT + 1]])
}

/// Fills in the page's number and checksum, as the last step before it is written.
pub(super) fn seal(page: &mut [u8], number: PageNo) {
    page[NUMBER_AT..HEADER_BYTES].copy_from_slice(&number.0.to_le_bytes());
    let crc = checksum(page);
    page[CRC_AT..KIND_AT].copy_from_slice(&crc.to_le_bytes());
}

/// Checks what was read for page `number`; the error says what is wrong with it.
pub(super) fn verify(page: &[u8], number: PageNo) -> Result<(), String> {
    let stored = u32::from_le_bytes(page[CRC_AT..KIND_AT].try_into().expect("four bytes"));
    let computed = checksum(page);
    if stored != computed {
        return Err(format!("page {number}: checksum {stored:08x} stored, {computed:08x} computed"));
    }
    let own = u64::from_le_bytes(page[NUMBER_AT..HEADER_BYTES].try_into().expect("eight bytes"));
    if own != number.0 {
        return Err(format!("page {number} says that it is page {own}"));
    }
    if kind(page).is_none() {
        return Err(format!("page {number} is of unknown kind {}", page[KIND_AT]));
    }
    let newest = if kind(page) == Some(PageKind::Inner) { PAGE_VERSION_FILTERS } else { PAGE_VERSION };
    if !(PAGE_VERSION..=newest).contains(&page[VERSION_AT]) {
        return Err(format!(
            "page {number} has layout version {}, this program knows {newest}",
            page[VERSION_AT]
        ));
    }
    Ok(())
}

fn checksum(page: &[u8]) -> u32 {
    crate::checksum::crc32c(&page[KIND_AT..])
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: a change of the header's layout that nobody noticed.
    #[test]
    fn the_worked_example_holds() {
        let mut page = vec![0; 4096];
        set_header(&mut page, PageKind::Leaf, 0);
        seal(&mut page, PageNo(7));
        assert_eq!(page[4..16], [1, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(kind(&page), Some(PageKind::Leaf));
        verify(&page, PageNo(7)).unwrap();
    }

    // Keeps away: damage in some region of a page that passes for sound.
    #[test]
    fn every_damaged_byte_is_noticed() {
        let mut page: Vec<u8> = (0..4096).map(|i| (i * 7) as u8).collect();
        set_header(&mut page, PageKind::Inner, 0xabcd);
        seal(&mut page, PageNo(9));
        for at in 0..page.len() {
            page[at] ^= 0x10;
            assert!(verify(&page, PageNo(9)).is_err(), "byte {at}");
            page[at] ^= 0x10;
        }
        assert!(verify(&page, PageNo(10)).unwrap_err().contains("says that it is page 9"));
    }

    // Keeps away: a page of a later layout, or of no kind, that is read as if it were known.
    #[test]
    fn unknown_kinds_and_versions_are_refused() {
        for (at, value, what) in [(KIND_AT, 5, "unknown kind 5"), (VERSION_AT, 2, "layout version 2")] {
            let mut page = vec![0; 4096];
            set_header(&mut page, PageKind::Leaf, 0);
            page[at] = value;
            seal(&mut page, PageNo(1));
            assert!(verify(&page, PageNo(1)).unwrap_err().contains(what));
        }
        for (version, is_known) in [(0, false), (1, true), (2, true), (3, false)] {
            let mut page = vec![0; 4096];
            set_header(&mut page, PageKind::Inner, 0);
            page[VERSION_AT] = version;
            seal(&mut page, PageNo(1));
            assert_eq!(verify(&page, PageNo(1)).is_ok(), is_known, "inner pages of version {version}");
        }
    }
}
