//! Joins without equal columns whose first side does not fit into memory: the rows are those that they are with enough of it, or the
//! statement says that it lacks memory.

use ambo_sql::{Database, SqlOptions};

use crate::common::{rows, sound};

const STATEMENTS: [&str; 4] = [
    "select count(h) from (select x5.h, x2.c0 from (select k as c0 from big where k < 4000) x2 right join (select h from big where k < 100) x5 \
     on true where (x2.c0 in (select k from big where 1 = 0)) is false) q",
    "select count(h) from (select x5.h, x2.c0 from (select k as c0 from big where k < 4000) x2 right join (select h from big where k < 100) x5 \
     on true where (x2.c0 in (select k from big where k > 99990)) is false) q",
    "select count(*), sum(x.k) from (select a.k, a.h || b.h || a.h || b.h as t from big a join big b on a.k = b.k) x join \
     (select a.k, a.h || b.h || a.h || b.h as t from big a join big b on a.k = b.k where a.k % 1000 = 0) y on (x.k + y.k) % 9973 = 7 and x.t <> y.t",
    "select count(*), count(y.k) from (select a.k, a.h || b.h || a.h || b.h as t from big a join big b on a.k = b.k) x left join \
     (select a.k, a.h || b.h || a.h || b.h as t from big a join big b on a.k = b.k where a.k % 20000 = 0) y on x.k < y.k - 70000 and x.t <> y.t",
];

fn filled(options: SqlOptions) -> Database {
    let db = Database::with_options(ambo::Database::in_memory().unwrap(), options);
    let mut connection = db.connect();
    connection.script("create table big (k bigint primary key, h text) storage = column").unwrap();
    connection
        .script("insert into big select i, 'text ' || i from range(0, 100000) as r(i); compact")
        .unwrap();
    db
}

#[test]
fn joins_of_little_memory_lose_no_rows() {
    let right: Vec<String> = {
        let db = filled(SqlOptions::new());
        let connection = &mut db.connect();
        STATEMENTS.iter().map(|statement| rows(connection, statement)).collect()
    };
    assert_eq!(right[0], "400000");
    let (mut answered, mut lacking) = (0, 0);
    for (threads, finely) in [(1, false), (2, false), (4, true)] {
        for megabytes in [4, 8, 16] {
            let options = SqlOptions::new().threads(threads).divide_finely(finely);
            let db = filled(options.memory_bytes(megabytes << 20));
            let connection = &mut db.connect();
            for (statement, right) in STATEMENTS.iter().zip(&right) {
                let found =
                    connection.sql(statement).and_then(|rows| rows.collect::<ambo_sql::Result<Vec<_>>>());
                match found {
                    Ok(rows) => {
                        let row: Vec<String> = rows[0].values().iter().map(ToString::to_string).collect();
                        assert_eq!(row.join(", "), *right, "{threads} threads, {megabytes} MiB: {statement}");
                        answered += 1;
                    }
                    Err(error) => {
                        assert!(error.message().starts_with("out of memory"), "{error}: {statement}");
                        lacking += 1;
                    }
                }
            }
            sound(&db);
        }
    }
    assert!(answered > 0 && lacking > 0, "{answered} answered, {lacking} lacked memory");
}
