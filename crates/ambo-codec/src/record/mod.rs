//! Codecs for single records and other runs of bytes.
