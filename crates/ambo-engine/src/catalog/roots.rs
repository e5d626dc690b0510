//! Where the base of a table is, and its runs: what rows of the catalog say of them.
//!
//! A [`Root`] of a base is a row of kind 9: behind the kind the id of the table (u32) and the number of the part (u64), both big-endian;
//! its value is the tag, u8, and what the base wrote. Two kinds of roots are older than that, and are written as they were, so that
//! databases without other storages stay readable for older versions: the main tree is in the row of kind 3, a segment is a row of kind 7
//! without a tag.
//!
//! The value of a row of kind 3, which each table has:
//!
//! | part | encoding |
//! |---|---|
//! | version | u8 = 1 |
//! | next row number | u64, little-endian |
//! | number of trees | u8; the last is the main tree, those before it are runs, newest first |
//! | trees | [`TreeMeta::BYTES`] bytes each |

use std::collections::HashMap;

use ambo_base::{
    Root,
    btree::TreeMeta,
    root::{SEGMENT, TREE},
};
use ambo_types::id::TableId;

use super::{BASE_ROW, ROOTS_ROW, SEGMENT_ROW, table_key, u32_key};

const VERSION: u8 = 1;
const FIXED_LEN: usize = 10;

/// The most trees that the base of one table has.
pub const TREES_MAX: usize = 64;

/// All that a checkpoint says of where a table is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableRoots {
    /// The next hidden row number or auto-increment value.
    pub next_row: u64,
    /// Runs, newest first.
    pub runs: Vec<TreeMeta>,
    /// Of the base.
    pub base: Vec<Root>,
}

impl TableRoots {
    /// The rows of a table.
    pub fn rows(&self, table: TableId) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut main = TreeMeta::default();
        let mut rows = Vec::new();
        for Root { tag, part, bytes } in &self.base {
            let key = |kind| [&table_key(kind, table)[..], &part.to_be_bytes()].concat();
            match *tag {
                TREE => {
                    assert!(main.is_empty(), "a base has one main tree");
                    main = TreeMeta::decode(bytes).expect("a base writes what it reads");
                }
                SEGMENT => rows.push((key(SEGMENT_ROW), bytes.clone())),
                tag => rows.push((key(BASE_ROW), [&[tag], &bytes[..]].concat())),
            }
        }
        let trees = self.runs.iter().copied().chain([main]).collect();
        let roots = Roots { next_row: self.next_row, trees };
        rows.push((table_key(ROOTS_ROW, table), roots.encode()));
        debug_assert!(self.is_read_from(table, &rows), "roots are found again");
        rows
    }

    /// Whether rows of the catalog say it again, in whatever order; for assertions.
    fn is_read_from(&self, table: TableId, rows: &[(Vec<u8>, Vec<u8>)]) -> bool {
        let mut read = CatalogRoots::default();
        let all_taken = rows.iter().all(|(key, value)| read.take(key, value) == Ok(true));
        let (mut read, mut own) = (read.remove(table), self.clone());
        for roots in [&mut read, &mut own] {
            roots.base.sort_by_key(|root| (root.tag, root.part));
        }
        all_taken && read == own
    }
}

/// The roots of all tables, as the rows of a checkpoint's catalog say.
#[derive(Debug, Default)]
pub struct CatalogRoots(HashMap<TableId, TableRoots>);

impl CatalogRoots {
    /// Takes a row if it is one of roots.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn take(&mut self, key: &[u8], value: &[u8]) -> Result<bool, String> {
        let Some((kind @ (&ROOTS_ROW | &SEGMENT_ROW | &BASE_ROW), rest)) = key.split_first() else {
            return Ok(false);
        };
        let (table, part) = rest.split_at_checked(4).ok_or("roots of no table")?;
        let of = self.0.entry(TableId(u32_key(table)?)).or_default();
        if *kind == ROOTS_ROW {
            if !part.is_empty() {
                return Err("roots of a part of a table".into());
            }
            let Roots { next_row, mut trees } = Roots::decode(value)?;
            let main = trees.pop().filter(|main| !main.is_empty());
            (of.next_row, of.runs) = (next_row, trees);
            of.base.extend(main.map(|main| Root { tag: TREE, part: 0, bytes: main.encode().to_vec() }));
            return Ok(true);
        }
        let part = part.try_into().map(u64::from_be_bytes).map_err(|_| "a root of no part")?;
        let (tag, bytes) = match *kind {
            SEGMENT_ROW => (SEGMENT, value),
            _ => value.split_first().map(|(tag, bytes)| (*tag, bytes)).ok_or("a root without a tag")?,
        };
        of.base.push(Root { tag, part, bytes: bytes.to_vec() });
        Ok(true)
    }

    /// Those of a table.
    pub fn remove(&mut self, table: TableId) -> TableRoots {
        self.0.remove(&table).unwrap_or_default()
    }

    /// The ids of all segments.
    pub fn segments(&self) -> impl Iterator<Item = u64> {
        let roots = self.0.values().flat_map(|of| &of.base);
        roots.filter(|root| root.tag == SEGMENT).map(|root| root.part)
    }
}

/// The trees of one table and its counter of row numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roots {
    /// The next hidden row number or auto-increment value.
    pub next_row: u64,
    /// Runs, newest first, then the main tree (possibly empty).
    pub trees: Vec<TreeMeta>,
}

impl Roots {
    /// The roots as bytes.
    pub fn encode(&self) -> Vec<u8> {
        assert!(self.trees.len() <= TREES_MAX);
        let mut out = vec![VERSION];
        out.extend_from_slice(&self.next_row.to_le_bytes());
        out.push(self.trees.len() as u8);
        for tree in &self.trees {
            out.extend_from_slice(&tree.encode());
        }
        assert_eq!(out.len(), FIXED_LEN + self.trees.len() * TreeMeta::BYTES, "trees have one length each");
        debug_assert_eq!(Self::decode(&out).as_ref(), Ok(self), "roots are read as they were written");
        out
    }

    /// The roots in `bytes`.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let (fixed, trees) = bytes.split_at_checked(FIXED_LEN).ok_or("roots that are cut off")?;
        if fixed[0] != VERSION {
            return Err("roots of an unknown version".into());
        }
        let next_row = u64::from_le_bytes(fixed[1..9].try_into().expect("8 bytes"));
        let count = usize::from(fixed[9]);
        if count > TREES_MAX || trees.len() != count * TreeMeta::BYTES {
            return Err(format!("{} bytes where {count} trees were announced", trees.len()));
        }
        let trees = trees.chunks_exact(TreeMeta::BYTES).map(TreeMeta::decode).collect::<Option<_>>();
        let trees = trees.ok_or("roots that contradict themselves")?;
        Ok(Self { next_row, trees })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambo_types::id::PageNo;
    use ambo_types::id::PagePtr;

    fn tree(page: u64) -> TreeMeta {
        TreeMeta { root: PagePtr::new(PageNo(page), 1), height: 1, rows: 1, ..TreeMeta::default() }
    }

    // Keeps away: a part of a table that a checkpoint forgets, or takes for one of another table.
    #[test]
    fn rows_lead_back_to_the_roots() {
        let root = |tag, part, bytes: &[u8]| Root { tag, part, bytes: bytes.to_vec() };
        let tables = [
            TableRoots { next_row: 7, runs: vec![tree(3), tree(5)], base: vec![] },
            TableRoots { next_row: 1, runs: vec![], base: vec![root(TREE, 0, &tree(9).encode())] },
            TableRoots {
                next_row: 0,
                runs: vec![tree(4)],
                base: vec![root(SEGMENT, 1, b"one"), root(SEGMENT, 77, b"")],
            },
            TableRoots {
                next_row: 2,
                runs: vec![tree(6)],
                base: vec![root(9, 0, b""), root(10, 1 << 40, b"x")],
            },
        ];
        let mut again = CatalogRoots::default();
        for (id, roots) in (1..).zip(&tables) {
            for (key, value) in roots.rows(TableId(id)) {
                assert!(again.take(&key, &value).unwrap());
            }
        }
        assert_eq!(again.segments().collect::<std::collections::BTreeSet<_>>(), [1, 77].into());
        for (id, mut roots) in (1..).zip(tables) {
            let mut found = again.remove(TableId(id));
            found.base.sort_by_key(|root| root.part);
            roots.base.sort_by_key(|root| root.part);
            assert_eq!(found, roots);
        }
    }

    // Keeps away: rows that older versions cannot read, of a database that has nothing new.
    #[test]
    fn the_worked_example_holds() {
        let base = vec![
            Root { tag: 200, part: 3, bytes: vec![5, 6] },
            Root { tag: SEGMENT, part: 2, bytes: vec![1] },
        ];
        let rows = TableRoots { next_row: 1, runs: Vec::new(), base }.rows(TableId(4));
        let table = [0, 0, 0, 4];
        assert_eq!(rows[0], ([&[9][..], &table, &[0, 0, 0, 0, 0, 0, 0, 3]].concat(), vec![200, 5, 6]));
        assert_eq!(rows[1], ([&[7][..], &table, &[0, 0, 0, 0, 0, 0, 0, 2]].concat(), vec![1]));
        let (key, value) = &rows[2];
        assert_eq!(*key, [&[3][..], &table].concat());
        assert_eq!(value[..10], [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    }

    // Keeps away: panics on rows of any bytes, and rows that are left out.
    #[test]
    fn bad_rows_are_refused() {
        let mut roots = CatalogRoots::default();
        assert_eq!(roots.take(&[2, 0, 0, 0, 1], b""), Ok(false));
        assert_eq!(roots.take(b"", b""), Ok(false));
        let key = |kind, len| [&[kind][..], &[0; 13][..len]].concat();
        let [no_table, no_part] = ["roots of no table", "a root of no part"];
        for (kind, len, wrong) in [
            (3, 3, no_table),
            (3, 5, "roots of a part of a table"),
            (7, 4, no_part),
            (7, 11, no_part),
            (7, 13, no_part),
            (9, 3, no_table),
            (9, 11, no_part),
        ] {
            let taken = roots.take(&key(kind, len), &Roots::default().encode());
            assert_eq!(taken, Err(wrong.to_owned()), "{kind} {len}");
        }
        assert_eq!(roots.take(&key(9, 12), b""), Err("a root without a tag".to_owned()));
        assert_eq!(roots.take(&key(3, 4), b"x"), Err("roots that are cut off".to_owned()));
    }
}
