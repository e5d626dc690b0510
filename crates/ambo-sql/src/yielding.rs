//! Streams that let others run.
//!
//! A statement that is interrupted, or whose time is over, ends where whoever waits for its rows gets a word in: where a stream says that
//! it is not ready. The planner's streams do so by a budget that tokio gives to its tasks. There is none where the thread of the caller
//! asks operators itself, as it does where nothing is divided: a query of one thread could not be ended. So ours count themselves.

use std::{
    cell::Cell,
    pin::Pin,
    task::{Context, Poll},
};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::{
    common::Result,
    execution::{RecordBatchStream, SendableRecordBatchStream},
};
use futures::{Stream, StreamExt};

/// Batches that a thread gets before it lets others run, whichever streams they are of: each round of a recursive query has new ones.
const BATCHES: u32 = 128;

thread_local! {
    static GOT: Cell<u32> = const { Cell::new(0) };
}

/// The same stream, which is not ready from time to time.
pub(crate) fn yielding(stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
    Box::pin(Yielding(stream))
}

struct Yielding(SendableRecordBatchStream);

impl Stream for Yielding {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let got = GOT.get();
        if got >= BATCHES {
            GOT.set(0);
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.0.poll_next_unpin(context);
        if next.is_ready() {
            GOT.set(GOT.get() + 1);
        }
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl RecordBatchStream for Yielding {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}
