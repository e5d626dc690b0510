//! # Definitions of tables

use std::{
    ffi::c_char,
    str::FromStr,
    sync::{Mutex, MutexGuard},
};

use ambo::{Column, Retention, Storage, TableDefinition, TableOptions, Type};
use ambo_face::Class;

use crate::{
    c::{Out, name},
    error::{Error, Failure, Result, call, free},
    handle::{Handle, body, broken, give, of},
    status::{AMBO_OK, Status},
};

/// What a table is to be.
#[derive(Clone, Default)]
pub struct Parts {
    name: String,
    columns: Vec<Column>,
    key: Vec<String>,
    settings: Vec<Setting>,
}

#[derive(Clone)]
enum Setting {
    Storage(Storage),
    Options(TableOptions),
    Log(bool),
    AutoIncrement,
    Duplicates,
    Comment(String),
    /// The column that rows expire by.
    TtlColumn(String),
}

/// What a table is to be, for its handle.
pub struct DefinitionBody(Mutex<Parts>);
body!(DefinitionBody, "definition", b"ambodefi");

/// What a table is to be. Without columns it is one of keys and values that are bytes.
pub type Definition = Handle<DefinitionBody>;

/// A column may be NULL.
pub const AMBO_NULLABLE: u32 = 1;

fn unknown(what: &str, value: &str, wanted: &str) -> Failure {
    Failure::new(Class::Request, format!("{what}: \"{value}\" is not {wanted}"))
}

fn switch(what: &str, value: &str) -> Result<bool> {
    match value {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(unknown(what, value, "true or false")),
    }
}

/// A codec by its name; `none` is none.
fn codec<C: FromStr>(what: &str, value: &str) -> Result<Option<C>>
where
    C::Err: std::fmt::Display,
{
    if value == "none" {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|error| Failure::new(Class::Request, format!("{what}: {error}")))
}

/// How a table's rows are stored, by name; `None` if it is no option of that kind.
pub(crate) fn table_options(what: &str, value: &str) -> Result<Option<TableOptions>> {
    let options = TableOptions::new();
    Ok(Some(match what {
        "key_compression" => options.key_compression(codec(what, value)?),
        "record_compression" => options.record_compression(codec(what, value)?),
        "record_dictionary" => options.record_dictionary(switch(what, value)?),
        "ttl" => options.ttl(match value {
            "none" => None,
            value => Some(Retention::parse(value).map_err(|what| {
                Failure::new(Class::Request, what.replacen("a retention is", "a ttl is", 1))
            })?),
        }),
        _ => return Ok(None),
    }))
}

impl Parts {
    fn set(&mut self, what: &str, value: &str) -> Result<()> {
        let setting = match what {
            "storage" => Setting::Storage(Storage::named(value).ok_or_else(|| {
                let known: Vec<_> = Storage::ALL.iter().map(|storage| storage.name()).collect();
                unknown(what, value, &format!("one of {}", known.join(", ")))
            })?),
            "log" => Setting::Log(switch(what, value)?),
            "auto_increment" | "duplicates" if !switch(what, value)? => return Ok(()),
            "auto_increment" => Setting::AutoIncrement,
            "duplicates" => Setting::Duplicates,
            "comment" => Setting::Comment(value.to_owned()),
            "ttl_column" => Setting::TtlColumn(value.to_owned()),
            what => Setting::Options(table_options(what, value)?.ok_or_else(|| {
                let known =
                    "storage, log, auto_increment, duplicates, comment, key_compression, record_compression";
                let known = format!("one of {known}, record_dictionary, ttl and ttl_column");
                unknown("the option of a table", what, &known)
            })?),
        };
        self.settings.push(setting);
        Ok(())
    }

    /// The definition.
    pub(crate) fn table(&self) -> TableDefinition {
        let mut table = match self.columns.is_empty() {
            true => TableDefinition::key_value(&self.name),
            false => TableDefinition::new(&self.name),
        };
        for column in &self.columns {
            table = table.with_column(column.clone());
        }
        if !self.key.is_empty() {
            table = table.primary_key(&self.key.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for setting in &self.settings {
            table = match setting {
                Setting::Storage(storage) => table.storage(*storage),
                Setting::Options(options) => options.apply(table),
                Setting::Log(log) => table.log(*log),
                Setting::AutoIncrement => table.auto_increment(),
                Setting::Duplicates => table.duplicates(),
                Setting::Comment(comment) => table.comment(comment),
                Setting::TtlColumn(column) => {
                    // A name that is no column is refused as one that is not there.
                    let place = table.column_index(column).unwrap_or(table.columns.len());
                    table.expiry.column = Some(place);
                    table
                }
            };
        }
        match table.expiry.ttl {
            Some(ttl) if table.is_raw() => table.ttl_of_commits(ttl),
            _ => table,
        }
    }
}

impl DefinitionBody {
    pub(crate) fn parts(&self) -> Result<MutexGuard<'_, Parts>> {
        self.0.lock().map_err(broken)
    }
}

/// Begins the definition of a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_definition_new(
    table: *const c_char,
    definition: *mut *mut Definition,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let definition = Out::new("definition", definition)?;
        let name = name("the name of the table", table)?.to_owned();
        definition.set(give(DefinitionBody(Mutex::new(Parts { name, ..Parts::default() }))));
        Ok(AMBO_OK)
    })
}

/// Adds a column of a type such as "bigint", "u32", "text", "blob" or "decimal(10,2)". `flags` are 0 or AMBO_NULLABLE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_definition_column(
    definition: *mut Definition,
    column: *const c_char,
    kind: *const c_char,
    flags: u32,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let mut parts = of(definition)?.parts()?;
        let (column, kind) = (name("the column", column)?, name("its type", kind)?);
        let ty = Type::from_str(kind).map_err(|error| Failure::new(Class::Request, error.to_string()))?;
        let column = Column::new(column, ty);
        parts.columns.push(match flags {
            0 => column,
            AMBO_NULLABLE => column.nullable(),
            _ => return Err(Failure::misuse(format!("{flags:#x} are no flags of a column"))),
        });
        Ok(AMBO_OK)
    })
}

/// Adds a column to the primary key, which is the order of the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_definition_key(
    definition: *mut Definition,
    column: *const c_char,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        let mut parts = of(definition)?.parts()?;
        parts.key.push(name("the column", column)?.to_owned());
        Ok(AMBO_OK)
    })
}

/// Sets an option: storage ("btree", "lsm", "column", "append", "memory"), log, auto_increment, duplicates ("true", "false"),
/// key_compression (a codec of integers, such as "bp128"), record_compression ("lz4", "zstd:9" …), record_dictionary, comment,
/// ttl ("7 days": rows expire so long after their time; values of a table without columns after their commit) and ttl_column (the column
/// that says it, a date or a timestamp).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_definition_set(
    definition: *mut Definition,
    option: *const c_char,
    value: *const c_char,
    error: *mut *mut Error,
) -> Status {
    call(error, || {
        of(definition)?.parts()?.set(name("the option", option)?, name("the value", value)?)?;
        Ok(AMBO_OK)
    })
}

/// Frees a definition.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ambo_definition_free(definition: *mut *mut Definition) {
    free(definition);
}
