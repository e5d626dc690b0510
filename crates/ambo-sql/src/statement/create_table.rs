//! CREATE TABLE.

use ambo::{Datum, IndexDefinition, Storage, TableDefinition, Type};
use datafusion::sql::sqlparser::ast::{
    self, ColumnOption, DataType, ExactNumberInfo, Expr, TableConstraint, TimezoneInfo,
};

use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{ident, last, object},
    parse::TableSettings,
};

pub(super) fn run(
    connection: &mut Connection,
    create: ast::CreateTable,
    settings: TableSettings,
) -> Result<Rows<'static>> {
    connection.require_no_transaction("CREATE TABLE")?;
    let (definition, indexes) = definition(&create, &settings)?;
    let db = &connection.engine().db;
    match db.create_table(definition).map_err(Error::from) {
        Err(error) if create.if_not_exists && error.kind() == ErrorKind::Constraint => {
            return Ok(Rows::done("CREATE TABLE", None));
        }
        created => created?,
    };
    for index in &indexes {
        db.create_index(index)?;
    }
    Ok(Rows::done("CREATE TABLE", None))
}

/// What a statement says of a table, and the indexes that keep its columns unique.
fn definition(
    create: &ast::CreateTable,
    settings: &TableSettings,
) -> Result<(TableDefinition, Vec<IndexDefinition>)> {
    let name = object(&create.name)?;
    let mut key: Vec<String> = Vec::new();
    let mut unique: Vec<Vec<String>> = Vec::new();
    let mut columns = Vec::new();
    for column in &create.columns {
        let name = ident(&column.name);
        let mut nullable = true;
        let mut default = None;
        for option in &column.options {
            match &option.option {
                ColumnOption::Null => {}
                ColumnOption::NotNull => nullable = false,
                ColumnOption::PrimaryKey(_) => key.push(name.clone()),
                ColumnOption::Unique(_) => unique.push(vec![name.clone()]),
                ColumnOption::Default(Expr::Value(value)) => default = Some(value.value.clone()),
                other => return Err(Error::invalid(format!("column \"{name}\": {other} is not supported"))),
            }
        }
        columns.push((name, column_type(&column.data_type)?, nullable, default));
    }
    for constraint in &create.constraints {
        let names = |columns: &[ast::IndexColumn]| {
            columns
                .iter()
                .map(|column| match &column.column.expr {
                    Expr::Identifier(name) => Ok(ident(name)),
                    other => Err(Error::invalid(format!("{other} is no column"))),
                })
                .collect::<Result<Vec<_>>>()
        };
        match constraint {
            TableConstraint::PrimaryKey(of) => key = names(&of.columns)?,
            TableConstraint::Unique(of) => unique.push(names(&of.columns)?),
            other => return Err(Error::invalid(format!("{other} is not supported"))),
        }
    }
    let mut table = TableDefinition::new(&name).storage(Storage::Column);
    for (name, ty, nullable, default) in columns {
        table = match nullable && !key.contains(&name) {
            true => table.column_nullable(name, ty),
            false => table.column(name, ty),
        };
        if let Some(ast::Value::Number(number, _)) = default {
            let value = number.parse::<i64>().map(Datum::I64).or_else(|_| number.parse().map(Datum::F64));
            let value = value.map_err(|_| Error::invalid(format!("{number} is no default")))?;
            table = table.default_value(value.fit(ty).map_err(|error| Error::invalid(error.to_string()))?);
        }
    }
    table = table.primary_key(&key.iter().map(String::as_str).collect::<Vec<_>>());
    for option in &settings.options {
        match (option.name.as_str(), option.value().as_str()) {
            ("storage", "btree") => table = table.storage(Storage::BTree),
            ("storage", "column") => table = table.storage(Storage::Column),
            ("storage", "memory") => table = table.storage(Storage::Memory),
            (name, value) => return Err(Error::invalid(format!("there is no {name} \"{value}\""))),
        }
    }
    let index = |columns: &Vec<String>| {
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        let index = format!("{}_{}_key", last(&name), columns.join("_"));
        let index = match name.split_once('.') {
            Some((schema, _)) => format!("{schema}.{index}"),
            None => index,
        };
        IndexDefinition::new(index, &name, &columns).unique()
    };
    let indexes = unique.iter().map(index).collect();
    Ok((table, indexes))
}

/// The type of a column as statements write it.
pub(super) fn column_type(ty: &DataType) -> Result<Type> {
    Ok(match ty {
        DataType::Boolean | DataType::Bool => Type::Bool,
        DataType::TinyInt(_) | DataType::Int8(_) => Type::I8,
        DataType::SmallInt(_) | DataType::Int16 | DataType::Int2(_) => Type::I16,
        DataType::Int(_) | DataType::Integer(_) | DataType::Int32 | DataType::Int4(_) => Type::I32,
        DataType::BigInt(_) | DataType::Int64 => Type::I64,
        DataType::TinyIntUnsigned(_) | DataType::UInt8 => Type::U8,
        DataType::SmallIntUnsigned(_) | DataType::UInt16 => Type::U16,
        DataType::IntUnsigned(_) | DataType::IntegerUnsigned(_) | DataType::UInt32 => Type::U32,
        DataType::BigIntUnsigned(_) | DataType::UInt64 => Type::U64,
        DataType::Real | DataType::Float4 | DataType::Float32 => Type::F32,
        DataType::Float(_)
        | DataType::Double(_)
        | DataType::DoublePrecision
        | DataType::Float8
        | DataType::Float64 => Type::F64,
        DataType::Decimal(info) | DataType::Numeric(info) | DataType::Dec(info) => {
            let (precision, scale) = match info {
                ExactNumberInfo::None => (38, 10),
                ExactNumberInfo::Precision(precision) => (*precision, 0),
                ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
            };
            let fits = || Some((u8::try_from(precision).ok()?, i8::try_from(scale).ok()?));
            let (precision, scale) =
                fits().ok_or_else(|| Error::invalid(format!("{ty} has too many digits; 38 are the most")))?;
            Type::decimal(precision, scale).map_err(|error| Error::invalid(error.to_string()))?
        }
        DataType::Char(_)
        | DataType::Character(_)
        | DataType::Varchar(_)
        | DataType::CharacterVarying(_)
        | DataType::CharVarying(_)
        | DataType::Text
        | DataType::String(_)
        | DataType::Clob(_)
        | DataType::Uuid
        | DataType::JSON => Type::Utf8,
        DataType::Blob(_) | DataType::Bytea | DataType::Binary(_) | DataType::Varbinary(_) => Type::Binary,
        DataType::Date => Type::Date32,
        DataType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => Type::Time64,
        DataType::Timestamp(..) | DataType::Datetime(_) => Type::Timestamp,
        other => return Err(Error::invalid(format!("there is no type {other} for columns"))),
    })
}
