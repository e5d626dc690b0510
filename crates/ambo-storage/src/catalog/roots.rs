//! Where the base of a table is: the value of a catalog row of kind 3.
//!
//! | part | encoding |
//! |---|---|
//! | version | u8 = 1 |
//! | next row number | u64, little-endian |
//! | number of trees | u8; the last is the main tree, those before it are runs, newest first |
//! | trees | [`TreeMeta::BYTES`] bytes each |

use crate::base::btree::TreeMeta;

const VERSION: u8 = 1;
const FIXED_LEN: usize = 10;

/// The most trees that the base of one table has.
pub const TREES_MAX: usize = 64;

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
