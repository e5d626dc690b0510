//! Sorted blocks of integers, compressed.
