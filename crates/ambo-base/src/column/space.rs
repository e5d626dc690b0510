//! What segments use their bytes for.

use ambo_types::{Result, TableDefinition, id::TableId};

use super::{posting::IndexSpec, schema::ColumnSchema, segment::Segment, set::ColumnSet};
use ambo_codec::Type;
use ambo_scan::buffer::ColumnBuffer;

/// Figures of the segments of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ColumnSpace {
    /// Segments.
    pub segments: u64,
    /// Runs of segments.
    pub runs: u64,
    /// Groups of all segments.
    pub groups: u64,
    /// Rows, deleted ones among them.
    pub rows: u64,
    /// Rows that are deleted and not yet gone.
    pub deleted_rows: u64,
    /// Bytes of the segments' files.
    pub file_bytes: u64,
    /// Bytes of the files that are no column's: directories, headers and trailers.
    pub directory_bytes: u64,
    /// Pages in which deleted rows are stored.
    pub deleted_pages: u64,
    /// Bytes of columns that were dropped; their segments keep them until they are written anew.
    pub dropped_bytes: u64,
    /// The indexes whose postings are in files beside segments.
    pub postings: Vec<PostingFigures>,
    /// The columns of the table in its order, then the hidden number of a row if there is one.
    pub columns: Vec<ColumnFigures>,
}

/// Figures of an index whose postings are in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PostingFigures {
    /// The index.
    pub index: TableId,
    /// Segments that have a file of it.
    pub files: u64,
    /// Bytes of the files.
    pub file_bytes: u64,
    /// Keys, of each file by itself.
    pub keys: u64,
    /// Rows of all keys together.
    pub postings: u64,
}

/// Figures of one column in all segments of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnFigures {
    /// Which column of the table; none for the hidden number of a row.
    pub column: Option<usize>,
    /// The type of its values.
    pub kind: Type,
    /// Bytes of its blocks and text tables.
    pub stored_bytes: u64,
    /// Bytes of the values that are left, as they were given: by their width, text by its length. Of text an estimate from
    /// the blocks that were read.
    pub raw_bytes: u64,
    /// Rows without a value, deleted ones among them.
    pub nulls: u64,
    /// Blocks.
    pub blocks: u64,
    /// Encodings, each with its number of blocks among those that were read; the most frequent first.
    pub encodings: Vec<(&'static str, u64)>,
}

impl ColumnSpace {
    /// Bytes of the files of postings.
    pub fn posting_bytes(&self) -> u64 {
        self.postings.iter().map(|index| index.file_bytes).sum()
    }

    /// Bytes of the values that are left, as they were given.
    pub fn raw_bytes(&self) -> u64 {
        self.columns.iter().map(|column| column.raw_bytes).sum()
    }
}

impl ColumnSet {
    /// What segments use their bytes for. Of each column at most about `blocks_max` blocks are read, spread over all segments;
    /// everything else is in the directories.
    pub fn space(&self, definition: &TableDefinition, blocks_max: usize) -> Result<ColumnSpace> {
        let mut space = ColumnSpace {
            segments: self.segments().count() as u64,
            runs: self.runs().len() as u64,
            deleted_pages: self.deleted_pages().map(|range| range.pages).sum(),
            ..ColumnSpace::default()
        };
        for part in self.parts() {
            space.rows += u64::from(part.rows());
            space.deleted_rows += u64::from(part.deleted_rows());
            space.groups += part.segment.directory().groups() as u64;
            space.file_bytes += part.segment.file_bytes();
        }
        space.postings = self.posting_figures();
        debug_assert!(space.deleted_rows <= space.rows, "deleted rows are rows of segments");
        for (column, place) in places(self.schema(), definition) {
            space.columns.push(self.figures(column, place, blocks_max, space.groups)?);
        }
        for part in self.parts() {
            let columns = part.segment.directory().columns.iter().enumerate();
            let dropped = columns.filter(|(place, _)| self.schema().is_dropped(*place));
            space.dropped_bytes += dropped.map(|(_, column)| column.stored_bytes()).sum::<u64>();
        }
        let of_columns = space.columns.iter().map(|column| column.stored_bytes).sum::<u64>();
        space.directory_bytes = space.file_bytes - of_columns - space.dropped_bytes;
        Ok(space)
    }

    fn posting_figures(&self) -> Vec<PostingFigures> {
        let of_index = |spec: &IndexSpec| {
            let mut figures =
                PostingFigures { index: spec.id, files: 0, file_bytes: 0, keys: 0, postings: 0 };
            // What is damaged is for the check to tell.
            let files =
                self.segments().filter_map(|segment| segment.postings_files().get(spec.id).ok().flatten());
            for file in files {
                figures.files += 1;
                figures.file_bytes += file.file_bytes();
                figures.keys += file.keys();
                figures.postings += file.postings();
            }
            figures
        };
        self.schema().indexed().iter().map(of_index).collect()
    }

    fn figures(
        &self,
        column: Option<usize>,
        place: usize,
        blocks_max: usize,
        groups: u64,
    ) -> Result<ColumnFigures> {
        let kind = self.schema().types()[place];
        let step = groups.div_ceil(blocks_max.max(1) as u64).max(1);
        let mut figures = ColumnFigures {
            column,
            kind,
            stored_bytes: 0,
            raw_bytes: 0,
            nulls: 0,
            blocks: groups,
            encodings: Vec::new(),
        };
        let (mut number, mut values_left) = (0, 0u64);
        let mut sample = Sample::default();
        for part in self.parts() {
            let (rows, live) = (u64::from(part.rows()), u64::from(part.live_rows()));
            let Some(entry) = part.segment.directory().columns.get(place) else {
                // It was added later, and takes nothing here.
                let is_null = self.schema().missing(place).is_null();
                figures.nulls += if is_null { rows } else { 0 };
                figures.blocks -= part.segment.directory().groups() as u64;
                values_left += if is_null { 0 } else { live };
                continue;
            };
            let nulls = entry.blocks.iter().map(|block| u64::from(block.nulls)).sum::<u64>();
            figures.nulls += nulls;
            figures.stored_bytes += entry.stored_bytes();
            // Deleted rows are taken to have as many values as the others.
            values_left += (rows - nulls) * live / rows.max(1);
            for group in 0..entry.blocks.len() {
                if number % step == 0 {
                    sample.read(&part.segment, place, group)?;
                }
                number += 1;
            }
        }
        figures.raw_bytes = match width(kind) {
            Some(width) => values_left * width,
            None => {
                (u128::from(sample.bytes) * u128::from(values_left) / u128::from(sample.values.max(1))) as u64
            }
        };
        figures.encodings = sample.encodings;
        figures.encodings.sort_by_key(|(name, blocks)| (std::cmp::Reverse(*blocks), *name));
        debug_assert!(
            figures.encodings.iter().map(|(_, blocks)| blocks).sum::<u64>() <= figures.blocks,
            "no more blocks are read than there are"
        );
        Ok(figures)
    }
}

/// What was seen in the blocks that were read.
#[derive(Default)]
struct Sample {
    encodings: Vec<(&'static str, u64)>,
    /// Values of text, and their bytes.
    values: u64,
    bytes: u64,
}

impl Sample {
    /// Looks at a block, past the cache, which is for those who need rows.
    fn read(&mut self, segment: &Segment, column: usize, group: usize) -> Result<()> {
        let bytes = segment.load_block(column, group)?;
        let block = segment.parse(column, group, &bytes)?;
        let name = block.encoding_name();
        match self.encodings.iter_mut().find(|(known, _)| *known == name) {
            Some((_, blocks)) => *blocks += 1,
            None => self.encodings.push((name, 1)),
        }
        let kind = segment.directory().columns[column].ty;
        if width(kind).is_none() {
            let mut buffer = ColumnBuffer::new(kind);
            buffer
                .append_block(&block, 0..block.rows())
                .map_err(|error| segment.damaged(segment.entry(column, group).offset, error))?;
            self.values += (buffer.len() - buffer.nulls()) as u64;
            self.bytes += buffer.data_bytes() as u64;
        }
        Ok(())
    }
}

/// The columns of a table, then the hidden number of its rows if there is one, each with where it is stored.
fn places(schema: &ColumnSchema, definition: &TableDefinition) -> Vec<(Option<usize>, usize)> {
    let mut places: Vec<_> =
        (0..definition.columns.len()).map(|column| (Some(column), schema.place(column))).collect();
    let hidden = (0..schema.key_columns()).filter(|place| places.iter().all(|(_, known)| known != place));
    let hidden: Vec<_> = hidden.map(|place| (None, place)).collect();
    places.extend(hidden);
    debug_assert!(
        (1..places.len()).all(|at| places[..at].iter().all(|(_, known)| *known != places[at].1)),
        "each column is stored at a place of its own"
    );
    places
}

/// Bytes of a value, unless they differ from value to value.
fn width(kind: Type) -> Option<u64> {
    match kind {
        Type::Bool | Type::I8 | Type::U8 => Some(1),
        Type::I16 | Type::U16 => Some(2),
        Type::I32 | Type::U32 | Type::F32 | Type::Date32 => Some(4),
        Type::I64 | Type::U64 | Type::F64 | Type::Time64 | Type::Timestamp | Type::TimestampTz => Some(8),
        Type::Decimal128 { .. } => Some(16),
        Type::Utf8 | Type::Binary => None,
    }
}
