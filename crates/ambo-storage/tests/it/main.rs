//! The engine as a whole, from outside: one binary, because each links everything again.

mod aggregate;
mod alter;
mod bitmaps;
mod codecs;
mod columns;
mod find;
mod formats;
mod found;
mod found_by_scans;
mod hostile;
mod indexes;
mod isolation;
mod large_indexes;
mod layers;
mod loads;
mod memory;
mod model;
mod relocate;
mod reshape;
mod row_scan;
mod scan;
mod seeks;
mod smoke;
mod statistics;
mod support;
mod threads;
