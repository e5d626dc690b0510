//! Options of tables: storage, compression, log, comment.

use std::str::FromStr;

use ambo::{IntegerCodec, RecordCodec, RecordWidth, Retention, Storage, TableDefinition, TableOptions};
use datafusion::sql::sqlparser::ast::{CommentDef, CreateTableOptions, Expr, Ident, SqlOption, Value};

use crate::{
    Error, Result,
    names::{about, ident},
    parse::{TableOption, TableSettings},
};

/// An option and its value.
pub(super) enum Setting {
    Storage(Storage),
    Options(TableOptions),
    Log(bool),
    /// The column that says when rows are of, by its name.
    Time(String),
    /// The column that rows expire by, by its name; none for no such column.
    TtlColumn(Option<String>),
    Comment(String),
    /// One of PostgreSQL's that is about the room in its pages, of which there are none of the kind.
    OfPages,
}

impl Setting {
    /// # Errors
    /// A value that the option does not have, with those it has.
    pub fn of(option: &TableOption) -> Result<Self> {
        Self::named(&option.name, &option.value()).map_err(|error| about(error, &option.value))
    }

    fn named(name: &str, value: &str) -> Result<Self> {
        Ok(match name {
            "storage" => Self::Storage(storage(value)?),
            "key compression" => {
                Self::Options(TableOptions::new().key_compression(codec::<IntegerCodec>(name, value)?))
            }
            "record compression" => {
                Self::Options(TableOptions::new().record_compression(codec::<RecordCodec>(name, value)?))
            }
            "record dictionary" => Self::Options(TableOptions::new().record_dictionary(switch(name, value)?)),
            "record" => {
                let width = RecordWidth::named(value)
                    .ok_or_else(|| Error::invalid(format!("record is power or tight, not {value}")))?;
                Self::Options(TableOptions::new().record_width(width))
            }
            "updates" => match value {
                "shadow" => Self::Options(TableOptions::new().updates(true)),
                "off" | "none" => Self::Options(TableOptions::new().updates(false)),
                other => return Err(Error::invalid(format!("updates is shadow or off, not {other}"))),
            },
            "time" => Self::Time(value.to_owned()),
            "retention" => Self::Options(TableOptions::new().retention(match value {
                "none" | "off" => None,
                value => Some(Retention::parse(value).map_err(Error::invalid)?),
            })),
            "ttl" => {
                Self::Options(TableOptions::new().ttl(match value {
                    "none" | "off" => None,
                    value => {
                        Some(
                            Retention::parse(value).map_err(|what| {
                                Error::invalid(what.replacen("a retention is", "a ttl is", 1))
                            })?,
                        )
                    }
                }))
            }
            "ttl column" => Self::TtlColumn((!matches!(value, "none" | "off")).then(|| value.to_owned())),
            "compaction filter" => Self::Options(
                TableOptions::new().compaction_filter((!matches!(value, "none" | "off")).then_some(value)),
            ),
            "log" => Self::Log(switch(name, value)?),
            "comment" => Self::Comment(value.to_owned()),
            "fillfactor" => match value.parse() {
                Ok(10..=100u8) => Self::OfPages,
                _ => {
                    return Err(Error::invalid(format!(
                        "fillfactor is a number from 10 to 100, not {value}"
                    )));
                }
            },
            other => {
                let known = [
                    "storage",
                    "key compression",
                    "record compression",
                    "record dictionary",
                    "record",
                    "updates",
                    "time",
                    "retention",
                    "ttl",
                    "ttl column",
                    "compaction filter",
                    "log",
                    "comment",
                    "fillfactor",
                ];
                return Err(Error::not_found("option of tables", other, known.into_iter()));
            }
        })
    }
}

/// A storage by its name.
pub(super) fn storage(name: &str) -> Result<Storage> {
    let all = || Storage::ALL.iter().map(|storage| storage.name());
    Storage::named(name).ok_or_else(|| Error::not_found("storage", name, all())).map_err(|error| match error
        .hint()
    {
        Some(_) => error,
        None => {
            let all: Vec<_> = all().collect();
            let (last, others) = all.split_last().expect("there are storages");
            error.with_hint(format!("there are {} and {last}", others.join(", ")))
        }
    })
}

fn codec<C: FromStr<Err: std::fmt::Display>>(option: &str, name: &str) -> Result<Option<C>> {
    match name {
        "none" | "off" => Ok(None),
        name => name.parse().map(Some).map_err(|error: C::Err| Error::invalid(format!("{option}: {error}"))),
    }
}

fn switch(option: &str, value: &str) -> Result<bool> {
    match value {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        other => Err(Error::invalid(format!("{option} is on or off, not {other}"))),
    }
}

/// A definition with the options of its statement: ours, and those that stand as `WITH (name = value)`.
pub(super) fn apply(
    mut table: TableDefinition,
    with: &CreateTableOptions,
    settings: &TableSettings,
) -> Result<TableDefinition> {
    let mut options = match with {
        CreateTableOptions::None => Vec::new(),
        CreateTableOptions::With(options)
        | CreateTableOptions::Options(options)
        | CreateTableOptions::Plain(options)
        | CreateTableOptions::TableProperties(options) => {
            options.iter().map(option).collect::<Result<Vec<_>>>()?
        }
    };
    options.extend(settings.options.iter().cloned());
    // The storage decides which others there may be.
    options.sort_by_key(|option| option.name != "storage");
    for option in &options {
        table = match Setting::of(option)? {
            Setting::Storage(storage) => table.storage(storage).log(storage.traits().durable),
            Setting::Options(options) => options.apply(table),
            Setting::Log(on) => table.log(on),
            Setting::Time(column) => {
                table.records.time = Some(place_of(&table, &column, &option.value)?);
                table
            }
            Setting::TtlColumn(column) => {
                let place = |column: String| place_of(&table, &column, &option.value);
                table.expiry.column = column.map(place).transpose()?;
                table
            }
            Setting::Comment(comment) => table.comment(comment),
            Setting::OfPages => table,
        };
    }
    Ok(table)
}

/// The place of a column that an option names.
///
/// # Errors
/// There is none of the name.
pub(super) fn place_of(table: &TableDefinition, column: &str, written: &Ident) -> Result<usize> {
    table.column_index(column).ok_or_else(|| {
        let names = table.columns.iter().map(|column| column.name.as_str());
        about(Error::not_found("column", column, names), written)
    })
}

/// An option of the parser as one of ours.
fn option(option: &SqlOption) -> Result<TableOption> {
    match option {
        SqlOption::KeyValue { key, value } => {
            let name = ident(key).to_lowercase().replace('_', " ");
            let value = match value {
                Expr::Identifier(value) => value.clone(),
                Expr::Value(value) => match &value.value {
                    Value::SingleQuotedString(text) => Ident::with_quote('"', text),
                    Value::Boolean(on) => Ident::new(if *on { "on" } else { "off" }),
                    other => Ident::new(other.to_string()),
                },
                other => return Err(Error::invalid(format!("{other} is no value of an option"))),
            };
            Ok(TableOption { name, value })
        }
        SqlOption::Comment(CommentDef::WithEq(text) | CommentDef::WithoutEq(text)) => {
            Ok(TableOption { name: "comment".into(), value: Ident::with_quote('"', text) })
        }
        other => Err(Error::invalid(format!("not supported: {other}"))),
    }
}
