//! The order in which rows come out.

use ambo_sql::{Database, SqlOptions};

use crate::common::{STORAGES, sound};

/// Keeps away: rows that are sorted and then divided among threads, because what is computed of them can fail, and nobody knows
/// how many they are.
#[test]
fn what_can_fail_is_computed_in_order() {
    for storage in STORAGES {
        let db = Database::with_options(
            ambo::Database::in_memory().unwrap(),
            SqlOptions::new().threads(4).divide_finely(true),
        );
        let mut connection = db.connect();
        connection
            .script(&format!(
                "create table many (k int primary key, g int) with (storage = {storage});
                 insert into many select v, v % 100 from generate_series(1, 40000) as t(v)"
            ))
            .unwrap();
        let groups = "(select unnest([g, g + 1000]) as u, count(*) as c from many group by 1) as s";
        for (k, shown) in
            [(0, "k, 10 / c"), (1, "10 / c, k"), (0, "k, 10 / c, (select max(g) from many where 1 / k > 2)")]
        {
            let query =
                format!("select {shown} from many left join {groups} on many.g = s.u order by k limit 30000");
            let rows = connection.query(&query, ()).unwrap();
            let found: Vec<i64> = rows.map(|row| row.unwrap().get(k).unwrap()).collect();
            assert!(found.iter().copied().eq(1..=30000), "{storage}: {query}");
        }
        sound(&db);
    }
}
