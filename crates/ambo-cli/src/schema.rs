//! The columns of a table as one line of text: `name:type` with `?` for nullable, separated by commas.
//!
//! Example: `time_hour:timestamp,carrier:text,dep_delay:bigint?`.

use ambo::TableDefinition;

pub use ambo_files::Column;

/// Reads the text form.
pub fn parse(text: &str) -> Result<Vec<Column>, String> {
    split(text).into_iter().map(parse_column).collect()
}

/// At the commas that are not within brackets: `decimal(10,2)` is one type.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_separator = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(is_separator).collect()
}

fn parse_column(text: &str) -> Result<Column, String> {
    let text = text.trim();
    let (name, ty) = text.rsplit_once(':').ok_or_else(|| {
        format!("column '{text}' has no type; write name:type, such as id:bigint or note:text?")
    })?;
    let (ty, nullable) = match ty.trim().strip_suffix('?') {
        Some(ty) => (ty, true),
        None => (ty, false),
    };
    let ty = ty.parse().map_err(|_| {
        format!(
            "column {name}: unknown type '{ty}'; there are boolean, tinyint, smallint, int, bigint (and u…), real, \
             double, decimal(p,s), date, time, timestamp, text, binary"
        )
    })?;
    Ok(Column { name: name.trim().into(), ty, nullable })
}

/// Writes the text form.
pub fn show(columns: &[Column]) -> String {
    let column = |c: &Column| format!("{}:{}{}", c.name, c.ty, if c.nullable { "?" } else { "" });
    columns.iter().map(column).collect::<Vec<_>>().join(",")
}

/// The columns of a table.
pub fn of(definition: &TableDefinition) -> Vec<Column> {
    let column = |c: &ambo::Column| Column { name: c.name.clone(), ty: c.kind, nullable: c.nullable };
    definition.columns.iter().map(column).collect()
}

/// A table's name without the schema that is meant when none is said.
pub fn short_name(name: &str) -> &str {
    name.strip_prefix("main.").unwrap_or(name)
}

/// A table's name as people say it.
pub fn name_of(table: &ambo::Table) -> &str {
    short_name(&table.definition().name)
}

/// The names of a table's primary key columns; none when it has a hidden row number.
pub fn key_of(definition: &TableDefinition) -> Vec<String> {
    definition.primary_columns().iter().map(|&column| definition.columns[column].name.clone()).collect()
}

/// The names of the columns by which rows are sorted, where these are not the primary key's.
pub fn sort_key_of(definition: &TableDefinition) -> Vec<String> {
    definition.sort_columns().iter().map(|&column| definition.columns[column].name.clone()).collect()
}

/// A table of these columns. Key columns are never NULL; without key columns there is a hidden row number.
pub fn definition(table: &str, columns: &[Column], key: &[String]) -> Result<TableDefinition, String> {
    for name in key {
        if !columns.iter().any(|column| &column.name == name) {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return Err(format!("no column {name} for the key; there are {}", names.join(", ")));
        }
    }
    let mut definition = TableDefinition::new(table);
    for Column { name, ty, nullable } in columns {
        definition = match *nullable && !key.contains(name) {
            true => definition.column_nullable(name, *ty),
            false => definition.column(name, *ty),
        };
    }
    if !key.is_empty() {
        let key: Vec<&str> = key.iter().map(String::as_str).collect();
        definition = definition.primary_key(&key);
    }
    Ok(definition)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away a schema that `info` prints and `load` cannot read.
    #[test]
    fn text_round_trips() {
        let text = "id:bigint,price:decimal(10,2)?,when:timestamp,a:b:text?";
        assert_eq!(show(&parse(text).unwrap()), text);
        assert!(parse("id").unwrap_err().contains("no type"));
        assert!(parse("id:intt").unwrap_err().contains("unknown type 'intt'"));
    }
}
