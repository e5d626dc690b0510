//! What a checkpoint says of a base: where its parts are.

/// The main tree of storage `btree`, by its [`TreeMeta`](super::btree::TreeMeta).
pub const TREE: u8 = 1;
/// A segment of storage `column`, by its [`SegmentRow`](super::column::SegmentRow). The part is its id.
pub const SEGMENT: u8 = 2;
/// A part of storage `lsm`, as `lsm` describes it. The part is its place among the others.
pub const PART: u8 = 3;
/// The tree of the stub.
#[cfg(feature = "stub")]
pub const STUB: u8 = 255;

/// What leads to a part of a base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Root {
    /// What the bytes are.
    pub tag: u8,
    /// Which part it is, of those that a base has.
    pub part: u64,
    /// Where it is, as the base writes it.
    pub bytes: Vec<u8>,
}
