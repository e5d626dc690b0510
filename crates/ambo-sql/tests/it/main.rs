//! SQL from end to end.

mod basics;
mod bulk;
mod column_names;
mod common;
mod copy;
mod delete;
mod describe;
mod deserialize;
mod docs;
mod fast;
mod files;
mod for_update;
mod grouping_sets;
mod ingest;
mod insert;
mod isolation;
mod join_keys;
mod joins;
mod long_statements;
mod merge;
mod model;
mod orders;
mod parameters;
mod prepare;
mod pushdown;
mod replace;
mod results;
mod row_scans;
mod sources;
mod states;
#[path = "../../../ambo-engine/tests/it/stop.rs"]
mod stop;
mod tables;
mod times;
mod update;
mod upstream;
