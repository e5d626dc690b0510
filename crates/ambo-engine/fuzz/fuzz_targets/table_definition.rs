//! `cargo fuzz run -s none table_definition`, from the folder of the crate `ambo-engine`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_engine_fuzz::run("table_definition", bytes));
