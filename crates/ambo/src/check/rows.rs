//! All rows of a database, held to the columns and checks of their tables.

use super::RowChecks;
use crate::{CheckReport, Database, Datum, Read, Result, Snapshot, Table};

/// More problems than these are not listed.
const PROBLEMS_MAX: usize = 1000;

/// Adds to a report what rows must not be as they are: not rows of their table at all, NULL where there is none, or forbidden by a check.
pub(crate) fn check_rows(db: &Database, report: &mut CheckReport) -> Result<()> {
    let snapshot = db.snapshot();
    for name in db.tables() {
        let Ok(table) = db.table(&name) else { continue };
        if db.has_elsewhere(&table) {
            continue;
        }
        if !table.definition().is_raw() && report.problems.len() < PROBLEMS_MAX {
            // What of the table cannot be read was said by those who looked at its pages.
            let checked = check_table(&table, &snapshot, report);
            if report.problems.is_empty() {
                checked?;
            }
        }
    }
    Ok(())
}

fn check_table(table: &Table, snapshot: &Snapshot, report: &mut CheckReport) -> Result<()> {
    let definition = table.definition();
    let checks = RowChecks::new(table.format().definition(), definition);
    // Segments have no NULL where a column has none, and nothing that is of another type.
    let is_plain = definition.columns.iter().all(|column| column.logical.is_none());
    if definition.storage.traits().by_column && checks.is_none() && is_plain {
        return Ok(());
    }
    let mut cursor = snapshot.cursor(table)?;
    let mut is_there = cursor.seek(crate::Seek::First)?;
    while is_there && report.problems.len() < PROBLEMS_MAX {
        let key = cursor.key().to_vec();
        let what = match table.format().decode(&key, cursor.value()?) {
            Err(error) => Some(error.to_string()),
            Ok(row) => {
                problem(table, checks.as_deref(), &row)?.map(|what| format!("{}: {what}", shown(table, &row)))
            }
        };
        report.problems.extend(what.map(|what| format!("{}: {what}", definition.name)));
        is_there = cursor.next()?;
    }
    Ok(())
}

fn problem(table: &Table, checks: Option<&RowChecks>, row: &[Datum]) -> Result<Option<String>> {
    let columns = &table.definition().columns;
    let meant = columns
        .iter()
        .zip(row)
        .find_map(|(column, value)| Some((column, column.check(value.as_ref()).err()?)));
    if let Some((column, what)) = meant {
        return Ok(Some(format!("column \"{}\": {what}", column.name)));
    }
    let null = columns.iter().zip(row).find(|(column, value)| value.is_null() && !column.nullable);
    match (null, checks) {
        (Some((column, _)), _) => Ok(Some(format!("column \"{}\" is NULL and must not be", column.name))),
        (None, Some(checks)) => checks.problem(row),
        (None, None) => Ok(None),
    }
}

/// A row by its key, or as a whole if it has none.
fn shown(table: &Table, row: &[Datum]) -> String {
    let definition = table.definition();
    let shown = |column: usize| definition.columns[column].shown(row[column].as_ref());
    let values: Vec<_> = match definition.primary_columns() {
        [] => (0..row.len()).map(shown).collect(),
        key => key.iter().map(|column| shown(*column)).collect(),
    };
    format!("row ({})", values.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::{Column, Database, Logical, Seek, Storage, TableDefinition, Type};

    /// Keeps away: a check that does not see values that a column's type does not have.
    #[test]
    fn values_that_mean_nothing_are_told() {
        for storage in [Storage::BTree, Storage::Column, Storage::Memory] {
            let db = Database::in_memory().unwrap();
            let table = |name: &str, column: Column| {
                let table = TableDefinition::new(name).column("id", Type::I64).with_column(column);
                db.create_table(table.primary_key(&["id"]).storage(storage)).unwrap()
            };
            let plain = table("plain", Column::new("tags", Type::Binary));
            plain.insert_row(&[1i64.into(), vec![7u8].into()]).unwrap();
            let mut cursor = plain.cursor().unwrap();
            assert!(cursor.seek(Seek::First).unwrap());
            let (key, value) = (cursor.key().to_vec(), cursor.value().unwrap().to_vec());
            let lists = table("lists", Column::of("tags", Logical::list(Type::I64)));
            lists.put_stored(&key, &value).unwrap();
            for _ in 0..2 {
                let problems = db.check().unwrap().problems;
                assert!(
                    problems.len() == 1
                        && problems[0].contains("row (1): column \"tags\": not of type bigint[]"),
                    "{problems:?}"
                );
                db.compact().unwrap();
            }
        }
    }
}
