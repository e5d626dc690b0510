//! The `ambo` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ambo_cli::run()
}
