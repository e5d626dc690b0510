//! The second candidate: a lock-free, insert-only skip list in an arena.
//!
//! A node is one allocation: tower, then key, then value. Its first line holds the first 8 bytes of the key as a
//! big-endian word, so that most comparisons read one line and no key. Links are 32-bit counts of 8-byte units.
//! It keeps one version a key, which is less than the memtable has to do.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    cmp::Ordering as Order,
    ptr::NonNull,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
};

const LEVELS: usize = 12;
/// A node reaches each further level with a chance of one in four.
const BITS_A_LEVEL: u32 = 2;

#[repr(C)]
struct Node {
    word: u64,
    timestamp: u64,
    key_bytes: u32,
    value_bytes: u32,
    levels: u32,
    /// The level-0 link; `levels - 1` more follow, then the key and the value.
    next: [AtomicU32; 1],
}

/// See the module.
pub struct SkipList {
    base: NonNull<u8>,
    layout: Layout,
    used: AtomicUsize,
    heads: [AtomicU32; LEVELS],
}

// SAFETY: the memory is the list's own; links are atomic and all else is written before its node is linked.
unsafe impl Send for SkipList {}
// SAFETY: as above.
unsafe impl Sync for SkipList {}

fn word(key: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = key.len().min(8);
    word[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(word)
}

impl SkipList {
    pub fn new(reserve: usize) -> Self {
        let layout = Layout::from_size_align(reserve + (64 << 20), 64).expect("a size");
        // SAFETY: the size is not zero. Memory so large comes from the kernel, zeroed when first touched.
        let base =
            NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
        Self { base, layout, used: AtomicUsize::new(64), heads: Default::default() }
    }

    pub fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn pointer(&self, at: u32) -> *mut u8 {
        // SAFETY: links are only made by `insert`, inside the memory.
        unsafe { self.base.as_ptr().add(at as usize * 8) }
    }
    fn node(&self, at: u32) -> &Node {
        // SAFETY: a link is published after its node was written.
        unsafe { &*self.pointer(at).cast::<Node>() }
    }
    fn link(&self, at: u32, level: usize) -> &AtomicU32 {
        if at == 0 {
            return &self.heads[level];
        }
        // SAFETY: the walk only uses levels on which the node is linked, so the tower has that many.
        unsafe { &*self.pointer(at).add(std::mem::offset_of!(Node, next)).cast::<AtomicU32>().add(level) }
    }
    fn slice(&self, at: u32, offset: usize, len: usize) -> &[u8] {
        // SAFETY: `insert` wrote it before it published the node.
        unsafe { std::slice::from_raw_parts(self.pointer(at).add(offset), len) }
    }
    fn key(&self, at: u32) -> &[u8] {
        let node = self.node(at);
        self.slice(at, size_of::<Node>() + (node.levels as usize - 1) * 4, node.key_bytes as usize)
    }
    fn value(&self, at: u32) -> &[u8] {
        let node = self.node(at);
        let offset = size_of::<Node>() + (node.levels as usize - 1) * 4 + node.key_bytes as usize;
        self.slice(at, offset, node.value_bytes as usize)
    }

    /// The last node below `key` on each level, the node behind it, and whether that one has the key.
    fn seek(&self, key: &[u8], word: u64, before: &mut [u32; LEVELS], behind: &mut [u32; LEVELS]) -> bool {
        let mut at = 0;
        let mut is_found = false;
        let mut above = 0;
        for level in (0..LEVELS).rev() {
            loop {
                let next = self.link(at, level).load(Ordering::Acquire);
                // The node that stopped the walk a level higher stops it here too.
                if next == 0 || next == above {
                    behind[level] = next;
                    break;
                }
                let order = self.node(next).word.cmp(&word).then_with(|| self.key(next).cmp(key));
                if order != Order::Less {
                    is_found = order == Order::Equal;
                    above = next;
                    behind[level] = next;
                    break;
                }
                at = next;
            }
            before[level] = at;
        }
        is_found
    }

    pub fn get(&self, key: &[u8]) -> Option<(u64, &[u8])> {
        let (mut before, mut behind) = ([0; LEVELS], [0; LEVELS]);
        let is_found = self.seek(key, word(key), &mut before, &mut behind);
        is_found.then(|| (self.node(behind[0]).timestamp, self.value(behind[0])))
    }

    /// Inserts a key that is not there yet.
    pub fn insert(&self, key: &[u8], timestamp: u64, value: &[u8]) {
        let word = word(key);
        let levels = (1 + self.chance().trailing_zeros() / BITS_A_LEVEL).min(LEVELS as u32);
        let tower = size_of::<Node>() + (levels as usize - 1) * 4;
        let bytes = (tower + key.len() + value.len()).next_multiple_of(8);
        let offset = self.used.fetch_add(bytes, Ordering::Relaxed);
        assert!(offset + bytes <= self.layout.size(), "the list's memory is used up");
        let at = (offset / 8) as u32;
        let (key_bytes, value_bytes) = (key.len() as u32, value.len() as u32);
        // SAFETY: the bytes were just handed out to this thread and are zero, as the rest of the tower should be.
        unsafe {
            let pointer = self.pointer(at);
            let next = [AtomicU32::new(0)];
            pointer.cast::<Node>().write(Node { word, timestamp, key_bytes, value_bytes, levels, next });
            pointer.add(tower).copy_from_nonoverlapping(key.as_ptr(), key.len());
            pointer.add(tower + key.len()).copy_from_nonoverlapping(value.as_ptr(), value.len());
        }
        let (mut before, mut behind) = ([0; LEVELS], [0; LEVELS]);
        self.seek(key, word, &mut before, &mut behind);
        for level in 0..levels as usize {
            loop {
                self.link(at, level).store(behind[level], Ordering::Relaxed);
                let link = self.link(before[level], level);
                if link.compare_exchange(behind[level], at, Ordering::Release, Ordering::Relaxed).is_ok() {
                    break;
                }
                self.seek(key, word, &mut before, &mut behind);
            }
        }
    }

    /// A number whose low bits are fair coins: the memory already used, scattered.
    fn chance(&self) -> u64 {
        let i = (self.used.load(Ordering::Relaxed) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let i = (i ^ (i >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        i ^ (i >> 32)
    }

    /// Keys in order with their timestamps and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64, &[u8])> {
        let next = |at: u32| Some(self.link(at, 0).load(Ordering::Acquire)).filter(|&next| next != 0);
        std::iter::successors(next(0), move |&at| next(at))
            .map(|at| (self.key(at), self.node(at).timestamp, self.value(at)))
    }
}

impl Drop for SkipList {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}
