//! What KeksDB calls Thrift: values of the binary protocol one behind the other, without messages around them.
//!
//! A request is a byte 0, the name of a command, and what the command takes: names, key and value of the three commands on entities, a map
//! of texts of all others. An answer is a byte 0 and what the command gives, or a byte 1 with the name of a class and a message.

use std::io::{self, Read};

use super::{Commands, Done, Properties, Query, Wrong};
use crate::thrift::binary::{Limits, Reader, Value, ty, write};

/// Answers a request. Returns the answer; an error ends the connection.
pub(crate) fn answer(commands: &Commands<'_>, from: impl Read, limits: Limits) -> io::Result<Vec<u8>> {
    let mut reader = Reader::new(from, limits);
    let command = reader.text()?.to_uppercase();
    let done = run(commands, &command, &mut reader)?;
    let mut out = Vec::new();
    match done {
        Ok(answer) => {
            out.push(0);
            write_plain(&answer, &mut out)?;
        }
        Err(wrong) => {
            out.push(1);
            write(&Value::text(wrong.class), &mut out)?;
            write(&Value::text(wrong.message), &mut out)?;
        }
    }
    Ok(out)
}

/// Nothing is no byte at all.
fn write_plain(answer: &Option<Value>, out: &mut Vec<u8>) -> io::Result<()> {
    answer.iter().try_for_each(|value| write(value, out))
}

/// Reads what a command takes, all of it, whatever comes of it.
fn run<R: Read>(
    commands: &Commands<'_>,
    command: &str,
    reader: &mut Reader<R>,
) -> io::Result<Done<Option<Value>>> {
    let nothing = |done: Done<()>| done.map(|()| None);
    if matches!(command, "PUT_ENTITY" | "GET_ENTITY" | "REMOVE_ENTITY") {
        let (database, table, key) = (reader.text()?, reader.text()?, reader.bytes()?);
        return Ok(match command {
            "PUT_ENTITY" => {
                let value = reader.bytes()?;
                nothing(commands.put(&database, &table, &key, &value))
            }
            "GET_ENTITY" => commands.get(&database, &table, &key).map(|value| Some(Value::Bytes(value))),
            _ => nothing(commands.remove(&database, &table, &key)),
        });
    }
    let properties = map(reader)?;
    if command == "PUT_BATCH_OF_ENTITIES" {
        let entries = entries(reader)?;
        return Ok(named(&properties)
            .and_then(|(database, table)| nothing(commands.put_all(database, table, &entries))));
    }
    Ok(on_table(commands, command, &properties))
}

fn on_table(commands: &Commands<'_>, command: &str, properties: &Properties) -> Done<Option<Value>> {
    let database = || get(properties, "DATABASE_NAME");
    let texts =
        |texts: Vec<String>| Some(Value::List(ty::BYTES, texts.into_iter().map(Value::text).collect()));
    match command {
        "CREATE_DB" => commands.create_db(database()?)?,
        "DROP_DB" => commands.drop_db(database()?)?,
        "GET_DATABASES" => return Ok(texts(commands.databases())),
        "GET_TABLES" => return commands.tables(database()?).map(texts),
        "MAKE_CHECKPOINT" => commands.checkpoint()?,
        _ => {
            let (database, table) = named(properties)?;
            match command {
                "CREATE_TABLE" => {
                    let names = ["DATABASE_NAME", "TABLE_NAME", "ENGINE_NAME"];
                    let kept = properties.iter().filter(|(name, _)| !names.contains(&name.as_str()));
                    let kept = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
                    commands.create_table(database, table, get(properties, "ENGINE_NAME")?, kept)?;
                }
                "DROP_TABLE" => commands.drop_table(database, table)?,
                "OPTIMIZE_TABLE" => commands.optimize(database, table)?,
                "FLUSH_TABLE" => commands.flush(database, table)?,
                "GET_TABLE_PARAMETERS" => {
                    let pairs = commands.parameters(database, table)?.into_iter();
                    let pairs = pairs.map(|(name, value)| (Value::text(name), Value::text(value))).collect();
                    return Ok(Some(Value::Map(ty::BYTES, ty::BYTES, pairs)));
                }
                "GET_RECORDS" => {
                    let rows = commands.records(database, table, &query(properties)?)?;
                    let parts =
                        rows.into_iter().flat_map(|(key, value)| [Value::Bytes(key), Value::Bytes(value)]);
                    return Ok(Some(Value::List(ty::BYTES, parts.collect())));
                }
                "GET_RECORDS_CNT" => {
                    let count = commands.count(database, table, &query(properties)?)?;
                    let count = i64::try_from(count).map_err(|_| Wrong::new("there are too many records"))?;
                    return Ok(Some(Value::I64(count)));
                }
                other => return Err(Wrong::new(format!("there is no command {other}"))),
            }
        }
    }
    Ok(None)
}

fn query(properties: &Properties) -> Done<Query> {
    Query::of(|name| properties.get(name).cloned())
}

fn get<'a>(properties: &'a Properties, name: &str) -> Done<&'a str> {
    let value = properties.get(name).filter(|value| !value.is_empty());
    value.map(String::as_str).ok_or_else(|| Wrong::new(format!("the property {name} is missing")))
}

fn named(properties: &Properties) -> Done<(&str, &str)> {
    Ok((get(properties, "DATABASE_NAME")?, get(properties, "TABLE_NAME")?))
}

/// A map of texts. Names are in large letters.
fn map<R: Read>(reader: &mut Reader<R>) -> io::Result<Properties> {
    let (_, _, count) = (reader.u8()?, reader.u8()?, reader.count()?);
    let mut properties = Properties::new();
    for _ in 0..count {
        let name = reader.text()?.to_uppercase();
        properties.insert(name, reader.text()?);
    }
    Ok(properties)
}

/// A list of keys and values, one behind the other.
fn entries<R: Read>(reader: &mut Reader<R>) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let (_, count) = (reader.u8()?, reader.count()?);
    let mut entries = Vec::new();
    for _ in 0..count / 2 {
        entries.push((reader.bytes()?, reader.bytes()?));
    }
    Ok(entries)
}
