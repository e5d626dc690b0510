//! The directory of publications, and how one is written into it.
//!
//! 1. It is *locked*: one publishes at a time. Readers take no lock.
//! 2. Files that are there under the names of what they hold are left; others are linked, or written under another name, synced and
//!    renamed. The directory is synced.
//! 3. The manifest is written under its number, which nobody looks for yet, and then the file `publication` is replaced: that is the moment
//!    at which the new publication is the newest.
//! 4. Manifests that are kept no more are removed, then files that no manifest names.
//!
//! A publisher that dies leaves files that nobody names; the next one takes or removes them. An error leaves them as well.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use ambo_base::column::{Segment, SegmentStore};
use ambo_pages::{
    checksum::sha256,
    io::{Disk, Lock, OpenMode},
    page::PagesImage,
    seal::{self, key_file},
};
use ambo_types::{Error, Result};

use super::{
    PublishOptions, PublishReport,
    disk::end_hash,
    manifest::{
        self, HOLE, Hash, Manifest, POINTER, Pointer, PublishedSegment, Salt, bundle_name, manifest_name,
        number_of, segment_name,
    },
};
use crate::database::{
    backup_mark::NEW_SEGMENT,
    backup_target::copy_segment,
    encryption::{self, RestoredKey},
    open::LOCK_FILE,
    whole_file::remove_if_there,
};

/// A bundle that is being written.
const NEW_BUNDLE: &str = "bundle-new";

/// A directory that is locked for a publication.
pub(super) struct PublishTarget {
    disk: Arc<dyn Disk>,
    names: BTreeSet<String>,
    /// Manifests that are there and can be read.
    manifests: BTreeMap<u64, Manifest>,
    /// The newest publication.
    newest: Option<u64>,
    _lock: Box<dyn Lock>,
}

impl PublishTarget {
    /// Locks a directory.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it holds something else, or publications of another database or of a later moment; [`Error::InUse`] if
    /// somebody publishes there.
    pub fn lock(source: &Arc<dyn Disk>, disk: &Arc<dyn Disk>, image: &PagesImage) -> Result<Self> {
        // A directory of something else is not even locked: that would leave a file there.
        check_names(&list(disk)?)?;
        let lock =
            disk.lock(LOCK_FILE, true).map_err(|error| Error::io(format!("locking {LOCK_FILE}"), error))?;
        let lock = lock.ok_or_else(|| {
            Error::InUse("somebody else publishes into the directory at this moment".into())
        })?;
        let names = list(disk)?;
        check_names(&names)?;
        let pointer = Pointer::read(disk);
        if let Ok(Some(Pointer { database, .. })) = pointer
            && database != image.superblock().database_id
        {
            return Err(of_another(database));
        }
        let disk = encryption::disk_of_backup(source, disk, &RestoredKey::Same)?;
        let mut manifests = BTreeMap::new();
        for number in names.iter().filter_map(|name| number_of(name)) {
            match Manifest::read(&disk, number) {
                Ok(Some(read)) => drop(manifests.insert(number, read)),
                // It is no publication, and does not keep others from being made.
                Ok(None) | Err(Error::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let newest = match pointer {
            // It is replaced, where others tell whose directory it is.
            Err(Error::Damaged { .. }) if !manifests.is_empty() => None,
            pointer => pointer?.map(|pointer| pointer.number),
        };
        let target = Self { disk, names, manifests, newest, _lock: lock };
        target.check_earlier(image)?;
        Ok(target)
    }

    /// Refuses publications of another database, or of a later moment.
    fn check_earlier(&self, image: &PagesImage) -> Result<()> {
        let superblock = image.superblock();
        for there in self.manifests.values() {
            if there.database != superblock.database_id {
                return Err(of_another(there.database));
            }
            if there.checkpoint > superblock.sequence {
                return Err(Error::Invalid(format!(
                    "publication {} is of a later moment (checkpoint {}) than the database (checkpoint {}), which was put back to an \
                     earlier state; publish into an empty directory",
                    there.number, there.checkpoint, superblock.sequence
                )));
            }
        }
        Ok(())
    }

    /// The newest publication, if it is of that checkpoint.
    fn is_there(&self, image: &PagesImage) -> Option<&Manifest> {
        let newest = self.manifests.get(&self.newest?)?;
        let superblock = image.superblock();
        let is_same = newest.checkpoint == superblock.sequence && newest.timestamp == superblock.timestamp;
        (is_same && newest.files().all(|name| self.names.contains(&name))).then_some(newest)
    }

    /// Steps 2 to 4.
    pub fn write(
        mut self,
        source: &Arc<dyn Disk>,
        image: &PagesImage,
        segments: &[Arc<Segment>],
        at: Duration,
        options: &PublishOptions,
    ) -> Result<PublishReport> {
        let mut report =
            PublishReport { timestamp: image.superblock().timestamp, ..PublishReport::default() };
        match self.is_there(image) {
            Some(newest) => (report.number, report.is_new) = (newest.number, false),
            None => {
                let manifest = self.put_files(source, image, segments, (at, options), &mut report);
                let manifest = manifest.inspect_err(|_| {
                    // They may be what fills the disk. What cannot be removed now is removed by the next publisher.
                    let _ = remove_if_there(&self.disk, NEW_BUNDLE);
                    let _ = remove_if_there(&self.disk, NEW_SEGMENT);
                })?;
                manifest.put(&self.disk)?;
                Pointer { database: manifest.database, number: manifest.number }.put(&self.disk)?;
                (report.number, report.is_new) = (manifest.number, true);
                self.names.insert(manifest_name(manifest.number));
                self.names.extend(manifest.files());
                self.manifests.insert(manifest.number, manifest);
            }
        }
        self.remove_old(at, options, &mut report)?;
        Ok(report)
    }

    fn put_files(
        &self,
        source: &Arc<dyn Disk>,
        image: &PagesImage,
        segments: &[Arc<Segment>],
        (at, options): (Duration, &PublishOptions),
        report: &mut PublishReport,
    ) -> Result<Manifest> {
        encryption::copy_keys(source, &self.disk)?;
        let greatest = self.names.iter().filter_map(|name| number_of(name)).chain(self.newest).max();
        let superblock = image.superblock();
        let mut manifest = Manifest {
            database: superblock.database_id,
            number: greatest.unwrap_or(0) + 1,
            checkpoint: superblock.sequence,
            timestamp: superblock.timestamp,
            // What is written is whole microseconds.
            at: Duration::from_micros(u64::try_from(at.as_micros()).unwrap_or(u64::MAX)),
            salt: self.salt(superblock.database_id)?,
            pages_bytes: image.file_bytes(),
            bundle_bytes: options.bundle_bytes,
            bundles: Vec::new(),
            segments: Vec::new(),
        };
        let mut put = BTreeSet::new();
        for segment in segments {
            let segment = self.put_segment(source, segment, &manifest.salt, report)?;
            manifest.segments.push(segment);
        }
        manifest.segments.sort_by_key(|segment| segment.id);
        let mut buffer = vec![0; options.bundle_bytes as usize];
        let mut offset = 0;
        while offset < manifest.pages_bytes {
            let len = manifest.bytes_of(manifest.bundles.len()) as usize;
            let hash =
                self.put_bundle(image, (&mut buffer[..len], offset), &manifest.salt, &mut put, report)?;
            manifest.bundles.push(hash);
            offset += len as u64;
        }
        self.sync_directory()?;
        Ok(manifest)
    }

    /// The salt of all names in the directory. That of an encrypted database is known to those who have its key.
    fn salt(&self, database: u128) -> Result<Salt> {
        match (self.manifests.last_key_value(), self.disk.sealed()) {
            (Some((_, manifest)), _) => Ok(manifest.salt),
            (None, None) => Ok(database.to_le_bytes()),
            (None, Some(_)) => seal::random_bytes(),
        }
    }

    fn put_segment(
        &self,
        source: &Arc<dyn Disk>,
        segment: &Segment,
        salt: &Salt,
        report: &mut PublishReport,
    ) -> Result<PublishedSegment> {
        let (plain, bytes) = (SegmentStore::name(segment.id()), segment.file_bytes());
        let read = || end_hash(&*source.open(&plain, OpenMode::Read)?, bytes);
        let end = read().map_err(|error| ambo_pages::io::read_failed(&plain, bytes, error))?;
        let published = PublishedSegment { id: segment.id(), bytes, end };
        let name = segment_name(salt, &published);
        match self.names.contains(&name) {
            true => report.kept += 1,
            false if copy_segment(source, &self.disk, segment, &name)? => report.linked += 1,
            false => {
                report.written += 1;
                report.written_bytes += bytes;
            }
        }
        Ok(published)
    }

    fn put_bundle(
        &self,
        image: &PagesImage,
        (buffer, offset): (&mut [u8], u64),
        salt: &Salt,
        put: &mut BTreeSet<Hash>,
        report: &mut PublishReport,
    ) -> Result<Hash> {
        if !image.read_at(buffer, offset)? {
            return Ok(HOLE);
        }
        let hash = sha256(&[buffer]);
        let name = bundle_name(salt, &hash);
        if self.names.contains(&name) || !put.insert(hash) {
            report.kept += 1;
            return Ok(hash);
        }
        remove_if_there(&self.disk, NEW_BUNDLE)?;
        let write = || -> std::io::Result<()> {
            let file = self.disk.open(NEW_BUNDLE, OpenMode::Create)?;
            file.write_at(buffer, 0)?;
            file.sync()?;
            self.disk.rename(NEW_BUNDLE, &name)
        };
        write().map_err(|error| Error::io(format!("writing {name}"), error))?;
        report.written += 1;
        report.written_bytes += buffer.len() as u64;
        Ok(hash)
    }

    /// Step 4. A publication stays while it is among the newest `keep`, and for `grace` after a newer one was made.
    fn remove_old(&self, now: Duration, options: &PublishOptions, report: &mut PublishReport) -> Result<()> {
        let there: BTreeSet<u64> = self.names.iter().filter_map(|name| number_of(name)).collect();
        let newest: BTreeSet<u64> = there.iter().rev().take(options.keep.max(1)).copied().collect();
        let is_kept = |number: u64| {
            let next = self.manifests.range(number + 1..).next();
            let is_late = next.is_none_or(|(_, next)| now.saturating_sub(next.at) < options.grace);
            // One that cannot be read goes by its number alone.
            newest.contains(&number) || self.manifests.contains_key(&number) && is_late
        };
        let (kept, old): (Vec<u64>, Vec<u64>) = there.into_iter().partition(|number| is_kept(*number));
        for number in &old {
            remove_if_there(&self.disk, &manifest_name(*number))?;
            report.publications_removed += 1;
        }
        if !old.is_empty() {
            // Who finds a manifest finds its files.
            self.sync_directory()?;
        }
        report.publications = kept.len() as u64;
        let read: Option<Vec<&Manifest>> = kept.iter().map(|number| self.manifests.get(number)).collect();
        // Nobody knows which files one has that cannot be read.
        let Some(read) = read else { return Ok(()) };
        let named: BTreeSet<String> = read.iter().flat_map(|manifest| manifest.files()).collect();
        let is_old = |name: &&String| !named.contains(*name) && number_of(name).is_none() && *name != POINTER;
        let unnamed: Vec<_> =
            self.names.iter().filter(|name| manifest::is_ours(name)).filter(is_old).collect();
        for name in &unnamed {
            remove_if_there(&self.disk, name)?;
            report.removed += 1;
        }
        if unnamed.is_empty() { Ok(()) } else { self.sync_directory() }
    }

    fn sync_directory(&self) -> Result<()> {
        self.disk.sync_directory().map_err(|error| Error::io("syncing the directory of publications", error))
    }
}

fn of_another(database: u128) -> Error {
    Error::Invalid(format!(
        "the directory has publications of another database ({database:032x}); publish into an empty directory"
    ))
}

fn list(disk: &Arc<dyn Disk>) -> Result<BTreeSet<String>> {
    let names = disk.list().map_err(|error| Error::io("listing the directory of publications", error))?;
    Ok(names.into_iter().collect())
}

/// Refuses a directory that has other files than those of publications.
fn check_names(names: &BTreeSet<String>) -> Result<()> {
    let others = [LOCK_FILE, key_file::NAME, key_file::NEW_NAME];
    let is_known = |name: &str| manifest::is_ours(name) || others.contains(&name);
    match names.iter().find(|name| !is_known(name)) {
        Some(name) => Err(Error::Invalid(format!(
            "the directory has a file \"{name}\", which is none of a publication; publish into an empty directory, or into that of \
             earlier publications"
        ))),
        None => Ok(()),
    }
}
