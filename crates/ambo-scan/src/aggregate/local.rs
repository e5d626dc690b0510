//! What is found of the groups of some thousand rows, by the numbers that they have there.

use ambo_codec::column::arithmetic::{add_by_group, count_by_group, sum, sum_selected};
use ambo_types::{Error, Result};

use super::{
    evaluate::Vector,
    plan::{Accumulator, Input},
    program::Lane,
    rows::{Rows, Words, bit},
    table::{compare_floats, order_of},
};

/// What was found of a slice's groups, by their numbers there, and of rows that do not count, behind the last.
#[derive(Debug)]
pub(super) enum Local {
    Counts(Vec<u32>),
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
    Floats(Vec<f64>),
    /// Rows of the slice that have the least or greatest text.
    Rows(Vec<Option<u32>>),
    /// As many as there are rows.
    AllRows,
}

impl Local {
    /// An empty state of `count` groups of a slice of so many rows.
    pub(super) fn new(
        accumulator: Accumulator,
        lanes: &[Lane],
        is_nullable: impl Fn(usize) -> bool,
        count: usize,
        rows: usize,
    ) -> Self {
        let len = count + 1;
        match (accumulator, accumulator.input()) {
            (Accumulator::Count(_), Input::Step(step)) if !is_nullable(step) => Local::AllRows,
            (Accumulator::Count(_), _) => Local::Counts(vec![0; len]),
            (_, Input::Text(_)) => Local::Rows(vec![None; len]),
            (_, Input::Step(step)) => {
                let is_least = matches!(accumulator, Accumulator::Least(_));
                let is_sum = matches!(accumulator, Accumulator::Sum(_));
                match lanes[step] {
                    Lane::Float if is_sum => Local::Floats(vec![0.0; len]),
                    Lane::Float => {
                        Local::Floats(vec![if is_least { f64::NAN } else { f64::NEG_INFINITY }; len])
                    }
                    Lane::Narrow(low, high) if is_sum => {
                        let most = u128::from(low.unsigned_abs().max(high.unsigned_abs())) * rows as u128;
                        match most <= i64::MAX as u128 {
                            true => Local::Narrow(vec![0; len]),
                            false => Local::Wide(vec![0; len]),
                        }
                    }
                    Lane::Wide if is_sum => Local::Wide(vec![0; len]),
                    // No value is as great or as small as these, so they stand for none.
                    _ => Local::Wide(vec![if is_least { i128::MAX } else { i128::MIN }; len]),
                }
            }
        }
    }
}

/// The groups of a chunk's rows, those without a value being no group's.
pub(super) fn masked<'a>(
    ids: &'a [u16],
    valid: Option<&Words>,
    none: u16,
    out: &'a mut Vec<u16>,
) -> &'a [u16] {
    debug_assert!(ids.len() <= 64 * Words::default().len(), "validity has a bit for each row of a chunk");
    debug_assert!(ids.iter().all(|id| *id <= none), "rows are of groups that there are, or of none");
    let Some(valid) = valid else { return ids };
    out.clear();
    out.extend_from_slice(ids);
    for (row, id) in out.iter_mut().enumerate() {
        if !bit(valid, row) {
            *id = none;
        }
    }
    out
}

/// Adds the numbers of a chunk. Without `ids` all rows that count are of group 0.
pub(super) fn accumulate(
    accumulator: Accumulator,
    vector: &Vector,
    lane: Lane,
    ids: Option<&[u16]>,
    rows: &Rows<'_>,
    local: &mut Local,
) -> Result<()> {
    debug_assert_eq!(vector.len(lane), rows.len(), "each row has a number");
    debug_assert!(ids.is_none_or(|ids| ids.len() == rows.len()), "each row has a group");
    let mut words = Words::default();
    for (index, word) in words.iter_mut().enumerate().take(rows.len().div_ceil(64)) {
        *word = rows.word(index) & vector.valid.map_or(u64::MAX, |valid| valid[index]);
    }
    let all = vector.valid.is_none() && rows.all_count();
    // Of groups that are only looked at, rows that do not count are of the last.
    let each = |each: &mut dyn FnMut(usize, usize)| match ids {
        Some(ids) => ids.iter().enumerate().for_each(|(row, id)| each(row, usize::from(*id))),
        None => {
            (0..rows.len()).filter(|row| bit(&words, *row)).for_each(|row| each(row, 0));
        }
    };
    let exact = |row: usize| match lane {
        Lane::Narrow(..) => i128::from(vector.narrow[row]),
        _ => vector.wide[row],
    };
    match (local, accumulator) {
        (Local::AllRows, ..) => {}
        (Local::Counts(counts), ..) => match ids {
            Some(ids) => count_by_group(ids, counts),
            None => counts[0] += words.iter().map(|word| word.count_ones()).sum::<u32>(),
        },
        (Local::Narrow(sums), ..) => match ids {
            Some(ids) => add_by_group(ids, &vector.narrow, sums),
            None if all => sums[0] = sums[0].wrapping_add(sum(&vector.narrow)),
            None => sums[0] = sums[0].wrapping_add(sum_selected(&vector.narrow, &words)),
        },
        (Local::Floats(sums), Accumulator::Sum(_)) => each(&mut |row, id| sums[id] += vector.float[row]),
        (Local::Floats(best), accumulator) => {
            let wanted = order_of(accumulator);
            each(&mut |row, id| {
                if compare_floats(vector.float[row], best[id]) == wanted {
                    best[id] = vector.float[row];
                }
            });
        }
        (Local::Wide(sums), Accumulator::Sum(_)) => {
            let none = sums.len() - 1;
            let mut overflows = false;
            each(&mut |row, id| {
                if id != none {
                    match sums[id].checked_add(exact(row)) {
                        Some(sum) => sums[id] = sum,
                        None => overflows = true,
                    }
                }
            });
            if overflows {
                return Err(Error::Invalid("a sum that 128 bits cannot hold".into()));
            }
        }
        (Local::Wide(best), Accumulator::Least(_)) => {
            each(&mut |row, id| best[id] = best[id].min(exact(row)))
        }
        (Local::Wide(best), _) => each(&mut |row, id| best[id] = best[id].max(exact(row))),
        (Local::Rows(_), ..) => {}
    }
    Ok(())
}
