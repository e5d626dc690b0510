//! `cargo fuzz run -s none bitmap_read`, from the folder of the crate `ambo-codec`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ambo_codec_fuzz::run("bitmap_read", bytes));
