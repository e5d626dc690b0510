//! `cargo fuzz run -s none copy_rows`, from the folder of the crate `ambo-server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_server::fuzz::run("copy_rows", bytes));
