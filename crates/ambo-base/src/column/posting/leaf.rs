//! Leaves: up to 256 keys, how many rows each has, and the lists of those with few.
//!
//! | part | encoding |
//! |---|---|
//! | keys | varint count |
//! | postings | varint: rows of all keys together |
//! | span | keys that are numbers: varint, the last less the first. Others: for each varint bytes it shares with the one before, varint further bytes, these |
//! | stream | varint bytes; then, as `ambo_codec::bitmap::gaps` has them: of keys that are numbers, those behind the first, less it and one, below the span; of all keys but the last, the postings up to its end, less one, below the postings; then for each key with up to 256 rows its list, below the rows of the segment |
//! | lists apart | for each key with more rows: 1 byte, 0 gaps, 1 a bitmap; varint bytes; 4 bytes checksum. They lie before the leaf, one behind the other |

use ambo_codec::{
    bitmap::gaps::{GapReader, GapWriter},
    varint,
};

use super::gather::Key;

/// The most keys of a leaf.
pub(super) const KEYS_MAX: usize = 256;
/// A leaf ends with so many postings in its own lists.
pub(super) const POSTINGS_MAX: u64 = 4096;
/// A list of more rows lies apart.
pub(super) const INLINE_MAX: u64 = 256;
const _: () = assert!(INLINE_MAX < POSTINGS_MAX && KEYS_MAX <= u16::MAX as usize);

/// How a list that lies apart is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum ListForm {
    Gaps = 0,
    Bitmap = 1,
}

/// A list that lies apart from its leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Apart {
    pub(super) form: ListForm,
    /// From the first such list of the leaf.
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) crc: u32,
}

/// Keys that are gathered for a leaf.
#[derive(Debug, Default)]
pub(super) struct LeafKeys {
    pub(super) numbers: Vec<u64>,
    pub(super) texts: Vec<Vec<u8>>,
    counts: Vec<u64>,
    /// The rows of keys with few, one list behind the other.
    inline: Vec<u32>,
    apart: Vec<Apart>,
}

impl LeafKeys {
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn postings(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() == KEYS_MAX || self.inline.len() as u64 >= POSTINGS_MAX
    }

    pub(super) fn aparts(&self) -> &[Apart] {
        &self.apart
    }

    /// The key was added; these are its rows.
    pub(super) fn add_list(&mut self, rows: &[u32]) {
        debug_assert!(rows.len() as u64 <= INLINE_MAX && rows.is_sorted_by(|a, b| a < b));
        self.counts.push(rows.len() as u64);
        self.inline.extend_from_slice(rows);
    }

    /// The key was added; so many rows of it lie apart.
    pub(super) fn add_apart(&mut self, rows: u64, apart: Apart) {
        debug_assert!(rows > INLINE_MAX);
        self.counts.push(rows);
        self.apart.push(apart);
    }

    /// The bytes of the leaf, of a segment of so many rows.
    pub(super) fn encode(&self, rows: u64) -> Vec<u8> {
        let (keys, postings) = (self.len() as u64, self.postings());
        let mut out = Vec::new();
        varint::encode(keys, &mut out);
        varint::encode(postings, &mut out);
        let mut stream = GapWriter::default();
        if let (Some(first), Some(last)) = (self.numbers.first(), self.numbers.last()) {
            let span = last - first;
            varint::encode(span, &mut out);
            let behind = self.numbers[1..].iter().map(|number| number - first - 1);
            stream.push(behind, keys - 1, span);
        }
        let mut before: &[u8] = &[];
        for text in &self.texts {
            let shared = text.iter().zip(before).take_while(|(a, b)| a == b).count();
            varint::encode(shared as u64, &mut out);
            varint::encode((text.len() - shared) as u64, &mut out);
            out.extend_from_slice(&text[shared..]);
            before = text;
        }
        let ends = self.counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end - 1)
        });
        stream.push(ends.take(self.len() - 1), keys - 1, postings);
        let mut lists = &self.inline[..];
        for count in self.counts.iter().filter(|count| **count <= INLINE_MAX) {
            let (list, rest) = lists.split_at(*count as usize);
            stream.push(list.iter().map(|row| u64::from(*row)), *count, rows);
            lists = rest;
        }
        let stream = stream.finish();
        varint::encode(stream.len() as u64, &mut out);
        out.extend_from_slice(&stream);
        for apart in &self.apart {
            out.push(apart.form as u8);
            varint::encode(apart.len.into(), &mut out);
            out.extend_from_slice(&apart.crc.to_le_bytes());
        }
        out
    }
}

/// The keys of a leaf.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Keys {
    Numbers(Vec<u64>),
    Texts(Vec<Vec<u8>>),
}

/// A leaf as it was read.
#[derive(Debug)]
pub(super) struct Leaf<'a> {
    pub(super) keys: Keys,
    /// Postings up to the end of each key.
    pub(super) ends: Vec<u64>,
    pub(super) apart: Vec<Apart>,
    /// Where the lists begin.
    lists: GapReader<'a>,
    rows: u64,
}

impl<'a> Leaf<'a> {
    /// The leaf in `bytes`: of numbers if its first key is one, of a segment of so many rows.
    pub(super) fn parse(mut bytes: &'a [u8], first: Option<u64>, rows: u64) -> Result<Self, String> {
        let cut = || "a leaf that is cut off".to_owned();
        let wrong = |error: ambo_codec::Error| error.to_string();
        let keys = varint::take(&mut bytes).ok_or_else(cut)?;
        let postings = varint::take(&mut bytes).ok_or_else(cut)?;
        if keys == 0 || keys > KEYS_MAX as u64 || postings < keys || postings > keys * rows {
            return Err(format!("a leaf of {keys} keys and {postings} postings"));
        }
        let mut texts = Vec::new();
        let mut span = 0;
        match first {
            Some(_) => span = varint::take(&mut bytes).ok_or_else(cut)?,
            None => texts = read_texts(&mut bytes, keys)?,
        }
        let len = varint::take(&mut bytes).ok_or_else(cut)?;
        let stream = usize::try_from(len).ok().and_then(|len| bytes.split_off(..len)).ok_or_else(cut)?;
        let mut lists = GapReader::new(stream);
        let keys_read = match first {
            None => Keys::Texts(texts),
            Some(first) => {
                first.checked_add(span).ok_or("keys of more than 64 bits")?;
                let mut numbers = vec![first];
                lists.read(keys - 1, span, |number| numbers.push(first + 1 + number)).map_err(wrong)?;
                Keys::Numbers(numbers)
            }
        };
        let mut ends = Vec::with_capacity(keys as usize);
        lists.read(keys - 1, postings, |end| ends.push(end + 1)).map_err(wrong)?;
        if ends.last().is_some_and(|last| *last >= postings) {
            return Err("the last key of a leaf has no postings".into());
        }
        ends.push(postings);
        let mut leaf = Self { keys: keys_read, ends, apart: Vec::new(), lists, rows };
        let mut offset = 0;
        for key in 0..keys as usize {
            if leaf.count(key) <= INLINE_MAX {
                continue;
            }
            let form = match bytes.split_off_first() {
                Some(0) => ListForm::Gaps,
                Some(1) => ListForm::Bitmap,
                _ => return Err("a list of an unknown form".into()),
            };
            let len = varint::take(&mut bytes).and_then(|len| u32::try_from(len).ok()).ok_or_else(cut)?;
            let crc = bytes.split_off(..4).ok_or_else(cut)?;
            let crc = u32::from_le_bytes(crc.try_into().expect("4 bytes"));
            leaf.apart.push(Apart { form, offset, len, crc });
            offset += u64::from(len);
        }
        match bytes {
            [] => Ok(leaf),
            _ => Err("bytes behind a leaf".into()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Postings before a key of the leaf; of all, behind the last.
    pub(super) fn before(&self, key: usize) -> u64 {
        key.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// Rows of a key.
    pub(super) fn count(&self, key: usize) -> u64 {
        self.ends[key] - self.before(key)
    }

    pub(super) fn key(&self, key: usize) -> Key<'_> {
        match &self.keys {
            Keys::Numbers(numbers) => Key::Number(numbers[key]),
            Keys::Texts(texts) => Key::Text(&texts[key]),
        }
    }

    /// The first key that is at least `wanted`, or greater.
    pub(super) fn seek(&self, wanted: &[u8], greater: bool) -> usize {
        match &self.keys {
            Keys::Numbers(numbers) => {
                let wanted = super::keys::number(wanted);
                numbers.partition_point(|key| *key < wanted || greater && *key == wanted)
            }
            Keys::Texts(texts) => texts.partition_point(|key| **key < *wanted || greater && **key == *wanted),
        }
    }

    /// Calls `each` with the rows of some keys that lie in the leaf, key by key.
    pub(super) fn rows(
        &self,
        keys: std::ops::Range<usize>,
        mut each: impl FnMut(usize, u64),
    ) -> Result<(), String> {
        let mut lists = self.lists.clone();
        for key in 0..keys.end {
            let count = self.count(key);
            if count <= INLINE_MAX {
                let is_asked = key >= keys.start;
                let read = lists.read(count, self.rows, |row| {
                    if is_asked {
                        each(key, row);
                    }
                });
                read.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

fn read_texts(bytes: &mut &[u8], keys: u64) -> Result<Vec<Vec<u8>>, String> {
    let cut = || "a leaf that is cut off".to_owned();
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for _ in 0..keys {
        let shared = varint::take(bytes).ok_or_else(cut)? as usize;
        let len = varint::take(bytes).and_then(|len| usize::try_from(len).ok()).ok_or_else(cut)?;
        let before = texts.last().map_or(&[][..], |text| text);
        let mut text = before.get(..shared).ok_or("a key that shares more than there is")?.to_vec();
        text.extend_from_slice(bytes.split_off(..len).ok_or_else(cut)?);
        if !texts.is_empty() && *before >= text[..] {
            return Err("keys of a leaf that do not ascend".into());
        }
        texts.push(text);
    }
    Ok(texts)
}
