//! `cargo fuzz run -s none flight_message`, from the folder of the crate `ambo-server`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_server::fuzz::run("flight_message", bytes));
