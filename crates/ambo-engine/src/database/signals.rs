//! What the background threads wait for.
//!
//! They wait here most of the time, so they do where a process is forked. The lock is one of the standard library's, which knows nothing of
//! threads that are not there: `parking_lot` keeps those that wait in a table of the whole process, whose entries are in their stacks. A
//! child has the table and gives the stacks to threads of its own, which are then not woken.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

#[derive(Default)]
pub(super) struct Signals {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct SignalState {
    pub(super) stop: bool,
    pub(super) flush: bool,
    pub(super) merge: bool,
    pub(super) merge_segments: bool,
    pub(super) ahead: bool,
    pub(super) archive: bool,
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, SignalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises a flag; whoever waits is woken if it was not raised.
    pub(super) fn raise(&self, flag: impl FnOnce(&mut SignalState) -> &mut bool) {
        if !std::mem::replace(flag(&mut self.lock()), true) {
            self.changed.notify_all();
        }
    }

    /// Whether the threads are to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stop
    }

    /// Waits until a flag is raised, and takes it down; false if the threads are to stop.
    pub(super) fn wait_for(&self, flag: impl Fn(&mut SignalState) -> &mut bool) -> bool {
        let mut state = self.lock();
        while !state.stop && !*flag(&mut state) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        *flag(&mut state) = false;
        !state.stop
    }

    /// The same, and after some time, if one is given, also where no flag was raised.
    pub(super) fn wait_for_or(
        &self,
        time: Option<Duration>,
        flag: impl Fn(&mut SignalState) -> &mut bool,
    ) -> bool {
        let Some(end) = time.and_then(|time| Instant::now().checked_add(time)) else {
            return self.wait_for(flag);
        };
        let mut state = self.lock();
        while !state.stop && !*flag(&mut state) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *flag(&mut state) = false;
        !state.stop
    }

    /// Raises a flag for the thread that calls, and waits a while or until another is raised.
    pub(super) fn again_after(&self, time: Duration, flag: impl FnOnce(&mut SignalState) -> &mut bool) {
        let mut state = self.lock();
        *flag(&mut state) = true;
        if !state.stop {
            drop(self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Waits a while; false if the threads are to stop.
    pub(super) fn rest(&self, time: Duration) -> bool {
        let end = Instant::now().checked_add(time);
        let mut state = self.lock();
        loop {
            let left = end.map_or(time, |end| end.saturating_duration_since(Instant::now()));
            if state.stop || left.is_zero() {
                return !state.stop;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
