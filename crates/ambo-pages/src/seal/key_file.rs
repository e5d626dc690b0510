//! The file `keys`: the data keys of a database, wrapped by the user's key. Described in `docs/formats/encryption.md`.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `ambo key` |
//! | 8 | 4 | version = 1 |
//! | 12 | 4 | n, how many data keys there are: 1 to 4,096 |
//! | 16 | 4 | 0 = the user's key is given; 1 = it is made of a passphrase by Argon2id |
//! | 20 | 4 | Argon2: KiB of memory |
//! | 24 | 4 | Argon2: passes |
//! | 28 | 4 | Argon2: lanes |
//! | 32 | 16 | Argon2: salt |
//! | 48 | 32 | salt of the wrapping |
//! | 80 | 32 n | the data keys, generation 1 first, sealed with AES-256-GCM |
//! | 80 + 32 n | 16 | tag of GCM; the bytes from 0 to 80 are bound |
//! | 96 + 32 n | 4 | CRC32C of everything before |
//!
//! The key of the wrapping is HKDF-SHA256 of the user's key with the salt, for `ambo 1 wrap`; its one nonce is zero (N5).
//! The checksum tells damage from a wrong key. The file is never edited: a new one, of another name and durable, is renamed over it.

use std::{io::ErrorKind, sync::Arc};

use ambo_types::{Error, Result};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hkdf,
    rand::SystemRandom,
};
use zeroize::Zeroizing;

use super::{
    cipher::{DataKey, KEY_BYTES, Keys, fill_random, new_data_key},
    key::{Key, KeySource, Passphrase},
};
use crate::{
    checksum::crc32c,
    io::{Disk, OpenMode},
};

/// The file's name.
pub const NAME: &str = "keys";
/// What it is called until it is durable.
pub const NEW_NAME: &str = "keys.new";

const MAGIC: &[u8; 8] = b"ambo key";
const VERSION: u32 = 1;
const VERSION_AT: usize = 8;
const COUNT_AT: usize = 12;
const DERIVED_AT: usize = 16;
const COST_AT: usize = 20;
const SALT_AT: usize = 32;
const WRAP_SALT_AT: usize = 48;
const WRAPPED_AT: usize = 80;
const TAG_BYTES: usize = 16;
const CRC_BYTES: usize = 4;
const GENERATIONS_MAX: usize = 4096;
const _: () = assert!(SALT_AT == COST_AT + 3 * size_of::<u32>());
const _: () = assert!(WRAPPED_AT == WRAP_SALT_AT + 32);

const SALT_BYTES: usize = WRAP_SALT_AT - SALT_AT;
/// What a passphrase costs whoever guesses: the second choice of RFC 9106, with one lane.
const COST: Cost = Cost { memory_kib: 64 << 10, passes: 3, lanes: 1 };
/// What a file may ask for at most.
const COST_MAX: Cost = Cost { memory_kib: 1 << 20, passes: 64, lanes: 64 };

/// The work that makes a key of a passphrase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cost {
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

/// How the user's key is had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Derivation {
    Given,
    Passphrase { cost: Cost, salt: [u8; SALT_BYTES] },
}

impl Derivation {
    /// For a file that is written.
    fn of(source: &KeySource) -> Result<Self> {
        let KeySource::Passphrase(_) = source else { return Ok(Self::Given) };
        let mut salt = [0; SALT_BYTES];
        fill_random(&SystemRandom::new(), &mut salt)?;
        Ok(Self::Passphrase { cost: COST, salt })
    }

    /// The user's key.
    fn key(&self, source: &KeySource) -> Result<Key> {
        match (self, source) {
            (Self::Given, KeySource::Key(key)) => Ok(key.clone()),
            (Self::Given, KeySource::Call(call)) => call(),
            (Self::Passphrase { cost, salt }, KeySource::Passphrase(passphrase)) => {
                stretch(passphrase, *cost, salt)
            }
            (Self::Passphrase { .. }, _) => Err(Error::Invalid(
                "the database is encrypted by a passphrase, but a key was given; give the passphrase".into(),
            )),
            (Self::Given, KeySource::Passphrase(_)) => Err(Error::Invalid(
                "the database is encrypted by a key, but a passphrase was given; give the key".into(),
            )),
        }
    }
}

fn stretch(passphrase: &Passphrase, cost: Cost, salt: &[u8; SALT_BYTES]) -> Result<Key> {
    if passphrase.text().is_empty() {
        return Err(Error::Invalid("the passphrase is empty".into()));
    }
    let failed = |e: argon2::Error| Error::Invalid(format!("making a key of the passphrase: {e}"));
    let params = argon2::Params::new(cost.memory_kib, cost.passes, cost.lanes, Some(KEY_BYTES));
    let argon2 =
        argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params.map_err(failed)?);
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    argon2.hash_password_into(passphrase.text().as_bytes(), salt, &mut *key).map_err(failed)?;
    Ok(Key::new(*key))
}

/// Whether the directory has such a file.
pub fn is_there(disk: &dyn Disk) -> Result<bool> {
    let names = disk.list().map_err(|e| Error::io("listing the directory", e))?;
    Ok(names.iter().any(|name| name == NAME))
}

/// The data keys of an encrypted database.
///
/// # Errors
/// [`Error::Invalid`] if the key is another, [`Error::Damaged`] if the file is not what was written.
pub fn open(disk: &dyn Disk, source: &KeySource) -> Result<Arc<Keys>> {
    Ok(Keys::of(decode(&read(disk)?, source)?))
}

/// Makes the keys of a new database, durably.
pub fn create(disk: &dyn Disk, source: &KeySource) -> Result<Arc<Keys>> {
    let keys = Keys::random()?;
    write(disk, &keys, source)?;
    Ok(keys)
}

/// Writes the file of a database, or of a copy, so that `source` opens it.
pub fn write(disk: &dyn Disk, keys: &Keys, source: &KeySource) -> Result<()> {
    put(disk, &encode(&keys.data_keys(), source)?)
}

/// Lets `source` be what opens the database from now on, and a new data key what it writes with.
///
/// # Errors
/// As the disk has them: the key is the one before or the new one, as a crash would leave it.
pub fn rotate(disk: &dyn Disk, keys: &Keys, source: &KeySource) -> Result<()> {
    let mut generations = Vec::clone(&keys.data_keys());
    if generations.len() >= GENERATIONS_MAX {
        return Err(Error::Invalid(format!(
            "the database has had {GENERATIONS_MAX} data keys, and cannot have more; restore a backup with a new key"
        )));
    }
    generations.push(new_data_key()?);
    put(disk, &encode(&generations, source)?)?;
    keys.set_data_keys(generations);
    Ok(())
}

/// Reads the file again, for data keys that another process has added. Whether there are some.
///
/// # Errors
/// As [`open`].
pub fn learn(disk: &dyn Disk, keys: &Keys, source: &KeySource) -> Result<bool> {
    let generations = decode(&read(disk)?, source)?;
    let is_new = generations.len() > keys.data_keys().len();
    if is_new {
        keys.set_data_keys(generations);
    }
    Ok(is_new)
}

/// Refuses a directory whose files may be sealed under data keys that `keys` does not have.
pub fn check_earlier(disk: &dyn Disk, keys: &Keys) -> Result<()> {
    if !is_there(disk)? {
        return Ok(());
    }
    let (_, count) = check(&read(disk)?)?;
    match count <= keys.generation() as usize {
        true => Ok(()),
        false => Err(Error::Invalid(format!(
            "the backup that is there has {count} data keys, and the database only {}: it was put back to an earlier state; make the \
             backup in an empty directory",
            keys.generation()
        ))),
    }
}

fn read(disk: &dyn Disk) -> Result<Vec<u8>> {
    let failed = |e| Error::io(format!("reading {NAME}"), e);
    let file = disk.open(NAME, OpenMode::Read).map_err(failed)?;
    let len = file.len().map_err(failed)?;
    if len > file_bytes(GENERATIONS_MAX) as u64 {
        return Err(Error::damaged(NAME, 0, format!("the file has {len} bytes, more than one of keys can")));
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(&mut bytes, 0).map_err(failed)?;
    Ok(bytes)
}

/// Copies the file to another directory, durably.
pub fn copy(from: &dyn Disk, to: &dyn Disk) -> Result<()> {
    put(to, &read(from)?)
}

/// Replaces the file as a whole.
fn put(disk: &dyn Disk, bytes: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        remove_new(disk)?;
        let file = disk.open(NEW_NAME, OpenMode::Create)?;
        file.write_at(bytes, 0)?;
        file.sync()?;
        disk.rename(NEW_NAME, NAME)?;
        disk.sync_directory()
    };
    write().map_err(|e| Error::io(format!("writing {NAME}"), e))
}

/// Removes what a writing that was broken off left.
pub fn remove_new(disk: &dyn Disk) -> std::io::Result<()> {
    match disk.remove(NEW_NAME) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Bytes of a file with so many data keys.
fn file_bytes(count: usize) -> usize {
    WRAPPED_AT + count * KEY_BYTES + TAG_BYTES + CRC_BYTES
}

fn wrapping(key: &Key, salt: &[u8]) -> LessSafeKey {
    let info: [&[u8]; 1] = [b"ambo 1 wrap"];
    let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(key.bytes());
    let derived = extracted.expand(&info, &AES_256_GCM).expect("a key is shorter than HKDF's most");
    LessSafeKey::new(UnboundKey::from(derived))
}

fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

fn encode(generations: &[DataKey], source: &KeySource) -> Result<Vec<u8>> {
    let derivation = Derivation::of(source)?;
    let mut salt = [0; WRAPPED_AT - WRAP_SALT_AT];
    fill_random(&SystemRandom::new(), &mut salt)?;
    Ok(encode_with(generations, &derivation, &salt, &derivation.key(source)?))
}

fn encode_with(generations: &[DataKey], derivation: &Derivation, salt: &[u8; 32], key: &Key) -> Vec<u8> {
    let mut bytes = vec![0; WRAPPED_AT];
    bytes[..VERSION_AT].copy_from_slice(MAGIC);
    let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(VERSION_AT, VERSION);
    put(COUNT_AT, generations.len() as u32);
    if let Derivation::Passphrase { cost, salt } = derivation {
        put(DERIVED_AT, 1);
        put(COST_AT, cost.memory_kib);
        put(COST_AT + 4, cost.passes);
        put(COST_AT + 8, cost.lanes);
        bytes[SALT_AT..WRAP_SALT_AT].copy_from_slice(salt);
    }
    bytes[WRAP_SALT_AT..].copy_from_slice(salt);
    let mut wrapped = Zeroizing::new(Vec::with_capacity(generations.len() * KEY_BYTES));
    generations.iter().for_each(|key| wrapped.extend_from_slice(&**key));
    let tag = wrapping(key, salt)
        .seal_in_place_separate_tag(only_nonce(), Aad::from(&bytes), &mut wrapped)
        .expect("keys are shorter than GCM's most");
    bytes.extend_from_slice(&wrapped);
    bytes.extend_from_slice(tag.as_ref());
    let crc = crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    debug_assert_eq!(bytes.len(), file_bytes(generations.len()), "the file is as long as it says");
    bytes
}

fn decode(bytes: &[u8], source: &KeySource) -> Result<Vec<DataKey>> {
    let (derivation, count) = check(bytes)?;
    let key = derivation.key(source)?;
    let wrapping = wrapping(&key, &bytes[WRAP_SALT_AT..WRAPPED_AT]);
    let mut wrapped = Zeroizing::new(bytes[WRAPPED_AT..bytes.len() - CRC_BYTES].to_vec());
    let bound = Aad::from(&bytes[..WRAPPED_AT]);
    let Ok(opened) = wrapping.open_in_place(only_nonce(), bound, &mut wrapped) else {
        let what = match derivation {
            Derivation::Given => "key",
            Derivation::Passphrase { .. } => "passphrase",
        };
        return Err(Error::Invalid(format!(
            "the database is encrypted, and the {what} is not the one that it was encrypted with; give the right {what}"
        )));
    };
    debug_assert_eq!(opened.len(), count * KEY_BYTES, "the length was checked");
    let key = |bytes: &[u8]| Zeroizing::new(bytes.try_into().expect("a key's bytes"));
    Ok(opened.chunks_exact(KEY_BYTES).map(key).collect())
}

/// Everything that can be checked without the key.
fn check(bytes: &[u8]) -> Result<(Derivation, usize)> {
    let damaged = |at: usize, what: String| Err(Error::damaged(NAME, at as u64, what));
    if bytes.len() < file_bytes(1) || &bytes[..VERSION_AT] != MAGIC {
        return damaged(0, format!("{} bytes that are not the keys of a database", bytes.len()));
    }
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let crc_at = bytes.len() - CRC_BYTES;
    if crc32c(&bytes[..crc_at]) != u32_at(crc_at) {
        return damaged(crc_at, "the checksum is wrong".into());
    }
    if u32_at(VERSION_AT) != VERSION {
        return Err(Error::Invalid(format!(
            "{NAME} has version {}, this program knows {VERSION}; use a newer program",
            u32_at(VERSION_AT)
        )));
    }
    let count = u32_at(COUNT_AT) as usize;
    if !(1..=GENERATIONS_MAX).contains(&count) || file_bytes(count) != bytes.len() {
        return damaged(COUNT_AT, format!("{count} keys in {} bytes", bytes.len()));
    }
    let cost = Cost { memory_kib: u32_at(COST_AT), passes: u32_at(COST_AT + 4), lanes: u32_at(COST_AT + 8) };
    match u32_at(DERIVED_AT) {
        0 => Ok((Derivation::Given, count)),
        1 if cost.memory_kib > COST_MAX.memory_kib
            || cost.passes > COST_MAX.passes
            || cost.lanes > COST_MAX.lanes =>
        {
            damaged(COST_AT, format!("a passphrase that costs too much: {cost:?}"))
        }
        1 => {
            let salt = bytes[SALT_AT..WRAP_SALT_AT].try_into().expect("a salt");
            Ok((Derivation::Passphrase { cost, salt }, count))
        }
        other => damaged(DERIVED_AT, format!("a key that is made in an unknown way, {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::sim::{Fault, FaultKind, Op, SimDisk};

    fn key() -> Key {
        Key::new(std::array::from_fn(|at| at as u8))
    }

    fn data_key(byte: u8) -> DataKey {
        Zeroizing::new([byte; KEY_BYTES])
    }

    /// The example of `docs/formats/encryption.md`.
    const EXAMPLE_END: [u8; 52] = [
        0x4a, 0x04, 0x05, 0x6c, 0x00, 0x6b, 0x07, 0x54, 0x3c, 0x03, 0x83, 0x25, 0x19, 0x67, 0x02, 0xf3, 0xc7,
        0x65, 0x90, 0x4d, 0xee, 0x2a, 0xea, 0xd8, 0xf7, 0x9c, 0x0a, 0x1e, 0xcd, 0xb9, 0x22, 0x6c, 0xea, 0x9b,
        0xb0, 0x28, 0x6f, 0x90, 0xa5, 0x4c, 0xaf, 0x51, 0xf9, 0xb9, 0x72, 0xde, 0xc3, 0xa5, 0xca, 0x01, 0xd3,
        0x6c,
    ];

    /// Keeps away: a file of keys that the page does not describe.
    #[test]
    fn the_file_is_as_described() {
        let bytes = encode_with(&[data_key(0xD1)], &Derivation::Given, &[0x5A; 32], &key());
        assert_eq!(bytes[..16], *b"ambo key\x01\0\0\0\x01\0\0\0");
        assert_eq!(bytes[WRAP_SALT_AT..WRAPPED_AT], [0x5A; 32]);
        assert_eq!(bytes[WRAPPED_AT..], EXAMPLE_END);
        assert_eq!(decode(&bytes, &key().into()).unwrap(), [data_key(0xD1)]);
    }

    /// Keeps away: a wrong key or a flipped bit that passes, and a panic at what is cut.
    #[test]
    fn what_is_not_the_file_or_the_key_is_an_error() {
        let bytes = encode(&[data_key(1), data_key(2)], &key().into()).unwrap();
        let wrong = decode(&bytes, &Key::new([9; 32]).into()).unwrap_err();
        assert!(matches!(&wrong, Error::Invalid(what) if what.contains("give the right key")), "{wrong}");
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(decode(&other, &key().into()), Err(Error::Damaged { .. })), "bit {bit}");
            // The same by somebody who knows the checksum.
            let crc_at = other.len() - CRC_BYTES;
            let crc = crc32c(&other[..crc_at]).to_le_bytes();
            other[crc_at..].copy_from_slice(&crc);
            if other != bytes {
                assert!(decode(&other, &key().into()).is_err(), "bit {bit} with a checksum");
            }
        }
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len], &key().into()).is_err(), "cut to {len}");
        }
    }

    /// Keeps away: a passphrase that opens nothing, or everything.
    #[test]
    fn a_passphrase_opens_what_it_wrapped() {
        let source: KeySource = Passphrase::new("correct horse").into();
        let bytes = encode(&[data_key(3)], &source).unwrap();
        assert_eq!(decode(&bytes, &source).unwrap(), [data_key(3)]);
        let wrong = decode(&bytes, &Passphrase::new("battery staple").into()).unwrap_err();
        assert!(wrong.to_string().contains("give the right passphrase"), "{wrong}");
        let wrong = decode(&bytes, &key().into()).unwrap_err();
        assert!(wrong.to_string().contains("by a passphrase"), "{wrong}");
        assert!(encode(&[data_key(3)], &Passphrase::new("").into()).is_err(), "an empty passphrase");
        let plain = encode(&[data_key(3)], &key().into()).unwrap();
        let wrong = decode(&plain, &source).unwrap_err();
        assert!(wrong.to_string().contains("by a key"), "{wrong}");
    }

    /// Keeps away: keys that a rotation loses, and one that a crash leaves with neither key.
    #[test]
    fn a_rotation_keeps_what_was_written_before() {
        let new: KeySource = Key::new([7; 32]).into();
        for seed in 0..200 {
            let disk = SimDisk::new(seed);
            let keys = create(&disk, &key().into()).unwrap();
            let before = keys.data_keys();
            let op = [Op::Create, Op::Write, Op::Sync, Op::Rename, Op::SyncDirectory][seed as usize % 5];
            if seed % 3 > 0 {
                disk.inject(Fault { op, file_prefix: None, after: 0, kind: FaultKind::Io, once: true });
            }
            let rotated = rotate(&disk, &keys, &new);
            let survived = disk.crash();
            let old_opens = open(&survived, &key().into());
            let new_opens = open(&survived, &new);
            assert!(old_opens.is_ok() != new_opens.is_ok(), "seed {seed}: one key opens it");
            if rotated.is_ok() {
                assert_eq!(keys.generation(), 2);
                assert!(new_opens.is_ok(), "seed {seed}: a rotation that was reported is lost");
            }
            let opened = old_opens.or(new_opens).unwrap();
            assert_eq!(opened.data_keys()[0], before[0]);
        }
    }
}
