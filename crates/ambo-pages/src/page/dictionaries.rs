//! The dictionaries that compressed records in a store's pages refer to.

use std::{collections::HashMap, sync::Arc};

use ambo_codec::record::Dictionary;
use arc_swap::ArcSwap;

/// Dictionaries by id. They are few, and read far more often than changed.
#[derive(Default)]
pub struct Dictionaries {
    by_id: ArcSwap<HashMap<u32, Dictionary>>,
}

impl Dictionaries {
    /// The dictionary with this id.
    pub fn get(&self, id: u32) -> Option<Dictionary> {
        self.by_id.load().get(&id).cloned()
    }

    /// Makes a dictionary known.
    pub fn insert(&self, id: u32, dictionary: Dictionary) {
        self.change(|by_id| {
            by_id.insert(id, dictionary.clone());
        });
    }

    /// Forgets a dictionary to which no page refers any more.
    pub fn remove(&self, id: u32) {
        self.change(|by_id| {
            by_id.remove(&id);
        });
    }

    fn change(&self, change: impl Fn(&mut HashMap<u32, Dictionary>)) {
        self.by_id.rcu(|by_id| {
            let mut next = HashMap::clone(by_id);
            change(&mut next);
            Arc::new(next)
        });
    }
}
