//! COMMENT ON TABLE, VIEW, COLUMN, FUNCTION, SEQUENCE, TYPE.

use ambo::{CatalogEdit, Object, ObjectKind, TableChange, qualify};
use datafusion::sql::sqlparser::ast::{CommentObject, ObjectName};

use super::{definition::place, table};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about_object, ident, object, shown},
};

pub(super) fn run(
    connection: &mut Connection,
    kind: CommentObject,
    name: &ObjectName,
    comment: Option<&str>,
    if_exists: bool,
) -> Result<Rows<'static>> {
    let done = match kind {
        CommentObject::Table => on_table(connection, name, comment),
        CommentObject::View => on_view(connection, name, comment),
        CommentObject::Column => on_column(connection, name, comment),
        CommentObject::Function => on_object(connection, ObjectKind::Function, name, comment),
        CommentObject::Sequence => on_object(connection, ObjectKind::Sequence, name, comment),
        CommentObject::Type => on_object(connection, ObjectKind::Type, name, comment),
        other => Err(Error::invalid(format!("not supported: COMMENT ON {other}"))
            .with_hint("tables, views, columns, functions, sequences and types have comments")),
    };
    match done {
        Err(error) if if_exists && error.kind() == ErrorKind::NotFound => {}
        done => done?,
    }
    Ok(Rows::done("COMMENT", None))
}

fn on_table(connection: &mut Connection, name: &ObjectName, comment: Option<&str>) -> Result<()> {
    let table = table(&connection.definitions(), name)?.definition().name.clone();
    change(connection, table, TableChange::SetComment(comment.map(str::to_owned)))
}

fn change(connection: &mut Connection, name: String, change: TableChange) -> Result<()> {
    connection.define(&[CatalogEdit::ChangeTable { name, changes: vec![change] }])
}

fn on_view(connection: &mut Connection, name: &ObjectName, comment: Option<&str>) -> Result<()> {
    let (wanted, views) = (object(name)?, connection.definitions().views());
    let qualified = qualify(&wanted)?;
    if !views.iter().any(|view| view.name == qualified) {
        let known = views.iter().map(|view| shown(&view.name));
        return Err(about_object(Error::not_found("view", &wanted, known), name));
    }
    let comment = comment.map(str::to_owned);
    connection.define(&[CatalogEdit::CommentView { name: qualified, comment }])
}

fn on_object(
    connection: &mut Connection,
    kind: ObjectKind,
    name: &ObjectName,
    comment: Option<&str>,
) -> Result<()> {
    let wanted = object(name)?;
    let definitions = connection.definitions();
    let Ok(found) = definitions.object(kind, &wanted) else {
        let known = definitions.objects(kind);
        let error = Error::not_found(kind.name(), &wanted, known.iter().map(|of| shown(&of.name)));
        return Err(about_object(error, name));
    };
    let object = Object { comment: comment.map(str::to_owned), ..(*found).clone() };
    drop(definitions);
    connection.define(&[CatalogEdit::CreateObject { object, replace: true }])
}

fn on_column(connection: &mut Connection, name: &ObjectName, comment: Option<&str>) -> Result<()> {
    let (column, of) = match name.0.split_last() {
        Some((column, of)) if !of.is_empty() => (column, ObjectName(of.to_vec())),
        _ => {
            return Err(about_object(Error::invalid(format!("\"{name}\" is no column")), name)
                .with_hint("a column is written table.column here"));
        }
    };
    let table = table(&connection.definitions(), &of)?;
    let Some(column) = column.as_ident() else {
        return Err(Error::invalid(format!("{column} is no column")));
    };
    place(table.definition(), column)?;
    let (column, comment) = (ident(column), comment.map(str::to_owned));
    change(connection, table.definition().name.clone(), TableChange::SetColumnComment { column, comment })
}
