//! TPC-H at scale factor 0.01: the 22 queries have the answers that DuckDB 2.0 gives on the same data.
//!
//! Data: `tpchgen`. Queries: the specification's, with its validation parameters. Answers: `answers/`, a line a row, values between tabs.

use std::fmt::Display;

use ambo::{Datum, Type};
use ambo_sql::{Connection, Database, Row};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

const SCALE: f64 = 0.01;
const SCHEMA: &str = include_str!("schema.sql");
const QUERIES: [(&str, &str); 22] = {
    macro_rules! queries {
        ($($number:literal),*) => {
            [$((
                include_str!(concat!("queries/q", $number, ".sql")),
                include_str!(concat!("answers/q", $number, ".tsv")),
            )),*]
        };
    }
    queries!(
        "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17",
        "18", "19", "20", "21", "22"
    )
};

/// Puts rows, as their text with bars between the values, into a table.
fn fill(db: &Database, name: &str, rows: impl Iterator<Item = impl Display>) {
    let table = db.table(name).unwrap();
    let types: Vec<Type> = table.definition().columns.iter().map(|column| column.kind).collect();
    let mut tx = db.begin().unwrap();
    for row in rows {
        let text = row.to_string();
        let values = text.trim_end_matches('|').split('|').zip(&types);
        let row: Vec<Datum> = values.map(|(text, ty)| parse(text, *ty)).collect();
        tx.insert_row(&table, &row).unwrap();
    }
    tx.commit().unwrap();
}

fn parse(text: &str, ty: Type) -> Datum {
    match ty {
        Type::I64 => Datum::I64(text.parse().unwrap()),
        Type::I32 => Datum::I32(text.parse().unwrap()),
        Type::Decimal128 { scale, .. } => {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            let digits = format!("{whole}{part:0<2}");
            Datum::Decimal128 { unscaled: digits.parse().unwrap(), scale }
        }
        Type::Date32 => {
            let days = arrow::datatypes::Date32Type::from_naive_date(text.parse().unwrap());
            Datum::Date32(days)
        }
        _ => text.into(),
    }
}

fn load(db: &Database, storage: &str) {
    let schema = SCHEMA.replace(");", &format!(") storage = {storage};"));
    db.connect().script(&schema).unwrap();
    fill(db, "region", RegionGenerator::new(SCALE, 1, 1).iter());
    fill(db, "nation", NationGenerator::new(SCALE, 1, 1).iter());
    fill(db, "supplier", SupplierGenerator::new(SCALE, 1, 1).iter());
    fill(db, "customer", CustomerGenerator::new(SCALE, 1, 1).iter());
    fill(db, "part", PartGenerator::new(SCALE, 1, 1).iter());
    fill(db, "partsupp", PartSuppGenerator::new(SCALE, 1, 1).iter());
    fill(db, "orders", OrderGenerator::new(SCALE, 1, 1).iter());
    fill(db, "lineitem", LineItemGenerator::new(SCALE, 1, 1).iter());
}

/// A value as the answers have it: numbers are compared as numbers.
fn is_same(value: &Datum, wanted: &str) -> bool {
    match value {
        Datum::Null => wanted == "NULL",
        Datum::Utf8(text) => text == wanted,
        value => match (value.to_string().parse::<f64>(), wanted.parse::<f64>()) {
            (Ok(value), Ok(wanted)) => (value - wanted).abs() <= wanted.abs().max(1.0) * 1e-4,
            _ => value.to_string() == wanted,
        },
    }
}

fn check(connection: &mut Connection, what: &str) {
    for (number, (query, answer)) in QUERIES.into_iter().enumerate() {
        let rows: Vec<Row> = connection
            .sql(query)
            .and_then(Iterator::collect)
            .unwrap_or_else(|error| panic!("query {} {what}: {}", number + 1, error.show(query)));
        let wanted: Vec<Vec<&str>> = answer.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(rows.len(), wanted.len(), "rows of query {} {what}", number + 1);
        for (row, wanted) in rows.iter().zip(&wanted) {
            let same = row.values().iter().zip(wanted).all(|(value, wanted)| is_same(value, wanted));
            assert!(
                same && row.values().len() == wanted.len(),
                "query {} {what}: {:?} instead of {wanted:?}",
                number + 1,
                row.values().iter().map(ToString::to_string).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn the_answers_are_those_of_others() {
    for storage in ["column", "btree"] {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path()).unwrap();
        load(&db, storage);
        let mut connection = db.connect();
        check(&mut connection, &format!("on fresh rows of {storage}"));
        db.compact().unwrap();
        check(&mut connection, &format!("on {storage}"));
        // A part of the rows is changed, there and back: they are newer than the segments, or written by this transaction.
        connection.script("begin").unwrap();
        let lines = db.table("lineitem").unwrap();
        for order in [1i64, 5, 7, 35, 100] {
            let rows: Vec<_> = lines.rows_prefix(&[order.into()]).unwrap().map(Result::unwrap).collect();
            for row in rows {
                let key = (order, row[3].clone());
                let key = (
                    key.0,
                    match key.1 {
                        Datum::I32(line) => line,
                        _ => unreachable!(),
                    },
                );
                assert_eq!(
                    connection
                        .execute("update lineitem set l_tax = l_tax + 1, l_comment = 'x' where l_orderkey = ? and l_linenumber = ?", key)
                        .unwrap(),
                    1
                );
                connection
                    .query(
                        "update lineitem set l_tax = l_tax - 1 where l_orderkey = ? and l_linenumber = ?",
                        key,
                    )
                    .unwrap();
            }
        }
        check(&mut connection, &format!("on {storage} with rows of a transaction"));
        connection.script("commit").unwrap();
        check(&mut connection, &format!("on {storage} with newer rows"));
        let report = db.check().unwrap();
        assert!(report.is_sound(), "{report:?}");
    }
}
