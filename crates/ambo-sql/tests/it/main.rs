//! SQL from end to end.

mod basics;
