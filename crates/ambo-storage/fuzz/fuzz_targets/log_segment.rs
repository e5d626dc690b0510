//! `cargo fuzz run -s none log_segment`, from the folder of the crate `ambo-storage`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_storage_fuzz::run("log_segment", bytes));
