//! What each transaction of each writer does, computed from their numbers, so that parent and child agree without
//! talking.
//!
//! Generation `g` of writer `w` is one transaction. It puts, or in one case of eight deletes, one key in all of
//! [`TABLES`], and notes `g` under the writer's counter key in the first of them.

use std::collections::BTreeMap;

use crate::bench::mix;

/// The tables that every transaction touches.
pub const TABLES: [&str; 3] = ["crash_a", "crash_b", "crash_c"];

/// Keys of a writer in each table.
const SLOTS: u64 = 256;

/// One transaction.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    writer: u32,
    generation: u64,
    dice: u64,
}

impl Step {
    /// Generation `generation` of a writer, from 1.
    pub fn new(writer: u32, generation: u64) -> Self {
        Self { writer, generation, dice: mix(u64::from(writer) << 40 ^ generation) }
    }

    /// The key that it writes.
    pub fn key(&self) -> Vec<u8> {
        slot_key(self.writer, self.slot())
    }

    fn slot(&self) -> u64 {
        self.dice % SLOTS
    }

    /// Whether it deletes the key.
    pub fn deletes(&self) -> bool {
        (self.dice >> 16).is_multiple_of(8)
    }

    /// Whether it is written as a batch; otherwise as a transaction that reads.
    pub fn in_batch(&self) -> bool {
        (self.dice >> 24).is_multiple_of(4)
    }

    /// What it puts into a table: the generation, and bytes that only it has. Mostly small, some of a few
    /// thousand bytes, a few too large for a page.
    pub fn value(&self, table: usize) -> Vec<u8> {
        let mut seed = self.dice ^ table as u64;
        let length = match (self.dice >> 32) % 64 {
            0 => 40_000,
            1..8 => 3000,
            _ => 16 + (self.dice >> 40) as usize % 200,
        };
        let mut value = format!("{}.{} ", self.writer, self.generation).into_bytes();
        while value.len() < length {
            seed = mix(seed);
            value.extend(seed.to_le_bytes());
        }
        value
    }
}

fn slot_key(writer: u32, slot: u64) -> Vec<u8> {
    format!("slot/{writer:02}/{slot:04}").into_bytes()
}

/// Where a writer notes its last generation.
pub fn counter_key(writer: u32) -> Vec<u8> {
    format!("counter/{writer:02}").into_bytes()
}

/// What must be in the database.
#[derive(Debug)]
pub struct Model {
    writers: Vec<Writer>,
}

#[derive(Debug, Default, Clone)]
struct Writer {
    /// The last generation that was acknowledged.
    acknowledged: u64,
    /// The last generation that `slots` contains.
    applied: u64,
    /// The step that put what a slot holds.
    slots: BTreeMap<u64, u64>,
}

impl Model {
    /// Nothing written yet.
    pub fn new(writers: u32) -> Self {
        Self { writers: vec![Writer::default(); writers as usize] }
    }

    /// How many writers there are.
    pub fn writers(&self) -> u32 {
        self.writers.len() as u32
    }

    /// A writer has said that a generation is committed.
    pub fn acknowledge(&mut self, writer: u32, generation: u64) {
        let writer = &mut self.writers[writer as usize];
        writer.acknowledged = writer.acknowledged.max(generation);
    }

    /// The last generation that a writer has acknowledged.
    pub fn acknowledged(&self, writer: u32) -> u64 {
        self.writers[writer as usize].acknowledged
    }

    /// The same, of all writers.
    pub fn acknowledged_total(&self) -> u64 {
        self.writers.iter().map(|writer| writer.acknowledged).sum()
    }

    /// Does what the writer did up to a generation.
    pub fn advance(&mut self, number: u32, generation: u64) {
        let writer = &mut self.writers[number as usize];
        for generation in writer.applied + 1..=generation {
            let step = Step::new(number, generation);
            match step.deletes() {
                true => writer.slots.remove(&step.slot()),
                false => writer.slots.insert(step.slot(), generation),
            };
        }
        writer.applied = writer.applied.max(generation);
        writer.acknowledged = writer.acknowledged.max(generation);
    }

    /// All pairs of a table, in key order.
    pub fn pairs(&self, table: usize) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut pairs = BTreeMap::new();
        for (number, writer) in (0..).zip(&self.writers) {
            for (&slot, &generation) in &writer.slots {
                pairs.insert(slot_key(number, slot), Step::new(number, generation).value(table));
            }
            if table == 0 && writer.applied > 0 {
                pairs.insert(counter_key(number), writer.applied.to_string().into_bytes());
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a plan that never deletes, never writes large values, or is the same for two tables.
    #[test]
    fn steps_are_varied() {
        let steps: Vec<Step> = (1..2000).map(|generation| Step::new(1, generation)).collect();
        assert!(steps.iter().any(Step::deletes) && steps.iter().any(Step::in_batch));
        assert!(steps.iter().any(|step| step.value(0).len() >= 40_000));
        assert_ne!(steps[0].value(0), steps[0].value(1));
        let mut model = Model::new(2);
        model.advance(1, 1999);
        assert!(model.pairs(0).len() as u64 > SLOTS / 2 && model.pairs(1).len() < model.pairs(0).len());
    }
}
