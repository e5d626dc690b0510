//! `cargo fuzz run -s none row_decode`, from the folder of the crate `ambo-codec`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_codec_fuzz::run("row_decode", bytes));
