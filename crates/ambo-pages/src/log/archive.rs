//! An archive of the log: a directory of segments, each cut to its groups, which follow each other.
//!
//! 1. A file is named by where it begins and by its number: numbers begin anew when a log is empty at opening, positions do not. It is the
//!    segment up to a group's end, byte by byte; sealed, if the database is encrypted. What follows is in the next file, or will be in this
//!    one: an open segment's file becomes a longer one later.
//! 2. A file is written under another name, read back group by group, synced, and renamed.
//! 3. What is archived was durable, so it is what the log has for ever (D4): a file whose beginning is another is of another history.
//! 4. Files that follow each other by position are a *chain*. Where one is missing, the chain ends: nothing is read over a gap.

use std::{collections::VecDeque, io};

use ambo_types::{
    Error, Result,
    id::{Lsn, Timestamp},
};

use super::{
    changes::LoggedChanges,
    format::{SEGMENT_HEADER_BYTES, SegmentHeader, archived_name, archived_place, segment_name},
    segment::{Found, Segment},
    transaction::Origin,
};
use crate::{
    io::{Disk, OpenMode},
    seal::key_file,
};

/// Whether a file of that name is an archive's.
pub fn is_ours(name: &str) -> bool {
    archived_place(name).is_some() || [NEW_NAME, key_file::NAME, key_file::NEW_NAME].contains(&name)
}

/// What a file is called until it is durable.
const NEW_NAME: &str = "log-new";
/// Of two files that should begin alike so many bytes are compared, before where the shorter one ends.
const COMPARED_BYTES: u64 = 64 << 10;

/// A segment, and where what is to be archived of it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArchivedSegment {
    /// Its number.
    pub number: u64,
    /// The end of its last group.
    pub end: Lsn,
    /// Every commit up to this one is before that.
    pub last_ts: Timestamp,
}

/// What was done for an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Copied {
    /// Files that were written.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Copied {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { files: self.files + other.files, bytes: self.bytes + other.bytes }
    }
}

/// Copies a segment of a log to an archive, durably. One that is there already is left as it is, or becomes longer.
///
/// # Errors
/// [`Error::Damaged`] if the segment is not what was written; [`Error::Invalid`] if the archive has another in its place;
/// [`Error::DiskFull`] if the archive is full: it is as it was then.
pub fn copy(log: &dyn Disk, archive: &dyn Disk, database: u128, segment: ArchivedSegment) -> Result<Copied> {
    let name = segment_name(segment.number);
    let mut source = Segment::open(log, segment.number, database, OpenMode::Read)?;
    let header =
        source.header.ok_or_else(|| Error::damaged(&name, 0, "the segment's header is not valid"))?;
    if segment.end <= header.start {
        // Nothing was ever written to it.
        return Ok(Copied::default());
    }
    let len = SEGMENT_HEADER_BYTES as u64 + (segment.end.0 - header.start.0);
    let to = archived_name(header.start, segment.number);
    if let Some(there) = length_of(archive, &to)? {
        if !begin_alike(log, archive, (&name, &to), there.min(len))? {
            return Err(other_history(&to));
        }
        if there >= len {
            return Ok(Copied::default());
        }
    }
    check_groups(&mut source, segment.end)?;
    let written = write(log, archive, (&name, &to), len);
    if written.is_err() {
        // It may be what fills the disk.
        let _ = archive.remove(NEW_NAME);
    }
    written.map_err(|e| Error::io(format!("archiving {name} as {to}"), e))?;
    Ok(Copied { files: 1, bytes: len })
}

fn write(log: &dyn Disk, archive: &dyn Disk, (name, to): (&str, &str), len: u64) -> io::Result<()> {
    match archive.remove(NEW_NAME) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let from = log.open(name, OpenMode::Read)?;
    let file = archive.open(NEW_NAME, OpenMode::Create)?;
    file.copy_from(&*from, 0, len)?;
    file.sync()?;
    archive.rename(NEW_NAME, to)?;
    archive.sync_directory()
}

/// Reads the groups up to there.
fn check_groups(segment: &mut Segment, end: Lsn) -> Result<()> {
    let mut at = segment.header.expect("it was looked at").start;
    while at < end {
        let offset = segment.offset(at).expect("it is in the segment");
        at = match segment.group(offset, Some(at))? {
            Found::Group(header) => header.end(),
            Found::Nothing(reason) => {
                let what =
                    format!("{reason}, but the log is durable up to position {end}; it is not archived");
                return Err(Error::damaged(&segment.name, offset, what));
            }
        };
    }
    segment.release();
    match at == end {
        true => Ok(()),
        false => {
            Err(Error::damaged(&segment.name, 0, "the segment's last group does not end where it should"))
        }
    }
}

fn length_of(disk: &dyn Disk, name: &str) -> Result<Option<u64>> {
    let failed = |e| Error::io(format!("reading {name}"), e);
    match disk.open(name, OpenMode::Read) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.and_then(|file| file.len()).map(Some).map_err(failed),
    }
}

/// Whether the first `len` bytes of two files are the same, as far as their headers and the end of that say.
fn begin_alike(log: &dyn Disk, archive: &dyn Disk, (name, to): (&str, &str), len: u64) -> Result<bool> {
    let same = || -> io::Result<bool> {
        let (one, other) = (log.open(name, OpenMode::Read)?, archive.open(to, OpenMode::Read)?);
        let head = len.min(SEGMENT_HEADER_BYTES as u64);
        let tail = len.saturating_sub(COMPARED_BYTES).max(head);
        for (from, to) in [(0, head), (tail, len)] {
            let (mut a, mut b) = (vec![0; (to - from) as usize], vec![0; (to - from) as usize]);
            one.read_at(&mut a, from)?;
            other.read_at(&mut b, from)?;
            if a != b {
                return Ok(false);
            }
        }
        Ok(true)
    };
    same().map_err(|e| Error::io(format!("comparing {name} with {to} of the archive"), e))
}

fn other_history(name: &str) -> Error {
    Error::Invalid(format!(
        "the archive has a file {name} of another history of the database (one of the two was restored to an earlier moment and has gone \
         on); archive to an empty directory, and make a backup"
    ))
}

/// An archive, as its files say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArchivedLog {
    database: u128,
    files: Vec<ArchivedFile>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ArchivedFile {
    name: String,
    number: u64,
    start: Lsn,
    end: Lsn,
    /// The last commit before it.
    before: Timestamp,
}

impl ArchivedLog {
    /// Reads the headers of an archive's files.
    ///
    /// # Errors
    /// [`Error::Invalid`] for the archive of another database; [`Error::Damaged`] for a file that is not what was archived.
    pub fn open(archive: &dyn Disk, database: u128) -> Result<Self> {
        let names = archive.list().map_err(|e| Error::io("listing the archive", e))?;
        let mut places: Vec<_> =
            names.into_iter().filter_map(|name| archived_place(&name).map(|place| (place, name))).collect();
        places.sort_unstable();
        let file = |((start, number), name): ((Lsn, u64), String)| {
            let header = header_of(archive, &name)?;
            if header.database != database {
                return Err(Error::Invalid(format!(
                    "the archive is of another database ({:032x}), not of {database:032x}: {name}",
                    header.database
                )));
            }
            if (header.start, header.number) != (start, number) {
                return Err(Error::damaged(&name, 0, "the file is named otherwise than its header says"));
            }
            let len = length_of(archive, &name)?.unwrap_or_default();
            let end = Lsn(start.0.saturating_add(len.saturating_sub(SEGMENT_HEADER_BYTES as u64)));
            Ok(ArchivedFile { name, number, start, end, before: header.last_ts })
        };
        let files: Vec<_> = places.into_iter().map(file).collect::<Result<_>>()?;
        let overlap = files.windows(2).find(|pair| pair[1].start < pair[0].end);
        match overlap {
            Some(pair) => Err(Error::Invalid(format!(
                "the archive has files of two histories of the database: {} begins before {} ends",
                pair[1].name, pair[0].name
            ))),
            None => Ok(Self { database, files }),
        }
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// Where the last file ends; zero if there is none.
    pub fn end(&self) -> Lsn {
        self.files.last().map_or(Lsn(0), |file| file.end)
    }

    /// Refuses an archive that a log does not go on from: of another history. `log` are the segments of the log that are there, `next` is
    /// where it ends. Returns up to which position the archive has the log; where that is before the oldest segment, the archive gets a
    /// gap.
    pub fn continued_by(
        &self,
        archive: &dyn Disk,
        disk: &dyn Disk,
        log: &[ArchivedSegment],
        next: Lsn,
    ) -> Result<Lsn> {
        let Some(last) = self.files.last() else { return Ok(Lsn(0)) };
        if last.end > next {
            return Err(other_history(&last.name));
        }
        for segment in log {
            let source = Segment::open(disk, segment.number, self.database, OpenMode::Read)?;
            let Some(header) = source.header.filter(|header| header.start < segment.end) else { continue };
            let ours = archived_name(header.start, segment.number);
            let among = |file: &&ArchivedFile| file.start < segment.end && header.start < file.end;
            for file in self.files.iter().filter(among) {
                let len = SEGMENT_HEADER_BYTES as u64 + (file.end.0.min(segment.end.0) - header.start.0);
                let is_same = file.name == ours && begin_alike(disk, archive, (&source.name, &ours), len)?;
                if !is_same {
                    return Err(other_history(&file.name));
                }
            }
        }
        Ok(self.end())
    }

    /// What was committed after `after`. Everything in groups before `from` was committed by then.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the archive begins later; [`Error::Invalid`] if it has a gap.
    pub fn after(&self, archive: &dyn Disk, after: Timestamp, from: Lsn) -> Result<LoggedChanges> {
        let first = self.files.iter().rposition(|file| file.start <= from);
        let Some(first) = first else {
            let begin = self.files.first().map(|file| format!("it begins behind commit {}", file.before));
            return Err(Error::NotFound(format!(
                "what follows the backup in the archive: {}; archive the log before the backup is made",
                begin.unwrap_or_else(|| "it has no files".into())
            )));
        };
        // One before has the time of the backup's own last commit, if it follows.
        let before = first.checked_sub(1).filter(|&before| self.files[before].end == self.files[first].start);
        let files = &self.files[before.unwrap_or(first)..];
        if let Some(gap) = files.windows(2).find(|pair| pair[1].start != pair[0].end) {
            return Err(gap_between(&gap[0], Some(&gap[1])));
        }
        if files.last().is_none_or(|last| last.end < from) {
            return Err(gap_between(&self.files[first], self.files.get(first + 1)));
        }
        let mut segments = VecDeque::new();
        for file in files {
            let mut segment =
                Segment::open_as(archive, file.name.clone(), file.number, self.database, OpenMode::Read)?;
            segment.release();
            if segment.end().is_none_or(|end| end < file.end) {
                return Err(Error::damaged(&file.name, 0, "the file of the archive has become shorter"));
            }
            segments.push_back(segment);
        }
        let end = files.last().map_or(from, |last| last.end);
        Ok(LoggedChanges::of(segments, after, end))
    }
}

fn gap_between(before: &ArchivedFile, behind: Option<&ArchivedFile>) -> Error {
    let goes_on = match behind {
        Some(file) => format!("{} begins at {}, behind commit {}", file.name, file.start, file.before),
        None => "nothing follows".into(),
    };
    Error::Invalid(format!(
        "the archive has a gap: {} ends at position {}, and {goes_on}; a backup that was made behind the gap can be restored to later moments",
        before.name, before.end
    ))
}

fn header_of(archive: &dyn Disk, name: &str) -> Result<SegmentHeader> {
    let source = Origin { file: name, offset: 0 };
    let mut bytes = [0; SEGMENT_HEADER_BYTES];
    let file = archive.open(name, OpenMode::Read).map_err(|e| Error::io(format!("opening {name}"), e))?;
    match file.read_at(&mut bytes, 0) {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Err(source.damaged("the file has no whole header"))
        }
        Err(e) => Err(Error::io(format!("reading {name}"), e)),
        Ok(()) => match SegmentHeader::decode(&bytes) {
            Ok(header) => Ok(header),
            Err(super::format::NoHeader::Bad) => Err(source.damaged("the file's header is not valid")),
            Err(super::format::NoHeader::Version(v)) => {
                Err(Error::Invalid(format!("{name} has the log format {v}, which a later program wrote")))
            }
        },
    }
}
