//! Statements for who must not wait: a thread that may runs the statement and hands on its rows, a few batches ahead of who takes them.

use ambo::Datum;
use ambo_sql::{Interrupter, Result};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tokio::{
    sync::{OwnedMutexGuard, mpsc, oneshot},
    task::spawn_blocking,
};

use super::Session;

/// How many batches are made before they are asked for.
const AHEAD: usize = 2;

/// What a statement says before its rows.
pub(crate) struct Head {
    pub schema: SchemaRef,
    /// What kind of statement it was, in capitals.
    pub tag: &'static str,
    /// How many rows it changed, if it is one that does such things.
    pub affected: Option<u64>,
}

/// The rows of a statement that is running. Dropping it interrupts the statement.
pub(crate) struct Answer {
    pub head: Head,
    batches: mpsc::Receiver<Result<RecordBatch>>,
    interrupter: Interrupter,
}

impl Answer {
    /// The next batch; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.batches.recv().await
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // Nobody is told where all was taken: the statement has ended, and another may run by now.
        if !self.batches.is_closed() || !self.batches.is_empty() {
            self.interrupter.interrupt();
        }
    }
}

/// Interrupts a statement that nobody waits for any longer.
struct Waiting(Option<Interrupter>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.iter().for_each(Interrupter::interrupt);
    }
}

/// Runs a statement. The session is locked until its last row was taken, so its statements come one after the other.
///
/// # Errors
/// What is wrong with the statement; errors of later rows come among the batches.
pub(crate) async fn answer(
    mut session: OwnedMutexGuard<Session>,
    text: String,
    params: Vec<Datum>,
) -> Result<Answer> {
    let interrupter = session.connection.interrupter();
    let (tell_head, head) = oneshot::channel();
    let (send, batches) = mpsc::channel(AHEAD);
    let mut waiting = Waiting(Some(interrupter.clone()));
    let ended = spawn_blocking(move || {
        session.begin(&text);
        run(&mut session, &text, params, tell_head, &send);
        session.end();
    });
    let head = match head.await {
        Ok(head) => head,
        Err(_) => {
            let why = ended.await.err().map_or_else(|| "it ended".to_owned(), |error| error.to_string());
            Err(ambo_sql::Error::new(
                ambo_sql::ErrorKind::Execution,
                format!("the statement was lost: {why}"),
            ))
        }
    };
    waiting.0 = None;
    Ok(Answer { head: head?, batches, interrupter })
}

fn run(
    session: &mut Session,
    text: &str,
    params: Vec<Datum>,
    tell_head: oneshot::Sender<Result<Head>>,
    send: &mpsc::Sender<Result<RecordBatch>>,
) {
    let rows = session.prepare(text).and_then(|mut statement| session.run(&mut statement, params));
    let rows = match rows {
        Ok(rows) => rows,
        // Who does not listen any more has no use for it.
        Err(error) => return drop(tell_head.send(Err(error))),
    };
    let head = Head { schema: rows.schema().clone(), tag: rows.tag(), affected: rows.affected() };
    if tell_head.send(Ok(head)).is_err() {
        return;
    }
    for batch in rows.batches() {
        let failed = batch.is_err();
        if send.blocking_send(batch).is_err() || failed {
            return;
        }
    }
}
