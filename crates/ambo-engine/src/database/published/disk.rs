//! A publication as the directory of a database that was closed in order: `pages`, put together of bundles, and segments by their names.
//!
//! A bundle is held to its hash when it is read for the first time, a segment to the hash of its end when it is opened. Nothing can be
//! written. Files are kept open, the first [`HELD`] bundles of them: what the publisher removes can still be read then.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use ambo_base::column::SegmentStore;
use ambo_pages::{
    checksum::sha256,
    io::{Disk, File, Lock, OpenMode},
    page,
    seal::SealedDisk,
};

use super::manifest::{END_BYTES, HOLE, Manifest, bundle_name, segment_name};

/// So many files of bundles are kept open; others are opened each time.
const HELD: usize = 256;

/// The files of one publication.
#[derive(Debug)]
pub(super) struct PublishedDisk {
    inner: Arc<dyn Disk>,
    manifest: Arc<Manifest>,
}

/// Nobody writes there, so there is nothing to be locked.
#[derive(Debug)]
struct NoLock;

impl Lock for NoLock {}

fn only_read<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "a publication is only read"))
}

fn not_as_published(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is not what was published"))
}

impl PublishedDisk {
    /// The files in `inner` that `manifest` names.
    pub fn new(inner: Arc<dyn Disk>, manifest: Manifest) -> Self {
        Self { inner, manifest: Arc::new(manifest) }
    }

    fn open_segment(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let manifest = &self.manifest;
        let id = SegmentStore::id_of(name).ok_or(io::ErrorKind::NotFound)?;
        let row = manifest.segments.binary_search_by_key(&id, |segment| segment.id);
        let segment = &manifest.segments[row.map_err(|_| io::ErrorKind::NotFound)?];
        let name = segment_name(&manifest.salt, segment);
        let file = self.inner.open(&name, OpenMode::Read)?;
        // Whoever opens it knows how long it should be.
        match file.len()? != segment.bytes || end_hash(&*file, segment.bytes)? == segment.end {
            true => Ok(file),
            false => Ok(Arc::new(Changed { name, bytes: segment.bytes })),
        }
    }
}

/// The hash of the end of a file of so many bytes.
pub(super) fn end_hash(file: &dyn File, bytes: u64) -> io::Result<[u8; 32]> {
    let mut end = vec![0; bytes.min(END_BYTES) as usize];
    let from = bytes - end.len() as u64;
    file.read_at(&mut end, from)?;
    Ok(sha256(&[&end]))
}

fn open_file(disk: &dyn Disk, name: &str, number: u64) -> io::Result<Arc<dyn File>> {
    disk.open(name, OpenMode::Read).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other(format!(
            "the file {name} is gone: the publisher keeps publication {number} no more, or somebody removed it; open the newest publication"
        )),
        _ => error,
    })
}

impl Disk for PublishedDisk {
    fn open(&self, name: &str, mode: OpenMode) -> io::Result<Arc<dyn File>> {
        if mode != OpenMode::Read {
            return only_read();
        }
        match name == page::NAME {
            true => Ok(Arc::new(Pages::new(self.inner.clone(), self.manifest.clone()))),
            false => self.open_segment(name),
        }
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        only_read()
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        only_read()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let segments = self.manifest.segments.iter().map(|segment| SegmentStore::name(segment.id));
        Ok([page::NAME.to_owned()].into_iter().chain(segments).collect())
    }

    fn sync_directory(&self) -> io::Result<()> {
        only_read()
    }

    fn free_bytes(&self) -> Option<u64> {
        Some(0)
    }

    fn lock(&self, _name: &str, exclusive: bool) -> io::Result<Option<Box<dyn Lock>>> {
        if exclusive { only_read() } else { Ok(Some(Box::new(NoLock))) }
    }

    fn sealed(&self) -> Option<&SealedDisk> {
        // Of what is encrypted a copy is encrypted, too.
        self.inner.sealed()
    }
}

#[derive(Debug, Default)]
struct Bundle {
    held: OnceLock<Arc<dyn File>>,
    is_verified: AtomicBool,
}

/// The file `pages`, of bundles.
#[derive(Debug)]
struct Pages {
    disk: Arc<dyn Disk>,
    manifest: Arc<Manifest>,
    bundles: Vec<Bundle>,
    held: AtomicUsize,
}

impl Pages {
    fn new(disk: Arc<dyn Disk>, manifest: Arc<Manifest>) -> Self {
        let bundles = manifest.bundles.iter().map(|_| Bundle::default()).collect();
        Self { disk, manifest, bundles, held: AtomicUsize::new(0) }
    }

    /// The file of a bundle, which has been held to its hash.
    fn bundle(&self, index: usize) -> io::Result<Arc<dyn File>> {
        let (bundle, hash) = (&self.bundles[index], &self.manifest.bundles[index]);
        if let Some(file) = bundle.held.get() {
            return Ok(file.clone());
        }
        let name = bundle_name(&self.manifest.salt, hash);
        let file = open_file(&*self.disk, &name, self.manifest.number)?;
        if !bundle.is_verified.load(Ordering::Relaxed) {
            let mut bytes = vec![0; self.manifest.bytes_of(index) as usize];
            let is_as_long = file.len()? == bytes.len() as u64;
            if !is_as_long || file.read_at(&mut bytes, 0).map(|()| sha256(&[&bytes]))? != *hash {
                return Err(not_as_published(name));
            }
            bundle.is_verified.store(true, Ordering::Relaxed);
        }
        if self.held.fetch_add(1, Ordering::Relaxed) < HELD {
            return Ok(bundle.held.get_or_init(|| file).clone());
        }
        self.held.fetch_sub(1, Ordering::Relaxed);
        Ok(file)
    }
}

/// A file that is not what was published: damage to whoever reads it.
#[derive(Debug)]
struct Changed {
    name: String,
    bytes: u64,
}

/// The parts of a `File` that is only read.
macro_rules! only_reads {
    () => {
        fn write_at(&self, _bytes: &[u8], _offset: u64) -> io::Result<()> {
            only_read()
        }

        fn set_len(&self, _len: u64) -> io::Result<()> {
            only_read()
        }

        fn allocate(&self, _offset: u64, _len: u64) -> io::Result<()> {
            only_read()
        }

        fn punch_hole(&self, _offset: u64, _len: u64) -> io::Result<()> {
            only_read()
        }

        fn sync(&self) -> io::Result<()> {
            only_read()
        }

        fn will_need(&self, _offset: u64, _len: u64) {}
    };
}

impl File for Changed {
    fn read_at(&self, _buffer: &mut [u8], _offset: u64) -> io::Result<()> {
        Err(not_as_published(format!("the end of {}", self.name)))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }

    only_reads!();

    fn allocated_len(&self) -> io::Result<u64> {
        Ok(self.bytes)
    }
}

impl File for Pages {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64).filter(|end| *end <= self.manifest.pages_bytes);
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let bundle_bytes = u64::from(self.manifest.bundle_bytes);
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let (index, within) = ((at / bundle_bytes) as usize, at % bundle_bytes);
            let (part, after) = rest.split_at_mut(rest.len().min((bundle_bytes - within) as usize));
            match self.manifest.bundles[index] == HOLE {
                true => part.fill(0),
                false => self.bundle(index)?.read_at(part, within)?,
            }
            at += part.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.manifest.pages_bytes)
    }

    only_reads!();

    fn allocated_len(&self) -> io::Result<u64> {
        let bundles = (0..self.bundles.len()).filter(|index| self.manifest.bundles[*index] != HOLE);
        Ok(bundles.map(|index| self.manifest.bytes_of(index)).sum())
    }
}
