//! What the fuzz targets do with any bytes, a module for each area. The crate's own tests run the same functions
//! for a moment, on bytes from a fixed seed and on what fuzzing found worth keeping (`corpus/`).

pub mod blob;
pub mod catalog;
mod database;
pub mod input;
pub mod log;
pub mod posting;
pub mod segment;
pub mod superblock;
pub mod tree;

/// A target and its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets by name.
pub const TARGETS: [Target; 12] = [
    ("blob_chunks", blob::chunks),
    ("blob_reference", blob::reference),
    ("catalog_row", catalog::row),
    ("extent", segment::extent),
    ("log_group", log::group),
    ("log_segment", log::segment),
    ("posting", posting::posting),
    ("segment", segment::segment),
    ("superblock", superblock::superblock),
    ("table_definition", catalog::definition),
    ("tree_leaf", tree::leaf),
    ("tree_page", tree::page),
];

/// Runs the target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name");
    target(bytes);
}
