//! # SQL: streams of Arrow

use ambo_face::{Class, caught};
use ambo_sql::{Batches, Reader};
use arrow_array::{
    RecordBatch, RecordBatchReader,
    ffi::FFI_ArrowSchema,
    ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream},
};
use arrow_schema::{ArrowError, Schema, SchemaRef};

use crate::{
    error::{Failure, Result},
    handle::Child,
    running::Running,
};

/// The reader of a stream of the caller's, which is released then. Called from what C calls alone, as the functions of [`crate::c`].
pub(crate) fn reader(stream: *mut FFI_ArrowArrayStream) -> Result<Reader> {
    if stream.is_null() || !stream.is_aligned() {
        return Err(Failure::misuse("the stream is NULL"));
    }
    // SAFETY: it is neither NULL nor askew, and a stream by the header. What is left in its place is released.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream) };
    if stream.release.is_none() {
        return Err(Failure::misuse("the stream was released"));
    }
    if stream.get_schema.is_none() || stream.get_next.is_none() || stream.get_last_error.is_none() {
        return Err(Failure::misuse("the stream lacks functions that streams have"));
    }
    let reader = ArrowArrayStreamReader::try_new(stream);
    let reader = reader.map_err(|error| Failure::new(Class::Operational, format!("the stream: {error}")))?;
    Ok(Box::new(reader))
}

/// A schema as C has it.
pub(crate) fn schema_of(schema: &Schema) -> Result<FFI_ArrowSchema> {
    FFI_ArrowSchema::try_from(schema)
        .map_err(|error| Failure::new(Class::NotSupported, format!("the columns as Arrow: {error}")))
}

/// Rows of a result that whoever has the stream takes, until the database is closed.
pub(crate) struct Taken {
    schema: SchemaRef,
    batches: Child<Running<Batches<'static>>>,
}

impl Taken {
    /// A stream of batches.
    pub(crate) fn stream(
        schema: &SchemaRef,
        batches: Child<Running<Batches<'static>>>,
    ) -> FFI_ArrowArrayStream {
        FFI_ArrowArrayStream::new(Box::new(Self { schema: schema.clone(), batches }))
    }
}

impl Iterator for Taken {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let take = |batches: &mut Batches<'static>| Ok(batches.next().transpose()?);
        let taken = caught(|| self.batches.with(take).map_err(|failure| failure.error));
        taken.map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose()
    }
}

impl RecordBatchReader for Taken {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
