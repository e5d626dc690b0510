//! Who comes in: roles of the server's file, and roles of the database, which `CREATE ROLE` makes.

use ambo_sql::{Keeper, Level};

use super::{Role, Roles, Secret};
use crate::server::Shared;

/// Somebody who has come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub role: ambo_sql::Role,
    /// Whether nothing is written for it, whatever it was granted.
    pub is_read_only: bool,
    /// Whether its statements have to do with files whatever the server's options say: it is the server's own user.
    pub has_files: bool,
}

impl Visitor {
    /// Whoever reaches a server that has no roles.
    pub fn anybody(name: &str) -> Self {
        Self { role: ambo_sql::Role::new(name, Level::Superuser), is_read_only: false, has_files: false }
    }

    /// The user whose process this is.
    #[cfg(feature = "http")]
    pub fn own() -> Self {
        Self { has_files: true, ..Self::anybody("ambo") }
    }

    fn of(role: &Role) -> Self {
        Self {
            role: ambo_sql::Role::new(&role.name, role.level).reads_only(role.is_read_only()),
            is_read_only: role.is_read_only(),
            has_files: false,
        }
    }

    pub fn name(&self) -> &str {
        self.role.name()
    }
}

/// What the database asks of the server about roles.
pub(crate) struct FileRoles(pub Roles);

impl Keeper for FileRoles {
    fn secret(&self, password: &str) -> String {
        match Secret::parse(password) {
            // psql's \password sends what is to be kept.
            Some(_) => password.to_owned(),
            None => Secret::of(password).to_string(),
        }
    }

    fn roles(&self) -> Vec<ambo_sql::Role> {
        self.0.iter().map(|role| ambo_sql::Role::new(&role.name, role.level)).collect()
    }
}

impl Shared {
    /// Whether whoever reaches the server comes in.
    pub fn is_open(&self) -> bool {
        self.options.roles.is_empty() && !self.database.has_roles()
    }

    /// The role of a name that has a password.
    pub fn with_secret(&self, name: &str) -> Option<(Visitor, Secret)> {
        if let Some(role) = self.options.roles.get(name) {
            return Some((Visitor::of(role), role.secret.clone()?));
        }
        let (role, secret) = self.database.login(name)?;
        Some((Visitor { role, is_read_only: false, has_files: false }, Secret::parse(&secret?)?))
    }

    /// The role that comes in with a name and a password. It takes as long for names that are no role's.
    pub fn with_password(&self, name: &str, password: &str) -> Option<Visitor> {
        match self.with_secret(name) {
            Some((visitor, secret)) => secret.is_of(password).then_some(visitor),
            None => {
                Secret::mock(name).is_of(password);
                None
            }
        }
    }

    /// The role that comes in with a token.
    #[cfg(feature = "http")]
    pub fn with_token(&self, token: &str) -> Option<Visitor> {
        self.options.roles.with_token(token).map(Visitor::of)
    }
}
