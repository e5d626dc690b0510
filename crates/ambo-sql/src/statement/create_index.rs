//! CREATE INDEX.

use ambo::{CatalogEdit, Column, IndexDefinition, TableChange, TableDefinition, qualify};
use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, IndexType, ObjectName,
};

use super::{
    definition::{collation_of, place},
    drop::all_indexes,
    generated, table,
};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    collations::Collation,
    hidden::{HIDDEN, hidden_name},
    names::{about, about_object, ident, object, shown, split, written},
    parse::parse_expression,
};

const TAG: &str = "CREATE INDEX";

pub(super) fn run(connection: &mut Connection, create: &ast::CreateIndex) -> Result<Rows<'static>> {
    refuse(create)?;
    let table = table(&connection.definitions(), &create.table_name)?;
    let of = table.definition().clone();
    let wanted = wanted(&of, create)?;
    let (schema, short) = split(&of.name);
    let name = match &create.name {
        // In the schema of its table.
        Some(name) if let [own] = &name.0[..] => own.as_ident().map(ident).unwrap_or_default(),
        Some(name) => object(name)?,
        None => {
            let part = |of: &Over| match of {
                Over::Column(column) => column.clone(),
                Over::Expression(_) => "expr".to_owned(),
            };
            let wanted = format!("{short}_{}_idx", wanted.iter().map(part).collect::<Vec<_>>().join("_"));
            let taken = table.indexes();
            let numbered = (1u64..).map(|number| format!("{wanted}{number}"));
            std::iter::once(wanted.clone())
                .chain(numbered)
                .find(|name| !taken.contains(&format!("{schema}.{name}")))
                .unwrap_or(wanted)
        }
    };
    let is_whole = create.name.as_ref().is_some_and(|name| name.0.len() > 1);
    let name = if is_whole { name } else { format!("{schema}.{name}") };
    if create.if_not_exists && has(connection, &name) {
        return Ok(Rows::done(TAG, None));
    }
    let at = |error: Error| match &create.name {
        Some(name) => about_object(error, name),
        None => error,
    };
    let made = connection.whole(|connection| {
        let columns = over(connection, &of, split(&name).1, &wanted, create.predicate.as_ref())?;
        let index = of_kind(create, IndexDefinition::new(&name, &of.name, &borrowed(&columns)))?;
        let made = create_index(connection, &index);
        if made.is_err() && !connection.in_transaction() {
            // What was made for it goes, too.
            let hidden = columns.iter().filter(|column| column.starts_with(HIDDEN));
            let changes: Vec<_> = hidden.cloned().map(TableChange::DropColumn).collect();
            if !changes.is_empty() {
                connection.define(&[CatalogEdit::ChangeTable { name: of.name.clone(), changes }])?;
            }
        }
        made
    });
    match made {
        Err(error)
            if create.if_not_exists && error.kind() == ErrorKind::Constraint && has(connection, &name) => {}
        made => made.map_err(at)?,
    }
    Ok(Rows::done(TAG, None))
}

/// What an index is over.
enum Over {
    Column(String),
    Expression(Box<Expr>),
}

/// A column, or the keys by which its values are compared.
fn over_column(column: &Column) -> Result<Over> {
    Ok(match collation_of(column)? {
        None => Over::Column(column.name.clone()),
        Some(how) => {
            Over::Expression(Box::new(how.key_text(&Expr::Identifier(Ident::with_quote('"', &column.name)))?))
        }
    })
}

/// The columns and expressions that a statement names.
fn wanted(of: &TableDefinition, create: &ast::CreateIndex) -> Result<Vec<Over>> {
    let over = |column: &ast::IndexColumn| {
        let mut expr = &column.column.expr;
        while let Expr::Nested(inner) = expr {
            expr = inner;
        }
        match expr {
            // Read in both directions, it need not know which was meant.
            Expr::Identifier(name) => over_column(&of.columns[place(of, name)?]),
            Expr::Collate { expr, collation } => {
                let how = written(collation).and_then(|name| Collation::named(&name));
                let how = how.map_err(|error| about_object(error, collation))?;
                Ok(Over::Expression(Box::new(how.key_text(expr)?)))
            }
            expr => Ok(Over::Expression(Box::new(expr.clone()))),
        }
    };
    match any(create) {
        Some(columns) => columns.into_iter().map(|name| over_column(&of.columns[place(of, name)?])).collect(),
        None => create.columns.iter().map(over).collect(),
    }
}

/// The columns of `USING br64 (ANY (a, b))`.
fn any(create: &ast::CreateIndex) -> Option<Vec<&Ident>> {
    let is_br64 = |using: &IndexType| matches!(using, IndexType::Custom(kind) if ident(kind) == "br64");
    let ([column], true) = (&create.columns[..], create.using.as_ref().is_some_and(is_br64)) else {
        return None;
    };
    let Expr::Function(function) = &column.column.expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    if !function.name.to_string().eq_ignore_ascii_case("any") {
        return None;
    }
    list.args.iter().map(column_of).collect()
}

fn column_of(argument: &FunctionArg) -> Option<&Ident> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name))) => Some(name),
        _ => None,
    }
}

/// The names of the columns that an index is to be over. Those for expressions, and for the condition, are made.
fn over(
    connection: &mut Connection,
    of: &TableDefinition,
    index: &str,
    wanted: &[Over],
    condition: Option<&Expr>,
) -> Result<Vec<String>> {
    let mut columns = Vec::with_capacity(wanted.len());
    for (nth, over) in wanted.iter().enumerate() {
        let condition = condition.filter(|_| nth == 0);
        let value = match (over, condition) {
            (Over::Column(column), None) => {
                columns.push(column.clone());
                continue;
            }
            (Over::Column(column), Some(_)) => Expr::Identifier(Ident::with_quote('"', column)),
            (Over::Expression(expr), _) => Expr::clone(expr),
        };
        let expr = match condition {
            None => value,
            Some(condition) => parse_expression(&format!("CASE WHEN ({condition}) THEN ({value}) END"))?,
        };
        let name = hidden_name(index, nth, condition.is_some());
        generated::add_hidden(connection, &of.name, &name, expr)?;
        columns.push(name);
    }
    Ok(columns)
}

fn borrowed(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// The index as it is to be.
fn of_kind(create: &ast::CreateIndex, mut index: IndexDefinition) -> Result<IndexDefinition> {
    if create.unique {
        index = index.unique();
    }
    Ok(match &create.using {
        None | Some(IndexType::BTree) => index,
        Some(IndexType::Hash) => index.hash(),
        Some(IndexType::Custom(kind)) => match ident(kind).as_str() {
            // DuckDB's only kind, a tree, too.
            "ordered" | "art" => index,
            "bitmap" => index.bitmap(),
            "br64" if any(create).is_some() => index.br64_any(),
            "br64" => index.br64(),
            other => return Err(about(no_kind(other), kind)),
        },
        Some(other) => return Err(no_kind(&other.to_string())),
    })
}

/// Creates an index: in the open transaction, or else while the table stays in use.
pub(super) fn create_index(connection: &mut Connection, index: &IndexDefinition) -> Result<()> {
    match connection.in_transaction() {
        true => connection.write(&[], |work| Ok(work.transaction.create_index(index)?)),
        false => {
            let (db, interrupter) = (&connection.engine().db, connection.interrupter_ref());
            Ok(interrupter.watch(|cancel| db.create_index_until(index, cancel))?)
        }
    }
}

/// ALTER INDEX … RENAME TO: to a name in the schema where it is.
pub(super) fn rename(
    connection: &mut Connection,
    name: &ObjectName,
    if_exists: bool,
    to: &ObjectName,
) -> Result<Rows<'static>> {
    const TAG: &str = "ALTER INDEX";
    let from = qualify(&object(name)?).map_err(|error| about_object(error, name))?;
    let known = all_indexes(&connection.definitions());
    if !known.contains(&from) {
        let error = Error::not_found("index", shown(&from), known.iter().map(|name| shown(name)));
        return match if_exists {
            true => Ok(Rows::done(TAG, None)),
            false => Err(about_object(error, name)),
        };
    }
    let to = renamed(&from, to)?;
    connection.define(&[CatalogEdit::RenameIndex { from, to }]).map_err(|error| about_object(error, name))?;
    Ok(Rows::done(TAG, None))
}

/// The new name of something, in the schema where it is.
///
/// # Errors
/// It is to be in another.
pub(super) fn renamed(from: &str, to: &ObjectName) -> Result<String> {
    let (schema, _) = split(from);
    let wanted = match to.0.len() {
        1 => format!("{schema}.{}", written(to)?),
        _ => qualify(&object(to)?).map_err(|error| about_object(error, to))?,
    };
    match split(&wanted).0 == schema {
        true => Ok(wanted),
        false => Err(about_object(Error::invalid(format!("it stays in schema \"{schema}\"")), to)),
    }
}

fn no_kind(name: &str) -> Error {
    Error::invalid(format!("there is no kind of index {name}"))
        .with_hint("there are ordered (also called btree), hash, bitmap and br64")
}

fn has(connection: &Connection, index: &str) -> bool {
    all_indexes(&connection.definitions()).iter().any(|name| name == index)
}

fn refuse(create: &ast::CreateIndex) -> Result<()> {
    let what = match create {
        _ if !create.include.is_empty() => "INCLUDE",
        _ if create.nulls_distinct == Some(false) => "NULLS NOT DISTINCT",
        _ if !create.with.is_empty()
            || !create.index_options.is_empty()
            || !create.alter_options.is_empty() =>
        {
            "options of an index"
        }
        // CONCURRENTLY is how every index is built.
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("not supported: {what}")))
}
