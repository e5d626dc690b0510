//! A database of a connection, with the part of its transaction that is in it.

use std::sync::Arc;

use ambo::{CatalogEdit, Definitions, ObjectKind, Savepoint, Snapshot, Transaction};

use crate::{Error, Result, connection::Isolation, engine::SqlEngine};

/// What the connection's own database is called.
pub(crate) const MAIN: &str = "ambo";

/// What a database is to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The one that it is a connection to.
    Main,
    /// In memory, with temporary objects.
    Temporary,
    /// With `is_own` no other connection has it.
    Attached { read_only: bool, is_own: bool },
}

/// See the module.
pub(crate) struct Place {
    pub name: String,
    pub kind: Kind,
    /// Where it is, if it was attached from there.
    pub path: Option<String>,
    pub engine: Arc<SqlEngine>,
    pub scope: Scope,
    /// Tables that have no rows between transactions.
    pub emptied: Vec<String>,
}

/// What statements see and write to.
pub(crate) enum Scope {
    /// Each has a transaction of its own.
    Auto,
    Open(Box<OpenTransaction>),
    /// Of a transaction that only reads. Under read committed it is another for each statement.
    ReadOnly(Arc<Snapshot>, Isolation),
}

pub(crate) struct OpenTransaction {
    pub transaction: Transaction,
    isolation: Isolation,
    /// From the oldest to the newest.
    savepoints: Vec<(String, Savepoint)>,
    /// Whether something may have been written.
    pub has_written: bool,
    /// Tables that go when it is committed.
    pub passing: Vec<String>,
}

/// A database as a statement sees it.
#[derive(Clone)]
pub(crate) struct Seen<'a> {
    pub name: &'a str,
    pub kind: Kind,
    pub path: Option<&'a str>,
    pub engine: &'a SqlEngine,
    pub view: Arc<Snapshot>,
    /// The transaction whose view it is: a serializable one has to know what is read.
    pub transaction: Option<&'a Transaction>,
}

impl Seen<'_> {
    pub(crate) fn definitions(&self) -> Definitions<'_> {
        self.engine.db.definitions(&*self.view)
    }
}

impl Place {
    pub(super) fn new(name: impl Into<String>, kind: Kind, engine: Arc<SqlEngine>) -> Self {
        Self { name: name.into(), kind, path: None, engine, scope: Scope::Auto, emptied: Vec::new() }
    }

    pub(crate) fn main(engine: Arc<SqlEngine>) -> Self {
        Self::new(MAIN, Kind::Main, engine)
    }

    /// Whether nobody else has it.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Temporary | Kind::Attached { is_own: true, .. })
    }

    /// Whether it is attached to be read.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.kind, Kind::Attached { read_only: true, .. })
    }

    pub(crate) fn has_written(&self) -> bool {
        matches!(&self.scope, Scope::Open(open) if open.has_written)
    }

    pub(crate) fn seen(&self) -> Seen<'_> {
        let (view, transaction) = match &self.scope {
            Scope::Auto => (Arc::new(self.engine.db.snapshot()), None),
            Scope::Open(open) => (Arc::new(open.transaction.view()), Some(&open.transaction)),
            Scope::ReadOnly(snapshot, _) => (snapshot.clone(), None),
        };
        Seen {
            name: &self.name,
            kind: self.kind,
            path: self.path.as_deref(),
            engine: &self.engine,
            view,
            transaction,
        }
    }

    /// What there is, as the next statement sees it.
    pub(crate) fn definitions(&self) -> Definitions<'_> {
        let db = &self.engine.db;
        match &self.scope {
            Scope::Auto => db.definitions(db),
            Scope::Open(open) => db.definitions(&open.transaction),
            Scope::ReadOnly(snapshot, _) => db.definitions(&**snapshot),
        }
    }

    /// Whether there is nothing that anybody has created.
    pub(super) fn is_empty(&self) -> bool {
        let of = self.definitions();
        let objects = [ObjectKind::Function, ObjectKind::Sequence, ObjectKind::Type];
        of.tables().is_empty()
            && of.views().is_empty()
            && objects.iter().all(|kind| of.objects(*kind).is_empty())
    }

    pub(crate) fn begin(&mut self, read_only: bool, isolation: Isolation) -> Result<()> {
        let db = &self.engine.db;
        let transaction = match isolation {
            _ if read_only || self.is_read_only() => {
                self.scope = Scope::ReadOnly(Arc::new(db.snapshot()), isolation);
                return Ok(());
            }
            Isolation::ReadCommitted => db.begin_read_committed()?,
            Isolation::Snapshot => db.begin()?,
            Isolation::Serializable => db.begin_serializable()?,
        };
        self.scope = Scope::Open(Box::new(OpenTransaction {
            transaction,
            isolation,
            savepoints: Vec::new(),
            has_written: false,
            passing: Vec::new(),
        }));
        Ok(())
    }

    /// Begins what another has open, with its savepoints.
    pub(super) fn begin_as(&mut self, other: &Self) -> Result<()> {
        match &other.scope {
            Scope::Auto => Ok(()),
            Scope::ReadOnly(_, isolation) => self.begin(true, *isolation),
            Scope::Open(open) => {
                self.begin(false, open.isolation)?;
                open.savepoints.iter().try_for_each(|(name, _)| self.savepoint(name))
            }
        }
    }

    /// Has the next statement see what others have committed, if that is how the transaction reads.
    pub(crate) fn refresh(&mut self) -> Result<()> {
        match &mut self.scope {
            Scope::Open(open) => Ok(open.transaction.refresh()?),
            Scope::ReadOnly(snapshot, Isolation::ReadCommitted) => {
                *snapshot = Arc::new(self.engine.db.snapshot());
                Ok(())
            }
            Scope::Auto | Scope::ReadOnly(..) => Ok(()),
        }
    }

    pub(crate) fn commit(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.scope, Scope::Auto) {
            Scope::Auto | Scope::ReadOnly(..) => Ok(()),
            Scope::Open(mut open) => {
                for name in std::mem::take(&mut open.passing) {
                    if self.engine.db.definitions(&open.transaction).table(&name).is_ok() {
                        open.transaction.define(&CatalogEdit::DropTable(name))?;
                    }
                }
                if open.has_written {
                    self.empty(&mut open.transaction)?;
                }
                if open.transaction.has_own_definitions() {
                    self.engine.sequences.save_own(&mut open.transaction)?;
                }
                Ok(open.transaction.commit()?)
            }
        }
    }

    /// Takes away the rows of tables that have none between transactions.
    fn empty(&self, transaction: &mut Transaction) -> Result<()> {
        for name in &self.emptied {
            if self.engine.db.definitions(&*transaction).table(name).is_ok() {
                transaction.define(&CatalogEdit::TruncateTable(name.clone()))?;
            }
        }
        Ok(())
    }

    /// The same behind a statement that was a transaction of its own.
    pub(crate) fn empty_after(&self) -> Result<()> {
        if self.emptied.is_empty() || !matches!(self.scope, Scope::Auto) {
            return Ok(());
        }
        let mut transaction = self.engine.db.begin()?;
        self.empty(&mut transaction)?;
        Ok(transaction.commit()?)
    }

    pub(crate) fn rollback(&mut self) {
        if let Scope::Open(open) = std::mem::replace(&mut self.scope, Scope::Auto) {
            open.transaction.rollback();
        }
    }

    pub(crate) fn savepoint(&mut self, name: &str) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let open = self.open()?;
        let savepoint = open.transaction.savepoint();
        open.savepoints.push((name.to_owned(), savepoint));
        Ok(())
    }

    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let open = self.open()?;
        let place = open.place_of(name)?;
        let savepoint = open.savepoints[place].1;
        open.savepoints.truncate(place + 1);
        Ok(open.transaction.rollback_to(savepoint)?)
    }

    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        let open = self.open()?;
        let place = open.place_of(name)?;
        open.savepoints.truncate(place);
        Ok(())
    }

    pub(crate) fn open(&mut self) -> Result<&mut OpenTransaction> {
        match &mut self.scope {
            Scope::Open(open) => Ok(open),
            _ => Err(no_transaction()),
        }
    }
}

impl OpenTransaction {
    /// Where the newest savepoint of this name is.
    fn place_of(&self, name: &str) -> Result<usize> {
        let place = self.savepoints.iter().rposition(|(known, _)| known == name);
        let known = self.savepoints.iter().map(|(name, _)| name.as_str());
        place.ok_or_else(|| Error::not_found("savepoint", name, known))
    }
}

pub(crate) fn no_transaction() -> Error {
    Error::invalid("no transaction is open").with_hint("BEGIN opens one")
}
