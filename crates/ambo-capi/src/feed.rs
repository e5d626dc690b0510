//! # Feeding the rows of a source
//!
//! What is pushed is seen when a checkpoint publishes it, as one commit and together with a token that says how far the source has come:
//! after a crash both are there, or neither. So a source that goes on where its last token says brings each row once.

use std::{
    ffi::{c_char, c_void},
    sync::Mutex,
};

use ambo::{ColumnBuffer, Ingest, IngestWriter, LoadOptions};
use ambo_face::Class;

use crate::{
    c::{Out, bytes, name, tell},
    datum::{Datum, read_key},
    error::{Error, Failure, Result, call, free},
    handle::{Child, Handle, Single, body, give, of},
    owned::{Value, ValueBody},
    status::{AMBO_NOT_FOUND, AMBO_OK, Status},
    table::Table,
};

/// So many rows are gathered before they go on.
const ROWS: usize = 8192;

/// An ingest, and rows that are gathered for it.
pub(crate) struct Open {
    table: ambo::Table,
    ingest: Ingest,
    writer: IngestWriter,
    gathered: Vec<ColumnBuffer>,
}

impl Open {
    fn new(table: &ambo::Table, source: &str) -> Result<Self> {
        let ingest = table.ingest(source, LoadOptions::default())?;
        let writer = ingest.writer();
        Ok(Self { table: table.clone(), ingest, writer, gathered: Vec::new() })
    }

    fn push(&mut self, row: &[ambo::Datum]) -> Result<()> {
        // As a row of the table is read: with the types of its columns.
        let (key, value) = self.table.stored_row(row)?;
        let row = self.table.row_of(&key, &value)?;
        if self.gathered.is_empty() {
            let columns = &self.table.definition().columns;
            self.gathered = columns.iter().map(|column| ColumnBuffer::new(column.kind)).collect();
        }
        for (column, value) in self.gathered.iter_mut().zip(&row) {
            let pushed = column.push(value.as_ref());
            pushed.map_err(|error| Failure::new(Class::Data, error.to_string()))?;
        }
        if self.gathered.first().is_some_and(|column| column.len() >= ROWS) { self.go_on() } else { Ok(()) }
    }

    fn push_records(&mut self, records: &[u8]) -> Result<u64> {
        let layout = self.table.record_layout()?;
        self.go_on()?;
        self.writer.push_records(&layout, records)?;
        Ok((records.len() / layout.size()) as u64)
    }

    fn go_on(&mut self) -> Result<()> {
        match self.gathered.is_empty() {
            true => Ok(()),
            false => Ok(self.writer.push(std::mem::take(&mut self.gathered))?),
        }
    }
}

/// A source of rows.
pub struct FeedBody(Child<Single<Open>>);
body!(FeedBody, "feed", b"ambofeed");

/// A source of rows of a table that is stored by column, best of storage "append".
pub type Feed = Handle<FeedBody>;

/// Begins, or goes on with, a source of a name. Rows that were pushed before and not published are not there. There is to be one of a
/// name at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_feed_open(
    table: *mut Table,
    source: *const c_char,
    feed: *mut *mut Feed,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (table, feed) = (of(table)?, Out::new("feed", feed)?);
        let source = name("the name of the source", source)?;
        let open = table.0.with(|table| Open::new(table, source))?;
        feed.set(give(FeedBody(Child::new(table.0.base(), Mutex::new(Some(open)))?)));
        Ok(AMBO_OK)
    })
}

/// What the last checkpoint of the source said: where it is to go on. AMBO_NOT_FOUND if there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_feed_token(
    feed: *const Feed,
    token: *mut *mut Value,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (feed, place) = (of(feed)?, Out::new("token", token)?);
        let Some(token) = feed.0.with(|open| Ok(open.ingest.token()))? else { return Ok(AMBO_NOT_FOUND) };
        place.set(give(ValueBody::Own(token)));
        Ok(AMBO_OK)
    })
}

/// Takes a row: a value for each column of the table, in their order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_feed_push(
    feed: *mut Feed,
    values: *const Datum,
    columns: usize,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (feed, row) = (of(feed)?, read_key(values, columns)?);
        feed.0.with(|open| open.push(&row))?;
        Ok(AMBO_OK)
    })
}

/// Takes rows as records of one width, one behind the other, in `size` bytes; their numbers are little-endian. A record has a field for
/// each column of the table: those of 16 bytes (decimals) first, then those of 8, 4, 2 and 1, of one width in the order of the table;
/// behind them a bit for each column that may be NULL, in their order from the lowest bit of a byte on, set where the value is NULL. It
/// ends with as many bytes as make its width a multiple of 8. Tables with text have no records. `rows`, unless it is NULL, becomes how
/// many there were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_feed_push_records(
    feed: *mut Feed,
    records: *const c_void,
    size: usize,
    rows: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (feed, records) = (of(feed)?, bytes("the records", records, size)?);
        let pushed = feed.0.with(|open| open.push_records(records))?;
        tell(rows, pushed);
        Ok(AMBO_OK)
    })
}

/// Publishes all that was pushed, and the token in the same moment. `rows`, unless it is NULL, becomes how many rows that are. After an
/// error nothing of them is there: open the source again, which says where to go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_feed_checkpoint(
    feed: *mut Feed,
    token: *const c_void,
    token_size: usize,
    rows: *mut u64,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let (feed, token) = (of(feed)?, bytes("the token", token, token_size)?);
        let published = feed.0.with(|open| {
            open.go_on()?;
            Ok(open.ingest.checkpoint(token)?)
        })?;
        tell(rows, published.rows);
        Ok(AMBO_OK)
    })
}

/// Frees a source. What it pushed and did not publish is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_feed_free(feed: *mut *mut Feed) {
    free(feed);
}
