//! What a role may define: looked at before a statement runs, when its names are those of its database.

use ambo::{CatalogEdit, Definitions, Object, ObjectKind, qualify};
use datafusion::sql::sqlparser::ast::{
    self, AlterTableOperation, ColumnOption, CommentObject, CopyTarget, ObjectName, ObjectType, SchemaName,
    Set, TableConstraint,
};

use super::{Acl, Files, Right, Role, denied, kept_name, rights_in, rights_to};
use crate::{
    Connection, Result,
    databases::Kind,
    names::{ident, object, split, written},
    parse::{Granted, GrantedTo, Maintenance, Renamed, RoleStatement, Statement},
    planner::{find_table, find_view},
    statement::{is_hint, is_of_all, is_show},
};

/// What is created, and is to have an owner.
pub(crate) enum Created {
    /// A table or view, by its qualified name.
    Relation(String),
    Schema(String),
    Sequence(String),
}

/// What a statement is going to create for a role that is to own it: nothing where something of the name is there.
pub(crate) fn created(connection: &Connection, statement: &Statement) -> Option<Created> {
    connection.session.restricted()?;
    if connection.home.kind == Kind::Temporary {
        return None;
    }
    let definitions = connection.definitions();
    let name = match statement {
        Statement::CreateTable(create, _) => &create.name,
        Statement::CreateSequence(create) => {
            let name = qualify(&object(&create.name).ok()?).ok()?;
            let there = definitions.object(ObjectKind::Sequence, &name).is_ok();
            return (!there).then_some(Created::Sequence(name));
        }
        Statement::Sql(tree) => match tree.as_ref() {
            ast::Statement::CreateView(create) => &create.name,
            ast::Statement::CreateSchema { schema_name: SchemaName::Simple(name), .. } => {
                let name = written(name).ok()?;
                let is_there = definitions.schemas().contains(&name);
                return (!is_there).then_some(Created::Schema(name));
            }
            _ => return None,
        },
        _ => return None,
    };
    let name = qualify(&object(name).ok()?).ok()?;
    let is_there = definitions.table(&name).is_ok() || definitions.view(&name).is_ok();
    // What takes the place of one's own is one's own, too.
    let is_owned = || {
        rights_to(&definitions, &name).has(&connection.session.restricted()?.name, Right::Own).then_some(())
    };
    (!is_there || is_owned().is_some()).then_some(Created::Relation(name))
}

/// Makes the role of the connection the owner of what was created.
pub(crate) fn owned(connection: &mut Connection, what: &Created) -> Result<()> {
    let Some(role) = connection.session.restricted() else { return Ok(()) };
    let (kind, name) = match what {
        Created::Relation(name) => (ObjectKind::Rights, name.clone()),
        Created::Schema(name) => (ObjectKind::SchemaRights, kept_name(name)),
        Created::Sequence(name) => (ObjectKind::SequenceRights, name.clone()),
    };
    if connection.definitions().object(kind, &name).is_ok() {
        return Ok(());
    }
    let mut acl = Acl::default();
    acl.give(&role.name, &[Right::Own]);
    let object = Object { kind, name, text: acl.text(), comment: None };
    connection.define(&[CatalogEdit::CreateObject { object, replace: true }])
}

/// Checks that the role of the connection may run a statement, as far as that is not seen when its tables are found.
///
/// # Errors
/// It may not: `42501`.
pub(crate) fn check(connection: &Connection, statement: &Statement) -> Result<()> {
    if connection.session.files != Files::All {
        check_files(connection, statement)?;
    }
    let Some(role) = connection.session.restricted() else { return Ok(()) };
    let checks = Checks { connection, role, definitions: connection.definitions() };
    match statement {
        Statement::CreateTable(create, _) => checks.create_table(create),
        Statement::AlterTable(name, _) => checks.owner(name),
        Statement::AlterField(alter) => checks.owner(&alter.table),
        Statement::RenameConstraint { table, .. } => checks.owner(table),
        Statement::CreateSequence(create) => checks.create_in(&create.name),
        Statement::CreateFunction(create) => checks.create_in(&create.name),
        Statement::CreateType(create) => checks.create_in(&create.name),
        Statement::AlterSequence(alter) => checks.owner_of_sequence(&alter.name),
        Statement::DropFunctions(drop) => drop.names.iter().try_for_each(|name| checks.create_in(name)),
        Statement::Rename { what: Renamed::Sequence, name, to, .. } => {
            checks.owner_of_sequence(name)?;
            checks.renamed(to)
        }
        Statement::Rename { what: Renamed::Index, name, .. } => checks.owner_of_index(name),
        Statement::SetOwner(_) => connection.session.require_superuser("to say who owns something"),
        Statement::AddIdentity(add) => checks.owner(&add.table),
        Statement::RenameView { name, to, .. } => {
            checks.owner(name)?;
            checks.renamed(to)
        }
        Statement::Grant(grant) => match &grant.what {
            Granted::Roles(_) => connection.session.require_superuser("a role of roles"),
            Granted::Rights { to: GrantedTo::Tables(names), .. } => {
                names.iter().try_for_each(|name| checks.owner(name))
            }
            Granted::Rights { to: GrantedTo::Sequences(names), .. } => {
                names.iter().try_for_each(|name| checks.owner_of_sequence(name))
            }
            Granted::Rights { .. } => connection.session.require_superuser("rights to schemas"),
        },
        // One's own password.
        Statement::Role(RoleStatement::Alter { name, options })
            if ident(name) == role.name && options.is_password() =>
        {
            Ok(())
        }
        Statement::Role(_) => connection.session.require_superuser("what is said of roles"),
        Statement::Use(_) => Ok(()),
        Statement::Maintain(_) => connection.session.require_superuser("care for the database"),
        Statement::Attach(_) | Statement::Detach { .. } => {
            connection.session.require_superuser("work with other databases")
        }
        Statement::Sql(tree) => checks.sql(tree),
    }
}

/// Checks that a statement works with no files of the machine.
fn check_files(connection: &Connection, statement: &Statement) -> Result<()> {
    let session = &connection.session;
    match statement {
        Statement::Attach(attach) => session.require_file(&attach.path),
        Statement::Maintain(Maintenance::Backup(path) | Maintenance::Publish(path, _)) => {
            session.require_file(path)
        }
        Statement::Sql(tree) => match tree.as_ref() {
            ast::Statement::Copy { target: CopyTarget::File { filename }, .. } => {
                session.require_file(filename)
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

struct Checks<'a> {
    connection: &'a Connection,
    role: &'a Role,
    definitions: Definitions<'a>,
}

impl Checks<'_> {
    fn superuser(&self, what: &str) -> Result<()> {
        self.connection.session.require_superuser(what)
    }

    fn is_temporary(&self) -> bool {
        self.connection.home.kind == Kind::Temporary
    }

    /// The qualified name of a table or view, as it is called where it is; what is not there the statement says.
    fn relation(&self, name: &ObjectName) -> Result<Option<String>> {
        let wanted = object(name)?;
        if let Ok(table) = find_table(&self.definitions, &wanted) {
            return Ok(Some(table.definition().name.clone()));
        }
        Ok(find_view(&self.definitions, &wanted)?.map(|view| view.name.clone()))
    }

    fn has(&self, name: &ObjectName, right: Right) -> Result<()> {
        match self.relation(name)? {
            Some(name) if !self.is_temporary() && !self.role.may(&self.definitions, &name, right) => {
                let what = if right == Right::Own { "owner of" } else { "table" };
                match right {
                    Right::Own if !rights_to(&self.definitions, &name).has(&self.role.name, right) => {
                        Err(crate::Error::invalid(format!(
                            "permission denied: {} must be {what} table {}",
                            self.role.name,
                            split(crate::names::shown(&name)).1
                        )))
                    }
                    _ => Err(denied(what, &name)),
                }
            }
            _ => Ok(()),
        }
    }

    fn owner(&self, name: &ObjectName) -> Result<()> {
        self.has(name, Right::Own)
    }

    fn owner_of_index(&self, name: &ObjectName) -> Result<()> {
        let wanted = qualify(&object(name)?)?;
        for table in self.definitions.tables() {
            let Ok(table) = self.definitions.table(&table) else { continue };
            if table.indexes().iter().any(|index| qualify(index).is_ok_and(|index| index == wanted)) {
                let name = &table.definition().name;
                let may = self.is_temporary() || self.role.may(&self.definitions, name, Right::Own);
                return if may { Ok(()) } else { Err(denied("table", name)) };
            }
        }
        Ok(())
    }

    /// What is not there the statement says.
    fn owner_of_sequence(&self, name: &ObjectName) -> Result<()> {
        match self.definitions.object(ObjectKind::Sequence, &object(name)?) {
            Ok(of)
                if !self.is_temporary()
                    && !self.role.may_with_sequence(&self.definitions, &of, Right::Own) =>
            {
                Err(denied("sequence", &of.name))
            }
            _ => Ok(()),
        }
    }

    fn create_in(&self, name: &ObjectName) -> Result<()> {
        let name = object(name)?;
        self.schema(split(&name).0)
    }

    fn schema(&self, schema: &str) -> Result<()> {
        match self.is_temporary() || self.role.may_create(&self.definitions, schema) {
            true => Ok(()),
            false => Err(denied("schema", schema)),
        }
    }

    /// A new name that is in another schema.
    fn renamed(&self, to: &ObjectName) -> Result<()> {
        if to.0.len() > 1 { self.create_in(to) } else { Ok(()) }
    }

    fn create_table(&self, create: &ast::CreateTable) -> Result<()> {
        self.create_in(&create.name)?;
        if create.or_replace {
            self.owner(&create.name)?;
        }
        for constraint in &create.constraints {
            self.constraint(constraint)?;
        }
        create.columns.iter().flat_map(|column| &column.options).try_for_each(|of| self.option(&of.option))
    }

    /// Rows of a table tell by a foreign key which keys another has, and keep them there.
    fn constraint(&self, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::ForeignKey(key) => self.has(&key.foreign_table, Right::Select),
            _ => Ok(()),
        }
    }

    fn option(&self, option: &ColumnOption) -> Result<()> {
        match option {
            ColumnOption::ForeignKey(key) => self.has(&key.foreign_table, Right::Select),
            _ => Ok(()),
        }
    }

    fn alter_table(&self, alter: &ast::AlterTable) -> Result<()> {
        use AlterTableOperation as O;
        self.owner(&alter.name)?;
        for operation in &alter.operations {
            match operation {
                O::AddConstraint { constraint, .. } => self.constraint(constraint)?,
                O::AddColumn { column_def, .. } => {
                    column_def.options.iter().try_for_each(|of| self.option(&of.option))?;
                }
                O::RenameTable {
                    table_name: ast::RenameTableNameKind::To(to) | ast::RenameTableNameKind::As(to),
                } => self.renamed(to)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn drop(&self, what: ObjectType, names: &[ObjectName]) -> Result<()> {
        names.iter().try_for_each(|name| match what {
            ObjectType::Table | ObjectType::View => self.owner(name),
            ObjectType::Index => self.owner_of_index(name),
            ObjectType::Sequence => self.owner_of_sequence(name),
            ObjectType::Type => self.create_in(name),
            ObjectType::Schema => {
                let name = written(name)?;
                match rights_in(&self.definitions, &name).has(&self.role.name, Right::Own) {
                    true => Ok(()),
                    false => Err(denied("schema", &name)),
                }
            }
            _ => self.superuser("this"),
        })
    }

    fn sql(&self, statement: &ast::Statement) -> Result<()> {
        use ast::Statement as S;
        match statement {
            // Their tables are looked at when they are found.
            S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => Ok(()),
            S::StartTransaction { .. }
            | S::Commit { .. }
            | S::Rollback { .. }
            | S::Savepoint { .. }
            | S::ReleaseSavepoint { .. }
            | S::Execute { .. }
            | S::Deallocate { .. }
            | S::ExplainTable { .. } => Ok(()),
            // What is prepared is looked at when it runs.
            S::Prepare { .. } => Ok(()),
            S::Explain { statement, .. } => self.sql(statement),
            S::Copy { target: CopyTarget::Stdin | CopyTarget::Stdout, .. } => Ok(()),
            S::Copy { target: CopyTarget::File { filename }, .. } => {
                self.connection.session.require_file(filename)
            }
            S::Set(set) => self.set(set),
            S::Reset(ast::ResetStatement { reset: ast::Reset::ConfigurationParameter(name) }) => {
                self.setting(&written(name)?)
            }
            S::Pragma { name, .. } if written(name).is_ok_and(|name| is_hint(&name)) => Ok(()),
            S::Drop { object_type, names, .. } => self.drop(*object_type, names),
            S::AlterTable(alter) => self.alter_table(alter),
            S::CreateIndex(create) => self.owner(&create.table_name),
            S::CreateView(create) => {
                self.create_in(&create.name)?;
                if create.or_replace || create.or_alter { self.owner(&create.name) } else { Ok(()) }
            }
            S::AlterView { name, .. } => self.owner(name),
            S::AlterType(alter) => self.create_in(&alter.name),
            S::Truncate(truncate) => {
                truncate.table_names.iter().try_for_each(|of| self.has(&of.name, Right::Delete))
            }
            S::Comment { object_type, object_name, .. } => match object_type {
                CommentObject::Table | CommentObject::View => self.owner(object_name),
                CommentObject::Column => {
                    let mut table = object_name.clone();
                    table.0.pop();
                    self.owner(&table)
                }
                CommentObject::Sequence => self.owner_of_sequence(object_name),
                _ => self.superuser("this comment"),
            },
            other if is_show(other) => Ok(()),
            _ => self.superuser("this statement"),
        }
    }

    fn set(&self, set: &Set) -> Result<()> {
        match set {
            Set::SingleAssignment { variable, .. } => self.setting(&written(variable)?),
            Set::ParenthesizedAssignments { variables, .. } => {
                variables.iter().try_for_each(|variable| self.setting(&written(variable)?))
            }
            Set::MultipleAssignments { assignments } => {
                assignments.iter().try_for_each(|one| self.setting(&written(&one.name)?))
            }
            _ => Ok(()),
        }
    }

    /// What is set for all connections is not one's own.
    fn setting(&self, name: &str) -> Result<()> {
        match is_of_all(&name.to_lowercase()) {
            true => self.superuser("a setting of all connections"),
            false => Ok(()),
        }
    }
}
