//! Roles: who they are for a connection, and what the catalog keeps of them.

use ambo::{Definitions, Object, ObjectKind};

use super::kept_name;

/// Whom a connection works for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub(crate) name: String,
    pub(crate) level: Level,
    /// Whether it writes nothing, whatever it was granted.
    pub(crate) reads_only: bool,
    /// Whether the database keeps it: what it may do is what that says now.
    pub(crate) is_stored: bool,
}

impl Role {
    /// A role of this name.
    pub fn new(name: impl Into<String>, level: Level) -> Self {
        Self { name: name.into(), level, reads_only: false, is_stored: false }
    }

    /// The same, which with `only` reads and writes nothing, whatever it was granted.
    #[must_use]
    pub fn reads_only(self, only: bool) -> Self {
        Self { reads_only: only, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it may do without having been given the right.
    pub fn level(&self) -> Level {
        self.level
    }
}

/// What a role may do without having been given the right.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Nothing.
    Granted,
    /// To read all tables and views: PostgreSQL's `pg_read_all_data`.
    Reader,
    /// To read and write the rows of all tables: PostgreSQL's `pg_write_all_data` with the above.
    Writer,
    /// All.
    Superuser,
}

/// What the server does for the statements about roles.
pub trait Keeper: Send + Sync {
    /// What is kept of a password: it checks the password, and does not tell it. A text that is one already stays as it is.
    fn secret(&self, password: &str) -> String;

    /// Roles that are known besides those of the database.
    fn roles(&self) -> Vec<Role>;
}

/// A role as the catalog keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredRole {
    pub name: String,
    pub level: Level,
    pub can_login: bool,
    /// What checks its password.
    pub secret: Option<String>,
}

impl StoredRole {
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), level: Level::Granted, can_login: false, secret: None }
    }

    /// The role of a name.
    pub fn find(definitions: &Definitions<'_>, name: &str) -> Option<Self> {
        let object = definitions.object(ObjectKind::Role, &kept_name(name)).ok()?;
        Self::of(&object)
    }

    /// All of them.
    pub fn all(definitions: &Definitions<'_>) -> Vec<Self> {
        definitions.objects(ObjectKind::Role).iter().filter_map(|object| Self::of(object)).collect()
    }

    fn of(object: &Object) -> Option<Self> {
        let name = object.name.split_once('.')?.1;
        let mut role = Self::new(name);
        for word in object.text.split(' ').filter(|word| !word.is_empty()) {
            match word {
                "superuser" => role.level = Level::Superuser,
                "writer" => role.level = Level::Writer,
                "reader" => role.level = Level::Reader,
                "login" => role.can_login = true,
                word => role.secret = Some(word.strip_prefix("password=")?.to_owned()),
            }
        }
        Some(role)
    }

    pub fn object(&self) -> Object {
        let mut words = Vec::new();
        words.extend(match self.level {
            Level::Superuser => Some("superuser"),
            Level::Writer => Some("writer"),
            Level::Reader => Some("reader"),
            Level::Granted => None,
        });
        words.extend(self.can_login.then_some("login"));
        let secret = self.secret.as_ref().map(|secret| format!("password={secret}"));
        words.extend(secret.as_deref());
        let text = words.join(" ");
        Object { kind: ObjectKind::Role, name: kept_name(&self.name), text, comment: None }
    }

    pub fn role(&self) -> Role {
        Role { is_stored: true, ..Role::new(&self.name, self.level) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_written_and_read() {
        let secret = Some("SCRAM-SHA-256$4096:c2FsdA==$a:b".to_owned());
        let role = StoredRole { level: Level::Reader, can_login: true, secret, ..StoredRole::new("a.b c") };
        assert_eq!(role.object().text, "reader login password=SCRAM-SHA-256$4096:c2FsdA==$a:b");
        assert_eq!(StoredRole::of(&role.object()), Some(role));
        let plain = StoredRole::new("ada");
        assert_eq!(StoredRole::of(&plain.object()), Some(plain.clone()));
        assert_eq!(StoredRole::of(&Object { text: "later".to_owned(), ..plain.object() }), None);
    }
}
