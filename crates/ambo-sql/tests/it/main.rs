//! SQL from end to end.

mod basics;
mod common;
mod delete;
mod insert;
mod update;
