//! What a fuzz target does with bytes that a client of Flight might send.

use std::sync::{Arc, LazyLock};

use ambo_sql::rows_of;
use arrow_array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, types::Int32Type};
use arrow_flight::{
    FlightData, FlightInfo,
    encode::FlightDataEncoderBuilder,
    sql::{Any, Command},
};
use futures::{TryStreamExt, executor::block_on, stream};
use prost::Message;

use super::{ingest, service::handles};

/// A schema and rows of it, as a client sends them.
static SENT: LazyLock<Option<Vec<FlightData>>> = LazyLock::new(|| {
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some(""), None]));
    let lists = [Some(vec![Some(1), None]), None, Some(vec![])];
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("n", numbers, true),
        ("t", texts, true),
        ("l", lists, true),
    ]);
    let batch = batch.ok()?;
    let data = FlightDataEncoderBuilder::new().build(stream::iter([Ok(batch)]));
    block_on(data.try_collect()).ok()
});

/// Reads commands and what is said of tickets; spoils messages of rows, and reads what is left of them.
pub(crate) fn message(bytes: &[u8]) {
    if let Ok(command) = Any::decode(bytes).map_err(drop).and_then(|any| Command::try_from(any).map_err(drop))
        && let Command::CommandStatementIngest(command) = command
    {
        // It is wrong, or a table and what is done with it.
        drop((ingest::mode(command.table_definition_options.unwrap_or_default()), ingest::table(&command)));
    }
    if let Ok(info) = FlightInfo::decode(bytes) {
        assert!(handles(&info).count() <= info.endpoint.len());
    }
    let Some(mut sent) = SENT.clone() else { return };
    for change in bytes.chunks_exact(4) {
        let nth = usize::from(change[0] & 1) % sent.len().max(1);
        let Some(message) = sent.get_mut(nth) else { return };
        let part = if change[0] & 2 == 0 { &mut message.data_header } else { &mut message.data_body };
        let mut spoiled = part.to_vec();
        if !spoiled.is_empty() {
            let place = usize::from(u16::from_le_bytes([change[1], change[2]])) % spoiled.len();
            spoiled[place] ^= change[3];
            *part = spoiled.into();
        }
    }
    let mut batches = ingest::Incoming::new(stream::iter(sent.into_iter().map(Ok)));
    while let Ok(Some(batch)) = block_on(batches.next()) {
        assert!(rows_of(&batch).is_ok_and(|rows| rows.len() == batch.num_rows()));
    }
}
