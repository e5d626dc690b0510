//! Tables with compressed keys or records.

use super::sheet::Sheet;
use crate::engine::Result;

pub(super) fn run(_: &mut Sheet) -> Result<()> {
    Ok(())
}
