//! The key of an encrypted database. How files are sealed is the matter of [`ambo_pages::seal`].
//!
//! | found when the directory is opened | without a key | with a key |
//! |---|---|---|
//! | the file `keys` | refused: it is encrypted | its data keys are opened; another key is refused |
//! | `pages` or a log, and no `keys` | as ever | refused: it is not encrypted |
//! | nothing, and `create` is set | as ever | `keys` is made, durably, before anything else |
//!
//! So a database is encrypted from its beginning, or never. One becomes the other by being restored to another directory.

use std::sync::Arc;

use ambo_pages::{
    io::{Disk, Env},
    page,
    seal::{KeySource, Keys, SealedDisk, key_file},
};
use ambo_types::{Error, Result};

use super::{engine::Engine, open::may_create, options::Options};

/// How a restored database is encrypted.
#[derive(Clone, Debug, Default)]
pub enum RestoredKey {
    /// As what it is restored from.
    #[default]
    Same,
    /// Not at all.
    Plain,
    /// By this key, and new data keys.
    New(KeySource),
}

/// The world in which an encrypted database is what it would be if it were not.
pub(super) fn unlock(env: Env, options: &Options) -> Result<Env> {
    let is_encrypted = key_file::is_there(&*env.disk)?;
    if !options.read_only {
        key_file::remove_new(&*env.disk)
            .map_err(|error| Error::io(format!("removing {}", key_file::NEW_NAME), error))?;
    }
    let keys = match (&options.key, is_encrypted) {
        (None, false) => return Ok(env),
        (None, true) => {
            return Err(Error::Invalid(
                "the database is encrypted; open it with its key (option key_file, key_environment or passphrase)".into(),
            ));
        }
        (Some(source), true) => key_file::open(&*env.disk, source)?,
        (Some(source), false) => match may_create(&env, options)? {
            true => key_file::create(&*env.disk, source)?,
            false => return Err(not_encrypted()),
        },
    };
    Ok(Env { disk: Arc::new(SealedDisk::new(env.disk, keys)), ..env })
}

fn not_encrypted() -> Error {
    Error::Invalid(
        "a key was given, but the database is not encrypted; open it without one, or restore it to another directory with a new key"
            .into(),
    )
}

/// As [`unlock`], of a directory that is only read and has no `pages`.
pub(super) fn unlock_copy(env: Env, options: &Options) -> Result<Env> {
    match options.key.is_some() && !key_file::is_there(&*env.disk)? {
        true => Err(not_encrypted()),
        false => unlock(env, options),
    }
}

/// The disk of a backup, sealed as that of the database. In the end it gets a [copy of the keys](copy_keys).
pub(super) fn disk_of_backup(
    source: &Arc<dyn Disk>,
    target: &Arc<dyn Disk>,
    key: &RestoredKey,
) -> Result<Arc<dyn Disk>> {
    let keys: Arc<Keys> = match (key, source.sealed()) {
        (RestoredKey::Same, Some(sealed)) => {
            key_file::check_earlier(&**target, sealed.keys())?;
            Arc::clone(sealed.keys())
        }
        (RestoredKey::New(source), _) => key_file::create(&**target, source)?,
        (RestoredKey::Same | RestoredKey::Plain, _) => {
            if key_file::is_there(&**target)? {
                return Err(Error::Invalid(
                    "the backup that is there is encrypted, and the database is not; make the backup in an empty directory".into(),
                ));
            }
            return Ok(Arc::clone(target));
        }
    };
    Ok(Arc::new(SealedDisk::new(Arc::clone(target), keys)))
}

/// Gives a backup the keys of the database, durably.
pub(super) fn copy_keys(source: &Arc<dyn Disk>, target: &Arc<dyn Disk>) -> Result<()> {
    match (source.sealed(), target.sealed()) {
        (Some(source), Some(target)) if Arc::ptr_eq(source.keys(), target.keys()) => {
            key_file::copy(&**source.inner(), &**target.inner())
        }
        // It has keys of its own, or none.
        _ => Ok(()),
    }
}

impl Engine {
    /// Lets `key` be what opens the database from now on. What is written from now on is under a new data key, too; what was written before
    /// stays as it is until it is written anew, as [`Engine::vacuum`] does.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the database is not encrypted. After an error of the disk the key is the one before or the new one.
    pub fn set_key(&self, key: &KeySource) -> Result<()> {
        self.check_writable()?;
        let sealed = self.segments.disk().sealed().ok_or_else(not_encrypted)?;
        // One at a time.
        let _checkpoint = self.checkpoint.lock();
        key_file::rotate(&**sealed.inner(), sealed.keys(), key)
    }

    /// How many data keys an encrypted database has had; `None` if it is not encrypted.
    pub fn data_keys(&self) -> Option<u32> {
        self.segments.disk().sealed().map(|sealed| sealed.keys().generation())
    }
}

/// Whether the directory of a backup has one already.
pub(super) fn has_pages(names: &[String]) -> bool {
    names.iter().any(|name| name == page::NAME)
}
