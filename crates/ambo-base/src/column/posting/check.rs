//! The check of a file of postings: each posting is one of the rows, and each row has its postings.

use std::collections::VecDeque;

use ambo_types::Result;

use super::{
    file::PostingFile,
    gather::{Gatherer, Key},
    keys,
};

impl PostingFile {
    /// What is wrong with it, beside what was gathered of its segment.
    ///
    /// # Errors
    /// Damage, and what the operating system refuses.
    pub(in crate::column) fn check(&self, rows: Gatherer) -> Result<Vec<String>> {
        let mut lists = VecDeque::new();
        self.each_list(|key, rows| lists.push_back((key, rows)))?;
        let mut problems = Vec::new();
        let width = self.width();
        rows.finish(|key, rows| {
            if !problems.is_empty() {
                return;
            }
            let key = match key {
                Key::Number(number) => keys::bytes(number, width),
                Key::Text(text) => text.to_vec(),
            };
            let is_same = lists.pop_front().is_some_and(|(there, list)| {
                there == key
                    && list.len() == rows.len()
                    && list.iter().zip(rows).all(|(a, b)| *a == u64::from(*b))
            });
            if !is_same {
                problems.push(format!("{}: other rows have the key {key:02x?} than it says", self.name()));
            }
        });
        if problems.is_empty() && !lists.is_empty() {
            problems.push(format!("{}: it has keys that no row has", self.name()));
        }
        Ok(problems)
    }
}
