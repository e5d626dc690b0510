//! The databases of a connection: its own, those that ATTACH has put beside it, and the one of its temporary objects.
//!
//! 1. Each is a [`Place`] with an engine and a transaction of its own; transactions begin, end and have savepoints in all at once.
//! 2. A statement is about one of them, its *home*: what it creates, changes and drops is there ([`home`]). The home is the connection's
//!    database while the statement runs ([`Connection::at`]), and names of what is written are those in it.
//! 3. What is read may be in any of them ([`names`]): temporary objects first, then what the search path says.
//! 4. A transaction writes to one database that others may see. Those that nobody else has, temporary ones and `:memory:`, are committed
//!    behind it: nothing can come in their way.

mod attach;
mod bind;
mod home;
mod names;
mod place;

use std::ops::{Deref, DerefMut};

use ambo::{DEFAULT_SCHEMA, Definitions};
use datafusion::sql::sqlparser::ast::ObjectName;

pub(crate) use attach::{Attached, attach, detach, use_database};
pub(crate) use home::table_anywhere;
pub(crate) use names::{Named, Names, SearchPath, has_schema, local, meant_schema};
pub(crate) use place::{Kind, MAIN, Place, Scope, Seen, no_transaction};

use crate::{Connection, Error, Result, connection::Work, names::about_object};

/// A connection while a statement is about one of its databases.
pub(crate) struct At<'c> {
    connection: &'c mut Connection,
    nth: usize,
}

impl Deref for At<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl DerefMut for At<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection
    }
}

impl Drop for At<'_> {
    fn drop(&mut self) {
        self.connection.swap(self.nth);
    }
}

impl Work<'_> {
    /// What may stand before the columns of a table that is written to: its schema where that leads to this database, and its whole name.
    pub(crate) fn qualifiers(&self, schema: &str, name: &str) -> Result<Vec<Vec<String>>> {
        let (database, kind) = self.home;
        let mut places = vec![(database, kind)];
        places.extend(self.others.iter().map(|place| (place.name.as_str(), place.kind)));
        let names = Names { places: &places, path: &self.session.path };
        let whole = [database, schema, name].map(str::to_owned).to_vec();
        let mut all = vec![whole];
        if names.first()? == 0 {
            all.push([schema, name].map(str::to_owned).to_vec());
        }
        if schema == DEFAULT_SCHEMA {
            all.push([database, name].map(str::to_owned).to_vec());
            if kind == Kind::Temporary {
                all.push(["pg_temp", name].map(str::to_owned).to_vec());
            }
        }
        Ok(all)
    }
}

impl Connection {
    /// The connection with its nth database as the one that statements are about. The first is the one that it is now.
    pub(crate) fn at(&mut self, nth: usize) -> At<'_> {
        self.swap(nth);
        At { connection: self, nth }
    }

    fn swap(&mut self, nth: usize) {
        if let Some(other) = nth.checked_sub(1) {
            std::mem::swap(&mut self.home, &mut self.others[other]);
        }
    }

    /// Its databases, the one that statements are about first.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.home).chain(&self.others)
    }

    pub(crate) fn place(&self, nth: usize) -> &Place {
        nth.checked_sub(1).map_or(&self.home, |other| &self.others[other])
    }

    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        std::iter::once(&mut self.home).chain(&mut self.others)
    }

    /// Whether names mean what they mean in the connection's own database alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.others.is_empty() && self.session.is_default()
    }

    /// Where the database of temporary objects is; made if there is none yet.
    fn temporary(&mut self) -> Result<usize> {
        if let Some(nth) = self.places().position(|place| place.kind == Kind::Temporary) {
            return Ok(nth);
        }
        let engine = self.home.engine.beside(ambo::Options::new().sync(ambo::Sync::Off).open_in_memory()?);
        self.add(Place::new("temp", Kind::Temporary, engine.into()))
    }

    /// A database beside the others, with their transaction.
    fn add(&mut self, mut place: Place) -> Result<usize> {
        place.begin_as(&self.home)?;
        self.others.push(place);
        Ok(self.others.len())
    }

    /// Forgets the database of temporary objects where nothing is left in it.
    pub(crate) fn tidy(&mut self) {
        if !self.in_transaction() {
            self.others.retain(|place| place.kind != Kind::Temporary || !place.is_empty());
        }
    }

    /// What a name may mean, in the order in which it is sought.
    ///
    /// # Errors
    /// No such database, or one that is called as a schema.
    pub(crate) fn candidates(&self, name: &ObjectName) -> Result<Vec<Named>> {
        let parts = names::parts(name)?;
        self.candidates_of(&parts).map_err(|error| about_object(error, name))
    }

    pub(crate) fn candidates_of(&self, parts: &[String]) -> Result<Vec<Named>> {
        let has_schema = |nth: usize, schema: &str| names::has_schema(&self.place(nth).definitions(), schema);
        self.with_names(|names| names.candidates(parts, has_schema))
    }

    fn with_names<R>(&self, act: impl FnOnce(&Names<'_>) -> R) -> R {
        let places: Vec<_> = self.places().map(|place| (place.name.as_str(), place.kind)).collect();
        act(&Names { places: &places, path: &self.session.path })
    }

    /// The first of what a name may mean that is there, or else what it means where it is new.
    fn first_there(
        &self,
        name: &ObjectName,
        is_there: impl Fn(&Definitions<'_>, &Named) -> bool,
    ) -> Result<Named> {
        let candidates = self.candidates(name)?;
        match candidates.iter().find(|of| is_there(&self.place(of.place).definitions(), of)) {
            Some(found) => Ok(found.clone()),
            None => self.with_names(|names| names.of_new(&candidates).cloned()),
        }
    }

    /// The table or view of this name, and what there is in its database, for what only reads.
    pub(crate) fn definitions_with(&self, name: &ObjectName) -> Result<(Definitions<'_>, Named)> {
        let named = self.first_there(name, names::has_relation)?;
        Ok((self.place(named.place).definitions(), named))
    }

    /// Whether a table or a view has a name, in whichever database it is sought.
    pub(crate) fn has_relation(&self, parts: &[String]) -> Result<bool> {
        let candidates = self.candidates_of(parts)?;
        Ok(candidates.iter().any(|of| names::has_relation(&self.place(of.place).definitions(), of)))
    }

    /// # Errors
    /// The database is attached to be read, or the transaction has written to another.
    pub(crate) fn require_writable(&self) -> Result<()> {
        if self.home.is_read_only() {
            return Err(Error::invalid(format!("database \"{}\" is attached read only", self.home.name)));
        }
        let is_other = |other: &&Place| !other.is_own() && other.has_written();
        match self.others.iter().find(is_other) {
            Some(other) if !self.home.is_own() => Err(Error::invalid(format!(
                "the transaction has written to database \"{}\", so it cannot write to \"{}\"",
                other.name, self.home.name
            ))
            .with_hint("COMMIT first: a transaction writes to one database, and may read all")),
            _ => Ok(()),
        }
    }
}
