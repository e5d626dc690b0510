//! What a role may read: looked at where the planner finds it.

use std::sync::PoisonError;

use ambo::{Object, ObjectKind};

use super::Planner;
use crate::{
    Result,
    databases::{Kind, Seen},
    rights::{Right, Role, denied},
};

impl Planner<'_> {
    /// Whether what is named now is named by the statement itself, and not by a view. Defaults, checks and functions are the statement's.
    pub(super) fn is_checked(&self) -> bool {
        let is_within = || !self.views.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        self.session.is_restricted() && !self.is_of_owner && !is_within()
    }

    /// Checks that the role may read a table or view of a database.
    pub(crate) fn require_read(&self, place: usize, name: &str, what: &str) -> Result<()> {
        match self.is_checked() {
            true => self.places[place].require(&self.session, name, Right::Select, what),
            false => Ok(()),
        }
    }

    /// Whether the role may do one of these with a sequence. Foreign keys and the like do what they have to.
    pub(super) fn may_with_sequence(&self, seen: &Seen<'_>, sequence: &Object, rights: &[Right]) -> bool {
        match self.session.restricted() {
            Some(role) if seen.kind != Kind::Temporary && !self.is_of_owner => {
                let definitions = seen.definitions();
                rights.iter().any(|right| role.may_with_sequence(&definitions, sequence, *right))
            }
            _ => true,
        }
    }

    /// Checks that the role may read a sequence of a database, as its rows.
    pub(super) fn require_sequence(&self, place: usize, name: &str) -> Result<()> {
        let seen = &self.places[place];
        match seen.definitions().object(ObjectKind::Sequence, name) {
            Ok(of) if !self.may_with_sequence(seen, &of, &[Right::Select]) => {
                Err(denied("sequence", &of.name))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the role may read files of the machine. A view does not make that another's right.
    pub(super) fn require_file(&self, path: &str) -> Result<()> {
        self.session.require_file(path)
    }

    /// The same where it is not known yet which files: those are looked at by [`Planner::require_path`].
    pub(super) fn require_files(&self) -> Result<()> {
        self.session.require_files()
    }

    /// Checks that a path, or all that a pattern finds, is where files may be read.
    pub(super) fn require_path(&self, path: &str) -> Result<()> {
        self.session.require_path(path)
    }

    /// The role, unless it sees all.
    pub(crate) fn restricted(&self) -> Option<&Role> {
        self.session.restricted()
    }

    /// Whether the catalog shows a table or view of a database.
    pub(crate) fn shows(&self, place: usize, name: &str) -> bool {
        let seen = &self.places[place];
        match self.session.restricted() {
            Some(role) if seen.kind != Kind::Temporary => role.may_see(&seen.definitions(), name),
            _ => true,
        }
    }
}
