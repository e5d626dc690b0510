//! The databases that a statement sees: where its names are sought.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

use ambo::{Definitions, Object, ObjectKind, Table};
use datafusion::{common::TableReference, sql::sqlparser::ast::ObjectName};

use super::{Planner, macros, tables::find_table};
use crate::{
    Result,
    databases::{Kind, Named, Names, Seen, has_schema, local, meant_schema},
    names::{ident, split},
    sequences::{self, Number, There},
    user_types::UserTypes,
    walk::WalkMut,
};

impl<'a> Planner<'a> {
    /// The database that names are sought in; `None` where they are sought as the session says.
    pub(super) fn within(&self) -> Option<usize> {
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        match views.last() {
            Some((within, _)) => *within,
            None => self.is_of_home.then_some(0),
        }
    }

    /// The database that the names of a view are sought in.
    pub(super) fn within_view_of(&self, place: usize) -> Option<usize> {
        (self.places[place].kind != Kind::Temporary).then_some(place)
    }

    /// The databases, one's own first and that of temporary objects last.
    pub(crate) fn catalogs(&self) -> Vec<usize> {
        let turn = |place: usize| match self.places[place].kind {
            Kind::Main => 0,
            Kind::Attached { .. } => 1,
            Kind::Temporary => 2,
        };
        let mut all: Vec<_> = (0..self.places.len()).collect();
        all.sort_by_key(|place| turn(*place));
        all
    }

    pub(crate) fn place(&self, place: usize) -> &Seen<'a> {
        &self.places[place]
    }

    fn with_names<R>(&self, act: impl FnOnce(&Names<'_>) -> R) -> R {
        let places: Vec<_> = self.places.iter().map(|place| (place.name, place.kind)).collect();
        act(&Names { places: &places, path: &self.session.path })
    }

    /// What the name of a table may mean, in the order in which it is sought.
    pub(super) fn candidates(&self, name: &TableReference) -> Result<Vec<Named>> {
        let parts = match name {
            TableReference::Bare { table } => vec![table.to_string()],
            TableReference::Partial { schema, table } => vec![schema.to_string(), table.to_string()],
            TableReference::Full { catalog, schema, table } => {
                vec![catalog.to_string(), schema.to_string(), table.to_string()]
            }
        };
        self.candidates_of(&parts)
    }

    pub(super) fn candidates_of(&self, parts: &[String]) -> Result<Vec<Named>> {
        if let (Some(place), [.., name]) = (self.within(), parts)
            && parts.len() < 3
        {
            let schema = match parts {
                [schema, _] => meant_schema(&self.places[place].definitions(), schema),
                _ => ambo::DEFAULT_SCHEMA,
            };
            return Ok(vec![Named { place, schema: schema.to_owned(), name: name.clone() }]);
        }
        self.with_names(|names| {
            names.candidates(parts, |place, schema| has_schema(&self.places[place].definitions(), schema))
        })
    }

    /// Whether only this statement knows a table of this name.
    pub(super) fn has_extra(&self, name: &str) -> bool {
        self.extra.contains_key(name)
    }

    /// The database of this name, if it is no schema.
    pub(super) fn database_of(&self, name: &str) -> Option<&str> {
        self.with_names(|names| {
            let first = names.first().ok()?;
            let place = names.place(name)?;
            (!has_schema(&self.places[first].definitions(), name)).then(|| self.places[place].name)
        })
    }

    /// The stored table that a statement names.
    ///
    /// # Errors
    /// As [`find_table`].
    pub(crate) fn stored(&self, name: &ObjectName) -> Result<Table> {
        let parts = name.0.iter().filter_map(|part| part.as_ident().map(ident));
        let candidates = self.candidates_of(&parts.collect::<Vec<_>>())?;
        let table = |named: &Named| find_table(&self.places[named.place].definitions(), &named.local());
        match candidates.iter().find_map(|named| table(named).ok()) {
            Some(found) => Ok(found),
            None => table(&self.new_name(&candidates)?),
        }
    }

    /// What a name means of which there is nothing.
    pub(super) fn new_name(&self, candidates: &[Named]) -> Result<Named> {
        self.with_names(|names| names.of_new(candidates).cloned())
    }

    /// Where functions, types and sequences are, the databases that come first last.
    fn of_objects(&self, kind: ObjectKind) -> Result<Vec<usize>> {
        if let Some(place) = self.within_for(kind) {
            return Ok(vec![place]);
        }
        let first = self.with_names(|names| names.first())?;
        let temporary = self.places.iter().position(|place| place.kind == Kind::Temporary);
        let mut all = vec![0];
        all.extend((first != 0).then_some(first));
        // What stays has no part in what is temporary.
        all.extend(temporary.filter(|_| !self.is_of_home));
        Ok(all)
    }

    /// The database that objects of a kind are sought in. What types are is kept with what has them, so they may be anywhere.
    fn within_for(&self, kind: ObjectKind) -> Option<usize> {
        let is_view = !self.views.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        self.within().filter(|_| is_view || kind != ObjectKind::Type)
    }

    /// Objects of a kind by the names that they are found under, and where they are.
    fn objects(&self, kind: ObjectKind) -> Result<HashMap<String, (Arc<Object>, usize)>> {
        let mut found = HashMap::new();
        for place in self.of_objects(kind)? {
            let all = self.places[place].definitions().objects(kind);
            found.extend(all.into_iter().map(|object| (object.name.clone(), (object, place))));
        }
        if self.within_for(kind).is_some() {
            return Ok(found);
        }
        // What schemas of the search path have is found without them.
        let main = |name: &str| ambo::qualify(name);
        for step in self.session.path.0.iter().rev().filter(|step| step.schema != ambo::DEFAULT_SCHEMA) {
            let of_step: Vec<_> = found
                .iter()
                .filter(|(name, _)| split(name).0 == step.schema)
                .map(|(name, of)| (main(&local(ambo::DEFAULT_SCHEMA, split(name).1)), of.clone()))
                .collect();
            for (name, of) in of_step {
                found.insert(name?, of);
            }
        }
        Ok(found)
    }

    pub(crate) fn types(&self) -> Result<UserTypes> {
        let all = self.objects(ObjectKind::Type)?;
        Ok(UserTypes::new(all.into_iter().map(|(name, (object, _))| (name, object)).collect()))
    }

    /// The sequences that there are, for what a function does with them.
    pub(super) fn sequences(&self, what: Number) -> Result<There> {
        let all = self.objects(ObjectKind::Sequence)?;
        let with = |(name, (object, place)): (String, (Arc<Object>, usize))| {
            let seen = &self.places[place];
            let is_allowed = what.rights().is_empty() || self.may_with_sequence(seen, &object, what.rights());
            (name, sequences::Seen { object, sequences: seen.engine.sequences.clone(), is_allowed })
        };
        Ok(all.into_iter().map(with).collect())
    }

    /// Writes out the functions of users in a tree.
    pub(super) fn write_out_functions(&self, tree: &mut impl WalkMut) -> Result<()> {
        let known = self.objects(ObjectKind::Function)?;
        if known.is_empty() {
            return Ok(());
        }
        let first = match self.within() {
            Some(place) => place,
            None => self.with_names(|names| names.first())?,
        };
        let known = known.into_iter().map(|(name, (object, _))| (name, object)).collect();
        macros::write_out(tree, &known, &self.places[first].definitions())
    }

    /// What there is in the database that the statement is about, as it sees it.
    pub(crate) fn definitions(&self) -> Definitions<'_> {
        self.places[0].definitions()
    }
}
