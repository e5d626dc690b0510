//! Bitmaps beside the crates `roaring` and `croaring`, runs optimised in both. The peers are their 32-bit bitmaps, the
//! faster ones; ours hold 64-bit positions.

use std::hint::black_box;

use ambo_codec::bitmap::{Bitmap, Positions};
use croaring::Portable;
use roaring::RoaringBitmap;

use crate::contender::AMBO;
use crate::engine::Result;
use crate::random::Random;
use crate::timing::fastest;
use crate::workload::sheet::Sheet;

/// Positions are below this.
const SPAN: u32 = 1 << 24;
/// Positions that are looked up.
const PROBES: usize = 4096;
/// Sets that are intersected at once.
const MANY: usize = 4;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    for (name, share) in
        [("0.01 %", 1e-4), ("0.1 %", 1e-3), ("1 %", 1e-2), ("10 %", 0.1), ("50 %", 0.5), ("99 %", 0.99)]
    {
        let sets = std::array::from_fn(|seed| scattered(share, seed as u64));
        one(sheet, &format!("scattered, {name} set"), &sets)?;
    }
    let sets = std::array::from_fn(|seed| runs(seed as u64));
    one(sheet, "runs of 1,000 in 4,000", &sets)
}

fn scattered(share: f64, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..SPAN).filter(|_| random.unit() < share).collect()
}

fn runs(seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut positions = Vec::new();
    let mut at = random.below(3000) as u32;
    while at < SPAN {
        let end = (at + 500 + random.below(1000) as u32).min(SPAN);
        positions.extend(at..end);
        at = end + 2000 + random.below(2000) as u32;
    }
    positions
}

/// What all three can do.
trait Set: Sized {
    fn build(positions: &[u32]) -> Result<Self>;
    fn and(&self, other: &Self) -> Self;
    fn or(&self, other: &Self) -> Self;
    fn and_not(&self, other: &Self) -> Self;
    fn all(sets: &[Self]) -> Self;
    fn cardinality(&self) -> u64;
    fn contains(&self, position: u32) -> bool;
    fn rank(&self, position: u32) -> u64;
    fn select(&self, rank: u32) -> u32;
    fn sum(&self) -> u64;
    fn bytes(&self) -> usize;
}

impl Set for Bitmap {
    fn build(positions: &[u32]) -> Result<Self> {
        Ok(Self::from_sorted(positions.iter().map(|&position| u64::from(position)))?)
    }
    fn and(&self, other: &Self) -> Self {
        Positions::and(self, other)
    }
    fn or(&self, other: &Self) -> Self {
        Positions::or(self, other)
    }
    fn and_not(&self, other: &Self) -> Self {
        Positions::and_not(self, other)
    }
    fn all(sets: &[Self]) -> Self {
        Self::intersection(sets)
    }
    fn cardinality(&self) -> u64 {
        Positions::cardinality(self)
    }
    fn contains(&self, position: u32) -> bool {
        Positions::contains(self, position.into())
    }
    fn rank(&self, position: u32) -> u64 {
        // Ours counts what is below, the peers what is at most.
        Positions::rank(self, u64::from(position) + 1)
    }
    fn select(&self, rank: u32) -> u32 {
        Positions::select(self, rank.into()).unwrap_or(0) as u32
    }
    fn sum(&self) -> u64 {
        self.iter().sum()
    }
    fn bytes(&self) -> usize {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes.len()
    }
}

impl Set for RoaringBitmap {
    fn build(positions: &[u32]) -> Result<Self> {
        let mut set = Self::from_sorted_iter(positions.iter().copied()).map_err(|error| error.to_string())?;
        set.optimize();
        Ok(set)
    }
    fn and(&self, other: &Self) -> Self {
        self & other
    }
    fn or(&self, other: &Self) -> Self {
        self | other
    }
    fn and_not(&self, other: &Self) -> Self {
        self - other
    }
    fn all(sets: &[Self]) -> Self {
        roaring::MultiOps::intersection(sets.iter())
    }
    fn cardinality(&self) -> u64 {
        self.len()
    }
    fn contains(&self, position: u32) -> bool {
        Self::contains(self, position)
    }
    fn rank(&self, position: u32) -> u64 {
        Self::rank(self, position)
    }
    fn select(&self, rank: u32) -> u32 {
        Self::select(self, rank).unwrap_or(0)
    }
    fn sum(&self) -> u64 {
        self.iter().map(u64::from).sum()
    }
    fn bytes(&self) -> usize {
        self.serialized_size()
    }
}

impl Set for croaring::Bitmap {
    fn build(positions: &[u32]) -> Result<Self> {
        let mut set = Self::of(positions);
        set.run_optimize();
        Ok(set)
    }
    fn and(&self, other: &Self) -> Self {
        Self::and(self, other)
    }
    fn or(&self, other: &Self) -> Self {
        Self::or(self, other)
    }
    fn and_not(&self, other: &Self) -> Self {
        self.andnot(other)
    }
    fn all(sets: &[Self]) -> Self {
        // The crate has no such function: two by two, the result in place.
        let mut result = sets[0].and(&sets[1]);
        sets[2..].iter().for_each(|set| result.and_inplace(set));
        result
    }
    fn cardinality(&self) -> u64 {
        Self::cardinality(self)
    }
    fn contains(&self, position: u32) -> bool {
        Self::contains(self, position)
    }
    fn rank(&self, position: u32) -> u64 {
        Self::rank(self, position)
    }
    fn select(&self, rank: u32) -> u32 {
        Self::select(self, rank).unwrap_or(0)
    }
    fn sum(&self) -> u64 {
        self.iter().map(u64::from).sum()
    }
    fn bytes(&self) -> usize {
        self.get_serialized_size_in_bytes::<Portable>()
    }
}

/// The sets of one kind, and all that is asked of them.
struct Sets<S> {
    sets: Vec<S>,
    probes: Vec<u32>,
    ranks: Vec<u32>,
}

/// The operations, in the order of [`Sets::run`].
const OPERATIONS: [&str; 8] = ["and", "or", "and not", "and of 4", "contains", "rank", "select", "iterate"];

impl<S: Set> Sets<S> {
    fn new(positions: &[Vec<u32>; MANY]) -> Result<Sets<S>> {
        let sets = positions.iter().map(|set| S::build(set)).collect::<Result<Vec<_>>>()?;
        let mut random = Random::new(77);
        let cardinality = sets[0].cardinality();
        Ok(Sets {
            sets,
            probes: (0..PROBES).map(|_| random.below(u64::from(SPAN)) as u32).collect(),
            ranks: (0..PROBES).map(|_| random.below(cardinality) as u32).collect(),
        })
    }

    /// Does an operation and returns a number that all kinds must agree in.
    fn run(&self, operation: usize) -> u64 {
        let (one, other) = (&self.sets[0], &self.sets[1]);
        match operation {
            0 => one.and(other).cardinality(),
            1 => one.or(other).cardinality(),
            2 => one.and_not(other).cardinality(),
            3 => S::all(&self.sets).cardinality(),
            4 => self.probes.iter().filter(|&&probe| one.contains(probe)).count() as u64,
            5 => self.probes.iter().map(|&probe| one.rank(probe)).sum(),
            6 => self.ranks.iter().map(|&rank| u64::from(one.select(rank))).sum(),
            _ => one.sum(),
        }
    }

    /// How many of an operation are done at once.
    fn amount(&self, operation: usize) -> f64 {
        match operation {
            0..=3 => 1.0,
            4..=6 => PROBES as f64,
            _ => self.sets[0].cardinality() as f64,
        }
    }
}

fn one(sheet: &mut Sheet, name: &str, positions: &[Vec<u32>; MANY]) -> Result<()> {
    let name = &format!("bitmaps: {name}");
    let ours = Sets::<Bitmap>::new(positions)?;
    let roaring = Sets::<RoaringBitmap>::new(positions)?;
    let croaring = Sets::<croaring::Bitmap>::new(positions)?;
    let count = positions[0].len() as f64;
    for (whose, bytes) in [
        (AMBO, ours.sets[0].bytes()),
        ("roaring", roaring.sets[0].bytes()),
        ("croaring", croaring.sets[0].bytes()),
    ] {
        sheet.figure(name, whose, "size", "bits/position", (bytes * 8) as f64 / count);
    }
    for (operation, metric) in OPERATIONS.into_iter().enumerate() {
        let results = [ours.run(operation), roaring.run(operation), croaring.run(operation)];
        if results != [results[0]; 3] {
            return Err(format!("{name}: {metric} gives {results:?}").into());
        }
        let seconds = fastest(&mut [
            &mut || {
                black_box(ours.run(operation));
            },
            &mut || {
                black_box(roaring.run(operation));
            },
            &mut || {
                black_box(croaring.run(operation));
            },
        ]);
        let (unit, scale) = if operation < 4 { ("µs", 1e6) } else { ("ns each", 1e9) };
        for (whose, seconds) in [AMBO, "roaring", "croaring"].into_iter().zip(seconds) {
            sheet.figure(name, whose, metric, unit, seconds * scale / ours.amount(operation));
        }
    }
    Ok(())
}
