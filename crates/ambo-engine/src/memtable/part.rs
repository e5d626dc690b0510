//! Keys that cut a memtable into parts of about as many rows.

use super::{
    Memtable,
    arena::At,
    lock::Restart,
    node::Node,
    row::Row,
    tree::{Tree, until_stable},
};

/// The rows that part the children of a node, and these.
type Entries = (Vec<At<Row>>, Vec<At<Node>>);

impl Memtable {
    /// Keys of rows, in no order, that lie about equally far from each other: at least `wanted`, if it has leaves enough, and not many more
    /// than 64 times as many. While rows come in, one may be there twice and another not.
    pub fn separators(&self, wanted: usize) -> Vec<&[u8]> {
        self.tree.separators(wanted).into_iter().map(|row| self.tree.key(row)).collect()
    }
}

impl Tree {
    /// The separators of the upper levels, down to the first that has so many.
    fn separators(&self, wanted: usize) -> Vec<At<Row>> {
        let mut separators = Vec::new();
        let mut nodes = vec![self.root()];
        while separators.len() < wanted {
            let mut below = Vec::new();
            for at in nodes {
                let (rows, children) = until_stable(|| self.entries(at));
                separators.extend(rows);
                below.extend(children);
            }
            if below.is_empty() {
                break;
            }
            nodes = below;
        }
        separators
    }

    /// The separators and the children of a node at one moment; none of a leaf.
    fn entries(&self, at: At<Node>) -> Result<Entries, Restart> {
        let node = self.arena.get(at);
        if node.level() == 0 {
            return Ok(Default::default());
        }
        let inner = self.inner(at);
        let version = node.lock.read();
        let count = node.count();
        let rows = (0..count).map(|index| node.row(index)).collect();
        let children = (0..=count).map(|index| inner.child(index)).collect();
        node.lock.check(version)?;
        Ok((rows, children))
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use crate::memtable::Memtable;
    use ambo_types::id::Timestamp;
    use ambo_types::record::Record;

    // Keeps away: separators that are too few, that are all at one end, or no keys of the memtable.
    #[test]
    fn separators_lie_among_the_rows() {
        let memtable = Memtable::new(1 << 20).unwrap();
        assert!(memtable.separators(10).is_empty());
        for n in 0..20_000u64 {
            // Half of them ascend, half come in between.
            let key = if n.is_multiple_of(2) { n } else { (n.wrapping_mul(7919) % 20_000) | 1 };
            memtable.insert(&key.to_be_bytes(), Timestamp(n + 1), Record::inline(b""), Timestamp(0)).unwrap();
        }
        for wanted in [1, 5, 100] {
            let mut keys = memtable.separators(wanted);
            assert!((wanted..=wanted * 64 + 64).contains(&keys.len()), "{} of {wanted}", keys.len());
            assert!(keys.iter().all(|key| memtable.contains(key)));
            keys.sort_unstable();
            keys.dedup();
            let number = |key: &&[u8]| u64::from_be_bytes((*key).try_into().unwrap());
            let all: Vec<u64> = [0].into_iter().chain(keys.iter().map(number)).chain([20_000]).collect();
            let widest = all.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest <= 20_000 / wanted as u64 + 100, "{widest} of {wanted}");
        }
    }
}
