//! What fuzz targets do with bytes that a client of PostgreSQL might send.

use super::{
    message::{Bind, Message},
    scram::{self, Challenge},
};
use crate::roles::Secret;

/// A message: its letter, then what is behind its length.
pub(crate) fn message(bytes: &[u8]) {
    let Some((tag, body)) = bytes.split_first() else { return };
    if let Ok(Message::Bind(Bind { values, formats, results, .. })) = Message::read(*tag, body) {
        // No more was made than there are bytes for it.
        assert!(4 * values.len() + 2 * (formats.len() + results.len()) <= body.len());
    }
}

/// The first and the last message of somebody who does not know the password.
pub(crate) fn password(bytes: &[u8]) {
    if let Ok((_, first)) = scram::first(bytes)
        && let Ok(challenge) = Challenge::new(Secret::mock("fuzz"), first)
    {
        assert!(challenge.check(first).is_none());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let known = Challenge::new(Secret::mock("fuzz"), "n,,n=,r=abc");
        assert!(known.is_ok_and(|challenge| challenge.check(text).is_none()));
    }
}
