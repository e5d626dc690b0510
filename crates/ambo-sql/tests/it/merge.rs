//! MERGE.

use crate::common::{enter, everywhere, refused, rows, written};

#[test]
fn rows_are_inserted_changed_and_deleted() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n int default 5, name text) storage = {storage};
             create table s (id int, n int) storage = {storage};
             insert into t values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 4, 'd');
             insert into s values (2, 20), (3, -1), (5, 50), (6, 0);"
        ))
        .unwrap();
        enter(c);
        assert_eq!(
            written(
                c,
                "merge into t using s on t.id = s.id
                 when matched and s.n < 0 then delete
                 when matched then update set n = t.n + s.n, name = default
                 when not matched and s.n = 0 then do nothing
                 when not matched then insert (id, name) values (s.id, 'new ' || s.n)
                 when not matched by source and t.id > 3 then update set name = 'alone'"
            ),
            4
        );
        assert_eq!(rows(c, "select * from t order by id"), "1, 1, a\n2, 22, NULL\n4, 4, alone\n5, 5, new 50");
        assert_eq!(
            written(
                c,
                "merge into main.t as x using (select id + 1 as id from s) as y on x.id = y.id
                 when matched then do nothing
                 when not matched by target then insert values (y.id, default, 'y')
                 when not matched by source then delete"
            ),
            6
        );
        assert_eq!(rows(c, "select * from t order by id"), "3, 5, y\n4, 4, alone\n6, 5, y\n7, 5, y");
        // What is computed for a clause is computed where it is meant.
        assert_eq!(
            c.execute(
                "merge into t using s on t.id = s.id when matched and s.n = 0 then update set n = $1
                 when matched then update set n = 10 / s.n",
                (9,)
            )
            .unwrap(),
            2
        );
        assert_eq!(rows(c, "select n from t where id in (3, 6) order by id"), "-10\n9");
        // Keys that change hands.
        assert_eq!(
            written(
                c,
                "merge into t using (values (3, 4), (4, 3)) as v (a, b) on t.id = v.a
                 when matched then update set id = v.b"
            ),
            2
        );
        assert_eq!(rows(c, "select id, name from t where id < 5 order by id"), "3, alone\n4, y");
    });
}

#[test]
fn a_row_is_changed_once() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (a int, b text) storage = {storage};
             create table s (a int, b text) storage = {storage};
             insert into t values (1, 'x'), (1, 'y'), (2, 'z');
             insert into s values (1, 'one'), (2, 'two'), (2, 'zwei');"
        ))
        .unwrap();
        enter(c);
        let error = refused(c, "merge into t using s on t.a = s.a when matched then update set b = s.b");
        assert!(error.to_string().contains("more than one row"), "{error}");
        assert_eq!(rows(c, "select count(*) from t where b in ('x', 'y', 'z')"), "3");
        // Pairs that no clause is about do not count.
        assert_eq!(
            written(
                c,
                "merge into t using s on t.a = s.a when matched and s.b <> 'zwei' then update set b = s.b"
            ),
            3
        );
        assert_eq!(rows(c, "select * from t order by a"), "1, one\n1, one\n2, two");
        for wrong in [
            "merge into t using s on t.a = s.a when matched then insert values (1, 'a')",
            "merge into t using s on t.a = s.a when not matched then insert values (1)",
            "merge into t using s on t.a = s.a when matched then update set c = 1",
            "merge into t using (select 1 as a) on t.a = a when matched then delete",
            "merge into t using s on t.a = s.a",
        ] {
            refused(c, wrong);
        }
        assert_eq!(rows(c, "select count(*) from t"), "3");
    });
}
