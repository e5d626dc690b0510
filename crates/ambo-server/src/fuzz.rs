//! Decoders of what clients send, for fuzz targets (`fuzz/` of this crate) and for the tests that run them for a moment. It is no
//! interface of the crate.

#[cfg(feature = "flight")]
use crate::flight;
use crate::{http, postgres, thrift};

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets by name.
pub const TARGETS: &[Target] = &[
    ("copy_rows", postgres::fuzz_rows),
    #[cfg(feature = "flight")]
    ("flight_message", flight::fuzz::message),
    ("http_range", http::fuzz_range),
    ("kv_batch", http::fuzz_batch),
    ("postgres_message", postgres::fuzz::message),
    ("scram", postgres::fuzz::password),
    ("thrift_message", thrift::fuzz),
];

/// Runs the target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    if let Some((_, target)) = TARGETS.iter().find(|(known, _)| *known == name) {
        target(bytes);
    }
}
