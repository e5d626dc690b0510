//! Rows become structs.

use std::collections::HashMap;

use ambo_sql::{Database, Row};
use serde::Deserialize;

fn row(query: &str) -> Row {
    Database::in_memory().unwrap().sql(query).unwrap().single().unwrap()
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Class {
    First,
    Economy,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Price(f64);

const TICKET: &str =
    "select 5::bigint as id, -7::tinyint as small, 'economy' as class, 12.50 as price, null::text as seat,
    date '2024-02-29' as day, date '1970-01-11' as days, timestamp '2024-01-31 01:02:03.5' as at,
    timestamp '1970-01-01 00:00:01' as micros, x'0aff' as tag, true as is_open, 'not asked for' as more";

#[test]
fn a_row_is_a_struct() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Exact {
        price: String,
    }
    assert_eq!(row(TICKET).deserialize::<Exact>().unwrap(), Exact { price: "12.50".into() });
    #[derive(Debug, PartialEq, Deserialize)]
    struct Plain {
        id: u64,
        small: i8,
        class: Class,
        price: Price,
        seat: Option<String>,
        day: String,
        days: i32,
        at: String,
        micros: i64,
        tag: Vec<u8>,
        is_open: bool,
        #[serde(default)]
        missing: u8,
    }
    let expected = Plain {
        id: 5,
        small: -7,
        class: Class::Economy,
        price: Price(12.5),
        seat: None,
        day: "2024-02-29".into(),
        days: 10,
        at: "2024-01-31 01:02:03.5".into(),
        micros: 1_000_000,
        tag: vec![0x0a, 0xff],
        is_open: true,
        missing: 0,
    };
    assert_eq!(row(TICKET).deserialize::<Plain>().unwrap(), expected);
}

#[test]
fn a_row_is_a_tuple_a_map_or_a_list() {
    let numbers = row("select 1 as a, 2::smallint as b");
    assert_eq!(numbers.deserialize::<(i64, i16)>().unwrap(), (1, 2));
    assert_eq!(numbers.deserialize::<Vec<u8>>().unwrap(), [1, 2]);
    let map = HashMap::from([("a".to_owned(), 1.0), ("b".to_owned(), 2.0)]);
    assert_eq!(numbers.deserialize::<HashMap<String, f64>>().unwrap(), map);
    let borrowed = row("select 'one' as a, 'two' as b");
    assert_eq!(borrowed.deserialize::<(&str, &str)>().unwrap(), ("one", "two"));
    let json: serde_json::Value = row("select 1 as a, null as b, 'x' as c, 1.50 as d").deserialize().unwrap();
    assert_eq!(json.to_string(), r#"{"a":1,"b":null,"c":"x","d":"1.50"}"#);
}

#[test]
fn what_does_not_fit_is_said_with_its_column() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Two {
        a: u8,
        b: Class,
    }
    let wrong = |query: &str| row(query).deserialize::<Two>().unwrap_err().to_string();
    assert!(
        wrong("select 256 as a, 'first' as b").starts_with("column 0 (\"a\"): invalid value: integer `256`")
    );
    assert!(wrong("select 1 as a, 'second' as b").contains("column 1 (\"b\"): unknown variant `second`"));
    assert!(wrong("select 1 as a").contains("missing field `b`"));
    let null = row("select null as a, 'first' as b").deserialize::<Two>().unwrap_err();
    assert!(null.to_string().contains("NULL is read as an Option"), "{null}");
    let width = row("select 1, 2").deserialize::<(i64, i64, i64)>().unwrap_err();
    assert_eq!(width.to_string(), "a row of 2 columns is not read as 3 values");
}
