//! Who may come in: roles, with passwords or tokens, of neither of which more is kept than what checks them.
//!
//! They are kept in a file with a line for each, which only its owner can read:
//!
//! ```text
//! ada SCRAM-SHA-256$4096:c2FsdA==$…:…
//! grafana TOKEN$… read-only
//! ```
//!
//! Without a word a role may do all; `read-only` reads, `writer` reads and writes rows, `limited` has what it was granted.

mod file;
mod secret;
mod token;
mod visitor;

use std::{collections::BTreeMap, sync::Arc};

use ambo_sql::Level;

pub use secret::Secret;
pub(crate) use secret::{is_same, random};
pub use token::Token;
pub(crate) use visitor::{FileRoles, Visitor};

/// Somebody who may come in.
#[derive(Clone, Debug)]
#[must_use]
pub struct Role {
    pub(crate) name: String,
    pub(crate) secret: Option<Secret>,
    pub(crate) token: Option<Token>,
    pub(crate) level: Level,
}

impl Role {
    /// A role of this name, which has no password and no token yet: nobody can come in as it.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), secret: None, token: None, level: Level::Superuser }
    }

    /// The same with a password.
    pub fn password(mut self, password: &str) -> Self {
        self.secret = Some(Secret::of(password));
        self
    }

    /// The same with a token, which opens HTTP.
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// The same, which may only read.
    pub fn read_only(mut self, is_read_only: bool) -> Self {
        self.level = if is_read_only { Level::Reader } else { Level::Superuser };
        self
    }

    /// The same, which may do so much without having been granted a right. [`Level::Reader`] writes nothing, whatever it was granted.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// What it may do without having been granted a right.
    pub fn may(&self) -> Level {
        self.level
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may only read.
    pub fn is_read_only(&self) -> bool {
        self.level == Level::Reader
    }
}

/// All roles of a server.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    roles: BTreeMap<String, Arc<Role>>,
}

impl Roles {
    /// No roles: whoever reaches the server may come in, at loopback.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty()
    }

    /// Adds a role, in the place of another of its name.
    pub fn add(&mut self, role: Role) {
        self.roles.insert(role.name.clone(), Arc::new(role));
    }

    /// Takes a role away; whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        self.roles.remove(name).is_some()
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Role> {
        self.roles.values().map(AsRef::as_ref)
    }

    /// The role of a name.
    pub fn get(&self, name: &str) -> Option<&Role> {
        self.roles.get(name).map(AsRef::as_ref)
    }

    /// The role that comes in with a token, as HTTP's `Bearer` has it.
    pub fn with_token(&self, token: &str) -> Option<&Role> {
        let given = Token::of(token);
        // All are looked at, so that time tells nothing.
        let is_it = |role: &&Role| role.token.as_ref().is_some_and(|token| token.is(&given));
        self.iter().filter(is_it).last()
    }
}
