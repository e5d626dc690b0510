//! Data keys, streams, and the sealing itself. N1 … are in the [parent](super)'s documentation.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ambo_types::{Error, Result};
use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf,
    rand::{SecureRandom, SystemRandom},
};
use zeroize::Zeroizing;

/// What follows sealed bytes: the stream (12 bytes), the generation (4), the counter (8) and the tag of GCM (16).
pub const TRAILER_BYTES: usize = STREAM_BYTES + 4 + 8 + TAG_BYTES;
const STREAM_BYTES: usize = 12;
const GENERATION_AT: usize = STREAM_BYTES;
const COUNTER_AT: usize = GENERATION_AT + 4;
const TAG_AT: usize = COUNTER_AT + 8;
const TAG_BYTES: usize = 16;
const _: () = assert!(TAG_AT + TAG_BYTES == TRAILER_BYTES);
/// Bytes of a data key.
pub(super) const KEY_BYTES: usize = 32;

/// A stream ends after so many sealings (N3).
const SEALINGS_MAX: u64 = 1 << 32;
/// Derived keys that are kept for reading; when there are more, all are forgotten and derived again.
const CIPHERS_KEPT: usize = 4096;

/// What is sealed: each has keys of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The file of pages.
    Pages,
    /// Segments and extents.
    Segment,
    /// Groups of the log.
    Log,
    /// Whatever else there is.
    Other,
}

impl Kind {
    fn info(self) -> &'static [u8] {
        match self {
            Self::Pages => b"ambo 1 pages",
            Self::Segment => b"ambo 1 segment",
            Self::Log => b"ambo 1 log",
            Self::Other => b"ambo 1 other",
        }
    }
}

/// The secret of one generation.
pub(super) type DataKey = Zeroizing<[u8; KEY_BYTES]>;

type Stream = [u8; STREAM_BYTES];

/// The data keys of a database, for as long as it is open.
pub struct Keys {
    /// By generation, from 1 on.
    generations: ArcSwap<Vec<DataKey>>,
    /// For reading.
    ciphers: RwLock<HashMap<(Kind, u32, Stream), Arc<LessSafeKey>>>,
    random: SystemRandom,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("generations", &self.generation()).finish_non_exhaustive()
    }
}

impl Keys {
    /// Keys of one generation, which nobody has.
    pub fn random() -> Result<Arc<Self>> {
        Ok(Self::of(vec![new_data_key()?]))
    }

    pub(super) fn of(generations: Vec<DataKey>) -> Arc<Self> {
        assert!(!generations.is_empty(), "there is a generation of keys");
        Arc::new(Self {
            generations: ArcSwap::from_pointee(generations),
            ciphers: RwLock::default(),
            random: SystemRandom::new(),
        })
    }

    /// The generation that is written with.
    pub fn generation(&self) -> u32 {
        self.generations.load().len() as u32
    }

    pub(super) fn data_keys(&self) -> Arc<Vec<DataKey>> {
        self.generations.load_full()
    }

    /// From now on the last of these generations is written with. REQUIRES: they are durable in the file of keys.
    pub(super) fn set_data_keys(&self, generations: Vec<DataKey>) {
        debug_assert!(generations.len() >= self.generation() as usize, "generations are never forgotten");
        self.generations.store(Arc::new(generations));
    }

    /// The key of a stream; `None` if there is no such generation.
    fn derive(&self, kind: Kind, generation: u32, stream: &Stream) -> Option<Arc<LessSafeKey>> {
        let generations = self.generations.load();
        let data_key = generations.get((generation as usize).checked_sub(1)?)?;
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, stream).extract(&**data_key);
        let info = [kind.info()];
        let key = derived.expand(&info, &AES_256_GCM).expect("a key is shorter than HKDF's most");
        Some(Arc::new(LessSafeKey::new(UnboundKey::from(key))))
    }

    fn cipher(&self, kind: Kind, generation: u32, stream: &Stream) -> Option<Arc<LessSafeKey>> {
        let name = (kind, generation, *stream);
        if let Some(cipher) = self.ciphers.read().get(&name) {
            return Some(Arc::clone(cipher));
        }
        let cipher = self.derive(kind, generation, stream)?;
        let mut ciphers = self.ciphers.write();
        if ciphers.len() >= CIPHERS_KEPT {
            ciphers.clear();
        }
        ciphers.insert(name, Arc::clone(&cipher));
        Some(cipher)
    }

    /// Opens what [`Sealer::seal`] has made, in place: sealed bytes and trailer become the plain bytes at the front, which are returned.
    /// `None`, and no plain byte is anywhere, if it is not what was sealed under these keys with this `bound`.
    pub fn open<'b>(&self, kind: Kind, bound: &[u8], sealed: &'b mut [u8]) -> Option<&'b mut [u8]> {
        let plain = sealed.len().checked_sub(TRAILER_BYTES)?;
        let (bytes, trailer) = sealed.split_at_mut(plain);
        let stream: &Stream = trailer.first_chunk().expect("a stream");
        let generation =
            u32::from_le_bytes(trailer[GENERATION_AT..COUNTER_AT].try_into().expect("four bytes"));
        let counter = u64::from_le_bytes(trailer[COUNTER_AT..TAG_AT].try_into().expect("eight bytes"));
        let tag: [u8; TAG_BYTES] = trailer[TAG_AT..].try_into().expect("a tag");
        let cipher = self.cipher(kind, generation, stream)?;
        let opened =
            cipher.open_in_place_separate_tag(nonce(counter), Aad::from(bound), tag.into(), bytes, 0..);
        opened.ok()
    }
}

/// A fresh data key.
pub(super) fn new_data_key() -> Result<DataKey> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    fill_random(&SystemRandom::new(), &mut *key)?;
    Ok(key)
}

pub(super) fn fill_random(random: &SystemRandom, bytes: &mut [u8]) -> Result<()> {
    let no_random = |_| std::io::Error::other("the system has no random bytes");
    random.fill(bytes).map_err(no_random).map_err(|e| Error::io("asking for random bytes", e))
}

fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Seals what one opened file, or one writer of the log, writes.
pub struct Sealer {
    keys: Arc<Keys>,
    kind: Kind,
    stream: ArcSwap<Sealing>,
    /// Held while the next stream begins.
    beginning: Mutex<()>,
}

/// A stream that is sealed with.
struct Sealing {
    stream: Stream,
    generation: u32,
    cipher: Arc<LessSafeKey>,
    next: AtomicU64,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Sealer {
    /// Begins a stream (N2).
    pub fn new(keys: Arc<Keys>, kind: Kind) -> Result<Self> {
        let stream = ArcSwap::from_pointee(Sealing::begin(&keys, kind)?);
        Ok(Self { keys, kind, stream, beginning: Mutex::new(()) })
    }

    /// The keys that it seals under.
    pub fn keys(&self) -> &Arc<Keys> {
        &self.keys
    }

    /// Seals `bytes` in place, bound to `bound`, and returns what has to follow them.
    pub fn seal(&self, bound: &[u8], bytes: &mut [u8]) -> Result<[u8; TRAILER_BYTES]> {
        let (sealing, counter) = self.take()?;
        let tag = sealing
            .cipher
            .seal_in_place_separate_tag(nonce(counter), Aad::from(bound), bytes)
            .expect("a unit or group is shorter than GCM's most");
        let mut trailer = [0; TRAILER_BYTES];
        trailer[..STREAM_BYTES].copy_from_slice(&sealing.stream);
        trailer[GENERATION_AT..COUNTER_AT].copy_from_slice(&sealing.generation.to_le_bytes());
        trailer[COUNTER_AT..TAG_AT].copy_from_slice(&counter.to_le_bytes());
        trailer[TAG_AT..].copy_from_slice(tag.as_ref());
        Ok(trailer)
    }

    /// A stream and a number of it that nobody else has (N1).
    fn take(&self) -> Result<(Arc<Sealing>, u64)> {
        loop {
            let sealing = self.stream.load_full();
            let counter = sealing.next.fetch_add(1, Ordering::Relaxed);
            if counter < SEALINGS_MAX && sealing.generation == self.keys.generation() {
                return Ok((sealing, counter));
            }
            let _beginning = self.beginning.lock();
            if Arc::ptr_eq(&sealing, &self.stream.load()) {
                self.stream.store(Arc::new(Sealing::begin(&self.keys, self.kind)?));
            }
        }
    }

    /// Lets the stream be all but used up.
    #[cfg(test)]
    pub(super) fn use_up(&self) {
        self.stream.load().next.store(SEALINGS_MAX - 1, Ordering::Relaxed);
    }
}

impl Sealing {
    fn begin(keys: &Keys, kind: Kind) -> Result<Self> {
        let mut stream = [0; STREAM_BYTES];
        fill_random(&keys.random, &mut stream)?;
        let generation = keys.generation();
        let cipher = keys.derive(kind, generation, &stream).expect("the last generation is there");
        Ok(Self { stream, generation, cipher, next: AtomicU64::new(0) })
    }
}
