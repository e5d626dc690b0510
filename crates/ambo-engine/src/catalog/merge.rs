//! What one catalog has that another has not, and making the same of a third.
//!
//! A transaction changes a copy of the catalog that it found. When it commits, the catalog may be another: its changes are made of that one
//! then, if nobody has changed the same rows.

use ambo_types::{Error, Result, id::TableId};

use super::{
    Catalog, CatalogChange, OBJECT_ROW, SCHEMA_ROW, TABLE_ROW, TableDefinition, VIEW_ROW, schema_key,
    table_change, table_key,
};

/// A row of the catalog, as far as a transaction can change it.
#[derive(PartialEq)]
enum Row<'a> {
    None,
    Schema,
    Table(&'a TableDefinition),
    View(&'a super::View),
    Object(&'a super::Object),
}

impl Catalog {
    /// The changes that make this catalog of `base`: schemas first that are new, and last those that are gone. Dictionaries and numbers
    /// that are given out are left out.
    pub fn changes_since(&self, base: &Self) -> Vec<CatalogChange> {
        let gone = |key| CatalogChange { key, value: None };
        let mut changes = Vec::new();
        for name in self.schemas.difference(&base.schemas) {
            changes.push(CatalogChange { key: schema_key(name), value: Some(Vec::new()) });
        }
        let dropped = base.views.keys().filter(|name| !self.views.contains_key(*name));
        changes.extend(dropped.map(|name| gone(super::view::view_key(name))));
        let dropped = base.tables.keys().filter(|id| !self.tables.contains_key(id));
        changes.extend(dropped.map(|id| table_change(*id, None)));
        for (id, definition) in &self.tables {
            if base.tables.get(id).is_none_or(|before| before != definition) {
                changes.push(table_change(*id, Some(definition)));
            }
        }
        for (name, view) in &self.views {
            if base.views.get(name).is_none_or(|before| before != view) {
                changes.push(view.change());
            }
        }
        let dropped = base.objects.keys().filter(|key| !self.objects.contains_key(*key));
        changes.extend(dropped.map(|(kind, name)| gone(super::object::object_key(*kind, name))));
        for (key, object) in &self.objects {
            if base.objects.get(key).is_none_or(|before| before != object) {
                changes.push(object.change());
            }
        }
        changes.extend(base.schemas.difference(&self.schemas).map(|name| gone(schema_key(name))));
        debug_assert!(self.is_made_of(base, &changes), "changes make this catalog of the other");
        changes
    }

    /// Whether changes of `base` make this catalog, but for numbers and dictionaries; for assertions.
    fn is_made_of(&self, base: &Self, changes: &[CatalogChange]) -> bool {
        let mut made = base.clone();
        changes.iter().all(|change| made.apply(&change.key, change.record()).is_ok())
            && (&made.schemas, &made.tables, &made.by_name) == (&self.schemas, &self.tables, &self.by_name)
            && (&made.views, &made.objects) == (&self.views, &self.objects)
    }

    /// This catalog with changes that were made of `base`.
    ///
    /// # Errors
    /// [`Error::Conflict`] if one of the rows is not what it was there, or the changes do not go with those of others.
    pub fn merged(&self, base: &Self, changes: &[CatalogChange]) -> Result<Self> {
        let mut merged = self.clone();
        for change in changes {
            if self.row(&change.key) != base.row(&change.key) {
                return Err(Error::Conflict(format!(
                    "{} was changed by a transaction that committed first",
                    base.about(&change.key)
                )));
            }
            merged.apply(&change.key, change.record()).map_err(Error::Conflict)?;
        }
        merged.verify().map_err(|what| {
            Error::Conflict(format!("a transaction that committed first changed what there is: {what}"))
        })?;
        Ok(merged)
    }

    fn row(&self, key: &[u8]) -> Row<'_> {
        let found = match key.split_first() {
            Some((&SCHEMA_ROW, _)) => {
                self.schemas.iter().any(|name| schema_key(name) == key).then_some(Row::Schema)
            }
            Some((&TABLE_ROW, _)) => {
                id_of(key).and_then(|id| self.tables.get(&id)).map(|table| Row::Table(table))
            }
            Some((&VIEW_ROW, name)) => std::str::from_utf8(name)
                .ok()
                .and_then(|name| self.views.get(name))
                .map(|view| Row::View(view)),
            Some((&OBJECT_ROW, rest)) => self.object_of_row(rest).map(|object| Row::Object(object)),
            _ => unreachable!("a transaction changes schemas, tables, views and objects"),
        };
        found.unwrap_or(Row::None)
    }

    /// What a row is about, for messages.
    fn about(&self, key: &[u8]) -> String {
        match (key[0], id_of(key).and_then(|id| self.tables.get(&id))) {
            (_, Some(definition)) if definition.index.is_some() => format!("index \"{}\"", definition.name),
            (_, Some(definition)) => format!("table \"{}\"", definition.name),
            (SCHEMA_ROW, None) => format!("schema \"{}\"", String::from_utf8_lossy(&key[1..])),
            (VIEW_ROW, None) => format!("view \"{}\"", String::from_utf8_lossy(&key[1..])),
            (OBJECT_ROW, None) => match self.object_of_row(&key[1..]) {
                Some(object) => format!("{} \"{}\"", object.kind.name(), object.name),
                None => "an object".into(),
            },
            (_, None) => "a table".into(),
        }
    }
}

fn id_of(key: &[u8]) -> Option<TableId> {
    let id = super::table_row(key)?;
    debug_assert_eq!(table_key(TABLE_ROW, id), key);
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::View;

    fn with(names: &[&str]) -> Catalog {
        let mut catalog = Catalog::default();
        for name in names {
            catalog.create_table(TableDefinition::key_value(*name)).unwrap();
        }
        catalog
    }

    /// Keeps away: changes that are lost, or made in an order that the log cannot be read in.
    #[test]
    fn changes_make_one_catalog_of_another() {
        let base = with(&["a", "b", "c"]);
        let mut own = base.clone();
        own.create_schema("s").unwrap();
        own.drop_table("c").unwrap();
        // Two tables change their names.
        own.rename_table("a", "x").unwrap();
        own.rename_table("b", "a").unwrap();
        own.rename_table("x", "b").unwrap();
        own.create_table(TableDefinition::key_value("s.c")).unwrap();
        own.create_view(View::new("s.v", "select 1"), false).unwrap();
        let kind = crate::catalog::ObjectKind::Sequence;
        let sequence = crate::catalog::Object { kind, name: "s.q".into(), text: "1".into(), comment: None };
        own.create_object(sequence, false).unwrap();
        let changes = own.changes_since(&base);
        let mut replayed = base.clone();
        changes.iter().for_each(|change| replayed.apply(&change.key, change.record()).unwrap());
        assert_eq!(replayed.verify(), Ok(()));
        assert!(own.changes_since(&replayed).is_empty() && replayed.changes_since(&own).is_empty());
        for name in ["a", "b", "s.c"] {
            assert_eq!(replayed.find(name).unwrap().0, own.find(name).unwrap().0, "{name}");
        }
        assert!(base.changes_since(&base).is_empty());
        // And back.
        let back = base.changes_since(&own);
        assert!(base.changes_since(&own.merged(&own, &back).unwrap()).is_empty());
    }

    /// Keeps away: two transactions that change the same, or take the same name, and both commit.
    #[test]
    fn what_others_changed_is_a_conflict() {
        let base = with(&["a", "b"]);
        let mut own = base.clone();
        own.rename_table("a", "c").unwrap();
        let changes = own.changes_since(&base);
        let conflict = |now: &Catalog| match now.merged(&base, &changes) {
            Err(Error::Conflict(what)) => what,
            other => panic!("{other:?}"),
        };
        let mut now = base.clone();
        now.drop_table("a").unwrap();
        assert_eq!(conflict(&now), "table \"main.a\" was changed by a transaction that committed first");
        let mut now = base.clone();
        now.rename_table("b", "c").unwrap();
        assert!(conflict(&now).contains("two tables or indexes have one name"));
        let mut now = base.clone();
        now.create_view(View::new("c", "select 1"), false).unwrap();
        assert!(conflict(&now).contains("is a view, too"));
        let mut now = base.clone();
        now.drop_table("b").unwrap();
        assert!(now.merged(&base, &changes).unwrap().find("c").is_ok());
    }
}
