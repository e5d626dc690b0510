//! GRANT and REVOKE.
//!
//! Rights to ALL TABLES IN SCHEMA are rights to the tables and views that are there. PostgreSQL's roles `pg_read_all_data` and
//! `pg_write_all_data` can be given to roles, and no others: a role is no group.

use ambo::{CatalogEdit, Definitions, Object, ObjectKind};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use crate::{
    Connection, Error, Result, Rows,
    names::{about, about_object, ident, object, shown, split, written},
    parse::{Grant, Granted, GrantedTo},
    planner::{find_table, find_view},
    rights::{Acl, Level, PUBLIC, Right, StoredRole, kept_name, rights_in, rights_to, rights_to_sequence},
};

/// What reads and writes all.
const READ_ALL: &str = "pg_read_all_data";
const WRITE_ALL: &str = "pg_write_all_data";

pub(super) fn run(connection: &mut Connection, grant: &Grant) -> Result<Rows<'static>> {
    let done = Rows::done(if grant.is_revoke { "REVOKE" } else { "GRANT" }, None);
    let roles = grant.roles.iter().map(|role| grantee(connection, role)).collect::<Result<Vec<_>>>()?;
    let edits = match &grant.what {
        Granted::Roles(of) => levels(connection, of, &roles, grant)?,
        Granted::Rights { to: GrantedTo::Everybodys(what), .. } => match grant.is_revoke {
            true => {
                let why = format!("not supported: REVOKE ON {what}; everybody may use them");
                return Err(Error::invalid(why));
            }
            false => return Ok(done),
        },
        Granted::Rights { rights, to: GrantedTo::Schemas(names) } => {
            let rights = of_schemas(rights)?;
            let definitions = connection.definitions();
            let changed = names.iter().map(|name| {
                let schema = schema(&definitions, name)?;
                let acl = changed(rights_in(&definitions, &schema), &roles, &rights, grant.is_revoke);
                Ok(edits(ObjectKind::SchemaRights, kept_name(&schema), &acl, &definitions))
            });
            changed.collect::<Result<Vec<_>>>()?.concat()
        }
        Granted::Rights { rights, to: to @ (GrantedTo::Sequences(_) | GrantedTo::AllSequences(_)) } => {
            let rights = of_sequences(rights)?;
            let definitions = connection.definitions();
            let change = |name: String| {
                let acl = changed(rights_to_sequence(&definitions, &name), &roles, &rights, grant.is_revoke);
                edits(ObjectKind::SequenceRights, name, &acl, &definitions)
            };
            sequences(&definitions, to)?.into_iter().flat_map(change).collect()
        }
        Granted::Rights { rights, to } => {
            let rights = of_tables(rights)?;
            let definitions = connection.definitions();
            let change = |name: String| {
                let acl = changed(rights_to(&definitions, &name), &roles, &rights, grant.is_revoke);
                edits(ObjectKind::Rights, name, &acl, &definitions)
            };
            relations(&definitions, to)?.into_iter().flat_map(change).collect()
        }
    };
    connection.define(&edits)?;
    Ok(done)
}

/// The name of a role that is there.
pub(super) fn grantee(connection: &Connection, name: &Ident) -> Result<String> {
    let own = || connection.session.role.as_ref().map_or("ambo", |role| &role.name).to_owned();
    let wanted = match (ident(name), name.quote_style) {
        (word, None) if word == "current_user" || word == "current_role" || word == "session_user" => own(),
        (name, _) => name,
    };
    let definitions = connection.definitions();
    let known = || connection.engine().keeper.get().map(|keeper| keeper.roles()).unwrap_or_default();
    let is_known = wanted == PUBLIC
        || StoredRole::find(&definitions, &wanted).is_some()
        || known().iter().any(|role| role.name == wanted);
    match is_known {
        true => Ok(wanted),
        false => {
            let stored = StoredRole::all(&definitions).into_iter().map(|role| role.name);
            let all: Vec<_> = stored.chain(known().into_iter().map(|role| role.name)).collect();
            Err(about(Error::not_found("role", &wanted, all.iter().map(String::as_str)), name))
        }
    }
}

fn of_tables(rights: &[Ident]) -> Result<Vec<Right>> {
    if rights.is_empty() {
        return Ok(Right::OF_TABLES.to_vec());
    }
    let right = |name: &Ident| match ident(name).to_lowercase().as_str() {
        "select" => Ok(Right::Select),
        "insert" => Ok(Right::Insert),
        "update" => Ok(Right::Update),
        "delete" => Ok(Right::Delete),
        other => Err(about(Error::invalid(format!("not supported: GRANT {other} ON a table")), name)
            .with_hint(
                "there are SELECT, INSERT, UPDATE and DELETE; TRUNCATE takes DELETE, REFERENCES takes SELECT",
            )),
    };
    rights.iter().map(right).collect()
}

fn of_sequences(rights: &[Ident]) -> Result<Vec<Right>> {
    if rights.is_empty() {
        return Ok(Right::OF_SEQUENCES.to_vec());
    }
    let right = |name: &Ident| match ident(name).to_lowercase().as_str() {
        "usage" => Ok(Right::Usage),
        "select" => Ok(Right::Select),
        "update" => Ok(Right::Update),
        other => Err(about(Error::invalid(format!("not supported: GRANT {other} ON SEQUENCE")), name)
            .with_hint("there are USAGE (nextval, currval), SELECT (currval) and UPDATE (nextval, setval)")),
    };
    rights.iter().map(right).collect()
}

/// The qualified names of sequences.
fn sequences(definitions: &Definitions<'_>, to: &GrantedTo) -> Result<Vec<String>> {
    let known = definitions.objects(ObjectKind::Sequence);
    match to {
        GrantedTo::Sequences(names) => {
            let find = |name: &ObjectName| {
                let wanted = object(name)?;
                definitions.object(ObjectKind::Sequence, &wanted).map(|of| of.name.clone()).map_err(|_| {
                    let known = known.iter().map(|of| shown(&of.name));
                    about_object(Error::not_found("sequence", &wanted, known), name)
                })
            };
            names.iter().map(find).collect()
        }
        GrantedTo::AllSequences(schemas) => {
            let schemas = schemas.iter().map(|name| schema(definitions, name)).collect::<Result<Vec<_>>>()?;
            let is_in = |name: &&String| schemas.iter().any(|schema| split(name).0 == schema);
            Ok(known.iter().map(|of| &of.name).filter(is_in).cloned().collect())
        }
        _ => Ok(Vec::new()),
    }
}

fn of_schemas(rights: &[Ident]) -> Result<Vec<Right>> {
    if rights.is_empty() {
        return Ok(vec![Right::Create]);
    }
    let mut wanted = Vec::new();
    for name in rights {
        match ident(name).to_lowercase().as_str() {
            "create" => wanted.push(Right::Create),
            // Everybody finds the tables that there are rights to.
            "usage" => {}
            other => {
                let error = Error::invalid(format!("not supported: GRANT {other} ON SCHEMA"));
                return Err(about(error, name).with_hint("there are CREATE and USAGE"));
            }
        }
    }
    Ok(wanted)
}

pub(super) fn schema(definitions: &Definitions<'_>, name: &ObjectName) -> Result<String> {
    let wanted = written(name)?;
    let known = definitions.schemas();
    match wanted.as_str() {
        _ if known.contains(&wanted) => Ok(wanted),
        "public" => Ok(ambo::DEFAULT_SCHEMA.to_owned()),
        _ => {
            let error = Error::not_found("schema", &wanted, known.iter().map(String::as_str));
            Err(about_object(error, name))
        }
    }
}

/// The qualified names of tables and views.
fn relations(definitions: &Definitions<'_>, to: &GrantedTo) -> Result<Vec<String>> {
    let all = || {
        let views = definitions.views().into_iter().map(|view| view.name.clone());
        definitions.tables().into_iter().map(|name| ambo::qualify(&name).unwrap_or(name)).chain(views)
    };
    match to {
        GrantedTo::Tables(names) => names.iter().map(|name| relation(definitions, name)).collect(),
        GrantedTo::AllTables(schemas) => {
            let schemas = schemas.iter().map(|name| schema(definitions, name)).collect::<Result<Vec<_>>>()?;
            Ok(all().filter(|name| schemas.iter().any(|schema| split(name).0 == schema)).collect())
        }
        _ => Ok(Vec::new()),
    }
}

fn relation(definitions: &Definitions<'_>, name: &ObjectName) -> Result<String> {
    let wanted = object(name)?;
    match find_view(definitions, &wanted)? {
        Some(view) => Ok(view.name.clone()),
        None => match find_table(definitions, &wanted) {
            Ok(table) => Ok(table.definition().name.clone()),
            Err(error) => Err(about_object(error, name)),
        },
    }
}

fn changed(mut acl: Acl, roles: &[String], rights: &[Right], is_revoke: bool) -> Acl {
    for role in roles {
        match is_revoke {
            true => acl.take(role, rights),
            false => acl.give(role, rights),
        }
    }
    acl
}

/// What keeps a list of rights; none is kept that is empty.
pub(super) fn edits(
    kind: ObjectKind,
    name: String,
    acl: &Acl,
    definitions: &Definitions<'_>,
) -> Vec<CatalogEdit> {
    let is_there = definitions.object(kind, &name).is_ok();
    match (acl.is_empty(), is_there) {
        (true, false) => Vec::new(),
        (true, true) => vec![CatalogEdit::DropObject { kind, name }],
        (false, _) => {
            let object = Object { kind, name, text: acl.text(), comment: None };
            vec![CatalogEdit::CreateObject { object, replace: true }]
        }
    }
}

/// Has roles read, or write, all tables.
fn levels(
    connection: &Connection,
    of: &[Ident],
    roles: &[String],
    grant: &Grant,
) -> Result<Vec<CatalogEdit>> {
    let definitions = connection.definitions();
    let mut edits = Vec::new();
    for name in roles {
        let Some(mut role) = StoredRole::find(&definitions, name) else {
            return Err(Error::invalid(format!("\"{}\" is no role of the database", shown(name))).with_hint(
                "what a role of the server's file may do is said there; CREATE ROLE makes one of the database",
            ));
        };
        for of in of {
            role.level = level_with(role.level, of, grant.is_revoke)?;
        }
        edits.push(CatalogEdit::CreateObject { object: role.object(), replace: true });
    }
    Ok(edits)
}

/// What a role may do that was given another, or lost it.
pub(super) fn level_with(level: Level, of: &Ident, is_revoke: bool) -> Result<Level> {
    Ok(match (ident(of).as_str(), is_revoke, level) {
        (READ_ALL | WRITE_ALL, _, Level::Superuser) => Level::Superuser,
        (READ_ALL, false, level) => level.max(Level::Reader),
        (WRITE_ALL, false, _) => Level::Writer,
        (READ_ALL, true, _) => Level::Granted,
        (WRITE_ALL, true, level) => level.min(Level::Reader),
        (other, ..) => {
            return Err(about(
                Error::invalid(format!("\"{other}\" is no role that can be given to others")),
                of,
            )
            .with_hint(format!("those are {READ_ALL} and {WRITE_ALL}, who reads and writes all tables")));
        }
    })
}
