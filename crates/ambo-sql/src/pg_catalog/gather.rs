//! What there is in the databases of a connection at one moment, with the numbers that PostgreSQL's clients know things by.
//!
//! A number is made of the kind and the name of what it is for, so it is the same whoever asks, and after a restart; what is renamed has
//! another one. What is in the schema that is always there is in `public` here.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use ambo::{Index, IndexKind, ObjectKind, Table, TableDefinition};

use super::{enums, rights::Roles, texts, types};
use crate::{
    Result,
    catalog::{default_text, indexes},
    databases::{Kind, Seen},
    foreign_keys::{ForeignKey, Referrer, is_kept_text},
    hidden::{self, is_hidden},
    names::split,
    parse::{parse_expression, parse_query},
    planner::{Planner, tables_of},
    rights::{Acl, rights_to, rights_to_sequence},
    sequences,
    statement::length_limit,
    value,
    walk::each_expr,
};

/// The first number of what users create.
const FIRST: i64 = 16384;
pub(super) const PUBLIC: i64 = 2200;
pub(super) const CATALOG_SCHEMA: i64 = 11;
pub(super) const INFORMATION_SCHEMA: i64 = 13000;
/// The schema of temporary objects.
pub(super) const TEMPORARY: i64 = 13001;

/// A column of a relation.
pub(super) struct Attribute {
    pub name: String,
    pub ty: i64,
    pub modifier: i64,
    pub not_null: bool,
    pub default: Option<String>,
    pub is_identity: bool,
    pub is_generated: bool,
    pub comment: Option<String>,
}

/// What an index is over.
pub(super) struct IndexOf {
    pub table: i64,
    pub is_unique: bool,
    pub is_primary: bool,
    /// Numbers of columns; 0 for an expression.
    pub keys: Vec<i64>,
    /// What stands for each in the statement that makes it.
    pub texts: Vec<String>,
    pub condition: Option<String>,
    pub is_hash: bool,
    /// Whether the names of its columns are all.
    pub constraint: Option<i64>,
}

/// Numbers in turn.
pub(super) struct Numbers {
    pub start: i64,
    pub increment: i64,
    pub min: i64,
    pub max: i64,
    pub cycle: bool,
    /// The table and the column that it numbers.
    pub owner: Option<(i64, i64)>,
}

/// A table, a view, an index or a sequence.
pub(super) struct Relation {
    pub oid: i64,
    pub namespace: i64,
    pub schema: String,
    pub name: String,
    pub kind: &'static str,
    pub is_temporary: bool,
    pub columns: Vec<Attribute>,
    pub comment: Option<String>,
    /// The type of its rows, and that of arrays of them.
    pub types: Option<(i64, i64)>,
    pub checks: i64,
    pub has_index: bool,
    pub has_references: bool,
    pub view: Option<String>,
    /// The tables that a view names.
    pub uses: Vec<String>,
    pub index: Option<IndexOf>,
    pub numbers: Option<Numbers>,
    /// Its name in its database, if it is stored.
    pub stored: Option<String>,
    /// Who may do what with it.
    pub acl: Acl,
}

/// Where a session seeks names that do not say it.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    schemas: Vec<String>,
    /// The sequences that there are, by their schemas and names.
    sequences: HashSet<(String, String)>,
}

impl Path {
    pub fn new(schemas: Vec<String>) -> Self {
        Self { schemas, sequences: HashSet::new() }
    }

    /// The schema and the name of the sequence that a text names: as it stands, or as statements write names.
    pub fn sequence(&self, text: &str) -> Option<(String, String)> {
        let public = |schema: &str| if schema == ambo::DEFAULT_SCHEMA { "public" } else { schema }.to_owned();
        let (schema, name) = split(text);
        let plain = (public(schema), name.to_owned());
        if self.sequences.contains(&plain) {
            return Some(plain);
        }
        match &super::parts(text)?[..] {
            [name] => Some(("public".to_owned(), name.clone())),
            [schema, name] => Some((public(schema), name.clone())),
            _ => None,
        }
    }

    /// Whether what is in a schema is found by its name alone.
    pub fn leads_to(&self, schema: &str) -> bool {
        matches!(schema, "pg_catalog" | "pg_temp_1") || self.schemas.iter().any(|of| of == schema)
    }

    /// A name with its schema, unless it is found without.
    pub fn shown(&self, schema: &str, name: &str) -> String {
        match self.leads_to(schema) {
            true => quoted(name),
            false => whole(schema, name),
        }
    }
}

/// A part of a name as PostgreSQL writes it: in quotes if it has to be.
pub(super) fn quoted(name: &str) -> String {
    static RESERVED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let words = include_str!("data/pg_get_keywords.tsv").lines().filter_map(|line| {
            let mut parts = line.split('\t');
            Some((parts.next()?, parts.next()?))
        });
        words.filter(|(_, category)| *category != "U").map(|(word, _)| word).collect()
    });
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !RESERVED.contains(name);
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// A name with its schema.
pub(super) fn whole(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}

/// A default, and what gives its numbers.
pub(super) struct ColumnDefault {
    pub oid: i64,
    pub table: i64,
    pub column: i64,
    pub text: String,
    /// The sequence that it takes numbers of.
    pub sequence: Option<i64>,
}

/// A condition on the rows of a table, or what keeps them apart or refers to others.
pub(super) struct Constraint {
    pub oid: i64,
    pub name: String,
    pub namespace: i64,
    /// As `contype` has it.
    pub kind: &'static str,
    pub table: i64,
    pub index: i64,
    pub columns: Vec<i64>,
    pub parent: i64,
    pub referred: Vec<i64>,
    pub is_deferrable: bool,
    pub is_deferred: bool,
    pub on_update: &'static str,
    pub on_delete: &'static str,
    pub expression: Option<String>,
    pub text: String,
}

/// An enum that users have created.
pub(super) struct UserType {
    pub oid: i64,
    pub array: i64,
    pub namespace: i64,
    pub schema: String,
    pub name: String,
    pub labels: Vec<(i64, String)>,
    pub comment: Option<String>,
}

/// A function that users have created.
pub(super) struct Routine {
    pub oid: i64,
    pub namespace: i64,
    pub name: String,
    pub text: String,
}

/// See the module.
#[derive(Default)]
pub(super) struct Gathered {
    pub namespaces: Vec<(i64, String)>,
    pub relations: Vec<Relation>,
    pub constraints: Vec<Constraint>,
    pub types: Vec<UserType>,
    pub routines: Vec<Routine>,
    pub defaults: Vec<ColumnDefault>,
    pub roles: Roles,
    pub path: Path,
    taken: HashSet<i64>,
}

/// What a schema is called, and its number.
pub(super) fn schema_of(numbers: &mut HashSet<i64>, is_temporary: bool, schema: &str) -> (i64, String) {
    match schema {
        _ if is_temporary => (TEMPORARY, "pg_temp_1".to_owned()),
        ambo::DEFAULT_SCHEMA => (PUBLIC, "public".to_owned()),
        schema => (fixed("schema", schema, numbers), schema.to_owned()),
    }
}

fn hash(kind: &str, name: &str) -> i64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in kind.bytes().chain([0]).chain(name.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    FIRST + (hash >> 34) as i64
}

/// The number of something, one behind those that are taken.
pub(super) fn fixed(kind: &str, name: &str, taken: &mut HashSet<i64>) -> i64 {
    let mut oid = hash(kind, name);
    while kind != "schema" && !taken.insert(oid) {
        oid += 1;
    }
    oid
}

impl Gathered {
    /// What a planner sees. Views have no columns unless `with_views`: a view may be about this catalog itself.
    pub fn of(planner: &Planner<'_>, with_views: bool, user: &str, path: Path) -> Result<Self> {
        let namespaces =
            [(CATALOG_SCHEMA, "pg_catalog"), (99, "pg_toast"), (INFORMATION_SCHEMA, "information_schema")]
                .map(|(oid, name)| (oid, name.to_owned()))
                .to_vec();
        let mut all = Self { namespaces, path, ..Self::default() };
        for place in planner.catalogs() {
            let seen = planner.place(place);
            for object in seen.definitions().objects(ObjectKind::Sequence) {
                let (schema, name) = split(&object.name);
                let schema = match seen.kind {
                    Kind::Temporary => "pg_temp_1",
                    _ if schema == ambo::DEFAULT_SCHEMA => "public",
                    _ => schema,
                };
                all.path.sequences.insert((schema.to_owned(), name.to_owned()));
            }
        }
        for place in planner.catalogs() {
            let seen = planner.place(place);
            // What is attached is another database.
            if !matches!(seen.kind, Kind::Main | Kind::Temporary) {
                continue;
            }
            all.add_schemas(seen);
            all.add_types(seen)?;
            all.add_tables(planner, place)?;
            all.add_sequences(seen)?;
            all.add_views(planner, place, with_views);
            all.add_routines(seen);
        }
        all.add_references(planner)?;
        all.add_defaults();
        all.add_roles(planner, user);
        all.relations.sort_by(|one, other| (one.namespace, &one.name).cmp(&(other.namespace, &other.name)));
        Ok(all)
    }

    pub fn number(&mut self, kind: &str, name: &str) -> i64 {
        fixed(kind, name, &mut self.taken)
    }

    fn schema(&mut self, seen: &Seen<'_>, schema: &str) -> (i64, String) {
        schema_of(&mut self.taken, seen.kind == Kind::Temporary, schema)
    }

    fn add_schemas(&mut self, seen: &Seen<'_>) {
        for schema in seen.definitions().schemas() {
            let of = self.schema(seen, &schema);
            if !self.namespaces.contains(&of) {
                self.namespaces.push(of);
            }
        }
    }

    fn add_types(&mut self, seen: &Seen<'_>) -> Result<()> {
        let first = self.types.len();
        let mut all_labels = Vec::new();
        for (object, labels) in enums::enums(&seen.definitions())? {
            let (schema, name) = split(&object);
            let (namespace, schema) = self.schema(seen, schema);
            let (oid, array) = enums::numbers(&mut self.taken, &schema, name);
            let name = name.to_owned();
            let found = seen.definitions().object(ObjectKind::Type, &object);
            let comment = found.ok().and_then(|object| object.comment.clone());
            self.types.push(UserType { oid, array, namespace, schema, name, labels: Vec::new(), comment });
            all_labels.push(labels);
        }
        // Behind the types: their numbers depend on nothing but their names.
        for (ty, labels) in self.types[first..].iter_mut().zip(all_labels) {
            let whole = format!("{}.{}", ty.schema, ty.name);
            let numbered = labels
                .into_iter()
                .map(|label| (fixed("label", &format!("{whole} {label}"), &mut self.taken), label));
            ty.labels = numbered.collect();
        }
        Ok(())
    }

    /// The numbers of an enum and of arrays of it, by its whole name.
    fn named(&self, name: &str) -> Option<(i64, i64)> {
        let (schema, name) = split(name);
        let schema = if schema == ambo::DEFAULT_SCHEMA { "public" } else { schema };
        let found = self.types.iter().find(|ty| ty.schema == schema && ty.name == name);
        found.map(|ty| (ty.oid, ty.array))
    }

    fn add_tables(&mut self, planner: &Planner<'_>, place: usize) -> Result<()> {
        let seen = planner.place(place);
        let definitions = seen.definitions();
        for name in definitions.tables() {
            match definitions.table(&name) {
                Ok(table) if !planner.shows(place, &table.definition().name) => {}
                Ok(table) => self.add_table(seen, &table)?,
                // Dropped a moment ago.
                Err(ambo::Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn add_table(&mut self, seen: &Seen<'_>, table: &Table) -> Result<()> {
        let of = table.definition();
        let (schema, name) = split(&of.name);
        let (namespace, schema) = self.schema(seen, schema);
        let whole = format!("{schema}.{name}");
        let (oid, types) = (self.number("relation", &whole), self.row_types(&whole));
        let is_temporary = seen.kind == Kind::Temporary;
        let columns = self.attributes(of)?;
        let places: HashMap<usize, i64> =
            hidden::seen(of).enumerate().map(|(nth, place)| (place, nth as i64 + 1)).collect();
        let conditions: Vec<_> = of
            .checks
            .iter()
            .filter(|check| !of.is_of_generated(check) && !is_kept_text(&check.expression))
            .collect();
        let mut checks = 0;
        for check in conditions {
            let expression = parse_expression(&check.expression)?;
            // What varchar(n) says is said by the type.
            if length_limit(&expression).is_some() {
                continue;
            }
            checks += 1;
            let named = hidden::seen(of).filter(|place| names(&expression, &of.columns[*place].name));
            let columns = named.filter_map(|place| places.get(&place).copied()).collect();
            let number = self.number("constraint", &format!("{whole} {}", check.name));
            let said = texts::of_expression(&check.expression, &self.path);
            self.constraints.push(Constraint {
                text: format!("CHECK ({said})"),
                expression: Some(said),
                ..constraint(number, &check.name, namespace, "c", oid, columns)
            });
        }
        let own_indexes = self.add_indexes(table, (oid, namespace, &schema, name), is_temporary, &places)?;
        if let Some(place) = hidden::seen(of).find(|place| of.numbers_itself(*place)) {
            let column = places.get(&place).copied().unwrap_or(1);
            let sequence = super::sequence::identity_name(name, &of.columns[place].name);
            let number = self.number("relation", &format!("{schema}.{sequence}"));
            let numbers = Numbers {
                start: 1,
                increment: 1,
                min: 1,
                max: i64::MAX,
                cycle: false,
                owner: Some((oid, column)),
            };
            self.relations.push(Relation {
                numbers: Some(numbers),
                is_temporary,
                ..relation(number, namespace, &schema, &sequence, "S")
            });
        }
        let is_referred = !Referrer::all(of).is_empty() || !ForeignKey::all(of)?.is_empty();
        self.relations.push(Relation {
            is_temporary,
            columns,
            comment: of.comment.clone(),
            types: Some(types),
            checks,
            has_index: own_indexes,
            has_references: is_referred,
            stored: Some(of.name.clone()),
            acl: rights_to(&seen.definitions(), &of.name),
            ..relation(oid, namespace, &schema, name, "r")
        });
        Ok(())
    }

    fn row_types(&mut self, whole: &str) -> (i64, i64) {
        (self.number("rows", whole), self.number("arrays of rows", whole))
    }

    fn attributes(&self, of: &TableDefinition) -> Result<Vec<Attribute>> {
        let lengths: HashMap<String, u64> = of
            .checks
            .iter()
            .filter_map(|check| length_limit(&parse_expression(&check.expression).ok()?))
            .collect();
        let attribute = |place: usize| {
            let column = &of.columns[place];
            let default = match column.generated() {
                Some(text) => Some(text.to_owned()),
                None => default_text(column)?,
            };
            let length = lengths.get(&column.name).copied();
            let (ty, modifier) = types::of_column(column, length, &|name| self.named(name));
            Ok(Attribute {
                name: column.name.clone(),
                ty,
                modifier,
                not_null: !column.nullable,
                default: default.map(|text| texts::of_expression(&text, &self.path)),
                is_identity: of.numbers_itself(place),
                is_generated: column.generated().is_some(),
                comment: column.comment.clone(),
            })
        };
        hidden::seen(of).map(attribute).collect()
    }

    /// The indexes of a table, its primary key among them; whether there is one.
    fn add_indexes(
        &mut self,
        table: &Table,
        (oid, namespace, schema, name): (i64, i64, &str, &str),
        is_temporary: bool,
        places: &HashMap<usize, i64>,
    ) -> Result<bool> {
        let of = table.definition();
        let mut any = false;
        let primary = of.primary_columns();
        let numbers = |columns: &[usize]| -> Vec<i64> {
            columns.iter().map(|place| places.get(place).copied().unwrap_or(0)).collect()
        };
        if !primary.is_empty() && !of.duplicates {
            let texts = primary.iter().map(|place| quoted(&of.columns[*place].name)).collect();
            let keys = numbers(primary);
            let index = IndexOf {
                table: oid,
                is_unique: true,
                is_primary: true,
                keys,
                texts,
                condition: None,
                is_hash: false,
                constraint: None,
            };
            self.add_index((namespace, schema, &format!("{name}_pkey")), is_temporary, of, index, primary);
            any = true;
        }
        for index in indexes(table) {
            let (mut texts, condition) = hidden::index_text(of, &index)?;
            for (place, text) in index.columns().iter().zip(&mut texts) {
                *text = match is_hidden(&of.columns[*place]) {
                    true => texts::of_index(text, &self.path),
                    false => quoted(&of.columns[*place].name),
                };
            }
            let condition = condition.map(|condition| texts::of_expression(&condition, &self.path));
            let index_of = IndexOf {
                table: oid,
                is_unique: index.is_unique(),
                is_primary: false,
                keys: numbers(index.columns()),
                texts,
                condition,
                is_hash: index.kind() != IndexKind::Ordered,
                constraint: None,
            };
            let columns: Vec<usize> = index.columns().to_vec();
            self.add_index((namespace, schema, name_of(&index)), is_temporary, of, index_of, &columns);
            any = true;
        }
        Ok(any)
    }

    fn add_index(
        &mut self,
        (namespace, schema, name): (i64, &str, &str),
        is_temporary: bool,
        of: &TableDefinition,
        mut index: IndexOf,
        columns: &[usize],
    ) {
        let whole = format!("{schema}.{name}");
        let oid = self.number("relation", &whole);
        let is_plain = index.condition.is_none() && index.keys.iter().all(|key| *key != 0);
        if index.is_unique && is_plain {
            let number = self.number("constraint", &whole);
            let (kind, what) = if index.is_primary { ("p", "PRIMARY KEY") } else { ("u", "UNIQUE") };
            index.constraint = Some(number);
            self.constraints.push(Constraint {
                index: oid,
                text: format!("{what} ({})", index.texts.join(", ")),
                ..constraint(number, name, namespace, kind, index.table, index.keys.clone())
            });
        }
        let attribute = |(place, text): (&usize, &String)| {
            let column = &of.columns[*place];
            let (ty, modifier) = types::of_column(column, None, &|name| self.named(name));
            let name = if is_hidden(column) {
                text.trim_matches(['(', ')']).to_owned()
            } else {
                column.name.clone()
            };
            Attribute {
                name,
                ty,
                modifier,
                not_null: false,
                default: None,
                is_identity: false,
                is_generated: false,
                comment: None,
            }
        };
        let columns = columns.iter().zip(&index.texts).map(attribute).collect();
        self.relations.push(Relation {
            columns,
            index: Some(index),
            is_temporary,
            ..relation(oid, namespace, schema, name, "i")
        });
    }

    fn add_sequences(&mut self, seen: &Seen<'_>) -> Result<()> {
        for object in seen.definitions().objects(ObjectKind::Sequence) {
            let (schema, name) = split(&object.name);
            let (namespace, schema) = self.schema(seen, schema);
            let of = sequences::Definition::read(&object.text)?;
            let oid = self.number("relation", &format!("{schema}.{name}"));
            let owner = of.owner.as_deref().and_then(|owner| {
                let table =
                    self.relations.iter().find(|relation| relation.stored.as_deref() == Some(owner))?;
                let uses = |column: &&Attribute| {
                    column
                        .default
                        .as_deref()
                        .is_some_and(|text| text.contains("nextval") && text.contains(name))
                };
                let nth = table.columns.iter().position(|column| uses(&column))?;
                Some((table.oid, nth as i64 + 1))
            });
            let numbers = Numbers {
                start: of.start,
                increment: of.increment,
                min: of.min,
                max: of.max,
                cycle: of.cycle,
                owner,
            };
            self.relations.push(Relation {
                numbers: Some(numbers),
                comment: object.comment.clone(),
                acl: rights_to_sequence(&seen.definitions(), &object.name),
                is_temporary: seen.kind == Kind::Temporary,
                ..relation(oid, namespace, &schema, name, "S")
            });
        }
        Ok(())
    }

    fn add_views(&mut self, planner: &Planner<'_>, place: usize, with_columns: bool) {
        let seen = planner.place(place);
        for view in seen.definitions().views() {
            if !planner.shows(place, &view.name) {
                continue;
            }
            let (schema, name) = split(&view.name);
            let (namespace, schema) = self.schema(seen, schema);
            let whole = format!("{schema}.{name}");
            let (oid, types) = (self.number("relation", &whole), self.row_types(&whole));
            // One that cannot be planned any more has no columns.
            let plan = with_columns.then(|| planner.view(place, &view.name, &view.query).ok()).flatten();
            let fields = plan.iter().flat_map(|plan| plan.schema().fields().iter());
            let attribute = |field: &arrow::datatypes::FieldRef| {
                let column = value::column_of(field);
                let column = column.unwrap_or_else(|| ambo::Column::new(field.name(), ambo::Type::Utf8));
                let (ty, modifier) = types::of_column(&column, None, &|name| self.named(name));
                Attribute {
                    name: field.name().clone(),
                    ty,
                    modifier,
                    not_null: false,
                    default: None,
                    is_identity: false,
                    is_generated: false,
                    comment: None,
                }
            };
            let columns = fields.map(attribute).collect();
            let uses = parse_query(&view.query).map(|query| tables_of(&query)).unwrap_or_default();
            self.relations.push(Relation {
                columns,
                comment: view.comment.clone(),
                types: Some(types),
                view: Some(view.query.clone()),
                acl: rights_to(&seen.definitions(), &view.name),
                uses,
                is_temporary: seen.kind == Kind::Temporary,
                ..relation(oid, namespace, &schema, name, "v")
            });
        }
    }

    fn add_routines(&mut self, seen: &Seen<'_>) {
        for object in seen.definitions().objects(ObjectKind::Function) {
            let (schema, name) = split(&object.name);
            let (namespace, _) = self.schema(seen, schema);
            let oid = self.number("function", &object.name);
            self.routines.push(Routine { oid, namespace, name: name.to_owned(), text: object.text.clone() });
        }
    }

    /// Foreign keys, when all tables are there.
    fn add_references(&mut self, planner: &Planner<'_>) -> Result<()> {
        for place in planner.catalogs() {
            let seen = planner.place(place);
            if !matches!(seen.kind, Kind::Main | Kind::Temporary) {
                continue;
            }
            let definitions = seen.definitions();
            for name in definitions.tables() {
                let Ok(table) = definitions.table(&name) else { continue };
                for key in ForeignKey::all(table.definition())? {
                    self.add_reference(&key);
                }
            }
        }
        Ok(())
    }

    fn add_reference(&mut self, key: &ForeignKey) {
        let find = |name: &str| {
            let shown = crate::names::shown(name);
            self.relations
                .iter()
                .find(|of| of.stored.as_deref().is_some_and(|of| crate::names::shown(of) == shown))
        };
        let (Some(child), Some(parent)) = (find(&key.child), find(&key.parent)) else { return };
        let numbers = |of: &Relation, names: &[String]| -> Vec<i64> {
            let number = |name: &String| of.columns.iter().position(|column| column.name == *name);
            names.iter().filter_map(|name| number(name).map(|nth| nth as i64 + 1)).collect()
        };
        let (columns, referred) = (numbers(child, &key.columns), numbers(parent, &key.referred));
        let index = self.relations.iter().find(|of| {
            of.index.as_ref().is_some_and(|index| {
                index.table == parent.oid
                    && index.is_unique
                    && index.keys.len() == referred.len()
                    && referred.iter().all(|column| index.keys.contains(column))
            })
        });
        let list = |names: &[String]| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let mut text = format!(
            "FOREIGN KEY ({}) REFERENCES {}({})",
            list(&key.columns),
            self.path.shown(&parent.schema, &parent.name),
            list(&key.referred)
        );
        let (on_update, update) = action(key.on_update);
        let (on_delete, delete) = action(key.on_delete);
        text.push_str(&update.map_or(String::new(), |action| format!(" ON UPDATE {action}")));
        text.push_str(&delete.map_or(String::new(), |action| format!(" ON DELETE {action}")));
        text.push_str(match (key.is_deferrable, key.is_deferred) {
            (_, true) => " DEFERRABLE INITIALLY DEFERRED",
            (true, false) => " DEFERRABLE",
            (false, false) => "",
        });
        let (namespace, table, parent) = (child.namespace, child.oid, parent.oid);
        let index = index.map_or(0, |index| index.oid);
        let whole = format!("{} {}", whole(&child.schema, &child.name), key.name);
        let number = self.number("constraint", &whole);
        self.constraints.push(Constraint {
            index,
            parent,
            referred,
            is_deferrable: key.is_deferrable,
            is_deferred: key.is_deferred,
            on_update,
            on_delete,
            text,
            ..constraint(number, &key.name, namespace, "f", table, columns)
        });
    }

    /// Defaults, when all sequences are there.
    fn add_defaults(&mut self) {
        let mut all = Vec::new();
        for table in self.relations.iter().filter(|relation| relation.kind == "r") {
            for (nth, column) in table.columns.iter().enumerate() {
                let Some(text) = column.default.clone().filter(|_| !column.is_identity) else { continue };
                let name = format!("{} {}", whole(&table.schema, &table.name), column.name);
                let sequence = if column.is_generated { None } else { self.sequence_in(&text) };
                let of = ColumnDefault { oid: 0, table: table.oid, column: nth as i64 + 1, text, sequence };
                all.push((name, of));
            }
        }
        for (name, of) in all {
            let oid = self.number("default", &name);
            self.defaults.push(ColumnDefault { oid, ..of });
        }
    }

    /// The sequence whose next number a default is.
    fn sequence_in(&self, text: &str) -> Option<i64> {
        let (schema, name) = self.path.sequence(&texts::sequence_of(&parse_expression(text).ok()?)?)?;
        let is_it = |of: &&Relation| of.kind == "S" && of.name == name && of.schema == schema;
        self.relations.iter().find(is_it).map(|of| of.oid)
    }

    pub fn relation(&self, oid: i64) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.oid == oid)
    }
}

/// What is done where a row that others refer to goes, as `confdeltype` has it, and as statements have it unless it is usual.
fn action(
    action: datafusion::sql::sqlparser::ast::ReferentialAction,
) -> (&'static str, Option<&'static str>) {
    use datafusion::sql::sqlparser::ast::ReferentialAction as A;
    match action {
        A::NoAction => ("a", None),
        A::Restrict => ("r", Some("RESTRICT")),
        A::Cascade => ("c", Some("CASCADE")),
        A::SetNull => ("n", Some("SET NULL")),
        A::SetDefault => ("d", Some("SET DEFAULT")),
    }
}

fn name_of(index: &Index) -> &str {
    split(index.name()).1
}

/// Whether an expression names a column.
fn names(expression: &datafusion::sql::sqlparser::ast::Expr, column: &str) -> bool {
    use datafusion::sql::sqlparser::ast::Expr;
    use std::ops::ControlFlow;
    let found = each_expr(expression, |expr| match expr {
        Expr::Identifier(name) if crate::names::ident(name) == column => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn relation(oid: i64, namespace: i64, schema: &str, name: &str, kind: &'static str) -> Relation {
    Relation {
        oid,
        namespace,
        schema: schema.to_owned(),
        name: name.to_owned(),
        kind,
        is_temporary: false,
        columns: Vec::new(),
        comment: None,
        types: None,
        checks: 0,
        has_index: false,
        has_references: false,
        view: None,
        uses: Vec::new(),
        index: None,
        numbers: None,
        stored: None,
        acl: Acl::default(),
    }
}

fn constraint(
    oid: i64,
    name: &str,
    namespace: i64,
    kind: &'static str,
    table: i64,
    columns: Vec<i64>,
) -> Constraint {
    Constraint {
        oid,
        name: name.to_owned(),
        namespace,
        kind,
        table,
        index: 0,
        columns,
        parent: 0,
        referred: Vec::new(),
        is_deferrable: false,
        is_deferred: false,
        on_update: " ",
        on_delete: " ",
        expression: None,
        text: String::new(),
    }
}
