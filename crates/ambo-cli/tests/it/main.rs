//! The real `ambo` program, run as users and scripts run it.

mod backups;
mod checks;
mod columns;
mod errors;
mod files;
mod indexes;
mod interrupt;
mod load;
mod load_columns;
mod program;
mod published;
mod records;
mod serve;
mod shell;
mod terminal;
mod units;

/// What is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ambo");
/// How its messages begin.
const BEGIN: &str = "ambo: ";
