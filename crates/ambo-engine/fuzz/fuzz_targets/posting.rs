//! `cargo fuzz run -s none posting`, from the folder of the crate `ambo-engine`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_engine_fuzz::run("posting", bytes));
