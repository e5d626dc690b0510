//! `cargo fuzz run -s none table_definition`, from the folder of the crate `ambo-storage`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_storage_fuzz::run("table_definition", bytes));
