//! CREATE TYPE, ALTER TYPE, DROP TYPE.

use std::sync::Arc;

use ambo::{CatalogEdit, Definitions, Enum, Object, ObjectKind, Part, TableChange, qualify};
use arrow::array::{Array, AsArray};
use datafusion::sql::sqlparser::ast::{
    AlterType, AlterTypeAddValue, AlterTypeOperation, DataType, EnumMember, ObjectName, ObjectNamePart, Query,
};

use super::types::declared;
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    catalog::indexes,
    connection::Work,
    names::{about, about_object, object, shown},
    parse::{CreateType, TypeBody, parse_type},
    user_types::UserTypes,
};

const KIND: ObjectKind = ObjectKind::Type;

pub(super) fn create(connection: &mut Connection, create: &CreateType) -> Result<Rows<'static>> {
    let CreateType { name, or_replace, if_not_exists, temporary: _, body } = create;
    if *or_replace && *if_not_exists {
        return Err(Error::invalid("OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    let wanted = qualify(&object(name)?).map_err(|error| about_object(error, name))?;
    super::require_schema(&connection.definitions(), name)?;
    refuse_known(name)?;
    let types = UserTypes::of(&connection.definitions());
    let ty = match body {
        TypeBody::Type(ty) => written_out(ty, &types)?,
        TypeBody::Labels(query) => {
            let labels = labels_of(connection, query).map_err(|error| about_object(error, name))?;
            DataType::Enum(labels.into_iter().map(EnumMember::Name).collect(), None)
        }
    };
    // What is wrong with it is told before it is there.
    let part = declared(&ty, &types).map_err(|error| about_object(error, name))?;
    if let Part::Logical(logical) = &part {
        logical.validate().map_err(|what| {
            about_object(Error::invalid(format!("type \"{}\": {what}", shown(&wanted))), name)
        })?;
    }
    if *or_replace && types.find(name)?.is_some() {
        refuse_used(&connection.definitions(), &wanted).map_err(|error| about_object(error, name))?;
    }
    let object = Object { kind: KIND, name: wanted, text: ty.to_string(), comment: None };
    match connection.define(&[CatalogEdit::CreateObject { object, replace: *or_replace }]) {
        Err(error) if *if_not_exists && error.kind() == ErrorKind::Constraint => {}
        made => made.map_err(|error| about_object(error, name))?,
    }
    Ok(Rows::done("CREATE TYPE", None))
}

/// A name that means a type already is not another's.
fn refuse_known(name: &ObjectName) -> Result<()> {
    let [ObjectNamePart::Identifier(ident)] = &name.0[..] else { return Ok(()) };
    if ident.quote_style.is_some() {
        return Ok(());
    }
    let is_known = parse_type(&ident.value).is_ok_and(|ty| match &ty {
        DataType::Custom(..) => declared(&ty, &UserTypes::default()).is_ok(),
        _ => true,
    });
    match is_known {
        true => Err(about(Error::invalid(format!("{ident} is a type already")), ident)),
        false => Ok(()),
    }
}

/// A type without names of others that are no enums.
fn written_out(ty: &DataType, types: &UserTypes) -> Result<DataType> {
    if let DataType::Custom(name, modifiers) = ty
        && modifiers.is_empty()
        && let Some((_, of)) = types.find(name)?
        && !matches!(of, DataType::Enum(..))
    {
        return Ok(of);
    }
    // Those within are types of their own.
    match declared(ty, types)? {
        Part::Logical(logical)
            if !matches!(ty, DataType::Enum(..)) && !matches!(ty, DataType::Custom(..)) =>
        {
            parse_type(&super::types::logical_text(&logical))
        }
        _ => Ok(ty.clone()),
    }
}

/// The rows of a query, in their order, as labels.
fn labels_of(connection: &Connection, query: &Query) -> Result<Vec<String>> {
    let planner = connection.reader()?;
    let plan = planner.plan_query(query, &[])?;
    if plan.schema().fields().len() != 1 {
        return Err(Error::invalid("the query of an enum has one column, its labels"));
    }
    let mut labels = Vec::new();
    for batch in planner.collect(&plan)? {
        if !batch.column(0).data_type().is_string() {
            return Err(
                Error::invalid("the labels of an enum are texts").with_hint("cast the column to text")
            );
        }
        let texts = arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8);
        let texts = texts.map_err(crate::value::wrong)?;
        if texts.null_count() > 0 {
            return Err(Error::invalid("a label of an enum is not NULL"));
        }
        labels.extend(texts.as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    Ok(labels)
}

/// ALTER TYPE … ADD VALUE, behind the labels that there are.
pub(super) fn alter(connection: &mut Connection, alter: &AlterType) -> Result<Rows<'static>> {
    let AlterType { name, operation } = alter;
    let AlterTypeOperation::AddValue(AlterTypeAddValue { if_not_exists, value, position }) = operation else {
        return Err(about_object(Error::invalid("not supported: this ALTER TYPE"), name)
            .with_hint("ALTER TYPE … ADD VALUE 'label' adds a label to an enum"));
    };
    if position.is_some() {
        return Err(about(
            Error::invalid("not supported: BEFORE, AFTER: values are stored as their places"),
            value,
        )
        .with_hint("a label is added behind the others"));
    }
    connection.write(&[], |work| {
        let types = UserTypes::of(&work.definitions());
        let Some((wanted, ty)) = types.find(name)? else { return Err(missing(&work.definitions(), name)) };
        let (DataType::Enum(mut members, bits), Part::Logical(ambo::Logical::Enum(of))) =
            (ty.clone(), declared(&ty, &types)?)
        else {
            let what = format!("type \"{}\" is no enum", shown(&wanted));
            return Err(about_object(Error::invalid(what), name));
        };
        if of.labels.contains(&value.value) {
            let what = format!("enum \"{}\" has the label '{}' already", shown(&wanted), value.value);
            return match if_not_exists {
                true => Ok(()),
                false => Err(about(Error::new(ErrorKind::Constraint, what), value)),
            };
        }
        members.push(EnumMember::Name(value.value.clone()));
        let labels = of.labels.iter().chain([&value.value]).cloned().collect();
        let of = Arc::new(Enum { name: Some(wanted.clone()), labels });
        of.validate().map_err(|what| about(Error::invalid(what), value))?;
        let text = DataType::Enum(members, bits).to_string();
        let object = Object { text, ..(*work.definitions().object(KIND, &wanted)?).clone() };
        work.transaction.define(&CatalogEdit::CreateObject { object, replace: true })?;
        for (table, _) in users(&work.definitions(), &wanted)? {
            let changes = vec![TableChange::SetEnum(of.clone())];
            work.transaction.define(&CatalogEdit::ChangeTable { name: table, changes })?;
        }
        Ok(())
    })?;
    Ok(Rows::done("ALTER TYPE", None))
}

/// The tables that have columns of an enum, by its whole name, with those.
fn users(definitions: &Definitions<'_>, name: &str) -> Result<Vec<(String, Vec<String>)>> {
    let mut users = Vec::new();
    for table in definitions.tables() {
        let found = definitions.table(&table)?;
        let is_of = |column: &&ambo::Column| {
            let enums = column.logical.iter().flat_map(ambo::Logical::enums);
            enums.into_iter().any(|of| of.name.as_deref() == Some(name))
        };
        let columns: Vec<_> =
            found.definition().columns.iter().filter(is_of).map(|column| column.name.clone()).collect();
        if !columns.is_empty() {
            users.push((table, columns));
        }
    }
    Ok(users)
}

fn refuse_used(definitions: &Definitions<'_>, name: &str) -> Result<()> {
    let users = users(definitions, name)?;
    if let Some((table, columns)) = users.first() {
        let what = format!(
            "type \"{}\" is that of column \"{}\" of table \"{}\"",
            shown(name),
            columns[0],
            shown(table)
        );
        return Err(
            Error::new(ErrorKind::Constraint, what).with_hint("DROP TYPE … CASCADE drops such columns, too")
        );
    }
    match UserTypes::of(definitions).user_of(name)? {
        Some(other) => {
            let what = format!("type \"{}\" is within type \"{}\"", shown(name), shown(&other));
            Err(Error::new(ErrorKind::Constraint, what))
        }
        None => Ok(()),
    }
}

fn missing(definitions: &Definitions<'_>, name: &ObjectName) -> Error {
    let known = definitions.objects(KIND);
    let wanted = name.to_string();
    about_object(Error::not_found("type", &wanted, known.iter().map(|object| shown(&object.name))), name)
}

pub(super) fn drop(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let Some((wanted, _)) = UserTypes::of(&work.definitions()).find(name)? else {
        return Err(missing(&work.definitions(), name));
    };
    refuse_used(&work.definitions(), &wanted)?;
    Ok(work.transaction.define(&CatalogEdit::DropObject { kind: KIND, name: wanted })?)
}

/// With the columns that are of it and indexes over them, and the types that have it within.
pub(super) fn drop_with_columns(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let Some((wanted, _)) = UserTypes::of(&work.definitions()).find(name)? else {
        return Err(missing(&work.definitions(), name));
    };
    for (table, columns) in users(&work.definitions(), &wanted)? {
        let of = work.definitions().table(&table)?;
        let is_over = |index: &&ambo::Index| {
            index.columns().iter().any(|place| columns.contains(&of.definition().columns[*place].name))
        };
        for index in indexes(&of).iter().filter(is_over) {
            work.transaction.define(&CatalogEdit::DropIndex(index.name().to_owned()))?;
        }
        let changes = columns.into_iter().map(TableChange::DropColumn).collect();
        work.transaction.define(&CatalogEdit::ChangeTable { name: table, changes })?;
    }
    while let Some(other) = UserTypes::of(&work.definitions()).user_of(&wanted)? {
        work.transaction.define(&CatalogEdit::DropObject { kind: KIND, name: other })?;
    }
    Ok(work.transaction.define(&CatalogEdit::DropObject { kind: KIND, name: wanted })?)
}
