//! The user's key, and where it comes from.

use std::{fmt, path::Path, sync::Arc};

use ambo_types::{Error, Result};
use ring::rand::SystemRandom;
use zeroize::Zeroizing;

use super::cipher::{KEY_BYTES, fill_random};

/// A key of 256 bits, by which a database's data keys are wrapped.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Zeroizing<[u8; KEY_BYTES]>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl Key {
    /// The key with these bytes. They should be random: a passphrase is given as a [`Passphrase`].
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// A new key, of the system's random bytes.
    pub fn random() -> Result<Self> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        fill_random(&SystemRandom::new(), &mut *bytes)?;
        Ok(Self(bytes))
    }

    /// A key written as 64 hexadecimal digits; space around them does not count.
    pub fn from_hex(digits: &str) -> Result<Self> {
        let digits = digits.trim().as_bytes();
        let wrong = || Error::Invalid("a key is written as 64 hexadecimal digits, or is 32 bytes".into());
        if digits.len() != 2 * KEY_BYTES {
            return Err(wrong());
        }
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| (pair[at] as char).to_digit(16).ok_or_else(wrong);
            *byte = (digit(0)? << 4 | digit(1)?) as u8;
        }
        Ok(Self(bytes))
    }

    /// The 64 digits that [`Key::from_hex`] reads.
    pub fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(self.0.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The key in a file: 32 bytes, or 64 hexadecimal digits.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let what = || format!("reading the key file {}", path.display());
        let bytes = std::fs::read(path).map(Zeroizing::new).map_err(|e| Error::io(what(), e))?;
        if let Ok(bytes) = <[u8; KEY_BYTES]>::try_from(&bytes[..]) {
            return Ok(Self::new(bytes));
        }
        let digits = std::str::from_utf8(&bytes).unwrap_or_default();
        Self::from_hex(digits).map_err(|_| {
            Error::Invalid(format!(
                "the key file {} has {} bytes and is no key: 32 bytes, or 64 hexadecimal digits",
                path.display(),
                bytes.len()
            ))
        })
    }

    /// The key in an environment variable, as 64 hexadecimal digits.
    pub fn from_environment(name: &str) -> Result<Self> {
        match std::env::var(name) {
            Ok(digits) => Self::from_hex(&Zeroizing::new(digits)).map_err(|_| {
                Error::Invalid(format!("the variable {name} has no key: 64 hexadecimal digits"))
            }),
            Err(_) => {
                Err(Error::Invalid(format!("the variable {name}, which should have the key, is not set")))
            }
        }
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

/// A passphrase, of which a key is made by Argon2id.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(Zeroizing<String>);

impl Passphrase {
    /// That passphrase.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(…)")
    }
}

/// Where the key comes from, when a database is opened.
#[derive(Clone)]
pub enum KeySource {
    /// It is here.
    Key(Key),
    /// It is made of a passphrase.
    Passphrase(Passphrase),
    /// It is asked for: from a keeper of keys, say.
    Call(Arc<dyn Fn() -> Result<Key> + Send + Sync>),
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(…)",
            Self::Passphrase(_) => "Passphrase(…)",
            Self::Call(_) => "Call(…)",
        })
    }
}

impl From<Key> for KeySource {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

impl From<Passphrase> for KeySource {
    fn from(passphrase: Passphrase) -> Self {
        Self::Passphrase(passphrase)
    }
}
