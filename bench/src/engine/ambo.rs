//! Ambo.

use std::path::Path;

use super::{Config, Engine, Result};

pub(super) fn open(_dir: &Path, _config: &Config) -> Result<Box<dyn Engine>> {
    Err("not built in yet".into())
}
