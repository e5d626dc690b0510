//! The rows of the tables of `pg_catalog`.

use super::{
    Session,
    gather::{Attribute, CATALOG_SCHEMA, Gathered, INFORMATION_SCHEMA, PUBLIC, Relation, quoted},
    shape::{CATALOG, Cell, INFORMATION, Shape, constant_rows},
    texts,
    types::{self, OWN},
};
use crate::rights::{Level, Right};

/// The role that all is of.
pub(super) const OWNER: i64 = 10;
/// The role that the schema `public` is of: whoever has the database.
pub(super) const OWNER_OF_PUBLIC: i64 = 6171;
/// The database's number.
const DATABASE: i64 = 16383;
/// The number of `pg_class`, by which descriptions and dependencies know what they are about.
pub(super) const CLASS: i64 = 1259;
/// Those of `pg_namespace`, `pg_type`, `pg_attrdef` and `pg_proc`.
const SCHEMAS: i64 = 2615;
const TYPES: i64 = 1247;
const DEFAULTS: i64 = 2604;
const ROUTINES: i64 = 1255;
/// The number of `pg_rewrite`.
const REWRITE: i64 = 2618;

/// What there is to tell of one table.
pub(super) struct Telling<'a> {
    pub all: &'a Gathered,
    pub session: &'a Session,
    /// Rows and pages of stored tables, by their names.
    pub sizes: &'a dyn Fn(&str) -> Option<(u64, u64)>,
}

type Rows = Vec<Vec<Cell>>;

/// The rows of a table.
pub(super) fn rows(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows: Rows = constant_rows(shape.name).lines().map(|line| shape.parsed(line)).collect();
    rows.extend(match shape.name {
        "pg_class" => classes(shape, of),
        "pg_attribute" => attributes(shape, of),
        "pg_attrdef" => defaults(shape, of),
        "pg_type" => row_types(shape, of),
        "pg_enum" => labels(shape, of),
        "pg_index" => indexes(shape, of),
        "pg_constraint" => constraints(shape, of),
        "pg_namespace" => namespaces(shape, of),
        "pg_description" => descriptions(shape, of),
        "pg_sequence" => sequences(shape, of),
        "pg_proc" => routines(shape, of),
        "pg_depend" => dependencies(shape, of),
        "pg_rewrite" => rules(shape, of),
        "pg_database" => vec![database(shape, of)],
        "pg_init_privs" => first_rights(shape, of),
        "pg_roles" | "pg_authid" | "pg_user" | "pg_shadow" => roles(shape, of),
        "pg_settings" => settings(shape, of),
        "pg_tables" => tables(shape, of),
        "pg_views" => views(shape, of),
        "pg_indexes" => index_texts(shape, of),
        "pg_sequences" => sequence_list(shape, of),
        "pg_stat_user_tables" | "pg_stat_all_tables" => table_figures(shape, of),
        _ => Vec::new(),
    });
    rows
}

fn text(text: impl Into<String>) -> Cell {
    Cell::text(text)
}

/// The relations of the catalog itself, with the numbers of their schemas.
fn own_relations() -> impl Iterator<Item = (i64, &'static Shape)> {
    let catalog = CATALOG.iter().map(|shape| (CATALOG_SCHEMA, shape));
    catalog.chain(INFORMATION.iter().map(|shape| (INFORMATION_SCHEMA, shape)))
}

fn classes(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows: Rows = own_relations()
        .map(|(namespace, own)| {
            shape.row(&[
                ("oid", Cell::Int(own.oid)),
                ("relname", text(own.name)),
                ("relnamespace", Cell::Int(namespace)),
                ("relowner", Cell::Int(OWNER)),
                ("relam", Cell::Int(if own.kind == "r" { 2 } else { 0 })),
                ("relkind", text(own.kind)),
                ("relpersistence", text("p")),
                ("relnatts", Cell::int(own.columns.len() as i64)),
                ("relreplident", text("n")),
                ("relispopulated", Cell::Bool(true)),
                ("reltuples", Cell::Float(-1.0)),
                ("relhasrules", Cell::Bool(own.kind == "v")),
            ])
        })
        .collect();
    rows.extend(of.all.relations.iter().map(|relation| class(shape, of, relation)));
    rows
}

fn class(shape: &Shape, of: &Telling<'_>, relation: &Relation) -> Vec<Cell> {
    let size = relation.stored.as_deref().and_then(|name| (of.sizes)(name));
    let (tuples, pages) = match relation.kind {
        "r" => size.map_or((-1.0, 0), |(rows, pages)| (rows as f64, pages as i64)),
        "S" => (1.0, 1),
        "v" => (-1.0, 0),
        _ => (0.0, 1),
    };
    let method = match (&relation.index, relation.kind) {
        (Some(index), _) => {
            if index.is_hash {
                405
            } else {
                403
            }
        }
        (None, "r") => 2,
        _ => 0,
    };
    let (row_type, _) = relation.types.unwrap_or((0, 0));
    let natural = if relation.kind == "S" { 3 } else { relation.columns.len() };
    shape.row(&[
        ("oid", Cell::Int(relation.oid)),
        ("relname", text(&relation.name)),
        ("relnamespace", Cell::Int(relation.namespace)),
        ("reltype", Cell::Int(row_type)),
        ("relowner", Cell::Int(of.all.roles.owner_of(&relation.acl).0)),
        ("relam", Cell::Int(method)),
        ("relfilenode", Cell::Int(if relation.kind == "v" { 0 } else { relation.oid })),
        ("relpages", Cell::Int(pages)),
        ("reltuples", Cell::Float(tuples)),
        ("relhasindex", Cell::Bool(relation.has_index)),
        ("relkind", text(relation.kind)),
        ("relpersistence", text(if relation.is_temporary { "t" } else { "p" })),
        ("relnatts", Cell::int(natural as i64)),
        ("relchecks", Cell::Int(relation.checks)),
        ("relhasrules", Cell::Bool(relation.kind == "v")),
        ("relhastriggers", Cell::Bool(relation.has_references)),
        ("relispopulated", Cell::Bool(true)),
        ("relreplident", text(if relation.kind == "r" { "d" } else { "n" })),
        (
            "relacl",
            match relation.kind {
                "S" => of.all.roles.list(&relation.acl, "rwU", &Right::OF_SEQUENCES),
                _ => of.all.roles.list(&relation.acl, "arwdDxt", &Right::OF_TABLES),
            },
        ),
    ])
}

fn attributes(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows = Rows::new();
    for (_, own) in own_relations() {
        for (nth, column) in own.columns.iter().enumerate() {
            let ty = match column.ty {
                "_aclitem" => 1034,
                "pg_node_tree" => 194,
                "text" => 25,
                name => types::by_name(&format!("\"{name}\"")).unwrap_or(25),
            };
            let column = Attribute {
                name: column.name.to_owned(),
                ty,
                modifier: -1,
                not_null: false,
                default: None,
                is_identity: false,
                is_generated: false,
                comment: None,
            };
            rows.push(attribute(shape, own.oid, nth, &column));
        }
    }
    for relation in &of.all.relations {
        let columns = relation.columns.iter().enumerate();
        rows.extend(columns.map(|(nth, column)| attribute(shape, relation.oid, nth, column)));
        if relation.kind == "S" {
            let columns = [("last_value", 20), ("log_cnt", 20), ("is_called", 16)].iter().enumerate();
            rows.extend(columns.map(|(nth, (name, ty))| {
                let column = Attribute {
                    name: (*name).to_owned(),
                    ty: *ty,
                    modifier: -1,
                    not_null: true,
                    default: None,
                    is_identity: false,
                    is_generated: false,
                    comment: None,
                };
                attribute(shape, relation.oid, nth, &column)
            }));
        }
    }
    rows
}

fn attribute(shape: &Shape, relation: i64, nth: usize, column: &Attribute) -> Vec<Cell> {
    let own = OWN.get(&column.ty);
    let dimensions = own.is_some_and(|own| own.item != 0 && own.name.starts_with('_'));
    shape.row(&[
        ("attrelid", Cell::Int(relation)),
        ("attname", text(&column.name)),
        ("atttypid", Cell::Int(column.ty)),
        ("attstattarget", Cell::Int(-1)),
        ("attlen", Cell::Int(own.map_or(4, |own| own.length))),
        ("attnum", Cell::int(nth as i64 + 1)),
        ("attndims", Cell::int(i64::from(dimensions))),
        ("attcacheoff", Cell::Int(-1)),
        ("atttypmod", Cell::Int(column.modifier)),
        ("attbyval", Cell::Bool(own.is_none_or(|own| own.by_value))),
        ("attalign", text(own.map_or("i", |own| own.align.as_str()))),
        ("attstorage", text(own.map_or("p", |own| own.storage.as_str()))),
        ("attnotnull", Cell::Bool(column.not_null)),
        ("atthasdef", Cell::Bool(column.default.is_some() && !column.is_identity)),
        // One that numbers itself does so where no number is given.
        ("attidentity", text(if column.is_identity { "d" } else { "" })),
        ("attgenerated", text(if column.is_generated { "s" } else { "" })),
        ("attislocal", Cell::Bool(true)),
        ("attcollation", Cell::Int(own.map_or(0, |own| own.collation))),
    ])
}

fn defaults(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |default: &super::gather::ColumnDefault| {
        shape.row(&[
            ("oid", Cell::Int(default.oid)),
            ("adrelid", Cell::Int(default.table)),
            ("adnum", Cell::Int(default.column)),
            ("adbin", text(&default.text)),
        ])
    };
    of.all.defaults.iter().map(row).collect()
}

fn row_types(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows = Rows::new();
    let base = |oid: i64, name: String, namespace: i64, more: &[(&str, Cell)]| {
        let mut cells = vec![
            ("oid", Cell::Int(oid)),
            ("typname", Cell::Text(name)),
            ("typnamespace", Cell::Int(namespace)),
            ("typowner", Cell::Int(OWNER)),
            ("typlen", Cell::Int(-1)),
            ("typisdefined", Cell::Bool(true)),
            ("typdelim", text(",")),
            ("typsubscript", text("-")),
            ("typalign", text("d")),
            ("typstorage", text("x")),
            ("typtypmod", Cell::Int(-1)),
        ];
        cells.extend(more.iter().cloned());
        shape.row(&cells)
    };
    let functions = |of: &str| {
        [("typinput", "in"), ("typoutput", "out"), ("typreceive", "recv"), ("typsend", "send")]
            .map(|(column, what)| (column, text(format!("{of}_{what}"))))
    };
    let array = |oid: i64, name: &str, namespace: i64, item: i64, align: &str| {
        let mut more = vec![
            ("typtype", text("b")),
            ("typcategory", text("A")),
            ("typsubscript", text("array_subscript_handler")),
            ("typelem", Cell::Int(item)),
            ("typalign", text(align)),
        ];
        more.extend(functions("array"));
        base(oid, format!("_{name}"), namespace, &more)
    };
    for relation in &of.all.relations {
        let Some((oid, arrays)) = relation.types else { continue };
        let mut more = vec![
            ("typtype", text("c")),
            ("typcategory", text("C")),
            ("typrelid", Cell::Int(relation.oid)),
            ("typarray", Cell::Int(arrays)),
        ];
        more.extend(functions("record"));
        rows.push(base(oid, relation.name.clone(), relation.namespace, &more));
        rows.push(array(arrays, &relation.name, relation.namespace, oid, "d"));
    }
    for ty in &of.all.types {
        let mut more = vec![
            ("typlen", Cell::Int(4)),
            ("typbyval", Cell::Bool(true)),
            ("typtype", text("e")),
            ("typcategory", text("E")),
            ("typarray", Cell::Int(ty.array)),
            ("typalign", text("i")),
            ("typstorage", text("p")),
        ];
        more.extend(functions("enum"));
        rows.push(base(ty.oid, ty.name.clone(), ty.namespace, &more));
        rows.push(array(ty.array, &ty.name, ty.namespace, ty.oid, "i"));
    }
    rows
}

fn labels(shape: &Shape, of: &Telling<'_>) -> Rows {
    let labels =
        of.all.types.iter().flat_map(|ty| ty.labels.iter().enumerate().map(move |label| (ty.oid, label)));
    let row = |(ty, (nth, (oid, label))): (i64, (usize, &(i64, String)))| {
        shape.row(&[
            ("oid", Cell::Int(*oid)),
            ("enumtypid", Cell::Int(ty)),
            ("enumsortorder", Cell::Float(nth as f64 + 1.0)),
            ("enumlabel", text(label)),
        ])
    };
    labels.map(row).collect()
}

/// The operator class of a column's type, for indexes in order or by hashes.
fn operators(ty: i64) -> i64 {
    match ty {
        16 => 424,
        17 => 428,
        20 => 3124,
        21 => 1979,
        23 => 1978,
        25 | 1043 => 3126,
        700 => 1970,
        701 => 1972,
        1082 => 3122,
        1083 => 3127,
        1114 => 3128,
        1184 => 3127,
        1700 => 3125,
        _ => 0,
    }
}

fn indexes(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |relation: &Relation| {
        let index = relation.index.as_ref()?;
        let count = index.keys.len() as i64;
        let expressions: Vec<_> = index
            .keys
            .iter()
            .zip(&index.texts)
            .filter(|(key, _)| **key == 0)
            .map(|(_, text)| text.as_str())
            .collect();
        let of_column =
            |column: &Attribute| (OWN.get(&column.ty).map_or(0, |own| own.collation), operators(column.ty));
        let (collations, classes) = relation.columns.iter().map(of_column).unzip();
        Some(shape.row(&[
            ("indexrelid", Cell::Int(relation.oid)),
            ("indrelid", Cell::Int(index.table)),
            ("indnatts", Cell::Int(count)),
            ("indnkeyatts", Cell::Int(count)),
            ("indisunique", Cell::Bool(index.is_unique)),
            ("indisprimary", Cell::Bool(index.is_primary)),
            ("indimmediate", Cell::Bool(true)),
            ("indisvalid", Cell::Bool(true)),
            ("indisready", Cell::Bool(true)),
            ("indislive", Cell::Bool(true)),
            ("indkey", Cell::Ints(index.keys.clone())),
            ("indcollation", Cell::Ints(collations)),
            ("indclass", Cell::Ints(classes)),
            ("indoption", Cell::Ints(vec![0; index.keys.len()])),
            ("indexprs", Cell::maybe((!expressions.is_empty()).then(|| expressions.join(", ")))),
            ("indpred", Cell::maybe(index.condition.clone())),
        ]))
    };
    of.all.relations.iter().filter_map(row).collect()
}

fn constraints(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |constraint: &super::gather::Constraint| {
        let is_reference = constraint.kind == "f";
        let referred = |cell: Cell| if is_reference { cell } else { Cell::Null };
        let equal = Cell::Ints(vec![0; constraint.columns.len()]);
        shape.row(&[
            ("oid", Cell::Int(constraint.oid)),
            ("conname", text(&constraint.name)),
            ("connamespace", Cell::Int(constraint.namespace)),
            ("contype", text(constraint.kind)),
            ("condeferrable", Cell::Bool(constraint.is_deferrable)),
            ("condeferred", Cell::Bool(constraint.is_deferred)),
            ("convalidated", Cell::Bool(true)),
            ("conrelid", Cell::Int(constraint.table)),
            ("conindid", Cell::Int(constraint.index)),
            ("confrelid", Cell::Int(constraint.parent)),
            ("confupdtype", text(constraint.on_update)),
            ("confdeltype", text(constraint.on_delete)),
            ("confmatchtype", text(if is_reference { "s" } else { " " })),
            ("conislocal", Cell::Bool(true)),
            ("connoinherit", Cell::Bool(constraint.kind != "c")),
            (
                "conkey",
                if constraint.columns.is_empty() {
                    Cell::Null
                } else {
                    Cell::Ints(constraint.columns.clone())
                },
            ),
            ("confkey", referred(Cell::Ints(constraint.referred.clone()))),
            ("conpfeqop", referred(equal.clone())),
            ("conppeqop", referred(equal.clone())),
            ("conffeqop", referred(equal)),
            ("conbin", Cell::maybe(constraint.expression.clone())),
        ])
    };
    of.all.constraints.iter().map(row).collect()
}

fn namespaces(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |(oid, name): &(i64, String)| {
        let owner = if *oid == PUBLIC { OWNER_OF_PUBLIC } else { OWNER };
        let roles = &of.all.roles;
        let by = if *oid == PUBLIC { "pg_database_owner" } else { roles.owner.as_str() };
        let given = roles.schemas.iter().find(|(known, _)| known == oid).map(|(_, acl)| acl);
        let more = given.map(|acl| roles.list(acl, "UC", &[Right::Create]));
        let rights = match *oid {
            _ if let Some(Cell::Texts(mut all)) = more => {
                if *oid == PUBLIC {
                    all.push(format!("=U/{by}"));
                }
                Cell::Texts(all)
            }
            PUBLIC | CATALOG_SCHEMA | INFORMATION_SCHEMA => {
                Cell::Texts(vec![format!("{by}=UC/{by}"), format!("=U/{by}")])
            }
            _ => Cell::Null,
        };
        let cells = [
            ("oid", Cell::Int(*oid)),
            ("nspname", text(name)),
            ("nspowner", Cell::Int(owner)),
            ("nspacl", rights),
        ];
        shape.row(&cells)
    };
    of.all.namespaces.iter().map(row).collect()
}

/// The rights to schemas that a new database has: pg_dump leaves them out.
fn first_rights(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |schema: i64| {
        let by = if schema == PUBLIC { "pg_database_owner" } else { of.all.roles.owner.as_str() };
        shape.row(&[
            ("objoid", Cell::Int(schema)),
            ("classoid", Cell::Int(SCHEMAS)),
            ("privtype", text("i")),
            ("initprivs", Cell::Texts(vec![format!("{by}=UC/{by}"), format!("=U/{by}")])),
        ])
    };
    [PUBLIC, CATALOG_SCHEMA, INFORMATION_SCHEMA].map(row).into()
}

fn descriptions(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows = Rows::new();
    let mut row = |class: i64, oid: i64, column: i64, said: &str| {
        rows.push(shape.row(&[
            ("objoid", Cell::Int(oid)),
            ("classoid", Cell::Int(class)),
            ("objsubid", Cell::Int(column)),
            ("description", text(said)),
        ]));
    };
    for relation in &of.all.relations {
        if let Some(comment) = &relation.comment {
            row(CLASS, relation.oid, 0, comment);
        }
        for (nth, column) in relation.columns.iter().enumerate() {
            if let Some(comment) = &column.comment {
                row(CLASS, relation.oid, nth as i64 + 1, comment);
            }
        }
    }
    for ty in &of.all.types {
        if let Some(comment) = &ty.comment {
            row(TYPES, ty.oid, 0, comment);
        }
    }
    let public = shape.row(&[
        ("objoid", Cell::Int(PUBLIC)),
        ("classoid", Cell::Int(SCHEMAS)),
        ("description", text("standard public schema")),
    ]);
    rows.push(public);
    rows
}

fn sequences(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |relation: &Relation| {
        let numbers = relation.numbers.as_ref()?;
        Some(shape.row(&[
            ("seqrelid", Cell::Int(relation.oid)),
            ("seqtypid", Cell::Int(20)),
            ("seqstart", Cell::Int(numbers.start)),
            ("seqincrement", Cell::Int(numbers.increment)),
            ("seqmax", Cell::Int(numbers.max)),
            ("seqmin", Cell::Int(numbers.min)),
            ("seqcache", Cell::Int(1)),
            ("seqcycle", Cell::Bool(numbers.cycle)),
        ]))
    };
    of.all.relations.iter().filter_map(row).collect()
}

/// The functions by which types are received, which clients know arrays by.
fn receivers(shape: &Shape) -> Rows {
    let row = |line: &str| {
        let (oid, name) = line.split_once('\t')?;
        Some(shape.row(&[
            ("oid", Cell::Int(oid.parse().ok()?)),
            ("proname", text(name)),
            ("pronamespace", Cell::Int(CATALOG_SCHEMA)),
            ("proowner", Cell::Int(OWNER)),
            ("prolang", Cell::Int(12)),
            ("procost", Cell::Float(1.0)),
            ("prokind", text("f")),
            ("provolatile", text("s")),
            ("proparallel", text("s")),
            ("proisstrict", Cell::Bool(true)),
            ("prosrc", text(name)),
        ]))
    };
    include_str!("data/receivers.tsv").lines().filter_map(row).collect()
}

fn routines(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |routine: &super::gather::Routine| {
        shape.row(&[
            ("oid", Cell::Int(routine.oid)),
            ("proname", text(&routine.name)),
            ("pronamespace", Cell::Int(routine.namespace)),
            ("proowner", Cell::Int(OWNER)),
            ("prolang", Cell::Int(14)),
            ("procost", Cell::Float(1.0)),
            ("prokind", text("f")),
            ("provolatile", text("v")),
            ("proparallel", text("u")),
            // What it returns depends on what it is given.
            ("prorettype", Cell::Int(2283)),
            ("prosrc", text(&routine.text)),
        ])
    };
    receivers(shape).into_iter().chain(of.all.routines.iter().map(row)).collect()
}

/// The number of the rule that a view is.
fn rule_of(view: i64) -> i64 {
    view + (1 << 41)
}

fn rules(shape: &Shape, of: &Telling<'_>) -> Rows {
    let views = of.all.relations.iter().filter(|relation| relation.kind == "v");
    let row = |view: &Relation| {
        shape.row(&[
            ("oid", Cell::Int(rule_of(view.oid))),
            ("rulename", text("_RETURN")),
            ("ev_class", Cell::Int(view.oid)),
            ("ev_type", text("1")),
            ("ev_enabled", text("O")),
            ("is_instead", Cell::Bool(true)),
        ])
    };
    views.map(row).collect()
}

/// What defaults depend on, and that functions are of no use elsewhere: macros are none of PostgreSQL's functions, so pg_dump is told that
/// they come with something else.
fn other_dependencies(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |class: i64, oid: i64, on: (i64, i64, i64), kind: &str| {
        shape.row(&[
            ("classid", Cell::Int(class)),
            ("objid", Cell::Int(oid)),
            ("refclassid", Cell::Int(on.0)),
            ("refobjid", Cell::Int(on.1)),
            ("refobjsubid", Cell::Int(on.2)),
            ("deptype", text(kind)),
        ])
    };
    let mut rows = Rows::new();
    for default in &of.all.defaults {
        rows.push(row(DEFAULTS, default.oid, (CLASS, default.table, default.column), "a"));
        if let Some(sequence) = default.sequence {
            rows.push(row(DEFAULTS, default.oid, (CLASS, sequence, 0), "n"));
        }
    }
    for routine in &of.all.routines {
        rows.push(row(ROUTINES, routine.oid, (SCHEMAS, routine.namespace, 0), "i"));
    }
    rows
}

fn dependencies(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |class: i64, oid: i64, on: (i64, i64), kind: &str| {
        shape.row(&[
            ("classid", Cell::Int(class)),
            ("objid", Cell::Int(oid)),
            ("refclassid", Cell::Int(CLASS)),
            ("refobjid", Cell::Int(on.0)),
            ("refobjsubid", Cell::Int(on.1)),
            ("deptype", text(kind)),
        ])
    };
    let mut rows = other_dependencies(shape, of);
    for relation in &of.all.relations {
        if let Some(owner) = relation.numbers.as_ref().and_then(|numbers| numbers.owner) {
            let is_identity = of.all.relation(owner.0).is_some_and(|table| {
                usize::try_from(owner.1 - 1)
                    .ok()
                    .and_then(|nth| table.columns.get(nth))
                    .is_some_and(|of| of.is_identity)
            });
            rows.push(row(CLASS, relation.oid, owner, if is_identity { "i" } else { "a" }));
        }
        if relation.kind != "v" {
            continue;
        }
        rows.push(row(REWRITE, rule_of(relation.oid), (relation.oid, 0), "i"));
        for used in &relation.uses {
            let (schema, name) = crate::names::split(used);
            let schema = if schema == ambo::DEFAULT_SCHEMA { "public" } else { schema };
            let found = of.all.relations.iter().find(|of| of.name == name && of.schema == schema);
            let Some(found) = found else { continue };
            rows.extend(
                (1..=found.columns.len() as i64)
                    .map(|nth| row(REWRITE, rule_of(relation.oid), (found.oid, nth), "n")),
            );
        }
    }
    rows
}

fn database(shape: &Shape, of: &Telling<'_>) -> Vec<Cell> {
    shape.row(&[
        ("oid", Cell::Int(DATABASE)),
        ("datname", text(&of.session.database)),
        ("datdba", Cell::Int(OWNER)),
        ("encoding", Cell::Int(6)),
        ("datlocprovider", text("c")),
        ("datallowconn", Cell::Bool(true)),
        ("datconnlimit", Cell::Int(-1)),
        ("dattablespace", Cell::Int(1663)),
        ("datcollate", text("C")),
        ("datctype", text("C")),
    ])
}

fn roles(shape: &Shape, of: &Telling<'_>) -> Rows {
    let roles = &of.all.roles;
    let mut rows = vec![role(shape, OWNER, &roles.owner, true, true)];
    if !matches!(shape.name, "pg_user" | "pg_shadow") {
        rows.push(role(shape, OWNER_OF_PUBLIC, "pg_database_owner", false, false));
    }
    rows.extend(roles.others.iter().map(|told| {
        let is_superuser = told.role.level() == Level::Superuser;
        role(shape, told.oid, told.role.name(), is_superuser, told.can_login)
    }));
    rows
}

fn role(shape: &Shape, number: i64, name: &str, is_superuser: bool, can_login: bool) -> Vec<Cell> {
    let (prefix, oid) = match shape.name {
        "pg_user" | "pg_shadow" => ("use", "usesysid"),
        _ => ("rol", "oid"),
    };
    let mut row = shape.row(&[(oid, Cell::Int(number))]);
    for (column, cell) in shape.columns.iter().zip(&mut row) {
        if column.ty == "bool" {
            *cell = Cell::Bool(match column.name {
                "rolcanlogin" => can_login,
                "rolinherit" => true,
                _ => is_superuser,
            });
        }
        if column.name == format!("{prefix}name") {
            *cell = text(name);
        }
        if column.name == format!("{prefix}connlimit") {
            *cell = Cell::Int(-1);
        }
    }
    row
}

fn settings(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |(name, value): &(String, String)| {
        shape.row(&[
            ("name", text(name)),
            ("setting", text(value)),
            ("category", text("")),
            ("short_desc", text("")),
            ("context", text("user")),
            ("vartype", text("string")),
            ("source", text("default")),
            ("boot_val", text(value)),
            ("reset_val", text(value)),
        ])
    };
    of.session.settings.iter().map(row).collect()
}

/// Relations of a kind.
fn of_kind<'a>(of: &'a Telling<'_>, kind: &'static str) -> impl Iterator<Item = &'a Relation> {
    of.all.relations.iter().filter(move |relation| relation.kind == kind)
}

fn tables(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |table: &Relation| {
        shape.row(&[
            ("schemaname", text(&table.schema)),
            ("tablename", text(&table.name)),
            ("tableowner", text(of.all.roles.owner_of(&table.acl).1)),
            ("hasindexes", Cell::Bool(table.has_index)),
            ("hastriggers", Cell::Bool(table.has_references)),
        ])
    };
    of_kind(of, "r").map(row).collect()
}

fn views(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |view: &Relation| {
        shape.row(&[
            ("schemaname", text(&view.schema)),
            ("viewname", text(&view.name)),
            ("viewowner", text(of.all.roles.owner_of(&view.acl).1)),
            (
                "definition",
                Cell::maybe(
                    view.view.as_deref().map(|text| format!(" {};", texts::of_query(text, &of.all.path))),
                ),
            ),
        ])
    };
    of_kind(of, "v").map(row).collect()
}

/// The statement that makes an index.
pub(super) fn index_text(all: &Gathered, relation: &Relation, is_short: bool) -> Option<String> {
    let index = relation.index.as_ref()?;
    let table = all.relation(index.table)?;
    let unique = if index.is_unique { "UNIQUE " } else { "" };
    let (method, columns) = (if index.is_hash { "hash" } else { "btree" }, index.texts.join(", "));
    let name = quoted(&relation.name);
    let of = match is_short {
        true => all.path.shown(&table.schema, &table.name),
        false => format!("{}.{}", quoted(&table.schema), quoted(&table.name)),
    };
    let condition =
        index.condition.as_ref().map_or(String::new(), |condition| format!(" WHERE ({condition})"));
    Some(format!("CREATE {unique}INDEX {name} ON {of} USING {method} ({columns}){condition}"))
}

fn index_texts(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |relation: &Relation| {
        let table = of.all.relation(relation.index.as_ref()?.table)?;
        Some(shape.row(&[
            ("schemaname", text(&table.schema)),
            ("tablename", text(&table.name)),
            ("indexname", text(&relation.name)),
            ("indexdef", Cell::maybe(index_text(of.all, relation, false))),
        ]))
    };
    of_kind(of, "i").filter_map(row).collect()
}

fn sequence_list(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |relation: &Relation| {
        let numbers = relation.numbers.as_ref()?;
        Some(shape.row(&[
            ("schemaname", text(&relation.schema)),
            ("sequencename", text(&relation.name)),
            ("sequenceowner", text(&of.all.roles.owner)),
            ("data_type", text("bigint")),
            ("start_value", Cell::Int(numbers.start)),
            ("min_value", Cell::Int(numbers.min)),
            ("max_value", Cell::Int(numbers.max)),
            ("increment_by", Cell::Int(numbers.increment)),
            ("cycle", Cell::Bool(numbers.cycle)),
            ("cache_size", Cell::Int(1)),
            ("last_value", Cell::Null),
        ]))
    };
    of_kind(of, "S").filter_map(row).collect()
}

fn table_figures(shape: &Shape, of: &Telling<'_>) -> Rows {
    let row = |table: &Relation| {
        let rows =
            table.stored.as_deref().and_then(|name| (of.sizes)(name)).map_or(0, |(rows, _)| rows as i64);
        shape.row(&[
            ("relid", Cell::Int(table.oid)),
            ("schemaname", text(&table.schema)),
            ("relname", text(&table.name)),
            ("n_live_tup", Cell::Int(rows)),
        ])
    };
    of_kind(of, "r").map(row).collect()
}
