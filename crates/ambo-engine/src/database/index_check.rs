//! Comparing indexes with the rows of their tables.

use std::sync::Arc;

use ambo_types::{Error, Result, id::TableId, parts::fold_parts};

use super::{
    check::{CheckReport, PROBLEMS_MAX},
    cursor::Seek,
    entry_sums::EntrySum,
    index_rows::{RangeRows, sums},
    indexes::TableIndex,
    snapshot::Snapshot,
};

/// Compares all entries of each index that is ready with those that the rows of its table should have, by their sums. If these are not the
/// same, it looks up the entry of each row, and counts the entries: as many as rows, and one for each, is what an index has to be.
///
/// # Errors
/// None for damage, which is reported.
pub(super) fn check_indexes(snapshot: &Snapshot, threads: usize, report: &mut CheckReport) -> Result<()> {
    debug_assert!(snapshot.now().is_none(), "entries stay as long as rows are stored");
    for (id, table) in &snapshot.version().tables {
        let indexes: Vec<_> = table.indexes.iter().filter(|index| index.is_ready()).cloned().collect();
        report.indexes += indexes.len() as u64;
        let is_elsewhere = table.damage.as_ref().is_some_and(|damage| damage.is_elsewhere());
        if indexes.is_empty() || is_elsewhere {
            continue;
        }
        // What cannot be read is named when it is met row by row.
        let are_complete = are_complete(snapshot, *id, &indexes, threads);
        if matches!(are_complete, Ok(true)) {
            continue;
        }
        let before = report.problems.len();
        match check_table(snapshot, *id, &indexes, report) {
            Err(Error::Damaged { file, offset, what }) => {
                // The trees' own check names the place, too; here it ends the comparison.
                report.problems.push(format!("indexes of table {id}: {file} at byte {offset}: {what}"));
            }
            result => result?,
        }
        if are_complete.is_ok() && report.problems.len() == before {
            report.problems.push(format!("indexes of table {id}: their entries are not those of its rows"));
        }
    }
    Ok(())
}

/// Whether each of the indexes has just the entries that the rows of its table should have there.
///
/// # Errors
/// What cannot be read.
fn are_complete(
    snapshot: &Snapshot,
    table: TableId,
    indexes: &[Arc<TableIndex>],
    threads: usize,
) -> Result<bool> {
    let wanted = sums(snapshot, table, indexes, threads)?;
    for (index, wanted) in indexes.iter().zip(wanted) {
        let entries = RangeRows::new(snapshot, index.id)?;
        let add = |sum: &mut EntrySum, part: usize| {
            entries.each(part, |key, value| {
                sum.add(key, value);
                Ok(())
            })
        };
        let found = fold_parts(entries.parts(), threads, EntrySum::default, add)?;
        if found.into_iter().fold(EntrySum::default(), EntrySum::and) != wanted {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Names what is wrong.
fn check_table(
    snapshot: &Snapshot,
    id: TableId,
    indexes: &[Arc<TableIndex>],
    report: &mut CheckReport,
) -> Result<()> {
    let mut rows = 0;
    let mut cursor = snapshot.cursor(id)?;
    let mut there = cursor.seek(Seek::First)?;
    while there && report.problems.len() < PROBLEMS_MAX {
        rows += 1;
        let (key, row) = cursor.row()?;
        for index in indexes {
            let name = index.format.name();
            let problem = match index.format.entry(key, row) {
                Err(error) => format!("the row of key {}: {error}", key.escape_ascii()),
                Ok(entry) => match snapshot.get(index.id, &entry.key)? {
                    None => {
                        format!("index \"{name}\" has no entry for the row of key {}", key.escape_ascii())
                    }
                    Some(found) if found[..] != entry.value[..] => {
                        format!(
                            "index \"{name}\" names another row for the values of that of key {}",
                            key.escape_ascii()
                        )
                    }
                    Some(_) => continue,
                },
            };
            report.problems.push(problem);
        }
        there = cursor.next()?;
    }
    if there {
        return Ok(());
    }
    for index in indexes {
        let entries = snapshot.count(index.id, None, None)?;
        if entries != rows {
            let name = index.format.name();
            report.problems.push(format!("index \"{name}\" has {entries} entries, its table {rows} rows"));
        }
    }
    Ok(())
}
