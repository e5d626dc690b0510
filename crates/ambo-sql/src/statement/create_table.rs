//! CREATE TABLE: with columns, LIKE another, or AS the rows of a query.

use ambo::{CatalogEdit, Definitions, qualify};
use datafusion::{
    common::ScalarValue,
    sql::sqlparser::ast::{self, OnCommit},
};

use super::{
    create_as::{self, Source},
    definition::{Wanted, define},
    like, options, references, sequence,
};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    databases::Kind,
    foreign_keys::has_references,
    names::{about_object, object, shown},
    parse::TableSettings,
};

const TAG: &str = "CREATE TABLE";

pub(super) fn run(
    connection: &mut Connection,
    create: &ast::CreateTable,
    settings: &TableSettings,
    params: &[ScalarValue],
) -> Result<Rows<'static>> {
    refuse(create)?;
    let goes = goes_at_commit(connection, create)?;
    let name = object(&create.name)?;
    super::require_schema(&connection.definitions(), &create.name)?;
    if create.if_not_exists && create.or_replace {
        return Err(Error::invalid("OR REPLACE and IF NOT EXISTS exclude each other"));
    }
    if create.if_not_exists && exists(&connection.definitions(), &name)? {
        return Ok(Rows::done(TAG, None));
    }
    let source = create.query.as_deref().map(|query| Source::new(connection, query, params)).transpose()?;
    let wanted = match &create.like {
        Some(like) => {
            let mut table = like::table(connection, &name, like)?;
            if let Some(query) = &create.query {
                return Err(Error::invalid(format!("LIKE and AS {query} exclude each other")));
            }
            table = options::apply(table, &create.table_options, settings)?;
            Wanted { table, indexes: Vec::new(), keys: Vec::new(), sequences: Vec::new() }
        }
        None => {
            let (storage, records) = super::new_table(connection);
            let schema = source.as_ref().map(Source::schema);
            define(&connection.own_reader()?, create, settings, (storage, records), schema)?
        }
    };
    let made = match create.or_replace && exists(&connection.definitions(), &name)? {
        true => replace(connection, wanted, source),
        false => make(connection, &wanted.table.name, &wanted, source),
    };
    match made {
        Err(error)
            if create.if_not_exists
                && error.kind() == ErrorKind::Constraint
                && exists(&connection.definitions(), &name)? =>
        {
            Ok(Rows::done(TAG, None))
        }
        made => {
            let rows = made.map_err(|error| about_object(error, &create.name))?;
            connection.home.emptied.retain(|known| *known != name);
            match goes {
                Some(OnCommit::Drop) => connection.home.open()?.passing.push(name),
                Some(OnCommit::DeleteRows) => connection.home.emptied.push(name),
                _ => {}
            }
            Ok(Rows::done(TAG, rows))
        }
    }
}

/// What becomes of the table, or of its rows, when the transaction is committed.
///
/// # Errors
/// What ON COMMIT says is for another kind of table, or for a transaction.
fn goes_at_commit(connection: &Connection, create: &ast::CreateTable) -> Result<Option<OnCommit>> {
    let is_temporary = connection.home.kind == Kind::Temporary;
    match create.on_commit {
        None | Some(OnCommit::PreserveRows) if is_temporary || create.on_commit.is_none() => Ok(None),
        Some(_) if !is_temporary => Err(Error::invalid("ON COMMIT is for temporary tables")),
        Some(OnCommit::Drop) if !connection.in_transaction() => Err(Error::invalid(
            "with ON COMMIT DROP and outside of a transaction the table would be gone at once",
        )
        .with_hint("BEGIN first")),
        on_commit => Ok(on_commit),
    }
}

/// Whether there is a table or a view of this name.
pub(super) fn exists(db: &Definitions<'_>, name: &str) -> Result<bool> {
    let name = qualify(name)?;
    Ok(db.tables().contains(&name) || db.views().iter().any(|view| view.name == name))
}

/// A new table with its indexes, and the rows of a query if there is one: all of it, or it never was. Returns how many rows. Messages call
/// it `name`.
fn make(
    connection: &mut Connection,
    name: &str,
    wanted: &Wanted,
    source: Option<Source>,
) -> Result<Option<u64>> {
    let Wanted { table, indexes, sequences, .. } = wanted;
    if let Some(source) = source {
        if !sequences.is_empty() {
            return Err(Error::invalid("the rows of a query have no columns that number themselves"));
        }
        if has_references(table) {
            return Err(Error::invalid("a table that is made of a query has no foreign keys yet")
                .with_hint("ALTER TABLE … ADD FOREIGN KEY is the next statement"));
        }
        return create_as::make(connection, name, table, indexes, source).map(Some);
    }
    create(connection, CatalogEdit::CreateTable(table.clone()), wanted)?;
    Ok(None)
}

/// A new table without rows.
fn create(connection: &mut Connection, table: CatalogEdit, wanted: &Wanted) -> Result<()> {
    let Wanted { indexes, keys, sequences, .. } = wanted;
    connection.write(&[], |work| {
        if let CatalogEdit::CreateOrReplaceTable(table) = &table {
            references::before_drop(work, &table.name, false, &[])?;
            sequence::drop_owned(work, &table.name)?;
        }
        work.transaction.define(&table)?;
        for object in sequences {
            work.transaction.define(&CatalogEdit::CreateObject { object: object.clone(), replace: false })?;
        }
        indexes.iter().try_for_each(|index| work.transaction.create_index(index))?;
        references::tell(work, keys)
    })
}

/// A new table in the place of another, which goes when the new one is there with its indexes and rows: it may be what the query reads, and
/// its indexes may have those names.
fn replace(connection: &mut Connection, mut wanted: Wanted, source: Option<Source>) -> Result<Option<u64>> {
    let Some(source) = source else {
        create(connection, CatalogEdit::CreateOrReplaceTable(wanted.table.clone()), &wanted)?;
        return Ok(None);
    };
    let name = wanted.table.name.clone();
    if connection.definitions().table(&name).is_ok_and(|old| has_references(old.definition())) {
        return Err(Error::invalid(format!(
            "table \"{}\" has foreign keys, or others refer to it",
            shown(&name)
        ))
        .with_hint("DROP TABLE first"));
    }
    if connection.in_transaction() {
        // The query reads what was there before.
        connection.define(&[CatalogEdit::DropTable(name.clone())])?;
        return make(connection, &name, &wanted, Some(source));
    }
    let stand_in = replacement_name(&connection.definitions(), &name)?;
    wanted.table.name.clone_from(&stand_in);
    let mut indexes = Vec::with_capacity(wanted.indexes.len());
    for (nth, index) in wanted.indexes.iter_mut().enumerate() {
        index.table.clone_from(&stand_in);
        let meanwhile = format!("{stand_in}_{nth}");
        indexes.push((meanwhile.clone(), std::mem::replace(&mut index.name, meanwhile)));
    }
    let made = make(connection, &name, &wanted, Some(source)).and_then(|rows| {
        let with = stand_in.clone();
        let edit = CatalogEdit::ReplaceTable { name: name.clone(), with, indexes: indexes.clone() };
        if let Err(error) = connection.define(&[edit]) {
            // What could not be replaced is still there.
            connection.define(&[CatalogEdit::DropTable(stand_in.clone())])?;
            return Err(error);
        }
        Ok(rows)
    });
    // What stands in for a while is in no message.
    indexes.push((stand_in, name));
    made.map_err(|error| error.with_names(&indexes))
}

/// A name that nothing has, for a table that is to take the place of another.
fn replacement_name(db: &Definitions<'_>, name: &str) -> Result<String> {
    // Names have up to 255 bytes.
    let short = &name[..name.floor_char_boundary(220)];
    let numbered = (2u64..).map(|number| format!("{short}__replacement_{number}"));
    for candidate in std::iter::once(format!("{short}__replacement")).chain(numbered) {
        if !exists(db, &candidate)? {
            return Ok(candidate);
        }
    }
    unreachable!("there are more numbers than names")
}

/// Refuses what the parser knows from other systems.
fn refuse(create: &ast::CreateTable) -> Result<()> {
    let name = &create.name;
    let what = match create {
        _ if create.external || create.location.is_some() => "EXTERNAL",
        _ if create.inherits.is_some() => "INHERITS",
        _ if create.clone.is_some() => "CLONE",
        _ if create.partition_by.is_some() || create.partition_of.is_some() => "PARTITION",
        _ if create.order_by.is_some() || create.cluster_by.is_some() || create.primary_key.is_some() => {
            return Err(Error::invalid("not supported: ORDER BY, CLUSTER BY").with_hint("SORT KEY (…)"));
        }
        _ if create.columns.is_empty() && create.query.is_none() && create.like.is_none() => {
            return Err(Error::invalid(format!("table \"{}\" has no columns", shown(&object(name)?))));
        }
        _ => return Ok(()),
    };
    Err(Error::invalid(format!("not supported: CREATE TABLE with {what}")))
}
