//! `cargo fuzz run -s none superblock`, from the folder of the crate `ambo-storage`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_storage_fuzz::run("superblock", bytes));
