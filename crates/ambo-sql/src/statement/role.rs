//! CREATE ROLE, ALTER ROLE, DROP ROLE.
//!
//! Where there are roles that may come in, one of them is a superuser: so nobody is locked out.

use ambo::{CatalogEdit, ObjectKind};
use datafusion::sql::sqlparser::ast::Ident;

use super::grant::{edits, level_with};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    connection::Work,
    names::{about, ident},
    parse::{RoleOptions, RoleStatement},
    rights::{Acl, Level, PUBLIC, Role, StoredRole, kept_name},
};

pub(super) fn run(connection: &mut Connection, statement: &RoleStatement) -> Result<Rows<'static>> {
    connection.write(&[], |work| {
        apply(work, statement)?;
        require_superuser(work)
    })?;
    let tag = match statement {
        RoleStatement::Create { .. } => "CREATE ROLE",
        RoleStatement::Alter { .. } | RoleStatement::Rename { .. } => "ALTER ROLE",
        RoleStatement::Drop { .. } => "DROP ROLE",
    };
    Ok(Rows::done(tag, None))
}

fn apply(work: &mut Work<'_>, statement: &RoleStatement) -> Result<()> {
    match statement {
        RoleStatement::Create { name, if_not_exists, options } => create(work, name, *if_not_exists, options),
        RoleStatement::Alter { name, options } => alter(work, name, options),
        RoleStatement::Rename { name, to } => rename(work, name, to),
        RoleStatement::Drop { names, if_exists } => {
            names.iter().try_for_each(|name| match drop(work, name) {
                Err(error) if *if_exists && error.kind() == ErrorKind::NotFound => Ok(()),
                dropped => dropped,
            })
        }
    }
}

fn create(work: &mut Work<'_>, name: &Ident, if_not_exists: bool, options: &RoleOptions) -> Result<()> {
    if let Err(error) = free(work, name) {
        return if if_not_exists && error.kind() == ErrorKind::Constraint { Ok(()) } else { Err(error) };
    }
    let role = with(work, StoredRole::new(&ident(name)), options)?;
    put(work, &role)
}

fn alter(work: &mut Work<'_>, name: &Ident, options: &RoleOptions) -> Result<()> {
    let role = stored(work, name)?;
    let role = with(work, role, options)?;
    put(work, &role)
}

fn define(work: &mut Work<'_>, edits: Vec<CatalogEdit>) -> Result<()> {
    edits.iter().try_for_each(|edit| Ok(work.transaction.define(edit)?))
}

fn put(work: &mut Work<'_>, role: &StoredRole) -> Result<()> {
    define(work, vec![CatalogEdit::CreateObject { object: role.object(), replace: true }])
}

/// A role with what a statement says.
fn with(work: &Work<'_>, mut role: StoredRole, options: &RoleOptions) -> Result<StoredRole> {
    role.can_login = options.login.unwrap_or(role.can_login);
    match options.superuser {
        Some(true) => role.level = Level::Superuser,
        Some(false) if role.level == Level::Superuser => role.level = Level::Granted,
        _ => {}
    }
    for of in &options.in_roles {
        role.level = level_with(role.level, of, false)?;
    }
    match &options.password {
        None => {}
        Some(None) => role.secret = None,
        Some(Some(password)) => {
            let keeper = work.engine.keeper.get().ok_or_else(|| {
                Error::invalid("passwords are kept by the server, and the database is not served here")
                    .with_hint("ambo role DIR add NAME, or CREATE ROLE over a connection to the server")
            })?;
            role.secret = Some(keeper.secret(password));
        }
    }
    Ok(role)
}

fn file_roles(work: &Work<'_>) -> Vec<Role> {
    work.engine.keeper.get().map(|keeper| keeper.roles()).unwrap_or_default()
}

/// Checks that a name is free for a role.
fn free(work: &Work<'_>, name: &Ident) -> Result<()> {
    let wanted = ident(name);
    if wanted == PUBLIC || wanted == "none" || wanted.starts_with("pg_") {
        return Err(about(Error::invalid(format!("the name \"{wanted}\" of a role is reserved")), name));
    }
    let is_there = StoredRole::find(&work.definitions(), &wanted).is_some()
        || file_roles(work).iter().any(|role| role.name == wanted);
    match is_there {
        true => {
            let error = Error::new(ErrorKind::Constraint, format!("exists already: role \"{wanted}\""));
            Err(about(error, name))
        }
        false => Ok(()),
    }
}

fn stored(work: &Work<'_>, name: &Ident) -> Result<StoredRole> {
    let wanted = ident(name);
    let definitions = work.definitions();
    if let Some(role) = StoredRole::find(&definitions, &wanted) {
        return Ok(role);
    }
    if file_roles(work).iter().any(|role| role.name == wanted) {
        let error = Error::invalid(format!("\"{wanted}\" is a role of the server's file"));
        return Err(about(error, name).with_hint(format!("ambo role DIR add {wanted}")));
    }
    let known: Vec<_> = StoredRole::all(&definitions).into_iter().map(|role| role.name).collect();
    Err(about(Error::not_found("role", &wanted, known.iter().map(String::as_str)), name))
}

fn rename(work: &mut Work<'_>, name: &Ident, to: &Ident) -> Result<()> {
    let role = stored(work, name)?;
    free(work, to)?;
    let to = ident(to);
    rights_of(work, |acl| acl.rename(&role.name, &to))?;
    define(work, vec![CatalogEdit::DropObject { kind: ObjectKind::Role, name: kept_name(&role.name) }])?;
    put(work, &StoredRole { name: to, ..role })
}

/// What a role owns is a superuser's when it is gone; it has no rights any more.
fn drop(work: &mut Work<'_>, name: &Ident) -> Result<()> {
    let role = stored(work, name)?;
    if work.session.role.as_ref().is_some_and(|own| own.name == role.name) {
        return Err(about(Error::invalid("nobody drops the role that it has come in as"), name));
    }
    rights_of(work, |acl| acl.forget(&role.name))?;
    define(work, vec![CatalogEdit::DropObject { kind: ObjectKind::Role, name: kept_name(&role.name) }])
}

/// Changes all lists of rights; `change` says whether it changed one.
fn rights_of(work: &mut Work<'_>, change: impl Fn(&mut Acl) -> bool) -> Result<()> {
    let mut all = Vec::new();
    for kind in [ObjectKind::Rights, ObjectKind::SchemaRights, ObjectKind::SequenceRights] {
        let definitions = work.definitions();
        for object in definitions.objects(kind) {
            let Some(mut acl) = Acl::parse(&object.text) else { continue };
            if change(&mut acl) {
                all.extend(edits(kind, object.name.clone(), &acl, &definitions));
            }
        }
    }
    define(work, all)
}

/// # Errors
/// There are roles that may come in, and no superuser among them.
fn require_superuser(work: &Work<'_>) -> Result<()> {
    let stored = StoredRole::all(&work.definitions());
    let mut logins = stored.iter().filter(|role| role.can_login).peekable();
    let is_one = |role: &Role| role.level == Level::Superuser;
    let has_one = logins.peek().is_none()
        || logins.any(|role| is_one(&role.role()) && role.secret.is_some())
        || file_roles(work).iter().any(is_one)
        || work.engine.keeper.get().is_none();
    match has_one {
        true => Ok(()),
        false => Err(Error::invalid("no superuser with a password could come in any more").with_hint(
            "the first role that may come in is one: CREATE ROLE ada LOGIN SUPERUSER PASSWORD '…'",
        )),
    }
}
