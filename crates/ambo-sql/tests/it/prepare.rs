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
