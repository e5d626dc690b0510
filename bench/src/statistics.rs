//! Medians over runs, and ratios between engines.

use std::collections::BTreeMap;

use crate::contender::{AMBO, Contender};
use crate::results::Figure;

/// What a row of a table is about: workload, threads and metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// `suite/phase`.
    pub workload: String,
    /// Threads at work.
    pub threads: usize,
    /// What was measured.
    pub metric: String,
}

/// A row: the median of each contender.
#[derive(Debug, Clone)]
pub struct Summary {
    /// What it is about.
    pub key: RowKey,
    /// The unit of the medians.
    pub unit: String,
    /// The medians.
    pub medians: BTreeMap<Contender, f64>,
}

/// The middle value; the mean of the two middle ones if their number is even. None if there is none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 { Some(upper) } else { Some((values[values.len() / 2 - 1] + upper) / 2.0) }
}

/// Whether a larger value of a metric in that unit is the better one.
pub fn larger_is_better(unit: &str) -> bool {
    unit.ends_with("/s") || matches!(unit, "values/cycle" | "% saved" | "% of lone rate" | "times")
}

/// Groups figures into rows, in the order in which their workloads first appear, then by threads.
pub fn summarise(figures: &[Figure]) -> Vec<Summary> {
    let mut order: Vec<RowKey> = Vec::new();
    let mut groups: BTreeMap<RowKey, (String, BTreeMap<Contender, Vec<f64>>)> = BTreeMap::new();
    for figure in figures.iter().filter(|figure| figure.failure.is_none()) {
        let key = RowKey {
            workload: figure.workload.clone(),
            threads: figure.threads,
            metric: figure.metric.clone(),
        };
        let group = groups.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            (figure.unit.clone(), BTreeMap::new())
        });
        group.1.entry(figure.engine.clone()).or_default().push(figure.value);
    }
    let mut workloads: Vec<String> = Vec::new();
    for key in &order {
        if !workloads.contains(&key.workload) {
            workloads.push(key.workload.clone());
        }
    }
    // Stable: metrics keep the order in which they were measured.
    order.sort_by_key(|key| (workloads.iter().position(|w| *w == key.workload), key.threads));
    order
        .into_iter()
        .filter_map(|key| {
            let (unit, engines) = groups.remove(&key)?;
            let medians = engines.iter().filter_map(|(whose, v)| Some((whose.clone(), median(v)?))).collect();
            Some(Summary { key, unit, medians })
        })
        .collect()
}

impl Summary {
    /// The median of one.
    pub fn median(&self, whose: &str) -> Option<f64> {
        self.medians.get(&Contender::from(whose)).copied()
    }

    /// The peer with the best median, and that median.
    pub fn best_peer(&self) -> Option<(&Contender, f64)> {
        let peers =
            self.medians.iter().filter(|(whose, _)| whose.is_peer()).map(|(whose, &value)| (whose, value));
        if larger_is_better(&self.unit) {
            peers.max_by(|a, b| a.1.total_cmp(&b.1))
        } else {
            peers.min_by(|a, b| a.1.total_cmp(&b.1))
        }
    }

    /// How many times better Ambo is than a peer: above 1 is better, whatever the unit.
    pub fn ratio_to(&self, peer: &str) -> Option<f64> {
        self.ratio(AMBO, peer)
    }

    /// How many times better one is than another.
    pub fn ratio(&self, one: &str, other: &str) -> Option<f64> {
        let one = self.median(one)?;
        let other = self.median(other)?;
        let (above, below) = if larger_is_better(&self.unit) { (one, other) } else { (other, one) };
        (below != 0.0).then(|| above / below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::example;

    #[test]
    fn medians_of_odd_and_even_counts() {
        // Keeps away: a mean, which one disturbed run would move.
        assert_eq!(median(&[5.0, 1.0, 100.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn ratios_say_how_much_better() {
        // Keeps away: a latency ratio read upside down, or a failed run counted as zero.
        let mut figures = Vec::new();
        for (run, (ambo, lmdb)) in [(10.0, 4.0), (30.0, 5.0), (20.0, 90.0)].into_iter().enumerate() {
            figures.push(example("k/get", "ambo", "throughput", ambo, run));
            figures.push(example("k/get", "lmdb", "throughput", lmdb, run));
        }
        figures.push(example("k/get", "redb", "throughput", 2.0, 1));
        let mut failed = example("k/get", "sqlite", "throughput", 0.0, 1);
        failed.failure = Some("killed".into());
        figures.push(failed);
        let mut p99 = [example("k/get", "ambo", "p99", 2.0, 1), example("k/get", "lmdb", "p99", 8.0, 1)];
        p99.iter_mut().for_each(|figure| figure.unit = "µs".into());
        figures.extend(p99);

        let rows = summarise(&figures);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].best_peer(), Some((&"lmdb".into(), 5.0)));
        assert_eq!(rows[0].ratio_to("lmdb"), Some(4.0));
        assert_eq!(rows[0].ratio_to("sqlite"), None);
        assert_eq!(rows[1].ratio_to("lmdb"), Some(4.0));
    }
}
