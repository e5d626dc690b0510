//! A database that another process has open, and lets others work with: `ambo serve`, or a program with `ambo_server::attach`.

mod about;
mod keys;
mod shell;

use std::path::Path;

use ambo_server::{Client, ClientError};

use crate::failure::{Failure, Result};
use crate::output::remark;

pub use keys::run as run_command;
pub use shell::run as run_shell;

/// Does something with a database that this process opens, or else with one that another has open.
///
/// # Errors
/// As those of `local`, also where nobody lets others in.
pub fn or_remote<T>(
    dir: &Path,
    local: impl FnOnce() -> Result<T>,
    remote: impl FnOnce(Client) -> Result<T>,
) -> Result<T> {
    match local() {
        Err(Failure::InUse(text)) => match Client::of(dir) {
            Ok(Some(client)) => {
                let host = client.host();
                remark(&format!("{} is open in process {}, and answers from there", dir.display(), host.pid));
                remote(client)
            }
            Ok(None) => Err(Failure::InUse(text)),
            Err(error) => Err(Failure::Database(format!("{text}; {error}"))),
        },
        done => done,
    }
}

/// What the process that has the database open answered, as this program's.
fn failure(error: ClientError) -> Failure {
    let text = error.to_string();
    match error.kind.as_str() {
        "interrupted" => Failure::Interrupted("interrupted; the statement changed nothing".into()),
        "not_found" => Failure::Negative(text),
        "syntax" | "invalid" | "request" => Failure::Usage(text),
        _ => Failure::Database(text),
    }
}
