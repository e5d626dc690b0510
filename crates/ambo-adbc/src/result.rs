//! Rows of results as streams of Arrow.

use std::sync::Arc;

use ambo_face::{Error, caught};
use ambo_sql::Batches;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use crate::session::Session;

pub(crate) type Reader = Box<dyn RecordBatchReader + Send>;

/// The batches of a result, which keep its connection.
pub(crate) struct Streamed {
    batches: Batches<'static>,
    schema: SchemaRef,
    statement: String,
    _session: Arc<Session>,
}

impl Streamed {
    pub(crate) fn new(batches: Batches<'static>, statement: &str, session: &Arc<Session>) -> Self {
        let schema = batches.schema().clone();
        Self { batches, schema, statement: statement.to_owned(), _session: session.clone() }
    }
}

impl Iterator for Streamed {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let taken = caught(|| {
            self.batches.next().transpose().map_err(|error| Error::from(error).of(&self.statement))
        });
        taken.map_err(|error| ArrowError::ExternalError(error.show().into())).transpose()
    }
}

impl RecordBatchReader for Streamed {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Batches that are there already.
pub(crate) fn made(schema: SchemaRef, batches: Vec<RecordBatch>) -> Reader {
    Box::new(arrow_array::RecordBatchIterator::new(batches.into_iter().map(Ok), schema))
}
