//! PREPARE, EXECUTE, DEALLOCATE.

use ambo_sql::{Database, ErrorKind};

use crate::common::{refused, rows, written};

#[test]
fn statements_are_named_and_run_with_values() {
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (id int primary key, name text); prepare put as insert into t values ($1, $2)")
        .unwrap();
    assert_eq!(written(&mut c, "execute put(1, 'one')"), 1);
    assert_eq!(written(&mut c, "execute put(1 + 1, upper('two'))"), 1);
    c.sql("prepare find (int) as select name from t where id >= $1 order by id").unwrap();
    assert_eq!(rows(&mut c, "execute find(1)"), "one\nTWO");
    assert_eq!(rows(&mut c, "execute find('2')"), "TWO");
    c.sql("prepare rename as update t set name = ? where id = ? returning name").unwrap();
    assert_eq!(c.query("execute rename($2, $1)", (2, "zwei")).unwrap().single().unwrap()[0], "zwei".into());
    assert!(refused(&mut c, "execute find(1, 2)").to_string().contains("1 parameters"));
    assert_eq!(refused(&mut c, "execute fine(1)").hint(), Some("did you mean \"find\"?"));
    assert_eq!(refused(&mut c, "prepare find as select 1").kind(), ErrorKind::Constraint);
    // They belong to the connection.
    assert_eq!(refused(&mut db.connect(), "execute find(1)").kind(), ErrorKind::NotFound);
    c.sql("deallocate find").unwrap();
    assert_eq!(refused(&mut c, "execute find(1)").kind(), ErrorKind::NotFound);
    c.sql("deallocate all").unwrap();
    assert_eq!(refused(&mut c, "deallocate put").kind(), ErrorKind::NotFound);
    assert!(refused(&mut c, "select * from t where id = $1").to_string().contains("$1"));
    assert!(refused(&mut c, "select * from t where id = $1 or id = ?").to_string().contains("both"));
}

// Keeps away: what EXECUTE does to a table as it was when the statement was prepared, and values that are not in the types that were
// declared.
#[test]
fn what_is_executed_is_right_for_tables_as_they_are() {
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (id int primary key, name text); insert into t values (1, 'one'), (2, 'two')")
        .unwrap();
    c.script("prepare get as select * from t where id = $1; prepare typed (smallint, text) as select $1, $2")
        .unwrap();
    assert_eq!(c.sql("execute get(2)").unwrap().single().unwrap().values().len(), 2);
    c.sql("alter table t add column n int default 7").unwrap();
    assert_eq!(c.sql("execute get(2)").unwrap().single().unwrap().values()[2], 7.into());
    c.sql("alter table t drop column name").unwrap();
    assert_eq!(c.sql("execute get(1)").unwrap().single().unwrap().values(), [1.into(), 7.into()]);
    c.sql("drop table t").unwrap();
    assert_eq!(refused(&mut c, "execute get(1)").kind(), ErrorKind::NotFound);
    c.script("create table t (id text primary key); insert into t values ('1')").unwrap();
    assert_eq!(rows(&mut c, "execute get('1')"), "1");
    assert_eq!(rows(&mut c, "execute get('2')"), "");
    let typed = c.sql("execute typed(5, 6)").unwrap().single().unwrap();
    assert_eq!(typed.values(), [ambo::Datum::I16(5), "6".into()]);
    assert!(refused(&mut c, "execute typed(70000, 'x')").to_string().contains("70000"));
    c.sql("prepare lists as select array_length($1)").unwrap();
    assert_eq!(rows(&mut c, "execute lists(make_array(1, 2, 3))"), "3");
}

// Keeps away: a plan that is kept for other types or another moment, and one that differs from the first.
#[test]
fn plans_without_tables_are_kept() {
    let db = ambo_sql::Database::in_memory().unwrap();
    let mut c = db.connect();
    let mut sum =
        c.prepare("select ? + 1, (select max(n) from (values (1), ($2)) as v (n)) order by 1 limit 1");
    assert!(sum.is_err());
    sum = c.prepare(
        "select $1 + 1 as next, (select max(n) from (values (1), ($2)) as v (n)) order by 1 limit 1",
    );
    let mut sum = sum.unwrap();
    for n in 1..5i64 {
        let row: (i64, i64) = sum.query(&mut c, (n, 2i64)).unwrap().single().unwrap().into_values().unwrap();
        assert_eq!(row, (n + 1, 2));
        let row: (f64, i64) =
            sum.query(&mut c, (0.5, n + 5)).unwrap().single().unwrap().into_values().unwrap();
        assert_eq!(row, (1.5, n + 5));
        let row: (Option<i64>, i64) =
            sum.query(&mut c, (None::<i64>, 7i64)).unwrap().single().unwrap().into_values().unwrap();
        assert_eq!(row, (None, 7));
    }
    let mut divided = c.prepare("select 10 / ?").unwrap();
    for (by, wanted) in [(5i64, Some(2i64)), (0, None), (2, Some(5)), (0, None)] {
        let value = divided.query(&mut c, (by,)).and_then(|rows| rows.single()?.into_values::<i64>()).ok();
        assert_eq!(value, wanted);
    }
    let mut now = c.prepare("select now(), ?").unwrap();
    let mut moments = Vec::new();
    for n in 0..3i64 {
        let (moment, _): (String, i64) = {
            let row = now.query(&mut c, (n,)).unwrap().single().unwrap();
            (row.values()[0].to_string(), n)
        };
        moments.push(moment);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    moments.dedup();
    assert_eq!(moments.len(), 3, "{moments:?}");
    let limited = "select n from (values (1), (2), (3)) as v (n) order by n limit $1";
    for n in [1i64, 3, 2] {
        assert_eq!(c.query(limited, (n,)).unwrap().count(), n as usize);
    }
}
