//! Codecs in memory, each beside the crates that do the same: same data, same run, lower quartile of several repetitions.

mod bitmaps;
mod columns;
mod integers;
mod records;

use super::sheet::Sheet;
use crate::engine::Result;

pub(super) fn run(sheet: &mut Sheet) -> Result<()> {
    match sheet.case.name {
        "bitmaps" => bitmaps::run(sheet),
        "columns" => columns::run(sheet),
        "integers" => integers::run(sheet),
        "records" => records::run(sheet),
        name => Err(format!("no case {name}").into()),
    }
}
