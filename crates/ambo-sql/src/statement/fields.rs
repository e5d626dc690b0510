//! ALTER TABLE of fields of structs: the column gets another type, and each value is made anew of the fields that it has. NULL stays NULL.
//!
//! The fields of the items of a list are behind `element`, those of a map behind `key` and `value`.

use ambo::{Column, Logical, Part};

use super::{
    column_type::{self, Change},
    definition::place,
    table,
    types::{declared, part_text},
};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about, ident, shown},
    parse::{AlterField, FieldChange, parse_expression, parse_type},
    user_types::UserTypes,
};

const TAG: &str = "ALTER TABLE";

pub(super) fn run(connection: &mut Connection, alter: &AlterField) -> Result<Rows<'static>> {
    let found = match table(&connection.definitions(), &alter.table) {
        Err(error) if alter.if_exists && error.kind() == ErrorKind::NotFound => {
            return Ok(Rows::done(TAG, None));
        }
        found => found?,
    };
    let definition = found.definition();
    let column = &definition.columns[place(definition, &alter.path[0])?];
    let last = alter.path.last().expect("a path has parts");
    let types = UserTypes::of(&connection.definitions());
    let made = match changed(column, alter, &types).map_err(|error| about(error, last))? {
        Some(made) => made,
        None if alter.may_be_done => return Ok(Rows::done(TAG, None)),
        None => {
            let (name, is) = (ident(last), if alter.is_new() { "is there already" } else { "is not there" });
            let what = format!(
                "field \"{name}\" of column \"{}\" of table \"{}\" {is}",
                column.name,
                shown(&definition.name)
            );
            let kind = if alter.is_new() { ErrorKind::Constraint } else { ErrorKind::NotFound };
            return Err(about(Error::new(kind, what), last));
        }
    };
    let (ty, using) = (parse_type(&part_text(&made.part))?, parse_expression(&made.value)?);
    let change = Change { column: &alter.path[0], ty: &ty, using: Some(&using), is_of_defaults: true };
    column_type::set(connection, &definition.name, &change).map_err(|error| about(error, last))?;
    Ok(Rows::done(TAG, None))
}

impl AlterField {
    fn is_new(&self) -> bool {
        !matches!(self.change, FieldChange::Drop)
    }
}

/// A type, and the text of an expression that makes its values of others.
struct Made {
    part: Part,
    value: String,
}

/// The column with the field changed; `None` if a field is there that is to come, or is not that is to go.
fn changed(column: &Column, alter: &AlterField, types: &UserTypes) -> Result<Option<Made>> {
    let Some(logical) = &column.logical else { return Err(no_fields(&column.kind.to_string())) };
    let path: Vec<_> = alter.path[1..].iter().map(ident).collect();
    let changing = Changing { change: &alter.change, types };
    changing.of(&Part::Logical(logical.clone()), &path, &crate::names::quoted(&column.name), 0)
}

fn no_fields(of: &str) -> Error {
    Error::invalid(format!("{of} has no fields: only structs have")).with_hint(
        "the fields of the items of a list are behind element, those of a map behind key and value",
    )
}

struct Changing<'a> {
    change: &'a FieldChange,
    types: &'a UserTypes,
}

impl Changing<'_> {
    /// A value that stands in `value` and is so deep in lambdas.
    fn of(&self, part: &Part, path: &[String], value: &str, depth: usize) -> Result<Option<Made>> {
        let Part::Logical(logical) = part else { return Err(no_fields(&part_text(part))) };
        let item = format!("x{depth}");
        let deeper = |of: &Part| self.of(of, &path[1..], &item, depth + 1);
        let each = |list: &str, made: &str| format!("list_transform({list}, {item} -> {made})");
        Ok(match (logical, path[0].as_str()) {
            (Logical::Struct(fields), _) => self.of_struct(fields, path, value, depth)?,
            (_, _) if path.len() == 1 => return Err(no_fields(&part_text(part))),
            (Logical::List(of), "element") => deeper(of)?.map(|made| Made {
                value: each(value, &made.value),
                part: Part::Logical(Logical::List(Box::new(made.part))),
            }),
            (Logical::Array(of, length), "element") => deeper(of)?.map(|made| {
                let part = Part::Logical(Logical::Array(Box::new(made.part), *length));
                Made { value: format!("CAST({} AS {})", each(value, &made.value), part_text(&part)), part }
            }),
            (Logical::Map(key, of), "value") => deeper(of)?.map(|made| Made {
                value: unless_null(
                    value,
                    &format!(
                        "map(map_keys({value}), {})",
                        each(&format!("map_values({value})"), &made.value)
                    ),
                ),
                part: Part::Logical(Logical::Map(key.clone(), Box::new(made.part))),
            }),
            (Logical::Map(key, of), "key") => deeper(key)?.map(|made| Made {
                value: unless_null(
                    value,
                    &format!(
                        "map({}, map_values({value}))",
                        each(&format!("map_keys({value})"), &made.value)
                    ),
                ),
                part: Part::Logical(Logical::Map(Box::new(made.part), of.clone())),
            }),
            _ => return Err(no_fields(&part_text(part))),
        })
    }

    fn of_struct(
        &self,
        fields: &[(String, Part)],
        path: &[String],
        value: &str,
        depth: usize,
    ) -> Result<Option<Made>> {
        let field = |name: &str| format!("get_field({value}, {})", text(name));
        let mut made: Vec<(String, Part, String)> =
            fields.iter().map(|(name, part)| (name.clone(), part.clone(), field(name))).collect();
        let at = find(fields, &path[0]);
        match (self.change, at) {
            (_, Some(at)) if path.len() > 1 => {
                let Some(new) = self.of(&fields[at].1, &path[1..], &field(&fields[at].0), depth)? else {
                    return Ok(None);
                };
                (made[at].1, made[at].2) = (new.part, new.value);
            }
            (_, None) if path.len() > 1 => {
                return Err(Error::not_found(
                    "field",
                    &path[0],
                    fields.iter().map(|(name, _)| name.as_str()),
                ));
            }
            (FieldChange::Add(..), Some(_)) | (FieldChange::Drop | FieldChange::Rename(_), None) => {
                return Ok(None);
            }
            (FieldChange::Add(ty, default), None) => {
                let part = declared(&self.types.meant(ty)?, self.types)?;
                let default = default.as_ref().map_or_else(|| "NULL".to_owned(), ToString::to_string);
                let value = format!("CAST(({default}) AS {})", part_text(&part));
                made.push((path[0].clone(), part, value));
            }
            (FieldChange::Drop, Some(_)) if fields.len() == 1 => {
                return Err(Error::invalid(format!("\"{}\" is the only field there", path[0])));
            }
            (FieldChange::Drop, Some(at)) => drop(made.remove(at)),
            (FieldChange::Rename(to), Some(at)) => {
                let to = ident(to);
                if find(fields, &to).is_some_and(|other| other != at) {
                    return Err(Error::new(
                        ErrorKind::Constraint,
                        format!("field \"{to}\" is there already"),
                    ));
                }
                made[at].0 = to;
            }
        }
        let values: Vec<_> = made.iter().map(|(name, _, value)| format!("{}, {value}", text(name))).collect();
        let of = format!("named_struct({})", values.join(", "));
        let fields = made.into_iter().map(|(name, part, _)| (name, part)).collect();
        Ok(Some(Made { part: Part::Logical(Logical::Struct(fields)), value: unless_null(value, &of) }))
    }
}

/// The field of this name, or of one that is it but for large and small letters.
fn find(fields: &[(String, Part)], name: &str) -> Option<usize> {
    let alike = || fields.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
    fields.iter().position(|(known, _)| known == name).or_else(alike)
}

fn unless_null(value: &str, made: &str) -> String {
    format!("CASE WHEN {value} IS NOT NULL THEN {made} END")
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}
