//! CREATE OR REPLACE TABLE with UNIQUE columns.

use ambo_sql::{Connection, Database};

use crate::common::{STORAGES, rows, sound};

// Keeps away: a table that is gone since the new one could not be made, indexes that the names of the old ones are kept from, and a crash
// between.
#[test]
fn tables_with_unique_columns_are_replaced() {
    for storage in STORAGES {
        let db = Database::in_memory().unwrap();
        let mut c = db.connect();
        let make = format!(
            "(id int primary key, mail text unique, n int, constraint pair unique (n, mail)) storage = {storage}"
        );
        c.script(&format!(
            "create or replace table t {make}; insert into t values (1, 'a', 1), (2, 'b', 2); create table other (id int, constraint taken unique (id))"
        ))
        .unwrap();
        let indexes = |c: &mut Connection| {
            rows(
                c,
                "select index_name from information_schema.statistics where table_name = 't' and index_name <> 'PRIMARY' order by 1, seq_in_index",
            )
        };
        assert_eq!(indexes(&mut c), "pair\npair\nt_mail_key");
        // Of its own rows.
        c.script(&format!("create or replace table t {make} as select id + 10, upper(mail), n from t"))
            .unwrap();
        assert_eq!(rows(&mut c, "select id, mail from t order by id"), "11, A\n12, B");
        assert_eq!(indexes(&mut c), "pair\npair\nt_mail_key");
        assert!(c.sql("insert into t values (5, 'A', 9)").is_err());
        assert_eq!(
            rows(
                &mut c,
                "insert into t values (5, 'A', 9) on conflict on constraint t_mail_key do nothing returning id"
            ),
            ""
        );
        // What cannot be leaves the old table.
        for wrong in [
            format!("create or replace table t {make} as select id, 'same', 1 from t"),
            "create or replace table t (id int, constraint taken unique (id)) as select id from t".to_owned(),
            "create or replace table t (id int, constraint taken unique (id))".to_owned(),
        ] {
            let error = c.sql(&wrong).err().unwrap_or_else(|| panic!("{wrong}"));
            assert!(!error.to_string().contains("replacement"), "{error}");
            assert_eq!(rows(&mut c, "select count(*) from t"), "2", "{wrong}");
            assert_eq!(rows(&mut c, "show tables like 't%'").lines().count(), 1, "{wrong}");
        }
        c.script(&format!("create or replace table t {make}")).unwrap();
        assert_eq!(
            (rows(&mut c, "select count(*) from t"), indexes(&mut c)),
            ("0".into(), "pair\npair\nt_mail_key".into())
        );
        sound(&db);
    }
}
