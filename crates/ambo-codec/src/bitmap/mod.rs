//! Compressed sets of row positions.
