//! The list of free pages, as a checkpoint keeps it: a chain of pages of kind 4.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 16 | page header, kind 4 |
//! | 16 | 8 | number of the next page of the list, 0 in the last |
//! | 24 | 4 | runs in this page |
//! | 28 | 4 | zero |
//! | 32 | … | the runs, ascending: two LEB128 numbers each |
//! | … | … | zero to the end |
//!
//! A run is its gap, the pages between the end of the run before it (across pages of the list; zero at the beginning) and its
//! start, and its length in pages. Pages 3, 4 and 300 free: `03 02 a7 02 01`.

use ambo_codec::varint;
use ambo_types::{Error, Result, id::PageNo};

use super::{
    HEADER_BYTES, NAME, PageKind,
    extents::{Extents, PageRange},
    header,
};

const NEXT_AT: usize = HEADER_BYTES;
const RUNS_AT: usize = 24;
const ZERO_AT: usize = 28;
const DATA_AT: usize = 32;
const _: () = assert!(RUNS_AT == NEXT_AT + size_of::<PageNo>());
const _: () = assert!(ZERO_AT == RUNS_AT + size_of::<u32>());
const _: () = assert!(DATA_AT == ZERO_AT + size_of::<u32>());

/// Where the list of a checkpoint begins, and what must be found there.
///
/// | offset | size | meaning |
/// |---|---|---|
/// | 0 | 8 | number of the first page of the list |
/// | 8 | 4 | pages of the list |
/// | 12 | 4 | zero |
/// | 16 | 8 | free pages that it names |
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FreeListRoot {
    /// The first page of the list; zero if there is none.
    pub first: PageNo,
    /// How many pages the list takes.
    pub list_pages: u32,
    /// How many free pages it names.
    pub free_pages: u64,
}

impl FreeListRoot {
    /// Bytes of the encoding.
    pub const BYTES: usize = 24;

    /// The encoding.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.list_pages.to_le_bytes());
        bytes[16..].copy_from_slice(&self.free_pages.to_le_bytes());
        debug_assert_eq!(Self::decode(&bytes), *self, "a root is read as it was written");
        bytes
    }

    /// The inverse of [`FreeListRoot::encode`]; any bytes are a root, which the list itself must then confirm.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Self {
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let list_pages = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
        Self { first: PageNo(u64_at(0)), list_pages, free_pages: u64_at(16) }
    }
}

/// The most bytes that a run takes.
const RUN_BYTES_MAX: usize = 2 * varint::LEN_MAX;

/// How many pages the list of a set takes.
pub(super) fn pages_needed(free: &Extents, page_size: usize) -> u64 {
    let (mut pages, mut room, mut end) = (1, page_size - DATA_AT, 0);
    for run in free.iter() {
        if room < RUN_BYTES_MAX {
            (pages, room) = (pages + 1, page_size - DATA_AT);
        }
        room -= varint::len(run.start.0 - end) + varint::len(run.pages);
        end = run.end();
    }
    pages
}

/// Lays a set out on the pages `list`; all pages are filled in but for number and checksum. `None` if they are too few.
pub(super) fn encode(free: &Extents, list: &[PageNo], page_size: usize) -> Option<Vec<Vec<u8>>> {
    if list.len() as u64 != pages_needed(free, page_size).max(list.len() as u64) {
        return None;
    }
    let mut runs = free.iter();
    let mut pages = Vec::with_capacity(list.len());
    let mut end = 0;
    for at in 0..list.len() {
        let mut page = vec![0; page_size];
        header::set_header(&mut page, PageKind::FreeList, 0);
        let next = list.get(at + 1).map_or(0, |next| next.0);
        page[NEXT_AT..RUNS_AT].copy_from_slice(&next.to_le_bytes());
        let (mut count, mut data) = (0u32, Vec::with_capacity(page_size));
        while data.len() + RUN_BYTES_MAX <= page_size - DATA_AT
            && let Some(run) = runs.next()
        {
            varint::encode(run.start.0 - end, &mut data);
            varint::encode(run.pages, &mut data);
            end = run.end();
            count += 1;
        }
        page[RUNS_AT..ZERO_AT].copy_from_slice(&count.to_le_bytes());
        page[DATA_AT..DATA_AT + data.len()].copy_from_slice(&data);
        pages.push(page);
    }
    assert!(runs.next().is_none(), "the list took more pages than it needed");
    Some(pages)
}

/// Whether the pages of a list name a set; for assertions.
pub(super) fn is_read_from(free: &Extents, list: &[PageNo], pages: &[Vec<u8>], page_size: usize) -> bool {
    let root = FreeListRoot { first: list[0], list_pages: list.len() as u32, free_pages: free.pages() };
    let copy = |number: PageNo, out: &mut [u8]| {
        let place =
            list.iter().position(|page| *page == number).expect("a page of the list leads to another");
        out.copy_from_slice(&pages[place]);
        Ok(())
    };
    read(&root, 1, u64::MAX, page_size, copy).is_ok_and(|(read, _)| read.iter().eq(free.iter()))
}
/// Reads a list: the set of free pages and the pages of the list itself. `read` reads and verifies one page.
///
/// Checked: the number of pages, their kind, that runs are ascending, apart, between `reserved` and `end`, their sum, and that
/// the list's own pages are not among them.
pub(super) fn read(
    root: &FreeListRoot,
    reserved: u64,
    end: u64,
    page_size: usize,
    mut read: impl FnMut(PageNo, &mut [u8]) -> Result<()>,
) -> Result<(Extents, Vec<PageRange>)> {
    let (mut free, mut list) = (Extents::new(), Vec::new());
    let mut page = vec![0; page_size];
    let (mut next, mut run_end) = (root.first, 0);
    while next.0 != 0 {
        let damaged = |what: String| Error::damaged(NAME, next.0.saturating_mul(page_size as u64), what);
        if list.len() as u64 >= u64::from(root.list_pages) || !(reserved..end).contains(&next.0) {
            return Err(damaged(format!(
                "free list: page {next} is one more than {} pages, or outside the file",
                root.list_pages
            )));
        }
        read(next, &mut page)?;
        if header::kind(&page) != Some(PageKind::FreeList) {
            return Err(damaged(format!(
                "page {next} should be of the free list and is of kind {}",
                page[4]
            )));
        }
        let runs =
            decode(&page, run_end, reserved, end).map_err(|what| damaged(format!("free list: {what}")))?;
        for run in runs {
            run_end = run.end();
            free.insert(run);
        }
        list.push(PageRange::new(next, 1));
        next = PageNo(u64::from_le_bytes(page[NEXT_AT..RUNS_AT].try_into().expect("eight bytes")));
    }
    let damaged = |what| Err(Error::damaged(NAME, root.first.0.saturating_mul(page_size as u64), what));
    if list.len() as u64 != u64::from(root.list_pages) || free.pages() != root.free_pages {
        return damaged(format!(
            "free list: {} pages name {} free pages, expected {root:?}",
            list.len(),
            free.pages()
        ));
    }
    if let Some(own) = list.iter().find(|own| free.contains(**own)) {
        return damaged(format!("free list: its own page {} is in it", own.start));
    }
    Ok((free, list))
}

/// The runs of one page of the list, after a run that ended at `run_end`.
fn decode(page: &[u8], mut run_end: u64, reserved: u64, end: u64) -> Result<Vec<PageRange>, String> {
    let count = u32::from_le_bytes(page[RUNS_AT..ZERO_AT].try_into().expect("four bytes"));
    let mut data = &page[DATA_AT..];
    let mut runs = Vec::new();
    for _ in 0..count {
        let (Some(gap), Some(pages)) = (varint::take(&mut data), varint::take(&mut data)) else {
            return Err(format!("{count} runs do not fit into a page"));
        };
        let start = run_end.checked_add(gap).filter(|start| *start >= reserved && gap > 0);
        let after =
            start.and_then(|start| start.checked_add(pages)).filter(|after| *after <= end && pages > 0);
        let (Some(start), Some(after)) = (start, after) else {
            return Err(format!(
                "a run of {pages} pages, {gap} after {run_end}, is not between {reserved} and {end}"
            ));
        };
        runs.push(PageRange::new(PageNo(start), pages));
        run_end = after;
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(runs: &[(u64, u64)]) -> Extents {
        runs.iter().map(|&(start, pages)| PageRange::new(PageNo(start), pages)).collect()
    }

    // Keeps away: a change of the format that nobody noticed.
    #[test]
    fn the_worked_example_holds() {
        let pages = encode(&set(&[(3, 2), (300, 1)]), &[PageNo(9)], 4096).unwrap();
        assert_eq!(pages[0][24..37], [2, 0, 0, 0, 0, 0, 0, 0, 0x03, 0x02, 0xa7, 0x02, 0x01]);
        let root = FreeListRoot { first: PageNo(9), list_pages: 1, free_pages: 3 };
        assert_eq!(root.encode(), [9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(FreeListRoot::decode(&root.encode()), root);
    }

    // Keeps away: a list that names a page twice, a superblock, a page beyond the file, or itself, and is believed.
    #[test]
    fn impossible_lists_are_refused() {
        let cases: [(&[u8], u32, &str); 6] = [
            (&[0x01, 0x01], 1, "is not between"),
            (&[0x03, 0x00], 1, "is not between"),
            (&[0x03, 0x02, 0x00, 0x01], 2, "is not between"),
            (&[0x03, 0x7f], 1, "is not between"),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x01], 1, "is not between"),
            (&[0x03, 0x02], 1, "expected"),
        ];
        for (data, count, what) in cases {
            let mut page = encode(&Extents::new(), &[PageNo(9)], 4096).unwrap().remove(0);
            page[RUNS_AT..ZERO_AT].copy_from_slice(&u32::to_le_bytes(count));
            page[DATA_AT..DATA_AT + data.len()].copy_from_slice(data);
            let root = FreeListRoot { first: PageNo(9), list_pages: 1, free_pages: 99 };
            let error = read(&root, 2, 100, 4096, |_, into| {
                into.copy_from_slice(&page);
                Ok(())
            });
            let error = error.unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("pages at byte 36864"), "{error}");
        }
    }

    // Keeps away: a chain of pages that runs in a circle for ever.
    #[test]
    fn a_circle_ends() {
        let page = encode(&Extents::new(), &[PageNo(9), PageNo(9)], 4096).unwrap().remove(0);
        let root = FreeListRoot { first: PageNo(9), list_pages: 5, free_pages: 0 };
        let result = read(&root, 2, 100, 4096, |_, into| {
            into.copy_from_slice(&page);
            Ok(())
        });
        assert!(result.unwrap_err().to_string().contains("one more than 5"));
    }
}
