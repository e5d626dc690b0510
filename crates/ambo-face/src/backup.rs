//! Backups that nobody has open.

use ambo::{BackupReport, CheckReport, RestoredKey};

use crate::{Options, Result, options::Parts};

/// Makes the directory `path` a database like a backup, encrypted as that is: `options` have its key.
///
/// # Errors
/// What the database says.
pub fn restore(backup: &str, path: &str, options: &Options) -> Result<BackupReport> {
    let (store, _sql): Parts = options.parts()?;
    Ok(store.restore(backup, path, &RestoredKey::Same)?)
}

/// Reads everything in a backup, and says what is wrong. `options` have its key.
///
/// # Errors
/// What the database says.
pub fn verify_backup(path: &str, options: &Options) -> Result<CheckReport> {
    let (store, _sql): Parts = options.parts()?;
    Ok(store.read_only(true).open(path)?.check()?)
}
