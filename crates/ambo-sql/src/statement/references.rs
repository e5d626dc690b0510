//! Foreign keys in statements about tables: made, dropped, and following what is renamed.

use ambo::{CatalogEdit, Definitions, Logical, TableChange, TableDefinition};
use datafusion::sql::sqlparser::ast::{ForeignKeyConstraint, Ident};

use super::definition::free_name;
use crate::{
    Connection, Error, ErrorKind, Result,
    connection::Work,
    foreign_keys::{ForeignKey, Referrer, verify_all_rows},
    names::{about, ident, last, shown},
};

/// Gives a table that is to be its foreign keys, and returns those that refer to others.
///
/// # Errors
/// As [`ForeignKey::declared`]; a name that a constraint has already.
pub(super) fn define(
    definitions: &Definitions<'_>,
    table: &mut TableDefinition,
    wanted: &[(Option<Ident>, ForeignKeyConstraint)],
    unique: &[Vec<String>],
) -> Result<Vec<ForeignKey>> {
    let mut others = Vec::new();
    for (named, of) in wanted {
        let key = declared(definitions, table, named.as_ref(), of, unique)?;
        table.checks.push(key.check());
        match key.parent == table.name {
            true => table.checks.push(key.referrer().check()),
            false => others.push(key),
        }
    }
    Ok(others)
}

fn declared(
    definitions: &Definitions<'_>,
    table: &TableDefinition,
    named: Option<&Ident>,
    of: &ForeignKeyConstraint,
    unique: &[Vec<String>],
) -> Result<ForeignKey> {
    let mut key = ForeignKey::declared(definitions, table, of, unique)?;
    if let Some(name) = key.columns.iter().chain(&key.referred).find(|name| {
        let place = table.column_index(name);
        key.parent == table.name && place.is_some_and(|place| table.columns[place].generated().is_some())
    }) {
        return Err(Error::invalid(format!("column \"{name}\" is generated, so it is in no foreign key")));
    }
    let refuse = |of: &TableDefinition, names: &[String]| {
        let columns = of.columns.iter().filter(|column| names.contains(&column.name));
        match columns.into_iter().find(|column| matches!(column.logical, Some(Logical::Collated(_)))) {
            None => Ok(()),
            Some(column) => Err(Error::invalid(format!(
                "not supported: column \"{}\" has a collation, so it is in no foreign key",
                column.name
            ))),
        }
    };
    refuse(table, &key.columns)?;
    match key.parent == table.name {
        true => refuse(table, &key.referred)?,
        false => refuse(definitions.table(&key.parent)?.definition(), &key.referred)?,
    }
    let taken = |name: &str| table.checks.iter().any(|check| check.name == name);
    key.name = match named {
        Some(named) if taken(&ident(named)) => {
            let what = format!("two constraints are named \"{}\"", ident(named));
            return Err(about(Error::new(ErrorKind::Constraint, what), named));
        }
        Some(named) => ident(named),
        None => free_name(&format!("{}_{}_fkey", last(&table.name), key.columns.join("_")), taken),
    };
    Ok(key)
}

fn change(work: &mut Work<'_>, table: &str, changes: Vec<TableChange>) -> Result<()> {
    match changes.is_empty() {
        true => Ok(()),
        false => {
            Ok(work.transaction.define(&CatalogEdit::ChangeTable { name: table.to_owned(), changes })?)
        }
    }
}

/// Tells the tables that keys refer to by whom.
pub(super) fn tell(work: &mut Work<'_>, keys: &[ForeignKey]) -> Result<()> {
    for key in keys {
        let parent = work.definitions().table(&key.parent)?;
        work.transaction.hold(&parent)?;
        change(work, &key.parent, vec![TableChange::AddCheck(key.referrer().check())])?;
    }
    Ok(())
}

/// ALTER TABLE … ADD FOREIGN KEY: all rows are to refer to one.
pub(super) fn add(
    connection: &mut Connection,
    name: &str,
    named: Option<&Ident>,
    of: &ForeignKeyConstraint,
) -> Result<()> {
    connection.write(&[], |work| {
        let table = work.definitions().table(name)?;
        work.transaction.hold(&table)?;
        let indexes = crate::catalog::indexes(&table);
        let columns = &table.definition().columns;
        let unique: Vec<Vec<String>> = indexes
            .iter()
            .filter(|index| index.is_unique())
            .map(|index| index.columns().iter().map(|place| columns[*place].name.clone()).collect())
            .collect();
        let key = declared(&work.definitions(), table.definition(), named, of, &unique)?;
        change(work, name, vec![TableChange::AddCheck(key.check())])?;
        tell(work, std::slice::from_ref(&key))?;
        verify_all_rows(work, &key)
    })
}

/// Drops a foreign key, if a table has one of this name. Returns whether it had.
pub(super) fn drop_key(connection: &mut Connection, table: &TableDefinition, name: &str) -> Result<bool> {
    let Some(key) = ForeignKey::all(table)?.into_iter().find(|key| key.name == name) else {
        return Ok(false);
    };
    connection.write(&[], |work| forget(work, &key))?;
    Ok(true)
}

/// Takes a key from the table that has it, and from the one that it refers to.
fn forget(work: &mut Work<'_>, key: &ForeignKey) -> Result<()> {
    change(work, &key.child, vec![TableChange::DropCheck(key.name.clone())])?;
    untell(work, key)
}

fn untell(work: &mut Work<'_>, key: &ForeignKey) -> Result<()> {
    match work.definitions().table(&key.parent).is_ok() {
        true => change(work, &key.parent, vec![TableChange::DropCheck(key.referrer().check().name)]),
        false => Ok(()),
    }
}

/// Before a table goes: with `cascade` the keys that refer to it go, otherwise there are none. `others` go in the same statement.
///
/// # Errors
/// [`ErrorKind::Constraint`] with the table that refers to it.
pub(super) fn before_drop(work: &mut Work<'_>, name: &str, cascade: bool, others: &[String]) -> Result<()> {
    let table = work.definitions().table(name)?;
    let definition = table.definition();
    for key in ForeignKey::to(&work.definitions(), definition)? {
        if key.child == definition.name {
            continue;
        }
        if !cascade && !others.contains(&key.child) {
            let what = format!(
                "table \"{}\" is referred to by table \"{}\": constraint \"{}\"",
                shown(&definition.name),
                shown(&key.child),
                key.name
            );
            return Err(
                Error::new(ErrorKind::Constraint, what).with_hint("CASCADE drops the constraint, too")
            );
        }
        change(work, &key.child, vec![TableChange::DropCheck(key.name.clone())])?;
    }
    for key in ForeignKey::all(definition)? {
        if key.parent != definition.name {
            untell(work, &key)?;
        }
    }
    Ok(())
}

/// Before a table is emptied: no rows of others refer to it, but of those that are emptied, too.
///
/// # Errors
/// [`ErrorKind::Constraint`] with the table that refers to it.
pub(super) fn before_truncate(work: &mut Work<'_>, name: &str, others: &[String]) -> Result<()> {
    let table = work.definitions().table(name)?;
    for key in ForeignKey::to(&work.definitions(), table.definition())? {
        let child = work.definitions().table(&key.child)?;
        if key.child == table.definition().name || others.contains(&key.child) {
            continue;
        }
        work.transaction.hold(&child)?;
        if ambo::Read::rows_prefix(&*work.transaction, &child, &[])?.next().transpose()?.is_some() {
            let what = format!(
                "rows of table \"{}\" refer to table \"{}\": constraint \"{}\"",
                shown(&key.child),
                shown(&table.definition().name),
                key.name
            );
            return Err(Error::new(ErrorKind::Constraint, what)
                .with_hint("TRUNCATE both in one statement, or DELETE"));
        }
    }
    Ok(())
}

/// Before an index goes that keeps columns unique to which a key refers.
///
/// # Errors
/// [`ErrorKind::Constraint`] with the key.
pub(super) fn before_drop_index(work: &Work<'_>, name: &str) -> Result<()> {
    let definitions = work.definitions();
    for table in definitions.tables() {
        let table = definitions.table(&table)?;
        let indexes = crate::catalog::indexes(&table);
        let Some(index) = indexes.iter().find(|index| index.name() == name && index.is_unique()) else {
            continue;
        };
        let columns: Vec<_> =
            index.columns().iter().map(|place| &table.definition().columns[*place].name).collect();
        let is_of = |key: &ForeignKey| {
            key.referred.len() == columns.len() && columns.iter().all(|column| key.referred.contains(column))
        };
        if let Some(key) = ForeignKey::to(&definitions, table.definition())?.into_iter().find(is_of) {
            let child = shown(&key.child);
            let what = format!(
                "constraint \"{}\" of table \"{child}\" refers to columns that it keeps unique",
                key.name
            );
            return Err(Error::new(ErrorKind::Constraint, what));
        }
    }
    Ok(())
}

/// After a table has another name: the texts of keys that name it.
pub(super) fn rename_table(work: &mut Work<'_>, old: &TableDefinition, to: &str) -> Result<()> {
    let renamed = |name: &str| if name == old.name { to.to_owned() } else { name.to_owned() };
    for key in ForeignKey::all(old)? {
        let new = ForeignKey { child: to.to_owned(), parent: renamed(&key.parent), ..key.clone() };
        again(work, &key, &new)?;
    }
    // Those of its own were among them.
    for Referrer { child, constraint } in Referrer::all(old).into_iter().filter(|of| of.child != old.name) {
        let table = work.definitions().table(&child)?;
        for key in ForeignKey::all(table.definition())?.into_iter().filter(|key| key.name == constraint) {
            let new = ForeignKey { parent: to.to_owned(), ..key.clone() };
            change(work, &child, vec![TableChange::DropCheck(key.name), TableChange::AddCheck(new.check())])?;
        }
    }
    Ok(())
}

/// After a column has another name.
pub(super) fn rename_column(work: &mut Work<'_>, old: &TableDefinition, from: &str, to: &str) -> Result<()> {
    let renamed = |names: &[String]| -> Vec<String> {
        names.iter().map(|name| if name == from { to.to_owned() } else { name.clone() }).collect()
    };
    let mut keys = ForeignKey::all(old)?;
    let definitions = work.definitions();
    keys.extend(ForeignKey::to(&definitions, old)?.into_iter().filter(|key| key.child != old.name));
    drop(definitions);
    for key in keys {
        let mut new = key.clone();
        if key.child == old.name {
            new.columns = renamed(&key.columns);
        }
        if key.parent == old.name {
            new.referred = renamed(&key.referred);
        }
        let changes = vec![TableChange::DropCheck(key.name.clone()), TableChange::AddCheck(new.check())];
        change(work, &key.child, changes)?;
    }
    Ok(())
}

/// Puts a key of a table that has another name in the place of what it was.
fn again(work: &mut Work<'_>, old: &ForeignKey, new: &ForeignKey) -> Result<()> {
    change(
        work,
        &new.child,
        vec![TableChange::DropCheck(old.name.clone()), TableChange::AddCheck(new.check())],
    )?;
    let (gone, there) = (old.referrer().check().name, new.referrer().check());
    change(work, &new.parent, vec![TableChange::DropCheck(gone), TableChange::AddCheck(there)])
}

/// Refuses what would change a column that a key is of, or refers to.
///
/// # Errors
/// [`Error`] that names the key.
pub(super) fn refuse_column(
    definitions: &Definitions<'_>,
    table: &TableDefinition,
    column: &str,
) -> Result<()> {
    let names = |columns: &[String]| columns.iter().any(|name| name == column);
    let own = ForeignKey::all(table)?.into_iter().filter(|key| names(&key.columns));
    let others = ForeignKey::to(definitions, table)?.into_iter().filter(|key| names(&key.referred));
    match own.chain(others).next() {
        None => Ok(()),
        Some(key) => {
            let what = format!(
                "constraint \"{}\" of table \"{}\" is over column \"{column}\": {}",
                key.name,
                shown(&key.child),
                key.text()
            );
            Err(Error::invalid(what).with_hint("ALTER TABLE … DROP CONSTRAINT first"))
        }
    }
}
