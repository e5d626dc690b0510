//! The check of a set: every byte of every segment, and that what is said of rows is true.

use ambo_codec::bitmap::Positions;
use ambo_types::{Error, Result};

use super::{
    run::{ColumnRun, Part},
    schema::ColumnSchema,
    segment::SegmentStore,
    set::ColumnSet,
};
use ambo_scan::bounds::physical;

/// What a check of a set found.
#[derive(Clone, Debug, Default)]
pub struct ColumnReport {
    /// Everything that is wrong, each with its place.
    pub problems: Vec<String>,
    /// Segments that were read.
    pub segments: u64,
    /// Rows that are left in them.
    pub rows: u64,
    /// Bytes of their files.
    pub file_bytes: u64,
}

impl ColumnSet {
    /// Reads everything, past the cache.
    ///
    /// # Errors
    /// None for damage, which is reported; what the operating system refuses.
    pub fn check(&self) -> Result<ColumnReport> {
        let mut report = ColumnReport::default();
        for (number, run) in self.runs().iter().enumerate() {
            check_order(run, number, &mut report);
            for part in &run.parts {
                report.segments += 1;
                report.rows += u64::from(part.live_rows());
                report.file_bytes += part.segment.file_bytes();
                match check_part(self.schema(), part) {
                    Ok(problems) => {
                        let name = SegmentStore::name(part.segment.id());
                        report.problems.extend(problems.iter().map(|what| format!("{name}: {what}")));
                    }
                    Err(error @ Error::Damaged { .. }) => report.problems.push(error.to_string()),
                    Err(error) => return Err(error),
                }
            }
        }
        self.check_once(&mut report)?;
        Ok(report)
    }

    /// That no key is left in two runs.
    fn check_once(&self, report: &mut ColumnReport) -> Result<()> {
        if !report.problems.is_empty() || self.runs().len() < 2 {
            return Ok(());
        }
        let set = std::sync::Arc::new(self.clone());
        let mut cursors: Vec<_> = set.cursors(super::CursorRows::Keys).collect();
        for cursor in &mut cursors {
            cursor.seek_first()?;
        }
        let mut last: Option<Vec<u8>> = None;
        loop {
            cursors.retain(super::RunCursor::is_valid);
            let Some(least) = cursors.iter_mut().min_by(|a, b| a.key().cmp(b.key())) else { return Ok(()) };
            if last.as_deref() == Some(least.key()) {
                report.problems.push(format!("the key {:02x?} is left in two segments", least.key()));
                return Ok(());
            }
            last = Some(least.key().to_vec());
            least.next()?;
        }
    }
}

fn check_order(run: &ColumnRun, number: usize, report: &mut ColumnReport) {
    if !run.is_in_order() {
        report.problems.push(format!("the segments of run {number} overlap"));
    }
}

/// That each posting in a file is one of the rows, and each row has its postings.
fn check_postings(schema: &ColumnSchema, part: &Part) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for spec in schema.indexed() {
        let checked = part.segment.postings_files().get(spec.id).and_then(|file| match file {
            Some(file) => file.check(part.segment.gather(schema, spec)?),
            None => Ok(Vec::new()),
        });
        match checked {
            Ok(found) => problems.extend(found),
            Err(error @ Error::Damaged { .. }) => problems.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(problems)
}

fn check_part(schema: &ColumnSchema, part: &Part) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    let directory = part.segment.directory();
    if let Some(deleted) = &part.deleted {
        let beyond = deleted.rows.last().is_some_and(|last| last >= u64::from(part.rows()));
        if beyond || deleted.rows.cardinality() != u64::from(deleted.count) {
            problems.push("the deleted rows are not rows of it, or not so many".to_owned());
        }
    }
    let mut last: Vec<u8> = Vec::new();
    for group in 0..directory.groups() {
        let rows = directory.group(group).len();
        let mut buffers = schema.buffers();
        // What was added later is not there.
        buffers.truncate(directory.columns.len());
        debug_assert_eq!(
            buffers.len(),
            directory.columns.len(),
            "a segment has no column that its table does not know"
        );
        for (column, buffer) in buffers.iter_mut().enumerate() {
            let bytes = part.segment.load_block(column, group)?;
            let block = part.segment.parse(column, group, &bytes)?;
            let entry = part.segment.entry(column, group);
            let unreadable = |error| part.segment.damaged(entry.offset, error);
            block.verify().map_err(unreadable)?;
            buffer.append_block(&block, 0..rows).map_err(unreadable)?;
            if buffer.nulls() as u32 != entry.nulls {
                problems.push(format!("column {column}, group {group}: another number of NULLs"));
            }
            let kind = block.kind();
            for row in 0..rows {
                let value = physical(buffer.get(row).map_err(unreadable)?);
                let equal = ambo_codec::column::Predicate::Compare(ambo_codec::column::Compare::Equal, value);
                if !value.is_null() && !entry.bounds.as_ref().is_none_or(|b| b.may_match(kind, &equal)) {
                    problems.push(format!("column {column}, group {group}: row {row} is out of bounds"));
                    break;
                }
            }
        }
        for row in 0..rows {
            let mut key = Vec::new();
            schema.key_of(&buffers, row, &mut key).map_err(|error| part.segment.damaged(0, error))?;
            if row == 0 && directory.fence(group) != key {
                problems.push(format!("group {group} does not begin with its first key"));
            }
            if (group, row) != (0, 0) && last >= key {
                problems.push(format!("group {group}: row {row} is out of order"));
                return Ok(problems);
            }
            last = key;
        }
    }
    if directory.last_key() != last {
        problems.push("it does not end with its last key".to_owned());
    }
    problems.extend(check_postings(schema, part)?);
    Ok(problems)
}
