//! What SQL keeps beside tables and views: functions, sequences, types, roles, rights; and what sources of rows have brought.
//!
//! What is stored of an object is a text; SQL gives it its meaning. Objects of one kind have their names for themselves. Rights have the
//! name of what they are rights to, and go where it goes: they are dropped and renamed with it.
//!
//! | part of the key | encoding |
//! |---|---|
//! | 10 | u8, the kind of the row |
//! | kind | u8: 1 function, 2 sequence, 3 type, 4 role, 5 rights to a table or view, 6 rights to a schema, 7 feed |
//! | name | `schema.name`, UTF-8; `main.name` for a role, and for rights to a schema of that name |
//!
//! | part of the value | encoding |
//! |---|---|
//! | version | u8 = 1 |
//! | text | varint length plus 1, UTF-8 |
//! | comment | varint length plus 1, UTF-8; 0 for none |
//!
//! Nothing follows. The function `main.f` of the text `(a) AS a + 1` is `0a 01 "main.f"` → `01 0d "(a) AS a + 1" 00`.

use std::sync::Arc;

use ambo_types::{
    Error, Result,
    encoding::{Input, put_optional},
    names,
};

use super::{Catalog, CatalogChange, OBJECT_ROW, qualify};

const VERSION: u8 = 1;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A function that SQL writes out where it is called.
    Function = 1,
    /// A source of numbers.
    Sequence = 2,
    /// A type with a name.
    Type = 3,
    /// Somebody who may come in where the database is served. It is called `main.name`.
    Role = 4,
    /// What roles may do with the table or view of this name.
    Rights = 5,
    /// What roles may do in a schema. It is called `main.` and the schema's name.
    SchemaRights = 6,
    /// How far a source of rows has come: what whoever ingests said with its last checkpoint, in hexadecimal digits.
    Feed = 7,
    /// What roles may do with the sequence of this name.
    SequenceRights = 8,
}

impl ObjectKind {
    const ALL: [Self; 8] = [
        Self::Function,
        Self::Sequence,
        Self::Type,
        Self::Role,
        Self::Rights,
        Self::SchemaRights,
        Self::Feed,
        Self::SequenceRights,
    ];

    /// What it is called in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Sequence => "sequence",
            Self::Type => "type",
            Self::Role => "role",
            Self::Rights => "rights to",
            Self::SchemaRights => "rights to schema",
            Self::SequenceRights => "rights to sequence",
            Self::Feed => "feed",
        }
    }
}

/// An object of SQL's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// `schema.name`, or `name` for the schema `main`.
    pub name: String,
    /// What SQL reads.
    pub text: String,
    /// What users say about it.
    pub comment: Option<String>,
}

impl Object {
    /// The value of its row.
    fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_optional(&mut out, Some(&self.text));
        put_optional(&mut out, self.comment.as_deref());
        debug_assert_eq!(Self::decode(self.kind, &self.name, &out).as_ref(), Ok(self));
        out
    }

    /// The object in a row.
    fn decode(kind: ObjectKind, name: &str, value: &[u8]) -> Result<Self, String> {
        let qualified = qualify(name).map_err(|error| error.to_string())?;
        if qualified != name {
            return Err(format!("a {} {name:?} without a schema", kind.name()));
        }
        let mut input = Input(value);
        match input.byte()? {
            VERSION => {}
            other => {
                let what = kind.name();
                return Err(format!("a {what} of version {other}, which this version of Ambo cannot read"));
            }
        }
        let text = input.optional()?.ok_or_else(|| format!("a {} without a text", kind.name()))?;
        let comment = input.optional()?;
        match input.0.len() {
            0 => Ok(Self { kind, name: qualified, text, comment }),
            more => Err(format!("{more} bytes too many in a {}", kind.name())),
        }
    }

    pub(super) fn change(&self) -> CatalogChange {
        CatalogChange { key: object_key(self.kind, &self.name), value: Some(self.encode()) }
    }
}

pub(super) fn object_key(kind: ObjectKind, name: &str) -> Vec<u8> {
    [&[OBJECT_ROW, kind as u8], name.as_bytes()].concat()
}

impl Catalog {
    /// All objects of a kind by name.
    pub fn objects(&self, kind: ObjectKind) -> impl Iterator<Item = &Arc<Object>> {
        self.objects
            .range((kind, String::new())..)
            .map(|(_, object)| object)
            .take_while(move |of| of.kind == kind)
    }

    /// The object of this kind and name (`name` or `schema.name`).
    ///
    /// # Errors
    /// [`Error::NotFound`], with the nearest name there is.
    pub fn find_object(&self, kind: ObjectKind, name: &str) -> Result<&Arc<Object>> {
        let qualified = qualify(name)?;
        let known = || self.objects(kind).map(|object| &object.name);
        self.objects
            .get(&(kind, qualified.clone()))
            .ok_or_else(|| Error::NotFound(names::not_found(kind.name(), &qualified, known())))
    }

    /// Adds an object, or with `replace` puts it in the place of one of its kind and name.
    ///
    /// # Errors
    /// [`Error::Exists`] for its name, [`Error::NotFound`] for its schema.
    pub fn create_object(&mut self, mut object: Object, replace: bool) -> Result<CatalogChange> {
        object.name = qualify(&object.name)?;
        self.require_schema_of(&object.name)?;
        let key = (object.kind, object.name.clone());
        if !replace && self.objects.contains_key(&key) {
            return Err(Error::Exists(format!("{} \"{}\"", object.kind.name(), object.name)));
        }
        let change = object.change();
        self.objects.insert(key, Arc::new(object));
        Ok(change)
    }

    /// Removes an object.
    pub fn drop_object(&mut self, kind: ObjectKind, name: &str) -> Result<CatalogChange> {
        let name = self.find_object(kind, name)?.name.clone();
        let key = object_key(kind, &name);
        self.objects.remove(&(kind, name));
        Ok(CatalogChange { key, value: None })
    }

    /// Removes the rights to something, if there are any: it goes.
    pub(super) fn drop_rights(&mut self, kind: ObjectKind, name: &str) -> Option<CatalogChange> {
        self.objects.remove(&(kind, name.to_owned()))?;
        Some(CatalogChange { key: object_key(kind, name), value: None })
    }

    /// Has rights to a table or view go with it to another name.
    pub(super) fn rename_rights(&mut self, from: &str, to: &str) -> Vec<CatalogChange> {
        let Some(rights) = self.objects.remove(&(ObjectKind::Rights, from.to_owned())) else {
            return Vec::new();
        };
        let gone = CatalogChange { key: object_key(ObjectKind::Rights, from), value: None };
        let renamed = Object { name: to.to_owned(), ..(*rights).clone() };
        let change = renamed.change();
        self.objects.insert((ObjectKind::Rights, to.to_owned()), Arc::new(renamed));
        vec![gone, change]
    }

    /// The rows of all objects of a checkpoint's catalog.
    pub fn object_rows(&self) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        self.objects.values().map(|object| (object_key(object.kind, &object.name), object.encode()))
    }

    pub(super) fn apply_object(&mut self, rest: &[u8], value: Option<&[u8]>) -> Result<(), String> {
        let (kind, name) = named_in(rest)?;
        match value {
            None => drop(self.objects.remove(&(kind, name))),
            Some(value) => {
                let object = Object::decode(kind, &name, value)?;
                self.objects.insert((kind, name), Arc::new(object));
            }
        }
        Ok(())
    }

    /// The object of a row, by its key without the first byte.
    pub(super) fn object_of_row(&self, rest: &[u8]) -> Option<&Arc<Object>> {
        self.objects.get(&named_in(rest).ok()?)
    }
}

fn named_in(rest: &[u8]) -> Result<(ObjectKind, String), String> {
    let (code, name) = rest.split_first().ok_or("an object without a kind")?;
    let kind = ObjectKind::ALL.into_iter().find(|kind| *kind as u8 == *code);
    let kind =
        kind.ok_or_else(|| format!("an object of kind {code}, which this version of Ambo does not know"))?;
    let name = std::str::from_utf8(name).map_err(|_| "the name of an object that is not UTF-8")?;
    Ok((kind, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use ambo_types::record::Record;

    use super::*;

    fn function(name: &str, text: &str) -> Object {
        Object { kind: ObjectKind::Function, name: name.into(), text: text.into(), comment: None }
    }

    /// Keeps away: a format that changes unnoticed.
    #[test]
    fn the_example_is_the_format() {
        let change = Catalog::default().create_object(function("f", "(a) AS a + 1"), false).unwrap();
        assert_eq!(change.key, b"\x0a\x01main.f");
        assert_eq!(change.value.unwrap(), b"\x01\x0d(a) AS a + 1\x00");
    }

    /// Keeps away: objects that take the names of others, or are lost on the way to the log and back.
    #[test]
    fn objects_are_found_by_kind_and_name() {
        let mut catalog = Catalog::default();
        catalog.create_object(function("f", "(a) AS a"), false).unwrap();
        let sequence = Object { kind: ObjectKind::Sequence, ..function("f", "start 1") };
        catalog.create_object(sequence.clone(), false).unwrap();
        assert!(matches!(catalog.create_object(sequence.clone(), false), Err(Error::Exists(_))));
        assert!(matches!(catalog.create_object(function("s.f", ""), false), Err(Error::NotFound(_))));
        let last = Object { text: "start 2".into(), comment: Some("c".into()), ..sequence };
        let changed = catalog.create_object(last, true).unwrap();
        let mut read = Catalog::default();
        for (key, value) in catalog.object_rows() {
            read.apply(&key, Record::inline(&value)).unwrap();
        }
        assert_eq!(read.objects, catalog.objects);
        assert_eq!(read.find_object(ObjectKind::Sequence, "f").unwrap().text, "start 2");
        assert_eq!(read.objects(ObjectKind::Function).count(), 1);
        assert_eq!(read.objects(ObjectKind::Type).count(), 0);
        read.drop_object(ObjectKind::Sequence, "f").unwrap();
        let missing = read.find_object(ObjectKind::Sequence, "g").unwrap_err();
        assert!(matches!(missing, Error::NotFound(_)), "{missing}");
        read.apply(&changed.key, changed.record()).unwrap();
        assert_eq!(read.objects, catalog.objects);
        let unknown = "an object of kind 9, which this version of Ambo does not know";
        for (key, value, why) in [
            (&b"\x0a"[..], &b""[..], "an object without a kind"),
            (b"\x0a\x09main.f", b"\x01\x01\x00", unknown),
            (b"\x0a\x01f", b"\x01\x01\x00", "a function \"f\" without a schema"),
        ] {
            assert_eq!(read.apply(key, Record::inline(value)), Err(why.into()));
        }
        let later = read.apply(b"\x0a\x01main.f", Record::inline(b"\x02\x01\x00"));
        assert_eq!(later, Err("a function of version 2, which this version of Ambo cannot read".into()));
    }

    /// Keeps away: rights that are of another table than the one they were given for.
    #[test]
    fn rights_go_where_their_table_goes() {
        let of = |name: &str, kind| Object { kind, ..function(name, "ada=r") };
        let mut catalog = Catalog::default();
        catalog.create_schema("s").unwrap();
        for table in ["a", "b"] {
            catalog.create_table(ambo_types::TableDefinition::key_value(table)).unwrap();
            catalog.create_object(of(table, ObjectKind::Rights), false).unwrap();
        }
        catalog.create_object(of("s", ObjectKind::SchemaRights), false).unwrap();
        let base = Catalog::default();
        catalog.rename_table("a", "s.c").unwrap();
        let names = |catalog: &Catalog, kind| {
            catalog.objects(kind).map(|object| object.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&catalog, ObjectKind::Rights), ["main.b", "s.c"]);
        catalog.drop_table("b").unwrap();
        catalog.create_table(ambo_types::TableDefinition::key_value("b")).unwrap();
        assert_eq!(names(&catalog, ObjectKind::Rights), ["s.c"]);
        // Whoever reads the rows has the same.
        let changes = catalog.changes_since(&base);
        assert_eq!(base.merged(&base, &changes).unwrap().objects, catalog.objects);
        catalog.drop_table("s.c").unwrap();
        catalog.drop_schema("s").unwrap();
        catalog.create_schema("s").unwrap();
        assert_eq!(names(&catalog, ObjectKind::SchemaRights), [""; 0]);
    }
}
