//! What the fuzz targets do with any bytes, a module for each area. The crate's own tests run the same functions
//! for a moment, on bytes from a fixed seed and on what fuzzing found worth keeping (`corpus/`).

pub mod bitmap;
pub mod column;
pub mod column_text;
pub mod integer;
pub mod record;
pub mod rows;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets by name.
pub const TARGETS: [Target; 9] = [
    ("bitmap_read", bitmap::bitmap_read),
    ("column_block", column::block),
    ("column_text", column_text::text),
    ("integer_block", integer::integer_block),
    ("key_decode", rows::key_decode),
    ("record_decompress", record::record_decompress),
    ("record_dictionary", record::record_dictionary),
    ("record_round_trip", record::record_round_trip),
    ("row_decode", rows::row_decode),
];

/// Runs the target of this name.
#[allow(dead_code, reason = "the tests have the table")]
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name");
    target(bytes);
}
