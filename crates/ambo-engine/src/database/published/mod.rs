//! Publications: a directory of files that are never edited, from which others read a database as it was at one moment.
//!
//! 1. What is published is what a backup has: one checkpoint, kept while it is read, and no log (`backup`). Nobody waits for it.
//! 2. Each file is whole when it gets its name, and never edited: pages in bundles named by what they hold, segments by their number and
//!    their end. So what an earlier publication has already is not written again, and its readers go on.
//! 3. A publication is its manifest, which names all of its files with their hashes. The file `publication` says which is the newest, and
//!    is the only one that is replaced.
//! 4. A reader sees the directory of a database that was closed in order (`disk`), and opens it read-only as any other. It takes no lock.
//! 5. The publisher removes what is old, manifests first: a reader that finds its manifest after it has opened all has opened all.
//!
//! | found when the directory is opened | done |
//! |---|---|
//! | no file `publication` | it is the directory of a database, or none |
//! | the file, for reading | the newest publication is opened, or that of the number which was asked for |
//! | the file, for writing, or to be read beside a writer | refused |
//! | the manifest is gone by now | the newest is looked for again; of a number that was asked for, [`Error::NotFound`] |
//! | the file, or the manifest, is cut or changed | [`Error::Damaged`] |
//! | a segment is not what was published | its table answers with [`Error::Damaged`], the others are opened |
//! | a bundle is not what was published | [`Error::Damaged`] when it is read |
//! | files of a publication and no `publication`: the first one was broken off | no database is there, and none is made |
//!
//! The bytes: `manifest`. Publishing: `target`.

mod disk;
mod manifest;
mod target;

use std::{sync::Arc, time::Duration};

use ambo_pages::io::{Disk, Env};
use ambo_types::{Error, Result, id::Timestamp};

use self::{
    disk::PublishedDisk,
    manifest::{
        BUNDLE_BYTES_MAX, BUNDLE_BYTES_MIN, BUNDLE_PREFIX, Manifest, Pointer, manifest_name, number_of,
    },
    target::PublishTarget,
};
use super::{
    encryption,
    engine::Engine,
    open::{Opening, RecoveryReport},
    options::Options,
};

pub use manifest::Publication;

/// How often a reader looks for the newest publication, when the one that it found was removed meanwhile.
const TRIES: u32 = 20;

/// How a database is published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublishOptions {
    /// So many of the newest publications are kept, at least one.
    pub keep: usize,
    /// For so long a publication is kept after a newer one was made.
    pub grace: Duration,
    /// Bytes of a file with pages, a power of two from 64 KiB to 64 MiB. Fewer bytes make more files, and fewer bytes are written where few
    /// pages have changed.
    pub bundle_bytes: u32,
}

impl Default for PublishOptions {
    fn default() -> Self {
        Self { keep: 3, grace: Duration::from_secs(600), bundle_bytes: 1 << 20 }
    }
}

impl PublishOptions {
    fn validate(&self) -> Result<()> {
        let bytes = self.bundle_bytes;
        match bytes.is_power_of_two() && (BUNDLE_BYTES_MIN..=BUNDLE_BYTES_MAX).contains(&bytes) {
            true => Ok(()),
            false => Err(Error::Invalid(format!(
                "bundle_bytes {bytes}: a power of two from {BUNDLE_BYTES_MIN} to {BUNDLE_BYTES_MAX} is possible"
            ))),
        }
    }
}

/// What was published, and what was done for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PublishReport {
    /// The number of the publication.
    pub number: u64,
    /// Every commit up to this one is in it.
    pub timestamp: Timestamp,
    /// Whether it was made now; else nothing was committed since it was made.
    pub is_new: bool,
    /// Files that were written.
    pub written: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Files that have a second name in the directory.
    pub linked: u64,
    /// Files that earlier publications had already.
    pub kept: u64,
    /// Publications that are there now.
    pub publications: u64,
    /// Publications that were removed.
    pub publications_removed: u64,
    /// Files that were removed, as no publication has them any more.
    pub removed: u64,
}

impl Engine {
    /// Publishes the database as it is now in `target`. It goes on being used, and so are earlier publications.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the directory holds something else; [`Error::InUse`] if somebody publishes there. The newest publication is
    /// the one before then, or, if what failed was removing what is old, the new one.
    pub fn publish_to(&self, target: &Arc<dyn Disk>, options: &PublishOptions) -> Result<PublishReport> {
        options.validate()?;
        let pinned = self.pin()?;
        let source = self.segments.disk();
        let locked = PublishTarget::lock(source, target, &pinned.image)?;
        locked.write(source, &pinned.image, &pinned.segments, self.clock.wall(), options)
    }

    /// Opens a publication, if the directory has some.
    pub(super) fn open_published(env: &Env, options: &Options) -> Result<Option<(Self, RecoveryReport)>> {
        let started = env.clock.now();
        let pointer = match (Pointer::read(&env.disk), options.publication) {
            // Which is the newest does not matter then.
            (Err(Error::Damaged { .. }), Some(number)) => Some(number),
            (pointer, _) => pointer?.map(|pointer| pointer.number),
        };
        let Some(newest) = pointer else {
            return match options.publication {
                None => Ok(None),
                Some(number) => Err(Error::NotFound(format!(
                    "publication {number}: the directory has no publications (no file \"{}\")",
                    manifest::POINTER
                ))),
            };
        };
        if options.beside || !options.read_only {
            return Err(Error::Invalid(
                "the directory has publications of a database, which are only read: open it read-only, or restore it to another directory"
                    .into(),
            ));
        }
        let env = encryption::unlock_copy(env.clone(), options)?;
        let engine = match options.publication {
            Some(number) => match open_number(&env, options, number)? {
                Some(engine) => engine,
                None => return Err(no_such(&env, number)?),
            },
            None => open_newest(&env, options, newest)?,
        };
        let elapsed = env.clock.now().saturating_sub(started);
        Ok(Some((engine, RecoveryReport { elapsed, ..RecoveryReport::default() })))
    }
}

/// The publications in a directory, from the oldest to the newest.
///
/// # Errors
/// [`Error::NotFound`] if it has none; [`Error::Damaged`] if one cannot be read.
pub fn publications(env: Env, options: &Options) -> Result<Vec<Publication>> {
    let Some(pointer) = Pointer::read(&env.disk)? else {
        return Err(Error::NotFound(
            "publications in this directory (it has no file \"publication\")".into(),
        ));
    };
    let env = encryption::unlock_copy(env, &Options { read_only: true, ..options.clone() })?;
    let mut found = Vec::new();
    for number in numbers(&env)?.into_iter().filter(|number| *number <= pointer.number) {
        // One that is gone by now is none.
        found.extend(Manifest::read(&env.disk, number)?.map(|manifest| manifest.publication()));
    }
    Ok(found)
}

/// The number of the newest publication in a directory; none if there is none yet.
///
/// # Errors
/// [`Error::Damaged`] if the file that says so is not what was written.
pub fn newest_publication(env: &Env) -> Result<Option<u64>> {
    Ok(Pointer::read(&env.disk)?.map(|pointer| pointer.number))
}

/// Whether a file of that name is left of a first publication that was broken off.
pub(super) fn is_of_publication(name: &str) -> bool {
    name.starts_with(BUNDLE_PREFIX) || number_of(name).is_some()
}

fn numbers(env: &Env) -> Result<Vec<u64>> {
    let names = env.disk.list().map_err(|error| Error::io("listing the directory of publications", error))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| number_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn no_such(env: &Env, number: u64) -> Result<Error> {
    let there: Vec<String> = numbers(env)?.iter().map(u64::to_string).collect();
    Ok(Error::NotFound(format!("publication {number}; there are: {}", there.join(", "))))
}

/// Opens the newest publication, which may become another one meanwhile.
fn open_newest(env: &Env, options: &Options, newest: u64) -> Result<Engine> {
    let (mut number, mut left) = (newest, TRIES);
    loop {
        let opened = open_number(env, options, number);
        if let Ok(Some(engine)) = opened {
            return Ok(engine);
        }
        let next = Pointer::read(&env.disk)?.map_or(number, |pointer| pointer.number);
        if next == number || left == 0 {
            opened?;
            return Err(Error::damaged(
                manifest_name(number),
                0,
                "the manifest of the newest publication is missing; publish again",
            ));
        }
        (number, left) = (next, left - 1);
    }
}

/// Opens the publication of that number; none if it is not there, or was removed while it was being opened.
fn open_number(env: &Env, options: &Options, number: u64) -> Result<Option<Engine>> {
    let Some(manifest) = Manifest::read(&env.disk, number)? else { return Ok(None) };
    let database = manifest.database;
    let disk: Arc<dyn Disk> = Arc::new(PublishedDisk::new(env.disk.clone(), manifest));
    let options = Options { publication: Some(number), ..options.clone() };
    let opening = Opening::checkpoint(&Env { disk, ..env.clone() }, &options)?;
    if opening.superblock.database_id != database {
        return Err(Error::damaged(manifest_name(number), 0, "its pages are those of another database"));
    }
    let engine = opening.finish(None, None)?;
    // Its manifest goes first: as long as that is there, nothing was missing.
    Ok(Manifest::read(&env.disk, number)?.map(|_| engine))
}
