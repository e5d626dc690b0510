//! The tables of PostgreSQL's catalog as they are there: names, numbers and columns, of PostgreSQL 15 (`data/`).

use std::sync::{Arc, LazyLock};

use arrow::{
    array::{
        ArrayRef, BooleanArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, ListBuilder,
        PrimitiveBuilder, RecordBatch, StringArray, StringBuilder, new_null_array,
    },
    datatypes::{ArrowPrimitiveType, DataType, Field, Int16Type, Int64Type, Schema, SchemaRef, TimeUnit},
};

use crate::Result;

/// What a column of a result is in PostgreSQL, where that is not what the type of its values says: a number of `pg_type`.
pub const PG_TYPE: &str = "ambo.pg_type";

/// A value of the catalog.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Texts(Vec<String>),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn maybe(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    pub fn int(number: impl Into<i64>) -> Self {
        Self::Int(number.into())
    }
}

/// A column of the catalog.
pub(super) struct Column {
    pub name: &'static str,
    /// The name of its type in `pg_type`.
    pub ty: &'static str,
}

/// A table of the catalog.
pub(super) struct Shape {
    pub name: &'static str,
    pub oid: i64,
    /// `r` or `v`.
    pub kind: &'static str,
    pub columns: Vec<Column>,
}

fn parse(text: &'static str) -> Vec<Shape> {
    let shape = |line: &'static str| {
        let mut words = line.split(' ');
        let (name, oid, kind) = (words.next()?, words.next()?.parse().ok()?, words.next()?);
        let column = |word: &'static str| word.split_once(':').map(|(name, ty)| Column { name, ty });
        Some(Shape { name, oid, kind, columns: words.filter_map(column).collect() })
    };
    text.lines().filter_map(shape).collect()
}

/// Those of the schema `pg_catalog`.
pub(super) static CATALOG: LazyLock<Vec<Shape>> = LazyLock::new(|| parse(include_str!("data/relations.txt")));

/// Those of the schema `information_schema`, as far as clients ask for them.
pub(super) static INFORMATION: LazyLock<Vec<Shape>> =
    LazyLock::new(|| parse(include_str!("data/information_schema.txt")));

/// The rows that are the same in each database: those of PostgreSQL itself.
pub(super) fn constant_rows(name: &str) -> &'static str {
    match name {
        "pg_type" => include_str!("data/pg_type.tsv"),
        "pg_range" => include_str!("data/pg_range.tsv"),
        "pg_am" => include_str!("data/pg_am.tsv"),
        "pg_opclass" => include_str!("data/pg_opclass.tsv"),
        "pg_collation" => include_str!("data/pg_collation.tsv"),
        "pg_language" => include_str!("data/pg_language.tsv"),
        "pg_tablespace" => include_str!("data/pg_tablespace.tsv"),
        _ => "",
    }
}

/// The number of a type of PostgreSQL's own, and what its values are here.
pub(super) fn own_type(name: &str) -> (u32, DataType) {
    let list = |of: DataType| DataType::List(Arc::new(Field::new_list_field(of, true)));
    match name {
        "bool" => (16, DataType::Boolean),
        "int2" => (21, DataType::Int16),
        "int4" => (23, DataType::Int32),
        "int8" => (20, DataType::Int64),
        "float4" => (700, DataType::Float32),
        "float8" => (701, DataType::Float64),
        "oid" => (26, DataType::Int64),
        "xid" => (28, DataType::Int64),
        "name" => (19, DataType::Utf8),
        "char" => (18, DataType::Utf8),
        "varchar" => (1043, DataType::Utf8),
        "regproc" => (24, DataType::Utf8),
        "timestamptz" => (1184, DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        "int2vector" => (22, list(DataType::Int16)),
        "oidvector" => (30, list(DataType::Int64)),
        "_int2" => (1005, list(DataType::Int16)),
        "_oid" => (1028, list(DataType::Int64)),
        "_text" => (1009, list(DataType::Utf8)),
        "_char" => (1002, list(DataType::Utf8)),
        "_name" => (1003, list(DataType::Utf8)),
        "_aclitem" => (1034, list(DataType::Utf8)),
        _ => (25, DataType::Utf8),
    }
}

/// A field that says what it is in PostgreSQL.
pub(super) fn field(name: &str, ty: &str) -> Field {
    let (oid, data_type) = own_type(ty);
    let of_itself = matches!(
        ty,
        "bool" | "int2" | "int4" | "int8" | "float4" | "float8" | "timestamptz" | "_int2" | "_text"
    );
    let field = Field::new(name, data_type, true);
    match of_itself || oid == 25 {
        true => field,
        false => field.with_metadata([(PG_TYPE.to_owned(), oid.to_string())].into()),
    }
}

impl Shape {
    pub fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(
            self.columns.iter().map(|column| field(column.name, column.ty)).collect::<Vec<_>>(),
        ))
    }

    /// The place of a column.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// A row in which the columns that are not named have what is usual.
    pub fn row(&self, cells: &[(&str, Cell)]) -> Vec<Cell> {
        let mut row: Vec<_> = self.columns.iter().map(|column| usual(column.ty)).collect();
        for (name, cell) in cells {
            debug_assert!(self.place(name).is_some(), "{}.{name}", self.name);
            if let Some(place) = self.place(name) {
                row[place] = cell.clone();
            }
        }
        row
    }

    /// A row as COPY writes it.
    pub fn parsed(&self, line: &str) -> Vec<Cell> {
        self.columns.iter().zip(line.split('\t')).map(|(column, text)| cell(column.ty, text)).collect()
    }

    pub fn batch(&self, rows: &[Vec<Cell>]) -> Result<RecordBatch> {
        let schema = self.schema();
        let column =
            |nth: usize| array(schema.field(nth).data_type(), rows.iter().map(|row| &row[nth]), rows.len());
        let columns = (0..self.columns.len()).map(column).collect();
        RecordBatch::try_new(schema.clone(), columns).map_err(crate::value::wrong)
    }
}

fn usual(ty: &str) -> Cell {
    match ty {
        "bool" => Cell::Bool(false),
        "int2" | "int4" | "int8" | "oid" | "xid" => Cell::Int(0),
        "float4" | "float8" => Cell::Float(0.0),
        "name" | "char" => Cell::text(""),
        "regproc" => Cell::text("-"),
        _ => Cell::Null,
    }
}

fn cell(ty: &str, text: &str) -> Cell {
    match ty {
        _ if text == "\\N" => Cell::Null,
        "bool" => Cell::Bool(text == "t"),
        "int2" | "int4" | "int8" | "oid" | "xid" => text.parse().map_or(Cell::Null, Cell::Int),
        "float4" | "float8" => text.parse().map_or(Cell::Null, Cell::Float),
        _ => Cell::text(text),
    }
}

/// The values of a column.
fn array<'c>(ty: &DataType, cells: impl Iterator<Item = &'c Cell>, rows: usize) -> ArrayRef {
    let int = |cell: &Cell| match cell {
        Cell::Int(number) => Some(*number),
        _ => None,
    };
    match ty {
        DataType::Boolean => Arc::new(
            cells
                .map(|cell| match cell {
                    Cell::Bool(is) => Some(*is),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
        DataType::Int16 => Arc::new(cells.map(|cell| int(cell).map(|of| of as i16)).collect::<Int16Array>()),
        DataType::Int32 => Arc::new(cells.map(|cell| int(cell).map(|of| of as i32)).collect::<Int32Array>()),
        DataType::Int64 => Arc::new(cells.map(int).collect::<Int64Array>()),
        DataType::Float32 => {
            Arc::new(cells.map(|cell| float(cell).map(|of| of as f32)).collect::<Float32Array>())
        }
        DataType::Float64 => Arc::new(cells.map(float).collect::<Float64Array>()),
        DataType::Utf8 => Arc::new(
            cells
                .map(|cell| match cell {
                    Cell::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect::<StringArray>(),
        ),
        DataType::List(item) => match item.data_type() {
            DataType::Int16 => numbers::<Int16Type>(cells, |of| of as i16),
            DataType::Int64 => numbers::<Int64Type>(cells, |of| of),
            _ => texts(cells),
        },
        // Moments: there are none to tell.
        ty => new_null_array(ty, rows),
    }
}

fn float(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Float(number) => Some(*number),
        _ => None,
    }
}

fn numbers<'c, T: ArrowPrimitiveType>(
    cells: impl Iterator<Item = &'c Cell>,
    narrow: impl Fn(i64) -> T::Native,
) -> ArrayRef {
    let mut lists = ListBuilder::new(PrimitiveBuilder::<T>::new());
    for cell in cells {
        match cell {
            Cell::Ints(numbers) => {
                numbers.iter().for_each(|number| lists.values().append_value(narrow(*number)));
                lists.append(true);
            }
            _ => lists.append(false),
        }
    }
    Arc::new(lists.finish())
}

fn texts<'c>(cells: impl Iterator<Item = &'c Cell>) -> ArrayRef {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for cell in cells {
        match cell {
            Cell::Texts(texts) => {
                texts.iter().for_each(|text| lists.values().append_value(text));
                lists.append(true);
            }
            _ => lists.append(false),
        }
    }
    Arc::new(lists.finish())
}
