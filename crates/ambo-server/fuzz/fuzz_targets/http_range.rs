//! `cargo fuzz run -s none http_range`, from the folder of the crate `ambo-server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_server::fuzz::run("http_range", bytes));
