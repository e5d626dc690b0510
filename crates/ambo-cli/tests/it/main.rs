//! The real `ambo` program, run as users and scripts run it.

mod checks;
mod columns;
mod crash;
mod demo;
mod errors;
mod files;
mod indexes;
mod interrupt;
mod load;
mod load_columns;
mod program;
mod records;
mod shell;
mod terminal;
mod units;
