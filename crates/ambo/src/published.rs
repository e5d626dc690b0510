//! Publications of a database, and who reads them.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use ambo_engine::{
    database::{newest_publication, publications},
    io::Env,
};

use crate::{Database, Error, Options, Publication, PublishOptions, PublishReport, Result, Timestamp};

/// A publication that is open: a [`Database`] that is only read, as it was when it was [published](Database::publish_to). Nothing has to
/// run where it was published, and the directory may be on another file system, or a copy.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let (data, published) = (dir.path().join("data"), dir.path().join("published"));
/// let db = ambo::Database::open(&data)?;
/// let users = db.key_value("users")?;
/// users.put(b"ada", b"Ada Lovelace")?;
/// db.publish_to(&published, &ambo::PublishOptions::default())?;
///
/// let mut reader = ambo::Published::open(&published)?;
/// users.put(b"grace", b"Grace Hopper")?;
/// db.publish_to(&published, &ambo::PublishOptions::default())?;
/// assert_eq!(reader.table("users")?.len()?, 1);
/// assert!(reader.refresh()?);
/// assert_eq!((reader.number(), reader.table("users")?.len()?), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Published {
    db: Database,
    path: PathBuf,
    options: Options,
}

impl Deref for Published {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.db
    }
}

impl Published {
    /// Opens the newest publication in a directory.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is none; [`Error::Damaged`] with the file that is not what was published.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open_published(path)
    }

    /// The publications in a directory, from the oldest to the newest.
    ///
    /// # Errors
    /// As [`Published::open`], of all of them.
    pub fn list(path: impl AsRef<Path>) -> Result<Vec<Publication>> {
        Options::new().publications(path)
    }

    /// The number of the publication.
    pub fn number(&self) -> u64 {
        self.db.engine().options().publication.expect("an open publication has a number")
    }

    /// Every commit up to this one is in it.
    pub fn timestamp(&self) -> Timestamp {
        self.db.engine().snapshot().timestamp()
    }

    /// Opens the newest publication, if it is another one by now. Whether it is. Clones, and what was read from them, stay what they were.
    ///
    /// # Errors
    /// As [`Published::open`]; this one stays open then.
    pub fn refresh(&mut self) -> Result<bool> {
        let newest = newest_publication(&Env::os(&self.path, false)?)?;
        if newest == Some(self.number()) {
            return Ok(false);
        }
        *self = self.options.clone().open_published(&self.path)?;
        Ok(true)
    }
}

impl Options {
    /// Of a directory of publications the one of this number is opened, not the newest.
    pub fn publication(mut self, number: u64) -> Self {
        self.settings.publication = Some(number);
        self
    }

    /// As [`Published::open`], with these options: the key of what is encrypted, or a number. [`Options::open`] opens it as well, if
    /// [`Options::read_only`] is set.
    ///
    /// # Errors
    /// As [`Published::open`].
    pub fn open_published(self, path: impl AsRef<Path>) -> Result<Published> {
        let path = path.as_ref();
        let db = self.clone().read_only(true).open(path)?;
        if db.engine().options().publication.is_none() {
            return Err(Error::NotFound(format!(
                "publications in {}: it is the directory of a database",
                path.display()
            )));
        }
        let mut options = self;
        options.settings.publication = None;
        Ok(Published { db, path: path.to_path_buf(), options })
    }

    /// As [`Published::list`], with the key of what is encrypted.
    ///
    /// # Errors
    /// As [`Published::list`].
    pub fn publications(&self, path: impl AsRef<Path>) -> Result<Vec<Publication>> {
        publications(Env::os(path, false)?, &self.settings)
    }
}

impl Database {
    /// Publishes the database as it is now in the directory `path`, for [readers](Published) that may be anywhere: in other processes, on
    /// other machines that see the directory or a copy of it. It goes on being used, and nobody waits. The directory has files that are
    /// never edited, and one small file that says which publication is the newest; what an earlier publication has already is not written
    /// again. Rows of tables in memory are in no publication.
    ///
    /// Old publications go as the options say. Who reads one that has gone is told so.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a directory that holds something else, publications of another database, or later ones of this;
    /// [`Error::InUse`] if somebody else publishes there; [`Error::Damaged`] if a table cannot be read. Earlier publications are as they
    /// were then.
    pub fn publish_to(&self, path: impl AsRef<Path>, options: &PublishOptions) -> Result<PublishReport> {
        self.engine().publish_to(&Env::os(path, true)?.disk, options)
    }
}
