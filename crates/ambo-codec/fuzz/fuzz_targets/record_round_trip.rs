//! `cargo fuzz run -s none record_round_trip`, from the folder of the crate `ambo-codec`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_codec_fuzz::run("record_round_trip", bytes));
