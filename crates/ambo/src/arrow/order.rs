//! Batches in the order of the sort key, or the primary key.
//!
//! A scan has lanes in which rows ascend. They are merged by stored keys, batch by batch: where the rows of a batch are all before those of
//! the other lanes it is handed out as it is; where lanes overlap, slices of their batches follow each other and are copied into one.

use std::{
    cmp::Ordering,
    ops::Range,
    sync::{Arc, atomic::AtomicU64},
};

use ambo_engine::base::column::RowKeys;
use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::{concat::concat_batches, take::take_record_batch};

use super::export::{Batches, refused};
use crate::Result;

/// Rows of several slices that are copied into one batch, about.
const ROWS: usize = 8192;

/// An iterator over batches of a part of the rows of a table, in the order of stored keys: within each batch, and from batch to batch.
#[must_use = "it is an iterator"]
pub struct Lane {
    batches: Arc<Batches>,
    units: Range<usize>,
    is_backward: bool,
}

/// An iterator over batches of all rows, in the order of stored keys.
#[must_use = "it is an iterator"]
pub struct Ordered {
    lanes: Vec<(Lane, Option<Head>)>,
    batches: Arc<Batches>,
    is_backward: bool,
    /// Rows that may be handed out yet.
    left: u64,
    /// Slices in order that wait to be one batch.
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
}

/// What a lane gives next.
struct Head {
    unit: usize,
    batch: RecordBatch,
    /// Its first and last key, of the rows in their order.
    ends: RowKeys,
    /// All keys, once other lanes have rows between them.
    keys: Option<RowKeys>,
    /// Rows that were handed out.
    taken: usize,
}

impl Batches {
    /// Hands out the rows in the order of the table's sort key, or its primary key where it has none; read by the thread that asks.
    ///
    /// ```
    /// use ambo::{Database, Storage, TableDefinition, Type};
    /// # let dir = tempfile::tempdir()?;
    /// # let db = Database::open(dir.path())?;
    /// let cities = TableDefinition::new("cities").column("name", Type::Utf8).column("people", Type::I64);
    /// let cities = cities.primary_key(&["name"]).sort_key(&["people"]).storage(Storage::Column);
    /// let cities = db.create_table(cities)?;
    /// for (name, people) in [("Delft", 109_000i64), ("Bern", 134_000), ("Ghent", 263_000)] {
    ///     cities.insert_row(&[name.into(), people.into()])?;
    /// }
    /// db.compact()?;
    /// cities.insert_row(&["Brest".into(), 140_000i64.into()])?;
    /// let largest = cities.select(&["name"])?.batches()?.limit(2).ordered().rev().next().unwrap()?;
    /// let names = largest.column(0);
    /// # use arrow_array::{Array, cast::AsArray};
    /// assert_eq!(names.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["Ghent", "Brest"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ordered(self) -> Ordered {
        let batches = Arc::new(self);
        let lane = |units| (Lane { batches: batches.clone(), units, is_backward: false }, None);
        let lanes = batches.scan.lanes().into_iter().map(lane).collect();
        let left = batches.limit;
        Ordered { lanes, batches, is_backward: false, left, waiting: Vec::new(), waiting_rows: 0 }
    }

    /// Hands out the rows in parts that each are in order: for threads of the caller's, who merges them if all are to be in order. There
    /// are as many as the table has runs of segments and layers of fresh rows, or more, up to `wanted`. A limit holds for each.
    pub fn lanes(self, wanted: usize) -> Vec<Lane> {
        let batches = Arc::new(self);
        let lane = |units| Lane { batches: batches.clone(), units, is_backward: false };
        batches.scan.lanes_for(wanted).into_iter().map(lane).collect()
    }
}

impl Lane {
    /// The same rows from the last to the first. To be called before the first step.
    pub fn rev(mut self) -> Self {
        self.is_backward = !self.is_backward;
        self
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        self.batches.schema()
    }

    fn next_unit(&mut self) -> Option<usize> {
        if self.is_backward { self.units.next_back() } else { self.units.next() }
    }

    /// The next rows with the first and the last key.
    fn next_head(&mut self) -> Result<Option<Head>> {
        while let Some(unit) = self.next_unit() {
            let scan = &self.batches.scan;
            let Some(morsel) = scan.morsel_in_order(unit)? else { continue };
            let ends = scan.end_keys(&morsel)?;
            let batch = self.batches.convert(&morsel, &AtomicU64::new(u64::MAX))?;
            let batch = batch.expect("all rows of the morsel, of which there is one");
            return Ok(Some(Head { unit, batch, ends, keys: None, taken: 0 }));
        }
        Ok(None)
    }
}

impl Iterator for Lane {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(unit) = self.next_unit() {
            let unlimited = AtomicU64::new(u64::MAX);
            match self.batches.read_limited(unit, &unlimited).transpose() {
                None => {}
                Some(Ok(batch)) if self.is_backward => return Some(reversed(&batch)),
                Some(batch) => return Some(batch),
            }
        }
        None
    }
}

impl Head {
    /// The key of the `taken`-th row in the direction of the scan.
    fn key(&self, taken: usize, is_backward: bool) -> &[u8] {
        let rows = self.batch.num_rows();
        let row = if is_backward { rows - 1 - taken } else { taken };
        match &self.keys {
            Some(keys) => keys.get(row),
            None => self.ends.get(usize::from(row > 0)),
        }
    }

    fn left(&self) -> usize {
        self.batch.num_rows() - self.taken
    }

    /// The next rows, which are taken.
    fn take(&mut self, rows: usize, is_backward: bool) -> Result<RecordBatch> {
        let start = if is_backward { self.left() - rows } else { self.taken };
        self.taken += rows;
        let slice = self.batch.slice(start, rows);
        if is_backward { reversed(&slice) } else { Ok(slice) }
    }
}

fn reversed(batch: &RecordBatch) -> Result<RecordBatch> {
    if batch.num_columns() == 0 {
        return Ok(batch.clone());
    }
    let rows: UInt32Array = (0..batch.num_rows() as u32).rev().collect();
    take_record_batch(batch, &rows).map_err(refused)
}

impl Ordered {
    /// The same rows from the last to the first. To be called before the first step.
    pub fn rev(mut self) -> Self {
        self.is_backward = !self.is_backward;
        for (lane, _) in &mut self.lanes {
            lane.is_backward = self.is_backward;
        }
        self
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        self.batches.schema()
    }

    fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.is_backward { b.cmp(a) } else { a.cmp(b) }
    }

    /// Gives each lane its next rows; lanes without go.
    fn fill(&mut self) -> Result<()> {
        for (lane, head) in &mut self.lanes {
            if head.as_ref().is_none_or(|head| head.left() == 0) {
                *head = lane.next_head()?;
            }
        }
        self.lanes.retain(|(_, head)| head.is_some());
        Ok(())
    }

    /// The key at which a lane stands.
    fn current(&self, lane: usize) -> &[u8] {
        let head = self.lanes[lane].1.as_ref().expect("filled");
        head.key(head.taken, self.is_backward)
    }

    /// The next rows in order, as many as one lane has before those of the others; none behind the last.
    fn next_slice(&mut self) -> Result<Option<RecordBatch>> {
        self.fill()?;
        let by_key = |a: &usize, b: &usize| self.order(self.current(*a), self.current(*b));
        let Some(first) = (0..self.lanes.len()).min_by(by_key) else { return Ok(None) };
        let other = (0..self.lanes.len()).filter(|lane| *lane != first).min_by(by_key);
        let Some(other) = other.map(|lane| self.current(lane).to_vec()) else {
            return self.take(first, None).map(Some);
        };
        let head = self.lanes[first].1.as_ref().expect("filled");
        let last = head.key(head.batch.num_rows() - 1, self.is_backward);
        if self.order(last, &other).is_lt() {
            return self.take(first, None).map(Some);
        }
        if head.keys.is_none() {
            let morsel = self.batches.scan.morsel_in_order(head.unit)?.expect("it had rows before");
            let keys = self.batches.scan.keys(&morsel)?;
            self.lanes[first].1.as_mut().expect("filled").keys = Some(keys);
        }
        let head = self.lanes[first].1.as_ref().expect("filled");
        let is_before = |row: usize| self.order(head.key(row, self.is_backward), &other).is_lt();
        // The first row that is not before: steps double, for others are often near.
        let (mut low, mut step) = (head.taken, 1);
        while low + step < head.batch.num_rows() && is_before(low + step) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(head.batch.num_rows());
        while low + 1 < high {
            let middle = (low + high) / 2;
            match is_before(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        let rows = high - head.taken;
        self.take(first, Some(rows)).map(Some)
    }

    fn take(&mut self, lane: usize, rows: Option<usize>) -> Result<RecordBatch> {
        let head = self.lanes[lane].1.as_mut().expect("filled");
        let rows = rows.unwrap_or(head.left());
        head.take(rows, self.is_backward)
    }

    /// What waits, as one batch.
    fn emit(&mut self) -> Option<Result<RecordBatch>> {
        self.waiting_rows = 0;
        let waiting = std::mem::take(&mut self.waiting);
        let batch = match &waiting[..] {
            [] => return None,
            [batch] => Ok(batch.clone()),
            batches => concat_batches(self.batches.schema(), batches).map_err(refused),
        };
        Some(batch.map(|batch| {
            let rows = self.left.min(batch.num_rows() as u64);
            self.left -= rows;
            batch.slice(0, rows as usize)
        }))
    }
}

impl Iterator for Ordered {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 && (self.waiting_rows as u64) < self.left && self.waiting_rows < ROWS {
            match self.next_slice() {
                Ok(Some(batch)) => {
                    let is_whole = batch.num_rows() >= ROWS / 2;
                    let was_empty = self.waiting.is_empty();
                    self.waiting_rows += batch.num_rows();
                    self.waiting.push(batch);
                    if was_empty && is_whole {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.left = 0;
                    return Some(Err(error));
                }
            }
        }
        if self.left == 0 {
            return None;
        }
        self.emit()
    }
}
