//! Reading the bytes in a blob's pages, at any position, straight from the file: a long value does not push out what others
//! need.

use std::sync::Arc;

use ambo_types::{Error, Result, id::PageNo};

use super::{BlobRef, check_kind, payload_bytes};
use crate::page::{HEADER_BYTES, PageRange, PageStore};

/// Bytes that are read ahead.
const BUFFER_BYTES: usize = 256 << 10;

/// Reads what one blob stores.
pub(super) struct PagesReader {
    store: Arc<PageStore>,
    blob: BlobRef,
    /// For each extent, how many pages of the blob come before it.
    before: Vec<u64>,
    /// Verified pages `buffered` of the blob, headers included.
    buffer: Vec<u8>,
    buffered: std::ops::Range<u64>,
}

impl PagesReader {
    /// A reader of the blob's pages.
    pub(super) fn new(store: &Arc<PageStore>, blob: BlobRef) -> Result<Self> {
        blob.check(store)?;
        let mut pages = 0;
        let before = blob.extents.iter().map(|extent| {
            pages += extent.pages;
            pages - extent.pages
        });
        let before: Vec<u64> = before.collect();
        let store = Arc::clone(store);
        debug_assert!(before.is_sorted_by(|one: &u64, next| one < next), "each extent has pages");
        Ok(Self { store, blob, before, buffer: Vec::new(), buffered: 0..0 })
    }

    /// Reads from `offset` into `out`, as much as there is: less than asked for only at the end.
    pub(super) fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let left = self.blob.stored.saturating_sub(offset);
        let len = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let payload = payload_bytes(&self.store);
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let (page, within) = (at / payload as u64, (at % payload as u64) as usize);
            if !self.buffered.contains(&page) {
                self.fill(page, (within + len - done).div_ceil(payload) as u64)?;
            }
            let start =
                (page - self.buffered.start) as usize * self.store.page_size() + HEADER_BYTES + within;
            let now = (len - done).min(payload - within);
            out[done..done + now].copy_from_slice(&self.buffer[start..start + now]);
            done += now;
        }
        Ok(len)
    }

    /// Buffers page `page` of the blob and some after it: a whole buffer if the reader goes on where it was, or else
    /// the `wanted` ones.
    fn fill(&mut self, page: u64, wanted: u64) -> Result<()> {
        let most = (BUFFER_BYTES / self.store.page_size()) as u64;
        let ahead = if page == self.buffered.end { most } else { wanted.min(most) };
        let (number, left) = self.locate(page);
        match self.load(page, number, ahead.min(left)) {
            // The damage may be in what is only read ahead.
            Err(Error::Damaged { .. }) if ahead.min(left) > 1 => self.load(page, number, 1),
            result => result,
        }
    }

    /// Buffers `pages` pages from page `page` of the blob, which is page `number` of the file.
    fn load(&mut self, page: u64, number: PageNo, pages: u64) -> Result<()> {
        debug_assert!(pages > 0, "a page is read");
        let page_size = self.store.page_size();
        // Until all is verified the buffer holds nothing.
        self.buffered = 0..0;
        self.buffer.resize(pages as usize * page_size, 0);
        self.store.read_direct(number, &mut self.buffer)?;
        for (number, page) in (number.0..).zip(self.buffer.chunks(page_size)) {
            check_kind(page, number, page_size)?;
        }
        self.buffered = page..page + pages;
        Ok(())
    }

    /// Where page `page` of the blob is, and how many pages its extent has from there.
    fn locate(&self, page: u64) -> (PageNo, u64) {
        let extent = self.before.partition_point(|before| *before <= page) - 1;
        let within = page - self.before[extent];
        let PageRange { start, pages } = self.blob.extents[extent];
        debug_assert!(within < pages, "a page of the blob");
        (PageNo(start.0 + within), pages - within)
    }
}
