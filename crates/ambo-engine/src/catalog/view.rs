//! Views: queries with a name.
//!
//! What is stored of a view is its text; SQL gives it its meaning. Views share their names with tables and indexes.
//!
//! | part | encoding |
//! |---|---|
//! | version | u8 = 1 |
//! | query | varint length plus 1, UTF-8 |
//! | comment | varint length plus 1, UTF-8; 0 for none |
//!
//! Nothing follows. The view `select 1` without a comment is `01 09 "select 1" 00`.

use std::sync::Arc;

use ambo_types::{
    Error, Result,
    encoding::{Input, put_optional},
    names,
};

use super::{Catalog, CatalogChange, ObjectKind, VIEW_ROW, qualify};

const VERSION: u8 = 1;

/// A query with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// `schema.view`, or `view` for the schema `main`.
    pub name: String,
    /// The SQL text of the query.
    pub query: String,
    /// What users say about it.
    pub comment: Option<String>,
}

impl View {
    /// A view of this name.
    pub fn new(name: impl Into<String>, query: impl Into<String>) -> Self {
        Self { name: name.into(), query: query.into(), comment: None }
    }

    /// Says something about it.
    #[must_use]
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }

    /// The value of its row.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_optional(&mut out, Some(&self.query));
        put_optional(&mut out, self.comment.as_deref());
        debug_assert_eq!(Self::decode(&self.name, &out).as_ref(), Ok(self));
        out
    }

    /// The view in a row.
    pub(super) fn decode(name: &str, value: &[u8]) -> Result<Self, String> {
        let qualified = qualify(name).map_err(|error| error.to_string())?;
        if qualified != name {
            return Err(format!("a view {name:?} without a schema"));
        }
        let mut input = Input(value);
        match input.byte()? {
            VERSION => {}
            other => {
                return Err(format!("a view of version {other}, which this version of Ambo cannot read"));
            }
        }
        let query = input.optional()?.ok_or("a view without a query")?;
        let comment = input.optional()?;
        match input.0.len() {
            0 => Ok(Self { name: qualified, query, comment }),
            more => Err(format!("{more} bytes too many in a view")),
        }
    }

    pub(super) fn change(&self) -> CatalogChange {
        CatalogChange { key: view_key(&self.name), value: Some(self.encode()) }
    }
}

/// The key of a view's row. It is greater than those of all rows of other kinds.
pub(super) fn view_key(name: &str) -> Vec<u8> {
    [&[VIEW_ROW], name.as_bytes()].concat()
}

impl Catalog {
    /// All views by name.
    pub fn views(&self) -> impl Iterator<Item = &Arc<View>> {
        self.views.values()
    }

    /// The view of this name (`view` or `schema.view`).
    ///
    /// # Errors
    /// [`Error::NotFound`], with the nearest name there is.
    pub fn find_view(&self, name: &str) -> Result<&Arc<View>> {
        let qualified = qualify(name)?;
        self.views.get(&qualified).ok_or_else(|| match self.word_for(&qualified) {
            "table" => Error::NotFound(format!("view \"{qualified}\": it is a table")),
            "index" => Error::NotFound(format!("view \"{qualified}\": it is an index")),
            _ => Error::NotFound(names::not_found("view", &qualified, self.views.keys())),
        })
    }

    /// Adds a view, or with `replace` puts it in the place of one of its name.
    ///
    /// # Errors
    /// [`Error::Exists`] for its name, [`Error::NotFound`] for its schema.
    pub fn create_view(&mut self, mut view: View, replace: bool) -> Result<CatalogChange> {
        view.name = qualify(&view.name)?;
        self.require_schema_of(&view.name)?;
        if !(replace && self.views.contains_key(&view.name)) {
            self.require_free(&view.name)?;
        }
        let change = view.change();
        self.views.insert(view.name.clone(), Arc::new(view));
        Ok(change)
    }

    /// Removes a view.
    pub fn drop_view(&mut self, name: &str) -> Result<Vec<CatalogChange>> {
        let (name, gone) = self.take_view(name)?;
        Ok(self.drop_rights(ObjectKind::Rights, &name).into_iter().chain([gone]).collect())
    }

    fn take_view(&mut self, name: &str) -> Result<(String, CatalogChange)> {
        let name = self.find_view(name)?.name.clone();
        self.views.remove(&name);
        let gone = CatalogChange { key: view_key(&name), value: None };
        Ok((name, gone))
    }

    /// Gives a view another name, in the same schema or another.
    pub fn rename_view(&mut self, from: &str, to: &str) -> Result<Vec<CatalogChange>> {
        let mut view = (**self.find_view(from)?).clone();
        let to = qualify(to)?;
        self.require_schema_of(&to)?;
        self.require_free(&to)?;
        let (from, gone) = self.take_view(from)?;
        view.name.clone_from(&to);
        let mut changes = vec![gone, self.create_view(view, false)?];
        changes.extend(self.rename_rights(&from, &to));
        Ok(changes)
    }

    /// Sets the comment of a view.
    pub fn comment_view(&mut self, name: &str, comment: Option<String>) -> Result<CatalogChange> {
        let view = View { comment, ..(**self.find_view(name)?).clone() };
        self.create_view(view, true)
    }

    /// The rows of all views of a checkpoint's catalog, in key order, behind all others.
    pub fn view_rows(&self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        self.views.values().map(|view| (view_key(&view.name), view.encode()))
    }

    pub(super) fn apply_view(&mut self, name: &[u8], value: Option<&[u8]>) -> Result<(), String> {
        let name = std::str::from_utf8(name).map_err(|_| "the name of a view that is not UTF-8")?;
        match value {
            None => drop(self.views.remove(name)),
            Some(value) => {
                let view = View::decode(name, value)?;
                self.views.insert(view.name.clone(), Arc::new(view));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ambo_types::TableDefinition;
    use ambo_types::record::Record;

    fn catalog() -> Catalog {
        let mut catalog = Catalog::default();
        catalog.create_schema("shop").unwrap();
        catalog.create_table(TableDefinition::key_value("plain")).unwrap();
        catalog.create_view(View::new("late", "select * from plain"), false).unwrap();
        catalog
    }

    /// Keeps away: a changed format under the same version number.
    #[test]
    fn the_example_of_the_format_holds() {
        assert_eq!(View::new("main.v", "select 1").encode(), b"\x01\x09select 1\x00");
        let view = View::new("main.v", "select 1").comment("");
        assert_eq!(View::decode("main.v", &view.encode()), Ok(view));
    }

    /// Keeps away: two things of one name, a view that is lost with its schema, and changes that a replay makes otherwise.
    #[test]
    fn views_share_names_and_are_replayed() {
        let mut catalog = catalog();
        let mut replayed = catalog.clone();
        let again = |catalog: &mut Catalog, name| catalog.create_view(View::new(name, "select 2"), false);
        assert!(matches!(again(&mut catalog, "late"), Err(Error::Exists(_))));
        assert!(matches!(again(&mut catalog, "plain"), Err(Error::Exists(_))));
        assert!(matches!(again(&mut catalog, "no.v"), Err(Error::NotFound(_))));
        assert!(matches!(catalog.create_table(TableDefinition::key_value("late")), Err(Error::Exists(_))));
        let index = ambo_types::IndexDefinition::new("late", "plain", &["value"]);
        assert!(matches!(catalog.create_index(&index), Err(Error::Exists(_))));
        assert!(catalog.find("late").unwrap_err().to_string().contains("it is a view"));
        assert!(catalog.find_view("plain").unwrap_err().to_string().contains("it is a table"));
        assert!(catalog.find_view("lat").unwrap_err().to_string().contains("main.late"));
        assert!(catalog.create_view(View::new("plain", "select 2"), true).is_err());
        let mut changes = catalog.rename_view("late", "shop.late").unwrap();
        assert!(catalog.drop_schema("shop").unwrap_err().to_string().contains("shop.late"));
        changes.push(catalog.create_view(View::new("shop.late", "select 3"), true).unwrap());
        changes.push(catalog.comment_view("shop.late", Some("three".into())).unwrap());
        changes.push(catalog.create_view(View::new("gone", "select 4"), true).unwrap());
        changes.extend(catalog.drop_view("gone").unwrap());
        for change in changes.iter().chain(&changes) {
            replayed.apply(&change.key, change.record()).unwrap();
        }
        assert_eq!(format!("{catalog:?}"), format!("{replayed:?}"));
        assert_eq!(
            **catalog.find_view("shop.late").unwrap(),
            View::new("shop.late", "select 3").comment("three")
        );
        assert_eq!(catalog.views().count(), 1);
    }

    /// Keeps away: a panic on damaged rows, and names that no view can have.
    #[test]
    fn hostile_rows_are_errors_or_views() {
        let bytes = View::new("main.v", "select 'é'").comment("a comment").encode();
        for len in 0..bytes.len() {
            assert!(View::decode("main.v", &bytes[..len]).is_err());
        }
        assert!(View::decode("main.v", &[&bytes[..], &[0]].concat()).is_err());
        assert!(View::decode("v", &bytes).is_err());
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x81;
            if let Ok(view) = View::decode("main.v", &bytes) {
                assert_eq!(view.encode(), bytes);
            }
        }
        let key = [&[VIEW_ROW][..], &[0xff]].concat();
        assert!(catalog().apply(&key, Record::inline(&bytes)).is_err());
    }
}
