//! Ctrl-C as a flag that long commands look at between two steps, so that nothing is left half done.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ambo_sql::Interrupter;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// What ends the statement that runs in a script.
pub const OF_SCRIPT: [i32; 2] = [SIGINT, SIGTERM];
/// What ends the statement that runs at a prompt; a polite kill ends the process.
pub const OF_PROMPT: [i32; 1] = [SIGINT];

static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on Ctrl-C (and a polite kill) raises the flag; a second one while the flag is up ends the process at once.
/// Where no handler can be set, Ctrl-C keeps its usual meaning.
pub fn watch() {
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in OF_SCRIPT {
            // The order matters: the exit is armed by a signal that came before, not by this one.
            let armed = signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag));
            let raised = signal_hook::flag::register(signal, Arc::clone(&flag));
            debug_assert!(armed.is_ok() && raised.is_ok());
        }
        flag
    });
    flag.store(false, Ordering::Relaxed);
}

/// As [`watch`], for a person at a prompt: Ctrl-C never ends the process, however often it comes, and a polite kill does.
pub fn watch_prompt() {
    let flag = FLAG.get_or_init(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let raised = signal_hook::flag::register(SIGINT, Arc::clone(&flag));
        debug_assert!(raised.is_ok());
        flag
    });
    flag.store(false, Ordering::Relaxed);
}

/// From here on these signals also end the statement that runs.
pub fn interrupts(interrupter: Interrupter, signals: &[i32]) {
    let Ok(mut signals) = Signals::new(signals) else { return };
    let act = move || signals.forever().for_each(|_| interrupter.interrupt());
    // Without the thread a script ends after the statement that runs, and a person has Ctrl-\.
    std::thread::Builder::new().name("ambo-signals".into()).spawn(act).ok();
}

/// The flag itself, for what runs in the engine. It is down for ever if nobody watches.
pub fn flag() -> Arc<AtomicBool> {
    FLAG.get().cloned().unwrap_or_default()
}

/// Whether Ctrl-C came since [`watch`].
pub fn raised() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}
