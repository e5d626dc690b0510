//! CREATE VIEW, ALTER VIEW … AS.

use ambo::{CatalogEdit, View, qualify};
use datafusion::sql::sqlparser::ast::{self, Ident, ObjectName, Query};

use super::{create_table::exists, expression::refuse_parameters};
use crate::{
    Connection, Error, Result, Rows,
    names::{about_object, ident, object, of_default_schema, quoted, shown, split, written},
    planner::{result_schema, tables_of},
};

pub(super) fn create(connection: &mut Connection, create: &ast::CreateView) -> Result<Rows<'static>> {
    const TAG: &str = "CREATE VIEW";
    let what = match create {
        _ if create.materialized => "MATERIALIZED",
        _ if create.to.is_some() || create.params.is_some() || create.with_no_schema_binding => "its options",
        _ if create.options != ast::CreateTableOptions::None || !create.cluster_by.is_empty() => {
            "its options"
        }
        _ => "",
    };
    if !what.is_empty() {
        return Err(Error::invalid(format!("not supported: a view with {what}")));
    }
    if create.if_not_exists && exists(&connection.definitions(), &object(&create.name)?)? {
        return Ok(Rows::done(TAG, None));
    }
    let columns: Vec<_> = create.columns.iter().map(|column| column.name.clone()).collect();
    let comment = create.comment.clone();
    put(connection, &create.name, &columns, &create.query, create.or_replace || create.or_alter, comment)?;
    Ok(Rows::done(TAG, None))
}

/// ALTER VIEW … AS: another query for a view that is there.
pub(super) fn alter(
    connection: &mut Connection,
    name: &ObjectName,
    columns: &[Ident],
    query: &Query,
) -> Result<Rows<'static>> {
    let comment = connection.definitions().view(&object(name)?)?.comment.clone();
    put(connection, name, columns, query, true, comment)?;
    Ok(Rows::done("ALTER VIEW", None))
}

fn put(
    connection: &mut Connection,
    name: &ObjectName,
    columns: &[Ident],
    query: &Query,
    replace: bool,
    comment: Option<String>,
) -> Result<()> {
    let wanted = qualify(&object(name)?).map_err(|error| about_object(error, name))?;
    super::require_schema(&connection.definitions(), name)?;
    refuse_parameters(query, "view")?;
    let is_itself = |table: &String| qualify(table).is_ok_and(|table| table == wanted);
    if replace && tables_of(query).iter().any(is_itself) && !names_cte(query, &wanted) {
        return Err(about_object(Error::invalid("a view cannot be made of itself"), name));
    }
    // The query itself first: what is wrong with it has its place.
    let schema = result_schema(&connection.reader()?.plan_query(query, &[])?);
    let fields = schema.fields();
    if columns.len() > fields.len() {
        return Err(Error::invalid(format!(
            "the view has {} columns, its query has {}",
            columns.len(),
            fields.len()
        )));
    }
    // Columns behind those that are named keep their names.
    let others = fields.iter().skip(columns.len()).map(|field| field.name().clone());
    let names: Vec<String> = columns.iter().map(ident).chain(others).collect();
    if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        return Err(Error::invalid(format!("two columns of the view are named \"{}\"", names[twice]))
            .with_hint("name them: CREATE VIEW v (a, b) AS …"));
    }
    let text = match columns.is_empty() {
        true => query.to_string(),
        false => {
            let columns: Vec<_> = names.iter().map(|name| quoted(name)).collect();
            format!("SELECT * FROM ({query}) AS {} ({})", quoted(split(&wanted).1), columns.join(", "))
        }
    };
    // As it is kept, it is to be understood again; and no view that it names may lead back to it.
    let planner = connection.reader()?;
    planner.view(0, &wanted, &text).map_err(|error| about_object(error, name))?;
    let mut view = View::new(&wanted, text);
    view.comment = comment;
    connection.define(&[CatalogEdit::CreateView { view, replace }]).map_err(|error| about_object(error, name))
}

/// ALTER VIEW … RENAME TO: to a name in the schema where it is, unless that says another.
pub(super) fn rename(
    connection: &mut Connection,
    name: &ObjectName,
    if_exists: bool,
    to: &ObjectName,
) -> Result<Rows<'static>> {
    const TAG: &str = "ALTER VIEW";
    let (wanted, views) = (object(name)?, connection.definitions().views());
    let from = qualify(&wanted)?;
    if !views.iter().any(|view| view.name == from) {
        if if_exists {
            return Ok(Rows::done(TAG, None));
        }
        let known = views.iter().map(|view| shown(&view.name));
        return Err(about_object(Error::not_found("view", &wanted, known), name));
    }
    let to = match (split(&from), &to.0[..]) {
        ((schema, _), [_]) => format!("{schema}.{}", written(to)?),
        _ => object(to)?,
    };
    connection.define(&[CatalogEdit::RenameView { from, to }])?;
    Ok(Rows::done(TAG, None))
}

/// Whether a table expression of the query has the view's own name.
fn names_cte(query: &Query, wanted: &str) -> bool {
    let tables = query.with.iter().flat_map(|with| &with.cte_tables);
    tables
        .into_iter()
        .any(|cte| qualify(&of_default_schema(&ident(&cte.alias.name))).is_ok_and(|name| name == wanted))
}
