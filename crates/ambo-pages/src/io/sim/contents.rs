//! The bytes of one simulated file: those a reader sees, and what of them a crash may undo.
//!
//! The newest contents are kept in blocks, absent where all is zero. For each sector that was changed since the
//! last sync the older contents are kept beside, so that a sync costs the changes and not the file.

use std::collections::BTreeMap;

/// What the device writes as a whole.
pub(super) const SECTOR: u64 = 512;
/// The unit in which space is allocated.
pub(super) const BLOCK: u64 = 4096;
/// How many older contents of a sector are remembered; the durable one is always among them.
const HISTORY_MAX: usize = 4;

type Sector = [u8; SECTOR as usize];

/// What a sector held before, the durable content first.
#[derive(Debug)]
struct History {
    older: Vec<Sector>,
    /// A sync of it failed: only a write and another sync make it durable.
    stuck: bool,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Contents {
    blocks: BTreeMap<u64, Box<[u8; BLOCK as usize]>>,
    allocated: RangeSet,
    dirty: BTreeMap<u64, History>,
    len: u64,
    /// The least and the greatest length since the last sync.
    lengths: (u64, u64),
}

impl Contents {
    pub fn len(&self) -> u64 {
        self.len
    }

    /// How many blocks are allocated.
    pub fn blocks(&self) -> u64 {
        self.allocated.count
    }

    /// How many blocks a write to `[offset, offset + len)` would add.
    pub fn blocks_needed(&self, offset: u64, len: u64) -> u64 {
        let (start, end) = block_range(offset, len);
        (end - start) - self.allocated.overlap(start, end)
    }

    /// How many bytes of a write to `[offset, offset + len)` can be stored with `free` new blocks.
    pub fn writable_bytes(&self, offset: u64, len: u64, free: u64) -> u64 {
        let (start, end) = block_range(offset, len);
        let mut left = free;
        for block in start..end {
            if self.allocated.overlap(block, block + 1) == 0 {
                if left == 0 {
                    return (block * BLOCK).saturating_sub(offset).min(len);
                }
                left -= 1;
            }
        }
        len
    }

    /// Fills `buffer`; what is behind the end is zero.
    pub fn read(&self, mut buffer: &mut [u8], mut offset: u64) {
        while !buffer.is_empty() {
            let at = (offset % BLOCK) as usize;
            let take = buffer.len().min(BLOCK as usize - at);
            let (now, rest) = buffer.split_at_mut(take);
            match self.blocks.get(&(offset / BLOCK)) {
                Some(block) => now.copy_from_slice(&block[at..at + take]),
                None => now.fill(0),
            }
            buffer = rest;
            offset += take as u64;
        }
    }

    pub fn write(&mut self, mut bytes: &[u8], mut offset: u64) {
        if bytes.is_empty() {
            return;
        }
        let (start, end) = block_range(offset, bytes.len() as u64);
        self.allocated.insert(start, end);
        self.note_len(self.len.max(offset + bytes.len() as u64));
        while !bytes.is_empty() {
            let at = (offset % SECTOR) as usize;
            let take = bytes.len().min(SECTOR as usize - at);
            self.write_sector(offset / SECTOR, at, &bytes[..take]);
            bytes = &bytes[take..];
            offset += take as u64;
        }
    }

    fn write_sector(&mut self, sector: u64, at: usize, bytes: &[u8]) {
        let block =
            self.blocks.entry(sector * SECTOR / BLOCK).or_insert_with(|| Box::new([0; BLOCK as usize]));
        let start = (sector * SECTOR % BLOCK) as usize;
        let current = &mut block[start..start + SECTOR as usize];
        if current[at..at + bytes.len()] == *bytes {
            // Nothing changes, but writing again is what frees a sector from a failed sync.
            if let Some(history) = self.dirty.get_mut(&sector) {
                history.stuck = false;
            }
            return;
        }
        let history = self.dirty.entry(sector).or_insert_with(|| History { older: Vec::new(), stuck: false });
        if history.older.len() == HISTORY_MAX {
            history.older.remove(1);
        }
        history.older.push(current.try_into().expect("a sector"));
        history.stuck = false;
        current[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn note_len(&mut self, len: u64) {
        self.len = len;
        self.lengths = (self.lengths.0.min(len), self.lengths.1.max(len));
    }

    /// Writes zeros where something else is; allocates nothing.
    fn zero(&mut self, offset: u64, end: u64) {
        let stored: Vec<u64> =
            self.blocks.range(offset / BLOCK..end.div_ceil(BLOCK)).map(|(b, _)| *b).collect();
        for block in stored {
            let mut at = (block * BLOCK).max(offset);
            let stop = ((block + 1) * BLOCK).min(end);
            while at < stop {
                let take = (SECTOR - at % SECTOR).min(stop - at);
                self.write_sector(
                    at / SECTOR,
                    (at % SECTOR) as usize,
                    &[0; SECTOR as usize][..take as usize],
                );
                at += take;
            }
            if block * BLOCK >= offset && (block + 1) * BLOCK <= end {
                self.blocks.remove(&block);
            }
        }
    }

    pub fn set_len(&mut self, len: u64) {
        if len < self.len {
            self.zero(len, self.len);
            self.allocated.remove(len.div_ceil(BLOCK), u64::MAX / BLOCK);
        }
        self.note_len(len);
    }

    pub fn allocate(&mut self, offset: u64, len: u64) {
        let (start, end) = block_range(offset, len);
        self.allocated.insert(start, end);
        self.note_len(self.len.max(offset + len));
    }

    pub fn punch(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len).min(self.len);
        if offset >= end {
            return;
        }
        self.zero(offset, end);
        // Whole blocks only, but the last block of the file may be partly behind the end.
        let last = if end == self.len { end.div_ceil(BLOCK) } else { end / BLOCK };
        if offset.div_ceil(BLOCK) < last {
            self.allocated.remove(offset.div_ceil(BLOCK), last);
        }
    }

    /// Makes everything durable but what an earlier failed sync has lost.
    pub fn sync(&mut self) {
        self.dirty.retain(|_, history| history.stuck);
        self.lengths = (self.len, self.len);
    }

    /// A sync that fails: each sector is durable or lost.
    pub fn sync_failed(&mut self, mut random: impl FnMut() -> u64) {
        self.dirty.retain(|_, history| {
            history.stuck |= random().is_multiple_of(2);
            history.stuck
        });
    }

    /// Changes bytes as if they had been durable so for ever.
    pub fn corrupt(&mut self, bytes: &[u8], offset: u64) {
        self.sync();
        self.dirty.clear();
        self.write(bytes, offset);
        self.sync();
    }

    /// What is left of the file after the power was cut.
    pub fn crash(mut self, mut random: impl FnMut() -> u64) -> Self {
        for (sector, history) in std::mem::take(&mut self.dirty) {
            let older = match history.stuck {
                true => 0,
                false => (random() % (history.older.len() as u64 + 1)) as usize,
            };
            if let Some(bytes) = history.older.get(older) {
                self.write_sector(sector, 0, bytes);
            }
        }
        let (least, greatest) = self.lengths;
        let len = match random() % 4 {
            0 => least,
            1 => least + random() % (greatest - least + 1),
            _ => self.len,
        };
        self.set_len(self.len.max(greatest));
        self.set_len(len);
        self.dirty.clear();
        self.sync();
        // The device has no holes that its file system did not know of: allocated is what holds bytes.
        let stored: Vec<u64> = self.blocks.keys().copied().collect();
        for block in stored {
            self.allocated.insert(block, block + 1);
        }
        self
    }
}

/// The blocks that `[offset, offset + len)` touches.
fn block_range(offset: u64, len: u64) -> (u64, u64) {
    if len == 0 { (0, 0) } else { (offset / BLOCK, (offset + len).div_ceil(BLOCK)) }
}

/// A set of numbers, kept as disjoint ranges that do not touch: start to end.
#[derive(Debug, Default)]
struct RangeSet {
    ranges: BTreeMap<u64, u64>,
    count: u64,
}

impl RangeSet {
    /// How many numbers of `[start, end)` are in the set.
    fn overlap(&self, start: u64, end: u64) -> u64 {
        let before =
            self.ranges.range(..start).next_back().map_or(0, |(_, e)| (*e).min(end).saturating_sub(start));
        before + self.ranges.range(start..end.max(start)).map(|(s, e)| (*e).min(end) - s).sum::<u64>()
    }

    fn insert(&mut self, mut start: u64, mut end: u64) {
        if start >= end || self.overlap(start, end) == end - start {
            return;
        }
        while let Some((&s, &e)) = self.ranges.range(..=end).next_back().filter(|(_, e)| **e >= start) {
            self.ranges.remove(&s);
            self.count -= e - s;
            start = start.min(s);
            end = end.max(e);
        }
        self.ranges.insert(start, end);
        self.count += end - start;
    }

    fn remove(&mut self, start: u64, end: u64) {
        while let Some((&s, &e)) = self.ranges.range(..end).next_back().filter(|(_, e)| **e > start) {
            self.ranges.remove(&s);
            self.count -= e - s;
            for (s, e) in [(s, start.min(e)), (end.max(s), e)] {
                if s < e {
                    self.ranges.insert(s, e);
                    self.count += e - s;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_set_counts_as_a_set_does() {
        // Keeps away a wrong count of used space, which would let a bounded disk grow or never recover.
        let (mut seed, mut set, mut model) = (7, RangeSet::default(), std::collections::BTreeSet::new());
        for _ in 0..5_000 {
            let mut random = |n: u64| crate::io::sim::split_mix(&mut seed) % n;
            let (start, len, what) = (random(60), random(12), random(2));
            if what == 0 {
                set.insert(start, start + len);
                model.extend(start..start + len);
            } else {
                set.remove(start, start + len);
                model.retain(|n| !(start..start + len).contains(n));
            }
            let (from, to) = (random(60), random(80));
            assert_eq!(set.count, model.len() as u64);
            let expected = model.iter().filter(|n| (from..to.max(from)).contains(n)).count() as u64;
            assert_eq!(set.overlap(from, to.max(from)), expected, "{set:?} {from}..{to}");
        }
    }
}
