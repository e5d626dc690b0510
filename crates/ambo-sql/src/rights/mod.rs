//! Who may do what, where a database is served to several: roles, and rights to tables, views and schemas.
//!
//! 1. A connection without a role may do all: programs that open a database have its files. A role is set by who serves.
//! 2. Rights are kept in the catalog with what they are rights to, so they are read as the transaction sees them, are rolled back with it,
//!    and go with their table.
//! 3. What a statement reads is checked where the planner finds a table or a view ([`Seen::require`]), what it writes where its target is
//!    found, what it defines before it runs (`statements`). Each once a plan. What is not known there is a superuser's.
//! 4. A view is checked, and not what it reads; foreign keys read what they have to. Functions, and defaults and checks that call them,
//!    read what whoever runs the statement may. Temporary tables are their session's.
//! 5. What a function takes of a sequence is checked where the planner finds the function, for what it does (`SequenceFunction`).
//! 6. Who creates something owns it: may do all with it, drop it, and give others rights to it.

mod acl;
mod files;
mod role;
mod statements;

use ambo::{Definitions, Object, ObjectKind};

pub(crate) use acl::Acl;
pub use files::Files;
pub(crate) use role::StoredRole;
pub use role::{Keeper, Level, Role};
pub(crate) use statements::{check, created, owned};

use crate::{
    Connection, Error, Result,
    connection::Work,
    databases::{Kind, Seen},
    names::{shown, split},
    sequences::Definition,
    session::Session,
};

/// What may be done with a table or view, or in a schema.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Right {
    Select,
    Insert,
    Update,
    Delete,
    /// To take numbers of a sequence.
    Usage,
    /// To make tables and the like in a schema.
    Create,
    /// Whatever can be done with it.
    Own,
}

impl Right {
    /// Those that are given for tables, in PostgreSQL's order.
    pub(crate) const OF_TABLES: [Self; 4] = [Self::Insert, Self::Select, Self::Update, Self::Delete];

    /// Those that are given for sequences.
    pub(crate) const OF_SEQUENCES: [Self; 3] = [Self::Select, Self::Update, Self::Usage];

    /// As PostgreSQL writes it in lists of rights.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Select => 'r',
            Self::Insert => 'a',
            Self::Update => 'w',
            Self::Delete => 'd',
            Self::Usage => 'U',
            Self::Create => 'C',
            Self::Own => 'o',
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Select => "SELECT",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Usage => "USAGE",
            Self::Create => "CREATE",
            Self::Own => "OWNER",
        }
    }
}

/// The role of everybody.
pub(crate) const PUBLIC: &str = "public";

/// The name under which the catalog keeps what is no part of a schema: a role, rights to a schema.
pub(crate) fn kept_name(name: &str) -> String {
    format!("{}.{name}", ambo::DEFAULT_SCHEMA)
}

/// The rights to a table or view, by its qualified name; none given: an empty list.
pub(crate) fn rights_to(definitions: &Definitions<'_>, name: &str) -> Acl {
    acl_of(definitions, ObjectKind::Rights, name)
}

/// The rights to a sequence, by its qualified name.
pub(crate) fn rights_to_sequence(definitions: &Definitions<'_>, name: &str) -> Acl {
    acl_of(definitions, ObjectKind::SequenceRights, name)
}

/// The rights to a schema.
pub(crate) fn rights_in(definitions: &Definitions<'_>, schema: &str) -> Acl {
    acl_of(definitions, ObjectKind::SchemaRights, &kept_name(schema))
}

fn acl_of(definitions: &Definitions<'_>, kind: ObjectKind, name: &str) -> Acl {
    // Nobody has a right by a list that cannot be read.
    definitions.object(kind, name).ok().and_then(|object| Acl::parse(&object.text)).unwrap_or_default()
}

impl Role {
    /// Whether its level lets it do something with all tables, views and sequences, or with none; `None` if it takes a right to each.
    fn by_level(&self, right: Right) -> Option<bool> {
        match self.level {
            _ if self.reads_only && right != Right::Select => Some(false),
            Level::Superuser => Some(true),
            Level::Reader | Level::Writer if right == Right::Select => Some(true),
            Level::Writer if right != Right::Own => Some(true),
            _ => None,
        }
    }

    /// Whether it may do something with a table or view.
    pub(crate) fn may(&self, definitions: &Definitions<'_>, name: &str, right: Right) -> bool {
        self.by_level(right).unwrap_or_else(|| rights_to(definitions, name).has(&self.name, right))
    }

    /// Whether it may take numbers of a sequence, read it or set it. One that goes with a table takes the right to insert there, and to set
    /// or change it that to update or own the table.
    pub(crate) fn may_with_sequence(
        &self,
        definitions: &Definitions<'_>,
        sequence: &Object,
        right: Right,
    ) -> bool {
        if let Some(may) = self.by_level(right) {
            return may;
        }
        let of_table = match right {
            Right::Usage => Right::Insert,
            right => right,
        };
        let owner = Definition::read(&sequence.text).ok().and_then(|of| of.owner);
        rights_to_sequence(definitions, &sequence.name).has(&self.name, right)
            || owner.is_some_and(|table| self.may(definitions, &table, of_table))
    }

    /// Whether it may see that there is a table or view: it has any right to it.
    pub(crate) fn may_see(&self, definitions: &Definitions<'_>, name: &str) -> bool {
        match self.level {
            Level::Granted => !rights_to(definitions, name).of(&self.name).is_empty(),
            _ => true,
        }
    }

    /// Whether it may make things in a schema.
    pub(crate) fn may_create(&self, definitions: &Definitions<'_>, schema: &str) -> bool {
        !self.reads_only
            && (self.level == Level::Superuser
                || rights_in(definitions, schema).has(&self.name, Right::Create))
    }
}

impl Role {
    /// What is done without SQL.
    pub(crate) fn require(&self, definitions: &Definitions<'_>, name: &str, access: Access) -> Result<()> {
        let rights: &[Right] = match access {
            Access::Read => &[Right::Select],
            Access::Write => &[Right::Insert, Right::Update],
            Access::Delete => &[Right::Delete],
            Access::Own => &[Right::Own],
            Access::Create => {
                let schema = split(name).0;
                return match self.may_create(definitions, schema) {
                    true => Ok(()),
                    false => Err(denied("schema", schema)),
                };
            }
            Access::All => {
                return match self.level {
                    Level::Superuser => Ok(()),
                    _ => Err(Error::invalid("permission denied: this takes a superuser")),
                };
            }
        };
        let name = ambo::qualify(name)?;
        match rights.iter().all(|right| self.may(definitions, &name, *right)) {
            true => Ok(()),
            false => Err(denied("table", &name)),
        }
    }
}

/// A role as the database keeps it now; another as it is.
fn live(role: &Role, definitions: &Definitions<'_>) -> Result<Role> {
    if !role.is_stored {
        return Ok(role.clone());
    }
    let now = StoredRole::find(definitions, &role.name).map(|stored| stored.role());
    now.map(|now| now.reads_only(role.reads_only)).ok_or_else(|| {
        Error::invalid(format!("permission denied: there is no role \"{}\" any more", role.name))
    })
}

/// What PostgreSQL says.
pub(crate) fn denied(what: &str, name: &str) -> Error {
    Error::invalid(format!("permission denied for {what} {}", split(shown(name)).1))
}

impl Session {
    /// Whether somebody with less than all rights works with it.
    pub(crate) fn is_restricted(&self) -> bool {
        self.restricted().is_some()
    }

    /// The role, unless it may do all.
    pub(crate) fn restricted(&self) -> Option<&Role> {
        self.role.as_deref().filter(|role| role.level != Level::Superuser)
    }

    /// Checks that the role may do all.
    pub(crate) fn require_superuser(&self, what: &str) -> Result<()> {
        match self.restricted() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format!("permission denied: {what} takes a superuser"))),
        }
    }
}

impl Seen<'_> {
    /// Checks that a role may do something with a table or view of this database, by its qualified name.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn require(&self, session: &Session, name: &str, right: Right, what: &str) -> Result<()> {
        match session.restricted() {
            Some(role) if self.kind != Kind::Temporary && !role.may(&self.definitions(), name, right) => {
                Err(denied(what, name))
            }
            _ => Ok(()),
        }
    }
}

impl Work<'_> {
    /// Checks that the role may do something with the table that is written to.
    ///
    /// # Errors
    /// It may not.
    pub(crate) fn require(&self, table: &str, right: Right) -> Result<()> {
        match self.session.restricted() {
            Some(role) if self.home.1 != Kind::Temporary && !role.may(&self.definitions(), table, right) => {
                Err(denied("table", table))
            }
            _ => Ok(()),
        }
    }
}

impl Connection {
    /// Says for whom it works: what is not the role's right is refused from now on. Without a role all is allowed.
    ///
    /// ```
    /// use ambo_sql::{Level, Role};
    /// let db = ambo_sql::Database::in_memory()?;
    /// db.connect().script("create table t (id int); create role ada; grant select on t to ada")?;
    /// let mut connection = db.connect();
    /// connection.set_role(Role::new("ada", Level::Granted));
    /// assert_eq!(connection.sql("select * from t")?.count(), 0);
    /// let error = connection.execute("insert into t values (1)", ()).unwrap_err();
    /// assert_eq!((error.sqlstate(), error.message()), ("42501", "permission denied for table t"));
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    pub fn set_role(&mut self, role: Role) {
        (self.session.role, self.session.role_of) = (Some(std::sync::Arc::new(role)), None);
    }

    /// Has what its role may do be what the database says now, where that keeps the role.
    ///
    /// # Errors
    /// There is no such role any more.
    pub(crate) fn refresh_role(&mut self) -> Result<()> {
        let Some(role) = self.session.role.as_ref().filter(|role| role.is_stored) else { return Ok(()) };
        let db = &self.home.engine.db;
        if self.session.role_of.as_ref().is_some_and(|of| of.is_current(db)) {
            return Ok(());
        }
        let definitions = db.definitions(db);
        let now = live(role, &definitions)?;
        self.session.role_of = Some(definitions.stamp());
        if now != **role {
            self.session.role = Some(std::sync::Arc::new(now));
        }
        Ok(())
    }

    /// Whether its role may read, or write, a table or view without SQL. `name` is `schema.table`, or `table` of the schema `main`.
    ///
    /// # Errors
    /// It may not: `42501`.
    pub fn require(&self, name: &str, access: Access) -> Result<()> {
        match &self.session.role {
            None => Ok(()),
            Some(role) => live(role, &self.definitions())?.require(&self.definitions(), name, access),
        }
    }

    /// Says with which files of the machine it has to do: with all, unless this says otherwise.
    pub fn set_files(&mut self, files: Files) {
        self.session.files = files;
    }

    /// Lets it read one file though its role may read none: one that whoever serves has made for it.
    pub fn set_own_file(&mut self, path: Option<&str>) {
        self.session.own_file = path.map(Into::into);
    }

    /// Makes its role the owner of a table that was created without SQL.
    ///
    /// # Errors
    /// As those of the store.
    pub fn own(&mut self, name: &str) -> Result<()> {
        let name = ambo::qualify(name)?;
        owned(self, &statements::Created::Relation(name))
    }
}

/// What is done with a table without SQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Rows are read.
    Read,
    /// Rows are put, in the place of others too.
    Write,
    /// Rows are deleted.
    Delete,
    /// It is dropped or changed.
    Own,
    /// It is made.
    Create,
    /// What concerns the whole database.
    All,
}
