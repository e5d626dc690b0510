//! The real `ambo` program, run as users and scripts run it.

mod crash;
mod errors;
mod interrupt;
mod load;
mod program;
mod prompt;
mod records;
