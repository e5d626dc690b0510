//! What clients of PostgreSQL ask the catalog, of PostgreSQL itself and of this server: the same rows under the same names. And pg_dump.

mod differential;
mod dump;
mod peer;
#[path = "../server/support.rs"]
#[allow(dead_code, reason = "the tests of the server use the rest")]
mod support;
