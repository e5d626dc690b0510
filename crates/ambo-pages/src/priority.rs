//! Which threads go first.

/// Lets other threads go before this one, by steps of niceness. Where it cannot be, the thread works on as it is.
#[cfg(target_os = "linux")]
pub fn give_way(steps: u8) {
    if steps > 0 {
        let _ = rustix::process::nice(steps.into());
    }
}

/// Elsewhere the whole process would.
#[cfg(not(target_os = "linux"))]
pub fn give_way(_: u8) {}
