//! The statements that make a table or a view as it is.

use ambo::{Expiry, IndexKind, RecordCodec, RecordWidth, Records, Table, TableDefinition, View};
use arrow::datatypes::DataType;

use super::types::{column_type_text, literal};
use crate::{
    Result,
    catalog::{default_text, indexes},
    databases::Kind,
    foreign_keys::{ForeignKey, is_kept_text},
    hidden,
    names::{quoted, quoted_object, split},
};

/// The statements that make a table with its indexes, without its rows.
pub(crate) fn table_text(table: &Table) -> Result<String> {
    let of = table.definition();
    let names = |places: &[usize]| {
        places.iter().map(|place| quoted(&of.columns[*place].name)).collect::<Vec<_>>().join(", ")
    };
    let mut lines = Vec::new();
    for place in hidden::seen(of) {
        let column = &of.columns[place];
        let mut line = format!("{} {}", quoted(&column.name), column_type_text(column));
        if let Some(ambo::Logical::Collated(name)) = &column.logical {
            line.push_str(&format!(" COLLATE {name}"));
        }
        if !column.nullable {
            line.push_str(" NOT NULL");
        }
        if of.numbers_itself(place) {
            line.push_str(" AUTO_INCREMENT");
        }
        if column.generated().is_some() {
            line.push_str(&format!(" {}", column.default_expression.as_deref().unwrap_or_default()));
        } else if let Some(default) = default_text(column)? {
            line.push_str(&format!(" DEFAULT {default}"));
        }
        if let Some(comment) = &column.comment {
            line.push_str(&format!(" COMMENT {}", string(comment)));
        }
        lines.push(line);
    }
    if !of.primary_columns().is_empty() && !of.duplicates {
        lines.push(format!("PRIMARY KEY ({})", names(of.primary_columns())));
    }
    for key in ForeignKey::all(of)? {
        lines.push(format!("CONSTRAINT {} {}", quoted(&key.name), key.text()));
    }
    let is_condition = |check: &&ambo::Check| !of.is_of_generated(check) && !is_kept_text(&check.expression);
    for check in of.checks.iter().filter(is_condition) {
        lines.push(format!("CONSTRAINT {} CHECK ({})", quoted(&check.name), check.expression));
    }
    let mut text = format!("CREATE TABLE {} (\n  {}\n)", quoted_object(&of.name), lines.join(",\n  "));
    text.push_str(&format!(" STORAGE = {}", of.storage.name()));
    if of.has_sort_key() {
        text.push_str(&format!(" SORT KEY ({})", names(of.sort_columns())));
    }
    if let Some(codec) = of.key_compression {
        text.push_str(&format!(" KEY COMPRESSION = {}", string(codec.name())));
    }
    if let Some(codec) = of.record_compression {
        text.push_str(&format!(" RECORD COMPRESSION = {}", string(&codec_text(codec))));
    }
    if of.record_dictionary {
        text.push_str(" RECORD DICTIONARY = on");
    }
    text.push_str(&records_text(of));
    if !of.log && of.storage.traits().durable {
        text.push_str(" LOG = off");
    }
    if let Some(comment) = &of.comment {
        text.push_str(&format!(" COMMENT = {}", string(comment)));
    }
    text.push(';');
    for index in indexes(table) {
        let unique = if index.is_unique() { "UNIQUE " } else { "" };
        let using = match index.kind() {
            IndexKind::Ordered => String::new(),
            kind => format!(" USING {}", kind.name()),
        };
        let name = quoted(split(index.name()).1);
        let (columns, condition) = hidden::index_text(of, &index)?;
        let columns = columns.join(", ");
        let columns = match index.kind() {
            IndexKind::Br64Any => format!("ANY ({columns})"),
            _ => columns,
        };
        let condition = condition.map_or(String::new(), |condition| format!(" WHERE {condition}"));
        text.push_str(&format!(
            "\nCREATE {unique}INDEX {name} ON {}{using} ({columns}){condition};",
            quoted_object(&of.name)
        ));
    }
    Ok(text)
}

/// What a table of storage append says of its records, and any of how its rows expire and what removes them.
fn records_text(of: &TableDefinition) -> String {
    let Records { width, updates, time, retention } = of.records;
    let mut options = Vec::new();
    if width != RecordWidth::Suitable {
        options.push(format!("record = {}", string(width.name())));
    }
    if updates {
        options.push("updates = 'shadow'".to_owned());
    }
    options.extend(time.map(|time| format!("time = {}", quoted(&of.columns[time].name))));
    options.extend(retention.map(|retention| format!("retention = {}", string(&retention.to_string()))));
    let Expiry { ttl, column, .. } = of.expiry;
    options.extend(ttl.map(|ttl| format!("ttl = {}", string(&ttl.to_string()))));
    options.extend(column.map(|column| format!("ttl_column = {}", quoted(&of.columns[column].name))));
    let filter = of.compaction_filter.as_deref();
    options.extend(filter.map(|filter| format!("compaction_filter = {}", string(filter))));
    if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) }
}

/// The statement that makes a view.
pub(crate) fn view_text(view: &View) -> String {
    let name = quoted_object(&view.name);
    let mut text = format!("CREATE VIEW {name} AS {};", view.query);
    if let Some(comment) = &view.comment {
        text.push_str(&format!("\nCOMMENT ON VIEW {name} IS {};", string(comment)));
    }
    text
}

/// The same for what is temporary.
pub(crate) fn of_kind(text: String, kind: Kind) -> String {
    match kind {
        Kind::Temporary => text.replacen("CREATE ", "CREATE TEMPORARY ", 1),
        _ => text,
    }
}

fn string(text: &str) -> String {
    literal(&text.into(), &DataType::Utf8).unwrap_or_default()
}

fn codec_text(codec: RecordCodec) -> String {
    match codec.level() {
        0 => codec.name().to_owned(),
        level => format!("{}:{level}", codec.name()),
    }
}
