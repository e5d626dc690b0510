//! SQL from end to end.

mod basics;
mod common;
mod delete;
mod fast;
mod for_update;
mod insert;
mod merge;
mod prepare;
mod update;
