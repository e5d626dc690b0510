//! TPC-DS at scale factor 0.01: the 99 queries have the answers that DuckDB 2.0 gives on the same data.
//!
//! Data: `tpcdsgen` (Apache 2.0). Queries: the specification's with parameters, as DuckDB's extension `tpcds` 1.5.5 has them (MIT); q12,
//! which divides by zero and whose rows tie, has a NULLIF and is ordered by its other columns, too. Answers: `answers.tsv.zst`, behind a
//! line `-- NN` for each query a line a row with values between tabs, NULLs as PostgreSQL orders them.

#![allow(clippy::print_stderr, reason = "how long queries take is shown with --nocapture")]

use std::{collections::BTreeMap, fmt::Display, path::Path, time::Instant};

use ambo::{ColumnBuffer, Datum, LoadOptions, Type};
use ambo_sql::{Database, Row, SqlOptions};
use tpcdsgen::{
    config::{SessionBuilder, Table},
    row::*,
};

const SCALE: f64 = 0.01;
const SCHEMA: &str = include_str!("schema.sql");
const ANSWERS: &[u8] = include_bytes!("answers.tsv.zst");
/// Rows that are handed over at once.
const ROWS: usize = 50_000;

/// Loads rows, as their text with bars behind the values, into a table.
fn load(db: &Database, name: &str, rows: impl Iterator<Item = impl Display>) {
    let table = db.table(name).unwrap();
    let types: Vec<Type> = table.definition().columns.iter().map(|column| column.kind).collect();
    let load = table.load(LoadOptions::default()).unwrap();
    let mut writer = load.writer();
    let empty = || types.iter().map(|of| ColumnBuffer::new(*of)).collect::<Vec<_>>();
    let mut columns = empty();
    let mut waiting = 0;
    for row in rows {
        let text = row.to_string();
        for ((column, text), of) in columns.iter_mut().zip(text.split('|')).zip(&types) {
            column.push(parse(text, *of).as_ref()).unwrap();
        }
        waiting += 1;
        if waiting == ROWS {
            writer.push(std::mem::replace(&mut columns, empty())).unwrap();
            waiting = 0;
        }
    }
    if waiting > 0 {
        writer.push(columns).unwrap();
    }
    writer.finish().unwrap();
    load.finish().unwrap();
}

fn parse(text: &str, of: Type) -> Datum {
    match of {
        _ if text.is_empty() => Datum::Null,
        Type::I32 => Datum::I32(text.parse().unwrap()),
        Type::I64 => Datum::I64(text.parse().unwrap()),
        Type::Decimal128 { scale, .. } => {
            let (whole, part) = text.split_once('.').unwrap_or((text, ""));
            let digits = format!("{whole}{part:0<width$}", width = usize::try_from(scale).unwrap());
            Datum::Decimal128 { unscaled: digits.parse().unwrap(), scale }
        }
        Type::Date32 => Datum::Date32(arrow::datatypes::Date32Type::from_naive_date(text.parse().unwrap())),
        _ => text.into(),
    }
}

fn load_all(db: &Database) {
    let session = SessionBuilder::new().with_scale_factor(SCALE).build().unwrap();
    macro_rules! tables {
        ($($table:ident $generator:ident $name:literal),* $(,)?) => {$(
            let count = session.get_scaling().get_row_count(Table::$table);
            load(db, $name, $generator::new(session.clone(), count));
        )*};
    }
    tables!(
        CallCenter CallCenterRowGenerator "call_center",
        CatalogPage CatalogPageRowGenerator "catalog_page",
        CatalogReturns CatalogReturnsRowGenerator "catalog_returns",
        CatalogSales CatalogSalesRowGenerator "catalog_sales",
        Customer CustomerRowGenerator "customer",
        CustomerAddress CustomerAddressRowGenerator "customer_address",
        CustomerDemographics CustomerDemographicsRowGenerator "customer_demographics",
        DateDim DateDimRowGenerator "date_dim",
        HouseholdDemographics HouseholdDemographicsRowGenerator "household_demographics",
        IncomeBand IncomeBandRowGenerator "income_band",
        Inventory InventoryRowGenerator "inventory",
        Item ItemRowGenerator "item",
        Promotion PromotionRowGenerator "promotion",
        Reason ReasonRowGenerator "reason",
        ShipMode ShipModeRowGenerator "ship_mode",
        Store StoreRowGenerator "store",
        StoreReturns StoreReturnsRowGenerator "store_returns",
        StoreSales StoreSalesRowGenerator "store_sales",
        TimeDim TimeDimRowGenerator "time_dim",
        Warehouse WarehouseRowGenerator "warehouse",
        WebPage WebPageRowGenerator "web_page",
        WebReturns WebReturnsRowGenerator "web_returns",
        WebSales WebSalesRowGenerator "web_sales",
        WebSite WebSiteRowGenerator "web_site",
    );
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

fn answers() -> BTreeMap<String, Vec<String>> {
    let text = String::from_utf8(zstd::decode_all(ANSWERS).unwrap()).unwrap();
    let mut answers = BTreeMap::new();
    let mut number = String::new();
    for line in text.lines() {
        match line.strip_prefix("-- ") {
            Some(next) => {
                number = next.to_owned();
                answers.insert(number.clone(), Vec::new());
            }
            None => answers.get_mut(&number).unwrap().push(line.to_owned()),
        }
    }
    answers
}

/// What is wrong with the answer to a query.
fn fault(db: &Database, query: &str, wanted: &[String]) -> Option<String> {
    let rows: Result<Vec<Row>, _> = db.connect().sql(query).and_then(Iterator::collect);
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => return Some(error.show(query)),
    };
    if rows.len() != wanted.len() {
        return Some(format!("{} rows instead of {}", rows.len(), wanted.len()));
    }
    let unlike = rows.iter().zip(wanted).find(|(row, wanted)| {
        let wanted: Vec<_> = wanted.split('\t').collect();
        row.values().len() != wanted.len()
            || !row.values().iter().zip(wanted).all(|(value, wanted)| is_same(value, wanted))
    });
    unlike.map(|(row, wanted)| {
        let values: Vec<_> = row.values().iter().map(ToString::to_string).collect();
        format!("{}\ninstead of\n{wanted}", values.join("\t"))
    })
}

#[test]
fn the_answers_are_those_of_others() {
    // Keeps away: wrong rows of large queries, as of several subqueries over one table, rollups, and windows over groups.
    let dir = tempfile::tempdir().unwrap();
    let db = ambo::Options::new().sync(ambo::Sync::Off).open(dir.path()).unwrap();
    let db = Database::with_options(db, SqlOptions::new().threads(2));
    db.connect().script(SCHEMA).unwrap();
    load_all(&db);
    let answers = answers();
    assert_eq!(answers.len(), 99);
    let queries = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tpcds/queries");
    let mut wrong = Vec::new();
    for (number, wanted) in answers {
        let query = std::fs::read_to_string(queries.join(format!("q{number}.sql"))).unwrap();
        let began = Instant::now();
        if let Some(fault) = fault(&db, &query, &wanted) {
            wrong.push(format!("query {number}: {fault}"));
        }
        eprintln!("query {number}: {:?}", began.elapsed());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
