//! ROLLUP, CUBE and GROUPING SETS in queries with columns from outside: for each row they are what they are with its values in their place.

use ambo_sql::Database;

use crate::common::{STORAGES, rows};

#[test]
fn sets_are_those_of_each_row() {
    for storage in STORAGES {
        let db = Database::in_memory().unwrap();
        let mut c = db.connect();
        c.script(&format!(
            "create table o (k int primary key, g int) storage = {storage};
             create table q (k int primary key, y int, g int) storage = {storage};
             insert into o values (1, 1), (2, 2), (3, null), (4, 1), (5, 7);
             insert into q values (1, 1, 1), (2, null, 2), (3, 5, 1), (4, 7, 2), (5, 5, null);"
        ))
        .unwrap();
        // Every row of a group, so that nothing of it goes by.
        let shown = "select string_agg(coalesce(cast(a as text), '-') || coalesce(cast(b as text), '-') || ' ' || n || ' ' || l, ', ' order by a nulls last, b nulls last, l, n) from";
        for groups in [
            "rollup (g, y)",
            "cube (g, y)",
            "cube (y, g)",
            "grouping sets ((g), (), (y, g))",
            "grouping sets ((y), (g), (y))",
            "g, rollup (y)",
            "rollup (g, {g})",
            "rollup ({g}, g, y)",
            "cube (g + {k}, y)",
        ] {
            for condition in ["q.k <= {k}", "q.g = {g}", "q.k < 3 and {k} > 0"] {
                let level = if groups.contains("+ {k}") { "grouping(y)" } else { "grouping(g)" };
                let (a, b) = match groups {
                    "rollup (g, {g})" => ("g", "g"),
                    "cube (g + {k}, y)" => ("g + {k}", "y"),
                    _ => ("g", "y"),
                };
                let query = format!(
                    "({shown} (select {a} as a, {b} as b, count(*) as n, {level} as l from q where {condition} group by {groups}) as r)"
                );
                for (k, g) in [("1", "1"), ("2", "2"), ("3", "null"), ("4", "1"), ("5", "7")] {
                    let outside = query.replace("{k}", "o.k").replace("{g}", "o.g");
                    let by_row = rows(&mut c, &format!("select {outside} from o where o.k = {k}"));
                    // A number alone would be that of a column.
                    let inside = query.replace("{k}", k).replace("{g}", &format!("cast({g} as int)"));
                    assert_eq!(by_row, rows(&mut c, &format!("select {inside}")), "{inside}");
                }
            }
        }
    }
}
