//! Encryption at rest: files whose bytes are sealed with AES-256-GCM. The bytes are described in `docs/formats/encryption.md`.
//!
//! [`SealedDisk`] stands between the system's disk and all that is above: pages, segments and extents do not know that they are sealed.
//! The log seals its groups itself, for it appends to what is durable; it asks the disk for the [`Keys`].
//!
//! # Keys
//!
//! * The user's **key** ([`Key`]) wraps the data keys, and nothing else; a new one only rewrites the file `keys` ([`key_file`]).
//! * **Data keys** are random, numbered by *generation*. What is written is sealed under the last generation.
//! * A **stream** is what one opened file seals under one derived key: HKDF-SHA256 of the data key, salted with the stream's 12 random
//!   bytes, for the kind of file. Each file that is opened for writing begins its own stream.
//!
//! # No nonce is used twice under one key
//!
//! * **N1** A stream's nonce is a counter that is taken once for each sealing, by one atomic addition, and never set back. So within a
//!   stream no nonce comes twice, whatever the disk does: a crash or a torn write loses what was sealed, not the count, as no count is read
//!   back from a disk.
//! * **N2** A stream lives in the memory of one process and is never taken up again: an opening draws new random bytes, and so another key.
//!   Two streams with the same bytes, of the same generation and kind, would have to come of 96 random bits of the system: among 2^32
//!   streams, with a probability below 2^-32.
//! * **N3** A stream ends after 2^32 sealings, of units of at most 4 KiB, or groups of at most 2 GiB, and another begins.
//! * **N4** Copies of a database, such as backups that are opened and go on by themselves, share data keys, not streams (N2).
//! * **N5** A wrapping of data keys has a key of its own, by 32 random bytes.
//!
//! # What it does not hide or tell
//!
//! Names, lengths and times of files, how many commits there are and when; that a unit was put back to what it once was.

mod cipher;
mod disk;
mod file;
pub mod key;
pub mod key_file;

pub use self::{
    cipher::{Keys, Kind, Sealer, TRAILER_BYTES},
    disk::SealedDisk,
    key::{Key, KeySource, Passphrase},
};

/// Random bytes of the system, that nobody can guess.
pub fn random_bytes<const N: usize>() -> ambo_types::Result<[u8; N]> {
    let mut bytes = [0; N];
    cipher::fill_random(&ring::rand::SystemRandom::new(), &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
