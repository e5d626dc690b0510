//! What a scan needs of rows that lie together, wherever they are: in a segment, in memory, in a storage that is still to come.

use std::sync::Arc;

use ambo_codec::{Value, column::Block};
use ambo_types::{Error, Result};

use crate::filter::Filter;

/// Rows that lie together, whose stored columns are read when a scan asks for them.
pub trait RowGroup {
    /// How many stored columns there are.
    fn columns(&self) -> usize;

    /// Reads the block of a column; `None` if the group has it in memory.
    fn read(&self, column: usize) -> Result<Option<Arc<[u8]>>>;

    /// The block of a column, in the bytes that [`RowGroup::read`] gave.
    fn parse<'a>(&'a self, column: usize, read: Option<&'a [u8]>) -> Result<Block<'a>>;

    /// The least and the greatest value of a column in the type of its block, where they are known without reading it.
    fn bounds(&self, column: usize) -> Option<(Value, Value)>;

    /// Whether a row may answer a filter with yes, as far as that is known without reading a block.
    fn may_match(&self, filter: &Filter) -> bool;

    /// What a block says against a request, or that it is damaged.
    fn wrong(&self, column: usize, error: ambo_codec::Error) -> Error;
}
