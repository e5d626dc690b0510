//! `cargo fuzz run -s none blob_chunks`, from the folder of the crate `ambo-storage`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_storage_fuzz::run("blob_chunks", bytes));
