//! The rows of `information_schema` as PostgreSQL has them. Other sessions have that of the engine (`catalog/information.rs`).

use super::{
    gather::{Attribute, Constraint, Relation},
    rows::Telling,
    shape::{Cell, Shape},
    types::{self, OWN},
};

type Rows = Vec<Vec<Cell>>;

/// The rows of a table; those of one about what there is not are none.
pub(super) fn rows(shape: &Shape, of: &Telling<'_>) -> Rows {
    match shape.name {
        "information_schema_catalog_name" => vec![shape.row(&[("catalog_name", text(&of.session.database))])],
        "schemata" => schemata(shape, of),
        "tables" => tables(shape, of),
        "columns" => columns(shape, of),
        "views" => views(shape, of),
        "table_constraints" => table_constraints(shape, of),
        "key_column_usage" => key_columns(shape, of),
        "constraint_column_usage" => constraint_columns(shape, of),
        "referential_constraints" => references(shape, of),
        "check_constraints" => checks(shape, of),
        "sequences" => sequences(shape, of),
        "routines" => routines(shape, of),
        "table_privileges" | "role_table_grants" => privileges(shape, of),
        "enabled_roles" => vec![shape.row(&[("role_name", text(&of.session.user))])],
        "character_sets" => vec![shape.row(&[
            ("character_set_name", text("UTF8")),
            ("character_repertoire", text("UCS")),
            ("form_of_use", text("UTF8")),
            ("default_collate_catalog", text(&of.session.database)),
            ("default_collate_schema", text("pg_catalog")),
            ("default_collate_name", text("C")),
        ])],
        _ => Vec::new(),
    }
}

fn text(text: impl Into<String>) -> Cell {
    Cell::text(text)
}

fn yes(is: bool) -> Cell {
    text(if is { "YES" } else { "NO" })
}

/// A row in which what is not named is NULL.
fn row(shape: &Shape, cells: &[(&str, Cell)]) -> Vec<Cell> {
    let mut row = vec![Cell::Null; shape.columns.len()];
    for (name, cell) in cells {
        if let Some(place) = shape.place(name) {
            row[place] = cell.clone();
        }
    }
    row
}

fn schemata(shape: &Shape, of: &Telling<'_>) -> Rows {
    let schema = |(oid, name): &(i64, String)| {
        let is_public = *oid == super::gather::PUBLIC;
        let owner = if is_public { "pg_database_owner" } else { of.all.roles.owner.as_str() };
        row(
            shape,
            &[
                ("catalog_name", text(&of.session.database)),
                ("schema_name", text(name)),
                ("schema_owner", text(owner)),
            ],
        )
    };
    of.all.namespaces.iter().map(schema).collect()
}

/// Tables and views.
fn relations<'a>(of: &'a Telling<'_>) -> impl Iterator<Item = &'a Relation> {
    of.all.relations.iter().filter(|relation| matches!(relation.kind, "r" | "v"))
}

fn tables(shape: &Shape, of: &Telling<'_>) -> Rows {
    let table = |relation: &Relation| {
        let kind = match (relation.kind, relation.is_temporary) {
            ("v", _) => "VIEW",
            (_, true) => "LOCAL TEMPORARY",
            _ => "BASE TABLE",
        };
        row(
            shape,
            &[
                ("table_catalog", text(&of.session.database)),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("table_type", text(kind)),
                ("is_insertable_into", yes(relation.kind == "r")),
                ("is_typed", yes(false)),
            ],
        )
    };
    relations(of).map(table).collect()
}

fn columns(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows = Rows::new();
    for relation in relations(of) {
        for (nth, column) in relation.columns.iter().enumerate() {
            rows.push(column_row(shape, of, relation, nth, column));
        }
    }
    rows
}

/// Digits of numbers by their types: how many, to which base, and how many behind the point.
fn digits(ty: i64, modifier: i64) -> (Cell, Cell, Cell) {
    let of = |digits: i64, base: i64, scale: Option<i64>| {
        (Cell::Int(digits), Cell::Int(base), scale.map_or(Cell::Null, Cell::Int))
    };
    match ty {
        21 => of(16, 2, Some(0)),
        23 => of(32, 2, Some(0)),
        20 => of(64, 2, Some(0)),
        700 => of(24, 2, None),
        701 => of(53, 2, None),
        1700 if modifier >= 4 => of(((modifier - 4) >> 16) & 0xffff, 10, Some((modifier - 4) & 0x7ff)),
        1700 => (Cell::Null, Cell::Int(10), Cell::Null),
        _ => (Cell::Null, Cell::Null, Cell::Null),
    }
}

fn column_row(
    shape: &Shape,
    of: &Telling<'_>,
    relation: &Relation,
    nth: usize,
    column: &Attribute,
) -> Vec<Cell> {
    let own = OWN.get(&column.ty);
    let users = of.all.types.iter().find(|ty| ty.oid == column.ty);
    let is_array = own.is_some_and(|own| own.name.starts_with('_'));
    let data_type = match (users, is_array) {
        (Some(_), _) => "USER-DEFINED".to_owned(),
        (None, true) => "ARRAY".to_owned(),
        (None, false) => types::formatted(column.ty, None).unwrap_or_default(),
    };
    let udt =
        users.map_or(("pg_catalog", own.map_or("", |own| own.name.as_str())), |ty| (&ty.schema, &ty.name));
    let (precision, base, scale) = digits(column.ty, column.modifier);
    let (length, bytes) = match column.ty {
        25 => (Cell::Null, Cell::Int(1 << 30)),
        1043 | 1042 if column.modifier >= 4 => {
            (Cell::Int(column.modifier - 4), Cell::Int((column.modifier - 4).saturating_mul(4)))
        }
        1043 => (Cell::Null, Cell::Int(1 << 30)),
        _ => (Cell::Null, Cell::Null),
    };
    let moments = match column.ty {
        1082 => Cell::Int(0),
        1083 | 1114 | 1184 | 1186 => Cell::Int(6),
        _ => Cell::Null,
    };
    let database = || text(&of.session.database);
    let default = column.default.clone().filter(|_| !column.is_identity && !column.is_generated);
    let mut cells = vec![
        ("table_catalog", database()),
        ("table_schema", text(&relation.schema)),
        ("table_name", text(&relation.name)),
        ("column_name", text(&column.name)),
        ("ordinal_position", Cell::Int(nth as i64 + 1)),
        ("column_default", Cell::maybe(default)),
        ("is_nullable", yes(!column.not_null)),
        ("data_type", Cell::Text(data_type)),
        ("character_maximum_length", length),
        ("character_octet_length", bytes),
        ("numeric_precision", precision),
        ("numeric_precision_radix", base),
        ("numeric_scale", scale),
        ("datetime_precision", moments),
        ("udt_catalog", database()),
        ("udt_schema", text(udt.0)),
        ("udt_name", text(udt.1)),
        ("dtd_identifier", text((nth + 1).to_string())),
        ("is_self_referencing", yes(false)),
        ("is_identity", yes(column.is_identity)),
        ("is_generated", text(if column.is_generated { "ALWAYS" } else { "NEVER" })),
        ("generation_expression", Cell::maybe(column.default.clone().filter(|_| column.is_generated))),
        ("identity_cycle", yes(false)),
        ("is_updatable", yes(relation.kind == "r")),
    ];
    if column.is_identity {
        cells.extend([
            ("identity_generation", text("BY DEFAULT")),
            ("identity_start", text("1")),
            ("identity_increment", text("1")),
            ("identity_maximum", text(i64::MAX.to_string())),
            ("identity_minimum", text("1")),
        ]);
    }
    row(shape, &cells)
}

fn views(shape: &Shape, of: &Telling<'_>) -> Rows {
    let view = |relation: &Relation| {
        row(
            shape,
            &[
                ("table_catalog", text(&of.session.database)),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("view_definition", Cell::maybe(relation.view.as_deref().map(|query| format!(" {query};")))),
                ("check_option", text("NONE")),
                ("is_updatable", yes(false)),
                ("is_insertable_into", yes(false)),
                ("is_trigger_updatable", yes(false)),
                ("is_trigger_deletable", yes(false)),
                ("is_trigger_insertable_into", yes(false)),
            ],
        )
    };
    relations(of).filter(|relation| relation.kind == "v").map(view).collect()
}

/// Constraints, each with its table.
fn constraints<'a>(of: &'a Telling<'_>) -> impl Iterator<Item = (&'a Constraint, &'a Relation)> {
    of.all.constraints.iter().filter_map(|constraint| Some((constraint, of.all.relation(constraint.table)?)))
}

/// The names that rows about a constraint begin with.
fn named<'a>(of: &Telling<'_>, constraint: &Constraint, table: &Relation) -> Vec<(&'a str, Cell)> {
    vec![
        ("constraint_catalog", text(&of.session.database)),
        ("constraint_schema", text(&table.schema)),
        ("constraint_name", text(&constraint.name)),
        ("table_catalog", text(&of.session.database)),
        ("table_schema", text(&table.schema)),
        ("table_name", text(&table.name)),
    ]
}

fn table_constraints(shape: &Shape, of: &Telling<'_>) -> Rows {
    let one = |(constraint, table): (&Constraint, &Relation)| {
        let kind = match constraint.kind {
            "p" => "PRIMARY KEY",
            "u" => "UNIQUE",
            "f" => "FOREIGN KEY",
            _ => "CHECK",
        };
        let mut cells = named(of, constraint, table);
        cells.extend([
            ("constraint_type", text(kind)),
            ("is_deferrable", yes(constraint.is_deferrable)),
            ("initially_deferred", yes(constraint.is_deferred)),
            ("enforced", yes(true)),
        ]);
        if constraint.kind == "u" {
            cells.push(("nulls_distinct", yes(true)));
        }
        row(shape, &cells)
    };
    let mut rows: Rows = constraints(of).map(one).collect();
    // As in PostgreSQL, NOT NULL is a condition with a name of no constraint.
    for table in of.all.relations.iter().filter(|relation| relation.kind == "r") {
        for (nth, _) in table.columns.iter().enumerate().filter(|(_, column)| column.not_null) {
            rows.push(row(
                shape,
                &[
                    ("constraint_catalog", text(&of.session.database)),
                    ("constraint_schema", text(&table.schema)),
                    ("constraint_name", text(not_null(table, nth))),
                    ("table_catalog", text(&of.session.database)),
                    ("table_schema", text(&table.schema)),
                    ("table_name", text(&table.name)),
                    ("constraint_type", text("CHECK")),
                    ("is_deferrable", yes(false)),
                    ("initially_deferred", yes(false)),
                    ("enforced", yes(true)),
                ],
            ));
        }
    }
    rows
}

fn not_null(table: &Relation, nth: usize) -> String {
    format!("{}_{}_{}_not_null", table.namespace, table.oid, nth + 1)
}

/// The name of a column by its number.
fn column_name(table: &Relation, number: i64) -> Option<&str> {
    let nth = usize::try_from(number - 1).ok()?;
    table.columns.get(nth).map(|column| column.name.as_str())
}

fn key_columns(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows = Rows::new();
    for (constraint, table) in constraints(of).filter(|(constraint, _)| constraint.kind != "c") {
        let unique = of.all.relation(constraint.index).and_then(|index| index.index.as_ref());
        for (nth, number) in constraint.columns.iter().enumerate() {
            let Some(column) = column_name(table, *number) else { continue };
            let referred = constraint.referred.get(nth);
            let place = referred.and_then(|of| unique?.keys.iter().position(|key| key == of));
            let mut cells = named(of, constraint, table);
            cells.extend([
                ("column_name", text(column)),
                ("ordinal_position", Cell::Int(nth as i64 + 1)),
                (
                    "position_in_unique_constraint",
                    place.map_or(Cell::Null, |place| Cell::Int(place as i64 + 1)),
                ),
            ]);
            rows.push(row(shape, &cells));
        }
    }
    rows
}

fn constraint_columns(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows = Rows::new();
    for (constraint, table) in constraints(of) {
        let (of_table, numbers) = match constraint.kind {
            "f" => (of.all.relation(constraint.parent), &constraint.referred),
            _ => (Some(table), &constraint.columns),
        };
        let Some(of_table) = of_table else { continue };
        for column in numbers.iter().filter_map(|number| column_name(of_table, *number)) {
            let mut cells = named(of, constraint, table);
            cells.extend([
                ("table_schema", text(&of_table.schema)),
                ("table_name", text(&of_table.name)),
                ("column_name", text(column)),
            ]);
            rows.push(row(shape, &cells));
        }
    }
    rows
}

fn references(shape: &Shape, of: &Telling<'_>) -> Rows {
    let rule = |kind: &str| {
        text(match kind {
            "c" => "CASCADE",
            "n" => "SET NULL",
            "d" => "SET DEFAULT",
            "r" => "RESTRICT",
            _ => "NO ACTION",
        })
    };
    let one = |(constraint, table): (&Constraint, &Relation)| {
        let unique = of.all.relation(constraint.index);
        let of_unique = |cell: fn(&Relation) -> &str| Cell::maybe(unique.map(cell));
        let mut cells = named(of, constraint, table);
        cells.truncate(3);
        cells.extend([
            ("unique_constraint_catalog", text(&of.session.database)),
            ("unique_constraint_schema", of_unique(|unique| &unique.schema)),
            ("unique_constraint_name", of_unique(|unique| &unique.name)),
            ("match_option", text("NONE")),
            ("update_rule", rule(constraint.on_update)),
            ("delete_rule", rule(constraint.on_delete)),
        ]);
        row(shape, &cells)
    };
    constraints(of).filter(|(constraint, _)| constraint.kind == "f").map(one).collect()
}

fn checks(shape: &Shape, of: &Telling<'_>) -> Rows {
    let mut rows = Rows::new();
    let mut push = |table: &Relation, name: String, clause: String| {
        rows.push(row(
            shape,
            &[
                ("constraint_catalog", text(&of.session.database)),
                ("constraint_schema", text(&table.schema)),
                ("constraint_name", Cell::Text(name)),
                ("check_clause", Cell::Text(clause)),
            ],
        ));
    };
    for (constraint, table) in constraints(of) {
        if let Some(expression) = &constraint.expression {
            push(table, constraint.name.clone(), format!("(({expression}))"));
        }
    }
    for table in of.all.relations.iter().filter(|relation| relation.kind == "r") {
        for (nth, column) in table.columns.iter().enumerate().filter(|(_, column)| column.not_null) {
            push(table, not_null(table, nth), format!("{} IS NOT NULL", super::gather::quoted(&column.name)));
        }
    }
    rows
}

fn sequences(shape: &Shape, of: &Telling<'_>) -> Rows {
    let one = |relation: &Relation| {
        let numbers = relation.numbers.as_ref()?;
        Some(row(
            shape,
            &[
                ("sequence_catalog", text(&of.session.database)),
                ("sequence_schema", text(&relation.schema)),
                ("sequence_name", text(&relation.name)),
                ("data_type", text("bigint")),
                ("numeric_precision", Cell::Int(64)),
                ("numeric_precision_radix", Cell::Int(2)),
                ("numeric_scale", Cell::Int(0)),
                ("start_value", text(numbers.start.to_string())),
                ("minimum_value", text(numbers.min.to_string())),
                ("maximum_value", text(numbers.max.to_string())),
                ("increment", text(numbers.increment.to_string())),
                ("cycle_option", yes(numbers.cycle)),
            ],
        ))
    };
    // Those of identities are theirs, and listed with them.
    let is_identity = |relation: &&Relation| {
        let owner = relation.numbers.as_ref().and_then(|numbers| numbers.owner);
        owner.is_some_and(|(table, column)| {
            let nth = usize::try_from(column - 1).unwrap_or(usize::MAX);
            of.all.relation(table).and_then(|of| of.columns.get(nth)).is_some_and(|column| column.is_identity)
        })
    };
    of.all.relations.iter().filter(|relation| !is_identity(relation)).filter_map(one).collect()
}

fn routines(shape: &Shape, of: &Telling<'_>) -> Rows {
    let one = |routine: &super::gather::Routine| {
        let schema = of.all.namespaces.iter().find(|(oid, _)| *oid == routine.namespace);
        let schema = schema.map_or("public", |(_, name)| name.as_str());
        row(
            shape,
            &[
                ("specific_catalog", text(&of.session.database)),
                ("specific_schema", text(schema)),
                ("specific_name", text(format!("{}_{}", routine.name, routine.oid))),
                ("routine_catalog", text(&of.session.database)),
                ("routine_schema", text(schema)),
                ("routine_name", text(&routine.name)),
                ("routine_type", text("FUNCTION")),
                ("routine_body", text("SQL")),
                ("routine_definition", text(&routine.text)),
                ("external_language", text("SQL")),
            ],
        )
    };
    of.all.routines.iter().map(one).collect()
}

fn privileges(shape: &Shape, of: &Telling<'_>) -> Rows {
    let is_of_roles = shape.name == "role_table_grants";
    let one = |relation: &Relation, (grantor, grantee, right, is_grantable): (String, String, &str, bool)| {
        row(
            shape,
            &[
                ("grantor", text(grantor)),
                ("grantee", text(grantee)),
                ("table_catalog", text(&of.session.database)),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("privilege_type", text(right)),
                ("is_grantable", yes(is_grantable)),
                ("with_hierarchy", yes(right == "SELECT")),
            ],
        )
    };
    relations(of)
        .flat_map(|relation| {
            let rights = of.all.roles.of_relation(&relation.acl).into_iter();
            // What everybody has is no role's.
            let rights = rights.filter(move |(_, grantee, ..)| !is_of_roles || grantee != "PUBLIC");
            rights.map(move |right| one(relation, right))
        })
        .collect()
}
