//! # Backups

use std::ffi::c_char;

use crate::{
    c::{Out, name, tell},
    database::{Database, with},
    error::{Error, call},
    handle::give,
    options::{Options, given},
    owned::{Names, NamesBody},
    status::{AMBO_OK, Status},
};

/// What making or restoring a backup did.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BackupReport {
    /// Every commit up to this moment is in it.
    pub moment: u64,
    /// Bytes of pages, which were copied.
    pub page_bytes: u64,
    /// Files that have a second name in the directory of the backup.
    pub linked: u64,
    /// Files that were copied, as they could not be linked.
    pub copied: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Files that an earlier backup had already.
    pub kept: u64,
    /// Files of an earlier backup that this one does not need.
    pub removed: u64,
}

impl From<ambo::BackupReport> for BackupReport {
    fn from(of: ambo::BackupReport) -> Self {
        Self {
            moment: of.timestamp.0,
            page_bytes: of.page_bytes,
            linked: of.linked,
            copied: of.copied,
            copied_bytes: of.copied_bytes,
            kept: of.kept,
            removed: of.removed,
        }
    }
}

/// Makes a directory a backup of the database as it is now, while it goes on being used. A backup is a database. A directory with an
/// earlier backup of the database becomes the new one, and what it has already is not copied again. `report` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_backup(
    database: *mut Database,
    path: *const c_char,
    report: *mut BackupReport,
    error: *mut *mut Error,
) -> Status {
    with(database, error, |db| {
        tell(report, db.backup_to(name("the path", path)?)?.into());
        Ok(())
    })
}

/// Makes the directory `path` a database like a backup, which stays what it is; or like a database that was closed in order and that
/// nobody has open. `options`, or NULL, have the key of one that is encrypted. `report` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_restore(
    backup: *const c_char,
    path: *const c_char,
    options: *const Options,
    report: *mut BackupReport,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (backup, path) = (name("the backup", backup)?, name("the path", path)?);
        tell(report, ambo_face::restore(backup, path, &given(options)?)?.into());
        Ok(AMBO_OK)
    })
}

/// Verifies every page and every row of a backup, as `ambo_restore` reads it. `problems` says all that is wrong: no names, if nothing is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_verify_backup(
    path: *const c_char,
    options: *const Options,
    problems: *mut *mut Names,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (path, problems) = (name("the path", path)?, Out::new("problems", problems)?);
        let report = ambo_face::verify_backup(path, &given(options)?)?;
        problems.set(give(NamesBody::new(report.problems.iter().map(String::as_str))));
        Ok(AMBO_OK)
    })
}
