//! What the fuzz targets do with any bytes, a module for each area. The crate's own tests run the same functions
//! for a moment, on bytes from a fixed seed.

pub mod bitmap;
pub mod column;
pub mod column_text;
pub mod integer;
pub mod record;
pub mod rows;
