//! `cargo fuzz run -s none column_block`, from the folder of the crate `ambo-codec`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_codec_fuzz::run("column_block", bytes));
