//! DELETE.

use crate::common::{enter, everywhere, refused, rows, written};

#[test]
fn rows_are_deleted_as_conditions_say() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n int unique, name text) storage = {storage};
             create table s (id int, x int) storage = {storage};
             insert into t select value, value * 10, 'n' || value from generate_series(1, 9);
             insert into s values (2, 20), (3, 30), (3, 31), (null, 4);"
        ))
        .unwrap();
        enter(c);
        assert_eq!(written(c, "delete from t where id = 1 and id = 2"), 0);
        assert_eq!(written(c, "delete from t where id not in (select id from s)"), 0);
        assert_eq!(written(c, "delete from t where id in (select id from s where x = 20)"), 1);
        assert_eq!(written(c, "delete from t where exists (select 1 from s where s.id = t.id)"), 1);
        assert_eq!(rows(c, "select count(*) from t"), "7");
        assert_eq!(rows(c, "delete from t where n > 80 returning *, n + 1 as m"), "9, 90, n9, 91");
        assert_eq!(written(c, "delete from t order by id desc limit 2"), 2);
        assert_eq!(c.execute("delete from main.t where main.t.id = $1", (1,)).unwrap(), 1);
        assert_eq!(rows(c, "select id from t order by id"), "4\n5\n6");
        assert_eq!(written(c, "with w as (select 4 as id) delete from t using w where w.id = t.id"), 1);
        // What is gone is in the way of nothing.
        assert_eq!(written(c, "insert into t values (1, 60, 'again') on conflict do nothing"), 0);
        assert_eq!(written(c, "delete from t"), 2);
        assert_eq!(written(c, "insert into t values (6, 60, 'again')"), 1);
        assert!(refused(c, "delete from t, s").to_string().contains("one table"));
    });
}

#[test]
fn other_tables_say_which_rows() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (a int, b text) storage = {storage};
             create table s (a int, b text) storage = {storage};
             insert into t values (1, 'x'), (1, 'y'), (2, 'z'), (null, 'n');
             insert into s values (1, 'one'), (2, 'two'), (2, 'zwei'), (3, 'three');"
        ))
        .unwrap();
        enter(c);
        assert_eq!(written(c, "delete from t using s where s.a = t.a and s.a = 2"), 1);
        assert_eq!(
            rows(c, "delete from t using s where s.a = t.a and t.b = 'y' returning t.*, s.b"),
            "1, y, one"
        );
        assert_eq!(rows(c, "delete from t where a is null returning *"), "NULL, n");
        // The rows of a table without a primary key, chosen by the table itself.
        assert_eq!(written(c, "delete from t where b in (select b from t)"), 1);
        assert_eq!(written(c, "delete from s as x where x.a < (select max(a) from s)"), 3);
        assert_eq!(rows(c, "select * from s"), "3, three");
    });
}
