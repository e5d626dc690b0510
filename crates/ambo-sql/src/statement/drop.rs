//! DROP TABLE, VIEW, INDEX, SCHEMA: all that a statement names, or nothing.

use ambo::{CatalogEdit, Definitions, ObjectKind, TableChange, qualify};
use datafusion::sql::sqlparser::ast::{self, ObjectName, ObjectType};

use super::{references, sequence, table, user_type};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    connection::Work,
    hidden::is_hidden,
    names::{about_object, object, shown, written},
    parse::parse_query,
    planner::tables_of,
};

pub(super) fn run(connection: &mut Connection, statement: ast::Statement) -> Result<Rows<'static>> {
    let ast::Statement::Drop { object_type, if_exists, names, cascade, table: of, .. } = &statement else {
        return Err(Error::invalid(format!("not supported: {statement}")));
    };
    let (tag, drop): (_, fn(&mut Work<'_>, &ObjectName) -> Result<()>) = match object_type {
        ObjectType::Table if *cascade => ("DROP TABLE", drop_table_with_views),
        ObjectType::Table => ("DROP TABLE", drop_table),
        ObjectType::View if *cascade => ("DROP VIEW", drop_view_with_views),
        ObjectType::View => ("DROP VIEW", drop_view),
        ObjectType::Index => ("DROP INDEX", drop_index),
        ObjectType::Sequence => ("DROP SEQUENCE", sequence::drop),
        ObjectType::Type if *cascade => ("DROP TYPE", user_type::drop_with_columns),
        ObjectType::Type => ("DROP TYPE", user_type::drop),
        ObjectType::Schema if *cascade => ("DROP SCHEMA", drop_schema_with_all),
        ObjectType::Schema => ("DROP SCHEMA", drop_schema),
        other => return Err(Error::invalid(format!("not supported: DROP {other}"))),
    };
    if of.is_some() {
        return Err(Error::invalid("not supported: DROP INDEX … ON").with_hint("DROP INDEX name"));
    }
    let others = names.iter().filter_map(|name| qualify(&object(name).ok()?).ok()).collect::<Vec<_>>();
    connection.write(&[], |work| {
        if *object_type == ObjectType::Table {
            for name in others
                .iter()
                .filter(|name| work.definitions().table(name).is_ok())
                .cloned()
                .collect::<Vec<_>>()
            {
                references::before_drop(work, &name, *cascade, &others)?;
            }
        }
        names.iter().try_for_each(|name| match drop(work, name) {
            Err(error) if *if_exists && error.kind() == ErrorKind::NotFound => Ok(()),
            dropped => dropped.map_err(|error| about_object(error, name)),
        })
    })?;
    Ok(Rows::done(tag, None))
}

fn drop_table(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let name = table(&work.definitions(), name)?.definition().name.clone();
    sequence::drop_owned(work, &name)?;
    Ok(work.transaction.define(&CatalogEdit::DropTable(name))?)
}

fn drop_table_with_views(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let dropped = table(&work.definitions(), name)?.definition().name.clone();
    drop_table(work, name)?;
    drop_views_of(work, dropped)
}

fn drop_view(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let wanted = object(name)?;
    match work.transaction.define(&CatalogEdit::DropView(wanted.clone())) {
        Err(ambo::Error::NotFound(_)) if work.definitions().tables().contains(&qualify(&wanted)?) => {
            Err(Error::invalid(format!("\"{wanted}\" is a table, not a view")))
        }
        Err(ambo::Error::NotFound(_)) => {
            let views = work.definitions().views();
            Err(Error::not_found("view", &wanted, views.iter().map(|view| shown(&view.name))))
        }
        dropped => Ok(dropped?),
    }
}

fn drop_view_with_views(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let dropped = qualify(&object(name)?)?;
    drop_view(work, name)?;
    drop_views_of(work, dropped)
}

/// Drops the views whose queries name what was dropped, and those that name these.
fn drop_views_of(work: &mut Work<'_>, dropped: String) -> Result<()> {
    let mut gone = vec![dropped];
    while let Some(name) = gone.pop() {
        let is_of = |view: &str| {
            let named = parse_query(view).map(|query| tables_of(&query)).unwrap_or_default();
            named.iter().any(|table| qualify(table).is_ok_and(|table| table == name))
        };
        for view in work.definitions().views().iter().filter(|view| is_of(&view.query)) {
            work.transaction.define(&CatalogEdit::DropView(view.name.clone()))?;
            gone.push(view.name.clone());
        }
    }
    Ok(())
}

fn drop_index(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let wanted = object(name)?;
    let all = all_indexes(&work.definitions());
    let qualified = qualify(&wanted)?;
    match all.contains(&qualified) {
        true => drop_whole_index(work, &qualified),
        false => Err(Error::not_found("index", &wanted, all.iter().map(|name| shown(name)))),
    }
}

/// Drops an index, and the columns that are there for it alone.
pub(super) fn drop_whole_index(work: &mut Work<'_>, name: &str) -> Result<()> {
    references::before_drop_index(work, name)?;
    let found = {
        let definitions = work.definitions();
        let tables = definitions.tables().into_iter().filter_map(|table| definitions.table(&table).ok());
        let mut all = tables.filter_map(|table| table.index(name).ok().map(|index| (table, index)));
        all.next()
    };
    work.transaction.define(&CatalogEdit::DropIndex(name.to_owned()))?;
    let Some((table, index)) = found else { return Ok(()) };
    let of = table.definition();
    let columns = index.columns().iter().map(|place| &of.columns[*place]).filter(|column| is_hidden(column));
    let changes: Vec<_> = columns.map(|column| TableChange::DropColumn(column.name.clone())).collect();
    if !changes.is_empty() {
        work.transaction.define(&CatalogEdit::ChangeTable { name: of.name.clone(), changes })?;
    }
    Ok(())
}

/// The names of all indexes.
pub(crate) fn all_indexes(definitions: &Definitions<'_>) -> Vec<String> {
    let tables = definitions.tables();
    tables
        .iter()
        .filter_map(|table| definitions.table(table).ok())
        .flat_map(|table| table.indexes())
        .collect()
}

fn drop_schema(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let wanted = written(name)?;
    match work.transaction.define(&CatalogEdit::DropSchema(wanted.clone())) {
        Err(ambo::Error::NotFound(_)) => {
            let schemas = work.definitions().schemas();
            Err(Error::not_found("schema", &wanted, schemas.iter().map(String::as_str)))
        }
        dropped => Ok(dropped?),
    }
}

/// A schema with all that it has.
fn drop_schema_with_all(work: &mut Work<'_>, name: &ObjectName) -> Result<()> {
    let wanted = written(name)?;
    if wanted == ambo::DEFAULT_SCHEMA {
        return drop_schema(work, name);
    }
    let prefix = format!("{wanted}.");
    for kind in [ObjectKind::Function, ObjectKind::Sequence, ObjectKind::Type] {
        let objects = work.definitions().objects(kind);
        for object in objects.iter().filter(|object| object.name.starts_with(&prefix)) {
            work.transaction.define(&CatalogEdit::DropObject { kind, name: object.name.clone() })?;
            if kind == ObjectKind::Sequence {
                sequence::forget_rights(work, &object.name)?;
            }
        }
    }
    let (views, tables) = (work.definitions().views(), work.definitions().tables());
    for view in views.iter().filter(|view| view.name.starts_with(&prefix)) {
        work.transaction.define(&CatalogEdit::DropView(view.name.clone()))?;
    }
    let tables: Vec<_> = tables.into_iter().filter(|table| table.starts_with(&prefix)).collect();
    for table in &tables {
        references::before_drop(work, table, true, &tables)?;
    }
    for table in tables {
        sequence::drop_owned(work, &table)?;
        work.transaction.define(&CatalogEdit::DropTable(table))?;
    }
    drop_schema(work, name)
}
