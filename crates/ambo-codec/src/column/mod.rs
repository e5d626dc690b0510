//! Encodings of column blocks.
