//! Compressed sets of row positions.
//!
//! A set is cut into containers of 2^16 positions, each in the form that takes least room: a sorted array of the positions
//! that are set, one bit for each, a sorted array of those that are not set, or runs. Containers without a position are not
//! there, full ones have no data. After Chambi, Lemire, Kaser, Godin, "Better bitmap performance with Roaring
//! bitmaps" (2016) and Lemire, Ssi-Yan-Kai, Kaser, "Consistently faster and smaller compressed bitmaps with Roaring" (2016);
//! the inverted array is skunk's.
//!
//! * [`Bitmap`]: in memory; clones share containers.
//! * [`BitmapRef`]: bytes of a page or segment, read in place (`docs/formats/bitmaps.md`).
//! * [`Positions`]: what can be asked of both, and set operations between any two of them.
//!
//! ```
//! use ambo_codec::bitmap::{Bitmap, BitmapRef, Positions};
//!
//! let red = Bitmap::from_sorted([1, 5, 1 << 40])?;
//! let mut bytes = Vec::new();
//! Bitmap::from_range(3..1_000_000).encode(&mut bytes);
//! let recent = BitmapRef::parse(&bytes)?;
//!
//! let both = red.and(&recent);
//! assert_eq!(both.iter().collect::<Vec<_>>(), [5]);
//!
//! // A scan of rows 0 to 1,023, some of which are deleted.
//! let mut selection = [!0; 16];
//! red.deselect_from(0, &mut selection);
//! assert_eq!(selection[0], !0b10_0010);
//! # Ok::<(), ambo_codec::Error>(())
//! ```

mod combine;
mod container;
mod format;
pub mod gaps;
mod iter;
mod kernel;
mod owned;
mod positions;
mod store;

#[cfg(test)]
mod tests;

pub use format::BitmapRef;
pub use iter::Iter;
pub use owned::Bitmap;
pub use positions::Positions;
