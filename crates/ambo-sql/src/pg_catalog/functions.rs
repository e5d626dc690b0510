//! Functions about the catalog: `format_type`, `pg_get_constraintdef`, what a name is the number of, and so on. They know what there was
//! when their statement was planned.

use std::{
    collections::HashMap,
    fmt,
    hash::{Hash, Hasher},
    sync::{Arc, LazyLock},
};

use arrow::{
    array::{ArrayRef, BooleanArray, Int32Array, Int64Array, ListBuilder, StringArray, StringBuilder},
    datatypes::{DataType, FieldRef},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
        TypeSignature, Volatility,
    },
};

use super::{
    Catalog,
    gather::quoted,
    rights,
    rows::index_text,
    shape::{Cell, field},
    texts,
};

/// What is given for a parameter.
#[derive(Clone, Debug)]
pub(super) enum Arg {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    Other,
}

impl Arg {
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn of(value: &ScalarValue) -> Self {
        match value {
            value if value.is_null() => Self::Null,
            ScalarValue::Boolean(Some(is)) => Self::Bool(*is),
            value if value.data_type().is_integer() => match value.cast_to(&DataType::Int64) {
                Ok(ScalarValue::Int64(Some(number))) => Self::Int(number),
                _ => Self::Other,
            },
            value => value.try_as_str().flatten().map_or(Self::Other, |text| Self::Text(text.to_owned())),
        }
    }
}

type Act = fn(&Catalog, &[Arg]) -> Result<Cell>;

/// A function: its name, the least and the most that it is given, PostgreSQL's name of the type of what it returns, and what it does.
struct Known(&'static str, usize, usize, &'static str, Act);

/// Those that all sessions have.
const KNOWN: &[Known] = &[
    Known("format_type", 2, 2, "text", |of, args| Ok(formatted(of, args))),
    Known("pg_get_expr", 2, 3, "text", |_, args| Ok(Cell::maybe(args[0].text()))),
    Known("pg_get_constraintdef", 1, 2, "text", |of, args| Ok(constraint(of, args))),
    Known("pg_get_indexdef", 1, 3, "text", |of, args| Ok(index(of, args))),
    Known("pg_get_viewdef", 1, 2, "text", view),
    Known("pg_get_ruledef", 1, 2, "text", |_, _| Ok(Cell::Null)),
    Known("pg_get_triggerdef", 1, 2, "text", |_, _| Ok(Cell::Null)),
    Known("pg_get_partkeydef", 1, 1, "text", |_, _| Ok(Cell::Null)),
    Known("pg_get_statisticsobjdef_columns", 1, 1, "text", |_, _| Ok(Cell::Null)),
    Known("pg_get_functiondef", 1, 1, "text", |of, args| Ok(routine(of, args))),
    Known("pg_get_function_result", 1, 1, "text", |of, args| Ok(result_of(of, args))),
    Known("pg_get_function_arguments", 1, 1, "text", |of, args| Ok(arguments_of(of, args))),
    Known("pg_get_function_identity_arguments", 1, 1, "text", |of, args| Ok(arguments_of(of, args))),
    Known("pg_get_serial_sequence", 2, 2, "text", |of, args| Ok(sequence_of(of, args))),
    Known("pg_get_userbyid", 1, 1, "name", |of, args| Ok(user(of, args))),
    Known("pg_table_is_visible", 1, 1, "bool", |of, args| Ok(is_visible(of, args))),
    Known("pg_type_is_visible", 1, 1, "bool", |of, args| Ok(is_visible(of, args))),
    Known("pg_function_is_visible", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("pg_collation_is_visible", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("pg_operator_is_visible", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("pg_opclass_is_visible", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("pg_opfamily_is_visible", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("pg_conversion_is_visible", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("pg_statistics_obj_is_visible", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("obj_description", 1, 2, "text", |of, args| Ok(description(of, args[0].int(), 0))),
    Known("shobj_description", 2, 2, "text", |_, _| Ok(Cell::Null)),
    Known("col_description", 2, 2, "text", |of, args| {
        Ok(description(of, args[0].int(), args[1].int().unwrap_or(0)))
    }),
    Known("pg_encoding_to_char", 1, 1, "name", |_, args| Ok(there(args, Cell::text("UTF8")))),
    Known("pg_char_to_encoding", 1, 1, "int4", |_, args| Ok(there(args, Cell::Int(6)))),
    Known("pg_tablespace_location", 1, 1, "text", |_, args| Ok(there(args, Cell::text("")))),
    Known("pg_relation_size", 1, 2, "int8", size),
    Known("pg_table_size", 1, 1, "int8", size),
    Known("pg_total_relation_size", 1, 1, "int8", size),
    Known("pg_indexes_size", 1, 1, "int8", |_, args| Ok(there(args, Cell::Int(0)))),
    Known("pg_database_size", 1, 1, "int8", |of, args| Ok(there(args, Cell::Int(of.bytes())))),
    Known("pg_tablespace_size", 1, 1, "int8", |of, args| Ok(there(args, Cell::Int(of.bytes())))),
    Known("current_user", 0, 0, "name", |of, _| Ok(Cell::text(&of.session.user))),
    Known("current_role", 0, 0, "name", |of, _| Ok(Cell::text(&of.session.user))),
    Known("session_user", 0, 0, "name", |of, _| Ok(Cell::text(&of.session.user))),
    Known("pg_is_in_recovery", 0, 0, "bool", |_, _| Ok(Cell::Bool(false))),
    Known("pg_my_temp_schema", 0, 0, "oid", |of, _| Ok(Cell::Int(of.temporary_schema()))),
    Known("pg_is_other_temp_schema", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(false)))),
    Known("pg_relation_is_publishable", 1, 1, "bool", |_, args| Ok(there(args, Cell::Bool(true)))),
    Known("pg_partition_ancestors", 1, 1, "_oid", |_, _| Ok(Cell::Ints(Vec::new()))),
    Known("pg_advisory_unlock_all", 0, 0, "text", |_, _| Ok(Cell::text(""))),
    Known("txid_current", 0, 0, "int8", |of, _| Ok(Cell::Int(of.session.pid.into()))),
    Known("has_table_privilege", 2, 3, "bool", rights::of_table),
    Known("has_schema_privilege", 2, 3, "bool", rights::of_schema),
    Known("has_database_privilege", 2, 3, "bool", rights::of_database),
    Known("has_column_privilege", 3, 4, "bool", rights::of_column),
    Known("has_any_column_privilege", 2, 3, "bool", rights::of_table),
    Known("has_sequence_privilege", 2, 3, "bool", rights::of_sequence),
    Known("has_function_privilege", 2, 3, "bool", rights::of_everybody),
    Known("has_type_privilege", 2, 3, "bool", rights::of_everybody),
    Known("pg_has_role", 2, 3, "bool", rights::has_role),
    Known("acldefault", 2, 2, "_aclitem", rights::usual),
    Known("quote_ident", 1, 1, "text", |_, args| Ok(Cell::maybe(args[0].text().map(quoted)))),
    Known("current_schemas", 1, 1, "_name", |of, args| {
        Ok(Cell::Texts(of.schemas(matches!(args[0], Arg::Bool(true)))))
    }),
    Known("pg_backend_pid", 0, 0, "int4", |of, _| Ok(Cell::Int(of.session.pid.into()))),
    Known("to_regclass", 1, 1, "oid", |of, args| Ok(number_or_null(args, &|name| of.relation_named(name)))),
    Known("to_regtype", 1, 1, "oid", |of, args| Ok(number_or_null(args, &|name| of.type_named(name)))),
    Known("to_regnamespace", 1, 1, "oid", |of, args| Ok(number_or_null(args, &|name| of.schema_named(name)))),
    // What casts to regclass and its sisters are.
    Known("pg_regclass", 1, 1, "oid", |of, args| number(args, "relation", &|name| of.relation_named(name))),
    Known("pg_regtype", 1, 1, "oid", |of, args| number(args, "type", &|name| of.type_named(name))),
    Known("pg_regnamespace", 1, 1, "oid", |of, args| number(args, "schema", &|name| of.schema_named(name))),
    Known("pg_regrole", 1, 1, "oid", |of, args| number(args, "role", &|name| of.all.roles.number(name))),
    Known("pg_regproc", 1, 1, "regproc", |_, args| Ok(function_name(args))),
    Known("pg_regclass_text", 1, 1, "text", |of, args| Ok(shown(args, &|oid| of.relation_shown(oid)))),
    Known("pg_regtype_text", 1, 1, "text", |of, args| Ok(shown(args, &|oid| of.type_shown(oid, None)))),
    Known("pg_regnamespace_text", 1, 1, "text", |of, args| Ok(shown(args, &|oid| of.schema_shown(oid)))),
    Known("pg_regrole_text", 1, 1, "text", |of, args| {
        Ok(shown(args, &|oid| of.all.roles.name(oid).map(str::to_owned)))
    }),
    Known("pg_regproc_text", 1, 1, "regproc", |_, args| Ok(function_name(args))),
];

/// Those that a session has which speaks as PostgreSQL's clients do, in the place of others.
const OF_CLIENTS: &[Known] = &[
    Known("pg_client_version", 0, 0, "text", |of, _| Ok(Cell::text(&of.session.version))),
    Known("pg_client_current_schema", 0, 0, "name", |of, _| {
        Ok(Cell::maybe(of.schemas(false).into_iter().next()))
    }),
    Known("pg_client_current_database", 0, 0, "name", |of, _| Ok(Cell::text(&of.session.database))),
    Known("pg_client_current_catalog", 0, 0, "name", |of, _| Ok(Cell::text(&of.session.database))),
    Known("user", 0, 0, "name", |of, _| Ok(Cell::text(&of.session.user))),
    Known("current_setting", 1, 2, "text", setting),
    // Others have that of DuckDB.
    Known("pg_size_pretty", 1, 1, "text", |_, args| Ok(args[0].int().map_or(Cell::Null, pretty))),
    Known(SET, 3, 3, "text", |of, args| Ok(set(of, args))),
];

/// What sets a setting.
const SET: &str = "set_config";

/// Whether there is a function of this name.
pub(super) fn is_known(name: &str, is_client: bool) -> bool {
    static NAMES: LazyLock<HashMap<&str, bool>> = LazyLock::new(|| {
        let of_clients = OF_CLIENTS.iter().map(|known| (known.0, true));
        of_clients.chain(KNOWN.iter().map(|known| (known.0, false))).collect()
    });
    NAMES.get(name).is_some_and(|of_clients| is_client || !of_clients)
}

/// The function of a name.
pub(super) fn function(catalog: &Arc<Catalog>, name: &str) -> Option<ScalarUDF> {
    let of_clients = if catalog.session.is_client { OF_CLIENTS } else { &[] };
    let known = of_clients.iter().chain(KNOWN).find(|known| known.0 == name)?;
    let arities = (known.1..=known.2).map(|count| match count {
        0 => TypeSignature::Nullary,
        count => TypeSignature::Any(count),
    });
    // What is set is set when the statement runs.
    let volatility = if known.0 == SET { Volatility::Volatile } else { Volatility::Stable };
    let signature = Signature::one_of(arities.collect(), volatility);
    Some(ScalarUDF::new_from_impl(Function {
        name: known.0,
        returns: known.3,
        act: known.4,
        catalog: catalog.clone(),
        signature,
    }))
}

struct Function {
    name: &'static str,
    returns: &'static str,
    act: Act,
    catalog: Arc<Catalog>,
    signature: Signature,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.catalog, &other.catalog)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        Arc::as_ptr(&self.catalog).hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(field("", self.returns).data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(field(self.name, self.returns)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let mut cells = Vec::with_capacity(rows);
        for row in 0..rows {
            let values = arrays.iter().map(|array| Ok(Arg::of(&ScalarValue::try_from_array(array, row)?)));
            cells.push((self.act)(&self.catalog, &values.collect::<Result<Vec<_>>>()?)?);
        }
        let array = array(args.return_field.data_type(), &cells);
        match is_one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
            false => Ok(ColumnarValue::Array(array)),
        }
    }
}

fn array(ty: &DataType, cells: &[Cell]) -> ArrayRef {
    let int = |cell: &Cell| match cell {
        Cell::Int(number) => Some(*number),
        _ => None,
    };
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => Some(text.clone()),
        _ => None,
    };
    match ty {
        DataType::Boolean => {
            let is = |cell: &Cell| match cell {
                Cell::Bool(is) => Some(*is),
                _ => None,
            };
            Arc::new(cells.iter().map(is).collect::<BooleanArray>())
        }
        DataType::Int32 => {
            Arc::new(cells.iter().map(|cell| int(cell).map(|of| of as i32)).collect::<Int32Array>())
        }
        DataType::Int64 => Arc::new(cells.iter().map(int).collect::<Int64Array>()),
        DataType::List(item) if item.data_type() == &DataType::Int64 => {
            let mut lists = ListBuilder::new(arrow::array::Int64Builder::new());
            cells.iter().for_each(|_| lists.append(true));
            Arc::new(lists.finish())
        }
        DataType::List(_) => {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for cell in cells {
                if let Cell::Texts(texts) = cell {
                    texts.iter().for_each(|text| lists.values().append_value(text));
                }
                lists.append(matches!(cell, Cell::Texts(_)));
            }
            Arc::new(lists.finish())
        }
        _ => Arc::new(cells.iter().map(text).collect::<StringArray>()),
    }
}

/// This, unless NULL is given.
fn there(args: &[Arg], cell: Cell) -> Cell {
    match args.first() {
        Some(Arg::Null) => Cell::Null,
        _ => cell,
    }
}

fn formatted(of: &Catalog, args: &[Arg]) -> Cell {
    let Some(oid) = args[0].int() else { return Cell::Null };
    let modifier = args[1].int();
    match of.type_shown(oid, modifier) {
        Some(name) => Cell::Text(name),
        None if oid == 0 => Cell::text("-"),
        None => Cell::text("???"),
    }
}

fn is_true(arg: Option<&Arg>) -> bool {
    match arg {
        Some(Arg::Bool(is)) => *is,
        Some(Arg::Text(text)) => matches!(text.as_str(), "t" | "true" | "on" | "1"),
        _ => false,
    }
}

fn constraint(of: &Catalog, args: &[Arg]) -> Cell {
    let oid = args[0].int();
    let is_pretty = is_true(args.get(1));
    let found = of.all.constraints.iter().find(|constraint| Some(constraint.oid) == oid);
    Cell::maybe(found.map(|constraint| match (&constraint.expression, is_pretty) {
        (Some(expression), false) => format!("CHECK (({expression}))"),
        _ => constraint.text.clone(),
    }))
}

fn index(of: &Catalog, args: &[Arg]) -> Cell {
    let Some(relation) = args[0].int().and_then(|oid| of.all.relation(oid)) else { return Cell::Null };
    match args.get(1).and_then(Arg::int).unwrap_or(0) {
        0 => Cell::maybe(index_text(&of.all, relation, is_true(args.get(2)))),
        nth => {
            let texts = relation.index.as_ref().map(|index| &index.texts);
            let text = texts.and_then(|texts| texts.get(usize::try_from(nth - 1).ok()?));
            Cell::text(text.map_or("", String::as_str))
        }
    }
}

fn view(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let oid = match &args[0] {
        Arg::Text(name) if name.parse::<i64>().is_err() => of.relation_named(name),
        other => other.int(),
    };
    let query = oid.and_then(|oid| of.all.relation(oid)).and_then(|view| view.view.as_ref());
    Ok(Cell::maybe(query.map(|query| format!(" {};", texts::of_query(query, &of.all.path)))))
}

fn find_routine<'c>(of: &'c Catalog, args: &[Arg]) -> Option<&'c super::gather::Routine> {
    let oid = args[0].int()?;
    of.all.routines.iter().find(|routine| routine.oid == oid)
}

fn routine(of: &Catalog, args: &[Arg]) -> Cell {
    Cell::maybe(find_routine(of, args).map(|routine| routine.text.clone()))
}

fn result_of(of: &Catalog, args: &[Arg]) -> Cell {
    Cell::maybe(find_routine(of, args).map(|_| "anyelement"))
}

/// What stands in the brackets of a function's text.
fn arguments_of(of: &Catalog, args: &[Arg]) -> Cell {
    let inside = |text: &str| {
        let (_, rest) = text.split_once('(')?;
        rest.split_once(')').map(|(inside, _)| inside.trim().to_owned())
    };
    Cell::maybe(find_routine(of, args).map(|routine| inside(&routine.text).unwrap_or_default()))
}

fn sequence_of(of: &Catalog, args: &[Arg]) -> Cell {
    let (Some(table), Some(column)) = (args[0].text(), args[1].text()) else { return Cell::Null };
    let owner = of.relation_named(table).and_then(|oid| {
        let nth = of.all.relation(oid)?.columns.iter().position(|of| of.name == column)?;
        Some((oid, nth as i64 + 1))
    });
    let is_owned = |numbers: &super::gather::Numbers| owner.is_some() && numbers.owner == owner;
    let found = of.all.relations.iter().find(|relation| relation.numbers.as_ref().is_some_and(is_owned));
    Cell::maybe(found.map(|of| format!("{}.{}", quoted(&of.schema), quoted(&of.name))))
}

fn user(of: &Catalog, args: &[Arg]) -> Cell {
    match args[0].int() {
        Some(super::rows::OWNER_OF_PUBLIC) => Cell::text("pg_database_owner"),
        Some(oid) => match of.all.roles.name(oid) {
            Some(name) => Cell::text(name),
            None => Cell::text(format!("unknown (OID={oid})")),
        },
        None => Cell::Null,
    }
}

fn is_visible(of: &Catalog, args: &[Arg]) -> Cell {
    args[0].int().and_then(|oid| of.is_visible(oid)).map_or(Cell::Null, Cell::Bool)
}

fn description(of: &Catalog, oid: Option<i64>, column: i64) -> Cell {
    let Some(oid) = oid else { return Cell::Null };
    if oid == super::gather::PUBLIC {
        return Cell::text("standard public schema");
    }
    let Some(relation) = of.all.relation(oid) else { return Cell::Null };
    let column = usize::try_from(column - 1).ok().map(|nth| relation.columns.get(nth));
    Cell::maybe(match column {
        None => relation.comment.clone(),
        Some(column) => column.and_then(|column| column.comment.clone()),
    })
}

fn size(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let Cell::Int(oid) = number(args, "relation", &|name| of.relation_named(name))? else {
        return Ok(Cell::Null);
    };
    let stored = of.all.relation(oid).map(|relation| relation.stored.as_deref());
    Ok(match stored {
        None => Cell::Null,
        Some(name) => Cell::Int(name.and_then(|name| of.size(name)).map_or(0, |(_, bytes)| bytes as i64)),
    })
}

fn pretty(bytes: i64) -> Cell {
    let mut size = bytes;
    for unit in ["bytes", "kB", "MB", "GB"] {
        if size.unsigned_abs() < 10 * 1024 {
            return Cell::text(format!("{size} {unit}"));
        }
        size = (size + 512) / 1024;
    }
    Cell::text(format!("{size} TB"))
}

fn number_or_null(args: &[Arg], find: &dyn Fn(&str) -> Option<i64>) -> Cell {
    args[0].text().and_then(find).map_or(Cell::Null, Cell::Int)
}

/// The number of something by its name, or by its number.
fn number(args: &[Arg], what: &str, find: &dyn Fn(&str) -> Option<i64>) -> Result<Cell> {
    Ok(match &args[0] {
        Arg::Text(text) => match (text.parse::<i64>(), find(text)) {
            (Ok(number), _) => Cell::Int(number),
            (Err(_), Some(number)) => Cell::Int(number),
            (Err(_), None) if text == "-" => Cell::Int(0),
            (Err(_), None) => return exec_err!("{what} \"{text}\" does not exist"),
        },
        Arg::Int(number) => Cell::Int(*number),
        _ => Cell::Null,
    })
}

/// The name of what has a number; the number where nothing has it.
fn shown(args: &[Arg], show: &dyn Fn(i64) -> Option<String>) -> Cell {
    match &args[0] {
        Arg::Int(0) => Cell::text("-"),
        Arg::Int(oid) => Cell::Text(show(*oid).unwrap_or_else(|| oid.to_string())),
        Arg::Text(text) => match text.parse::<i64>() {
            Ok(oid) => Cell::Text(show(oid).unwrap_or_else(|| oid.to_string())),
            Err(_) => Cell::text(text),
        },
        _ => Cell::Null,
    }
}

fn function_name(args: &[Arg]) -> Cell {
    match &args[0] {
        Arg::Text(name) => Cell::text(name.strip_prefix("pg_catalog.").unwrap_or(name)),
        Arg::Int(0) => Cell::text("-"),
        Arg::Int(number) => Cell::text(number.to_string()),
        _ => Cell::Null,
    }
}

fn set(of: &Catalog, args: &[Arg]) -> Cell {
    let (Some(name), Some(value)) = (args[0].text(), args[1].text()) else { return Cell::Null };
    of.session.wishes.add(name, value, matches!(args[2], Arg::Bool(true)));
    Cell::text(value)
}

fn setting(of: &Catalog, args: &[Arg]) -> Result<Cell> {
    let Some(name) = args[0].text() else { return Ok(Cell::Null) };
    let found = of.session.settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    match found {
        Some((_, value)) => Ok(Cell::text(value)),
        None if matches!(args.get(1), Some(Arg::Bool(true))) => Ok(Cell::Null),
        None => exec_err!("unrecognized configuration parameter \"{name}\""),
    }
}
