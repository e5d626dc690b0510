//! Tokens: 256 random bits that are shown once. Only their hash is kept.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};

use super::secret::{hash, is_same, random};

/// The hash of a token.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// A new token, and what is kept of it.
    pub fn generate() -> (String, Self) {
        let text = format!("ambo_{}", BASE64.encode(random::<32>()));
        let token = Self::of(&text);
        (text, token)
    }

    /// What is kept of a token.
    pub fn of(text: &str) -> Self {
        Self(hash(text.as_bytes()))
    }

    /// Reads what `Display` writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(Self(BASE64.decode(text.strip_prefix("TOKEN$")?).ok()?.try_into().ok()?))
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        is_same(&self.0, &other.0)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TOKEN${}", BASE64.encode(self.0))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}
