//! `cargo fuzz run -s none scram`, from the folder of the crate `ambo-server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_server::fuzz::run("scram", bytes));
