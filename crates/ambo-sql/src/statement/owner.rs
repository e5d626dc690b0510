//! ALTER … OWNER TO: whose a table, a view, a sequence or a schema is.
//!
//! What nobody owns is every superuser's, so it is enough to forget the owner where the new one is a superuser. Types, functions and the
//! database have no owners of their own: that the role is there is all that is asked.

use ambo::{Definitions, ObjectKind};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use super::grant::{edits, grantee};
use crate::{
    Connection, ErrorKind, Result, Rows,
    names::{about_object, ident, object},
    parse::{Owned, SetOwner},
    planner::{find_table, find_view},
    rights::{Level, Right, StoredRole, kept_name, rights_in, rights_to, rights_to_sequence},
};

pub(super) fn run(connection: &mut Connection, set: &SetOwner) -> Result<Rows<'static>> {
    let done = Rows::done(set.tag, None);
    let (role, is_superuser) = owner(connection, &set.role)?;
    let definitions = connection.definitions();
    let (kind, name, mut acl) = match set.what {
        Owned::Other => return Ok(done),
        Owned::Schema => {
            let schema = super::grant::schema(&definitions, &set.name)?;
            (ObjectKind::SchemaRights, kept_name(&schema), rights_in(&definitions, &schema))
        }
        Owned::Relation => match relation(&definitions, &set.name) {
            Ok((kind @ ObjectKind::SequenceRights, name)) => {
                let acl = rights_to_sequence(&definitions, &name);
                (kind, name, acl)
            }
            Ok((kind, name)) => {
                let acl = rights_to(&definitions, &name);
                (kind, name, acl)
            }
            Err(error) if set.if_exists && error.kind() == ErrorKind::NotFound => return Ok(done),
            Err(error) => return Err(error),
        },
    };
    if let Some(before) = acl.owner().map(str::to_owned) {
        acl.take(&before, &[Right::Own]);
    }
    if !is_superuser {
        acl.give(&role, &[Right::Own]);
    }
    let edits = edits(kind, name, &acl, &definitions);
    drop(definitions);
    connection.define(&edits)?;
    Ok(done)
}

/// The role that is to own something, and whether that one may do all. Who asks is there, whether or not the catalog knows it.
fn owner(connection: &Connection, name: &Ident) -> Result<(String, bool)> {
    if let Some(own) = connection.session.role.as_ref().filter(|role| role.name == ident(name)) {
        return Ok((own.name.clone(), own.level == Level::Superuser));
    }
    let role = grantee(connection, name)?;
    let kept = connection.engine().keeper.get().map(|keeper| keeper.roles()).unwrap_or_default();
    let stored = StoredRole::find(&connection.definitions(), &role).map(|role| role.level);
    let level = stored.or_else(|| kept.iter().find(|of| of.name == role).map(|of| of.level));
    let own = connection.session.role.as_ref().filter(|own| own.name == role).map(|own| own.level);
    Ok((role, own.or(level) == Some(Level::Superuser)))
}

/// The whole name of a table, a view or a sequence, and what keeps the rights to it.
fn relation(definitions: &Definitions<'_>, name: &ObjectName) -> Result<(ObjectKind, String)> {
    let wanted = object(name)?;
    if let Some(view) = find_view(definitions, &wanted)? {
        return Ok((ObjectKind::Rights, view.name.clone()));
    }
    match (find_table(definitions, &wanted), definitions.object(ObjectKind::Sequence, &wanted)) {
        (Ok(table), _) => Ok((ObjectKind::Rights, table.definition().name.clone())),
        (_, Ok(sequence)) => Ok((ObjectKind::SequenceRights, sequence.name.clone())),
        (Err(error), _) => Err(about_object(error, name)),
    }
}
