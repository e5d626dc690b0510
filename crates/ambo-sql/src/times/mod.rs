//! Times: moments of a calendar (`timestamp`), moments of the world (`timestamptz`), time zones, and what is computed of them.
//!
//! The planner (DataFusion 55) computes with nanoseconds, which end in the years 1677 and 2262, and takes the zone of a timestamp for a
//! label (apache/datafusion#19023, #25095, #25166). So nothing of it is left: every cast to or from a time is [`cast::TimeCast`], types are
//! said by [`types::TimeTypes`], and functions of times are ours. Both kinds of moments are microseconds since 1970: of a calendar wherever
//! it hangs, or of UTC.
//!
//! | file | what |
//! |---|---|
//! | `zone` | time zones: offsets at moments, and back |
//! | `text`, `interval_text` | texts of times, and back |
//! | `convert`, `cast` | values in another type, and the function that is a cast |
//! | `rules` | what becomes of a plan before and behind the planner's own rules for types |
//! | `foreign` | moments of files, in other units |
//! | `types`, `operators` | what names of types mean, and operators that the planner does not know |
//! | `fields` | years, months, days … of moments |
//! | `sum`, `scale` | moments and intervals added, intervals multiplied |
//! | `order` | intervals as numbers by which they are compared |
//! | `functions` | functions of times |

pub(crate) mod cast;
mod convert;
mod fields;
mod foreign;
pub(crate) mod functions;
mod interval_text;
mod operators;
mod order;
pub(crate) mod rules;
mod scale;
mod sum;
mod text;
mod types;
mod zone;

use arrow::datatypes::{DataType, TimeUnit};

pub(crate) use convert::{converted, converts, time_texts};
pub(crate) use fields::{Unit, units_begun, units_between};
pub(crate) use interval_text::{Units as IntervalUnits, canonical as canonical_interval};
pub(crate) use operators::{TimeOperators, comparison};
pub(crate) use order::{lengths as interval_lengths, ordered as interval_length};
pub(crate) use types::TimeTypes;
pub(crate) use zone::Zone;

/// The type of `timestamp`.
pub(crate) const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

const SECOND: i64 = 1_000_000;
const DAY: i64 = 24 * 60 * 60 * SECOND;

/// The type of `timestamptz`.
pub(crate) fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// Whether a type is one of texts.
pub(crate) fn is_text(ty: &DataType) -> bool {
    match ty {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

fn is_interval(ty: &DataType) -> bool {
    matches!(ty, DataType::Interval(_) | DataType::Duration(_))
}
