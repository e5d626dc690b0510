//! COMMENT ON TABLE, VIEW, COLUMN.

use ambo::qualify;
use datafusion::sql::sqlparser::ast::{CommentObject, ObjectName};

use super::{definition::place, table};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about_object, ident, object, shown},
};

pub(super) fn run(
    connection: &Connection,
    kind: CommentObject,
    name: &ObjectName,
    comment: Option<&str>,
    if_exists: bool,
) -> Result<Rows<'static>> {
    connection.require_no_transaction("COMMENT")?;
    let done = match kind {
        CommentObject::Table => on_table(connection, name, comment),
        CommentObject::View => on_view(connection, name, comment),
        CommentObject::Column => on_column(connection, name, comment),
        other => Err(Error::invalid(format!("not supported: COMMENT ON {other}"))
            .with_hint("tables, views and columns have comments")),
    };
    match done {
        Err(error) if if_exists && error.kind() == ErrorKind::NotFound => {}
        done => done?,
    }
    Ok(Rows::done("COMMENT", None))
}

fn on_table(connection: &Connection, name: &ObjectName, comment: Option<&str>) -> Result<()> {
    let db = &connection.engine().db;
    Ok(db.set_comment(&table(db, name)?.definition().name, comment)?)
}

fn on_view(connection: &Connection, name: &ObjectName, comment: Option<&str>) -> Result<()> {
    let db = &connection.engine().db;
    let (wanted, views) = (object(name)?, db.views());
    let qualified = qualify(&wanted)?;
    if !views.iter().any(|view| view.name == qualified) {
        let known = views.iter().map(|view| shown(&view.name));
        return Err(about_object(Error::not_found("view", &wanted, known), name));
    }
    Ok(db.set_view_comment(&qualified, comment)?)
}

fn on_column(connection: &Connection, name: &ObjectName, comment: Option<&str>) -> Result<()> {
    let (column, of) = match name.0.split_last() {
        Some((column, of)) if !of.is_empty() => (column, ObjectName(of.to_vec())),
        _ => {
            return Err(about_object(Error::invalid(format!("\"{name}\" is no column")), name)
                .with_hint("a column is written table.column here"));
        }
    };
    let db = &connection.engine().db;
    let table = table(db, &of)?;
    let Some(column) = column.as_ident() else {
        return Err(Error::invalid(format!("{column} is no column")));
    };
    place(table.definition(), column)?;
    Ok(db.set_column_comment(&table.definition().name, &ident(column), comment)?)
}
