//! Clients that do nothing, clients that take much, and clients that are gone: killed in whatever they did, they leave no session, lock or
//! transaction.
//!
//! A client that is killed is a socket that its system closes: these are closed at once, with what was not read.

#[cfg(feature = "flight")]
mod flat;
mod idle;
mod killed;
mod raw;
#[path = "../server/support.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod support;
