//! Tokens that clients are given for what they have shown once, so that a password does not come with every request.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::guard::{Known, hashed};
use crate::roles::random;

/// How long a token opens anything.
const VALID: Duration = Duration::from_secs(12 * 3600);
/// How many there are at once.
const MOST: usize = 65_536;

/// See the module. Of a token only the hash of the header that it makes is kept.
#[derive(Default)]
pub(super) struct Issued(Mutex<HashMap<[u8; 32], (Known, Instant)>>);

impl Issued {
    /// A token for somebody; `None` where there are as many as there may be.
    pub(super) fn add(&self, known: Known) -> Option<String> {
        let token: String = random::<32>().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            all.retain(|_, (_, since)| since.elapsed() < VALID);
        }
        (all.len() < MOST).then(|| {
            all.insert(hashed(&format!("Bearer {token}")), (known, Instant::now()));
            token
        })
    }

    /// Whose the hash of a header is.
    pub(super) fn get(&self, header: &[u8; 32]) -> Option<Known> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(header).filter(|(_, since)| since.elapsed() < VALID).map(|(known, _)| known.clone())
    }
}
