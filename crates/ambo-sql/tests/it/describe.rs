//! What statements take and return, without running them.

use ambo_sql::{Connection, Database};
use arrow::datatypes::DataType;

fn described(connection: &mut Connection, text: &str) -> (Option<Vec<String>>, Vec<Option<DataType>>) {
    let statement = connection.prepare(text).unwrap();
    let described = connection.describe(&statement).unwrap();
    let columns = described.schema.map(|schema| {
        schema.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect()
    });
    (columns, described.parameters)
}

#[test]
fn columns_and_parameters_are_known_before_a_statement_runs() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection
        .script("create table t (id int primary key, name text, at timestamp, price decimal(10, 2))")
        .unwrap();
    let (int, text) = (Some(DataType::Int32), Some(DataType::Utf8));
    let price = Some(DataType::Decimal128(10, 2));
    let columns = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let cases = [
        (
            "select id, name from t where id = $1 and name = $2",
            columns(&["id Int32", "name Utf8"]),
            vec![int.clone(), text.clone()],
        ),
        ("select count(*) as n from t where price > ?", columns(&["n Int64"]), vec![price.clone()]),
        (
            "insert into t (price, id) values ($1, $2), ($3, 5)",
            columns(&[]),
            vec![price.clone(), int.clone(), price.clone()],
        ),
        (
            "insert into t (id) values (?) returning id, name as called",
            columns(&["id Int32", "called Utf8"]),
            vec![int.clone()],
        ),
        ("update t set name = $2 where id = $1", columns(&[]), vec![int.clone(), text.clone()]),
        (
            "delete from t where id = $1 returning *",
            columns(&["id Int32", "name Utf8", "at Timestamp(µs)", "price Decimal128(10, 2)"]),
            vec![int.clone()],
        ),
        ("create table u (a int)", columns(&[]), vec![]),
        ("begin", columns(&[]), vec![]),
        ("explain select 1", None, vec![]),
    ];
    for (text, wanted, parameters) in cases {
        assert_eq!(described(&mut connection, text), (wanted, parameters), "{text}");
    }
    assert_eq!(connection.sql("select * from t").unwrap().count(), 0, "nothing was run");
    let statement = connection.prepare("select * from missing where a = $1").unwrap();
    assert_eq!(connection.describe(&statement).unwrap_err().sqlstate(), "42P01");
}

#[test]
fn parameters_have_names() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    connection.script("create table t (id int primary key, name text)").unwrap();
    let mut insert = connection.prepare("insert into t (id, name) values (:id, :Name)").unwrap();
    assert_eq!(insert.parameter_names().collect::<Vec<_>>(), [Some("id"), Some("name")]);
    insert.execute(&mut connection, (1, "one")).unwrap();
    let mut select = connection
        .prepare("select :x + id, {'a':id}['a'] from t where name = $name and id=:x and id IN (:x)")
        .unwrap();
    assert_eq!(select.parameter_names().collect::<Vec<_>>(), [Some("x"), Some("name")]);
    let row = select.query(&mut connection, (1i64, "one")).unwrap().single().unwrap();
    assert_eq!(row.into_values::<(i64, i32)>().unwrap(), (2, 1));
    // Elsewhere a colon is what it was.
    let row = connection.sql("select ([1, 2, 3])[2:3], {'a':1, 'b' :2}").unwrap().single().unwrap();
    assert_eq!(row.values().len(), 2);
    let plain = connection.prepare("select ?, ?").unwrap();
    assert_eq!(plain.parameter_names().collect::<Vec<_>>(), [None, None]);
}
