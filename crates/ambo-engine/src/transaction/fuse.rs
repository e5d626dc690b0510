//! What must not be left in the middle: a panic there stops the pipeline, and nobody waits for what does not come.

use ambo_types::id::Timestamp;

use super::pipeline::Pipeline;

/// Stops the pipeline when it is dropped before [`Fuse::take_out`]: what it guards was left in the middle.
///
/// With a timestamp, which was given out and is not complete, nothing from it on is published any more: a snapshot sees no
/// half of its commit, and whoever waits for a later one gets an error.
#[must_use = "dropped at once, it stops the pipeline"]
pub struct Fuse<'a> {
    pipeline: &'a Pipeline,
    at: Option<Timestamp>,
    what: &'static str,
}

impl<'a> Fuse<'a> {
    /// Guards something without a timestamp.
    pub fn new(pipeline: &'a Pipeline, what: &'static str) -> Self {
        Self { pipeline, at: None, what }
    }

    /// Guards the commit at `at`, which ends with [`Fuse::complete`].
    pub fn in_flight(pipeline: &'a Pipeline, at: Timestamp) -> Self {
        Self {
            pipeline,
            at: Some(at),
            what: "a commit was left in the middle, by a panic or a full memtable",
        }
    }

    /// What it guards came to its end.
    pub fn take_out(self) {
        std::mem::forget(self);
    }

    /// The commit is installed, or failed and is empty: it may be published.
    pub fn complete(self) {
        let at = self.at.expect("a commit has a timestamp");
        self.pipeline.publisher.complete(at);
        self.take_out();
    }
}

impl Drop for Fuse<'_> {
    fn drop(&mut self) {
        // Refused first: who sees that nothing is published any more finds the reason.
        self.pipeline.poison(self.what);
        if let Some(at) = self.at {
            self.pipeline.publisher.end_before(at);
        }
    }
}
