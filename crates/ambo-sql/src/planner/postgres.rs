//! What clients of PostgreSQL see of the databases: made once for a statement that asks for it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use super::Planner;
use crate::{
    Result,
    pg_catalog::{Catalog, PostgresSession},
};

/// See the module.
#[derive(Default)]
pub(super) struct PgCatalog {
    whole: OnceLock<Arc<Catalog>>,
    /// The same, without the columns of views: a view that is about it is planned with this one.
    without_views: OnceLock<Arc<Catalog>>,
    is_being_made: AtomicBool,
}

impl Planner<'_> {
    /// # Errors
    /// A definition that cannot be read.
    pub(crate) fn pg_catalog(&self) -> Result<Arc<Catalog>> {
        let of = &self.pg_catalog;
        if let Some(made) = of.whole.get() {
            return Ok(made.clone());
        }
        if of.is_being_made.swap(true, Ordering::Relaxed) {
            let made = match of.without_views.get() {
                Some(made) => made.clone(),
                None => Arc::new(Catalog::of(self, false)?),
            };
            return Ok(of.without_views.get_or_init(|| made).clone());
        }
        let made = Catalog::of(self, true);
        of.is_being_made.store(false, Ordering::Relaxed);
        let made = Arc::new(made?);
        Ok(of.whole.get_or_init(|| made).clone())
    }

    /// What the client of the session is told, if it is one of PostgreSQL.
    pub(crate) fn postgres(&self) -> Option<&PostgresSession> {
        self.session.postgres.as_deref()
    }

    /// The schemas in which names are sought.
    pub(crate) fn path(&self) -> Vec<String> {
        let of_home = self.session.path.0.iter().filter(|step| step.database.is_none());
        of_home.map(|step| step.schema.clone()).collect()
    }
}
