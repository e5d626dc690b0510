//! `cargo fuzz run -s none thrift_message`, from the folder of the crate `ambo-server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_server::fuzz::run("thrift_message", bytes));
