//! The faults of DataFusion that Ambo guards against, on DataFusion alone.
//!
//! `docs/upstream/README.md` lists the guards. Each statement here is answered wrongly, or not at all, by a plain `SessionContext`. When a
//! later version answers one rightly, the test says which guard can go.

use ambo_sql::Database;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::common::rows;

/// Name, columns, rows.
const TABLES: [(&str, &str, &str); 6] = [
    (
        "ratios",
        "id int, x int, y int, t varchar",
        "values (1, 10, 2, '5'), (2, 7, 0, 'n/a'), (3, null, 0, ''), (4, 9, 3, '3')",
    ),
    (
        "b",
        "id int, y int, z int, kind varchar",
        "values (1, 2, 5, 'num'), (2, 0, 1, 'txt'), (4, 3, 3, 'num')",
    ),
    ("d", "n decimal(9, 2)", "values (1.99), (2.00), (3.75)"),
    ("n", "k int, v int", "values (1, 1), (2, null), (null, 3), (null, null)"),
    ("l", "id int, g int", "values (1, 1), (2, 1), (3, 1)"),
    ("o", "a int, b int, g int", "select v / 100, v % 100, 1 from generate_series(100, 499) as s(v)"),
];

/// The guard, a statement, and what is right: a line for each row.
const FAULTS: [(&str, &str, &str); 29] = [
    ("guards/lazy", "select id from ratios where y = 0 or x / y = 3 order by id", "2\n3\n4"),
    (
        "guards/lazy",
        "select id, y > 0 and 6 / y < 3 from ratios order by id",
        "1, false\n2, false\n3, false\n4, true",
    ),
    (
        "guards/lazy",
        "select g, sum(10 / v) filter (where v <> 0) from (values (1, 0), (2, 2)) as t(g, v) group by g order by g",
        "1, NULL\n2, 5",
    ),
    (
        "guards/held",
        "select a.id from ratios a join b on a.id = b.id where b.kind = 'num' and cast(a.t as int) > 3",
        "1",
    ),
    ("guards/order", "select id from ratios where t ~ '^[0-9]+$' and cast(t as int) > 3", "1"),
    (
        "guards/keys",
        "select a.id, b.id from ratios a left join b on a.y <> 0 and a.x / a.y = b.z order by 1",
        "1, 1\n2, NULL\n3, NULL\n4, 4",
    ),
    (
        "guards/literals",
        "select case when id > 100 then cast('x' as int) end from ratios where id = 1",
        "NULL",
    ),
    (
        "zoned_literals",
        "select length(cast(max(a) as varchar)) < length(cast(max(b) as varchar)) from (select cast(x as timestamp) as a, cast(x as timestamptz) as b from (select '2024-01-01' as x from l) as s) as t",
        "true",
    ),
    ("guards/values", "select case when id > 100 then (select 1 / 0) end from ratios where id = 1", "NULL"),
    (
        "nested_tops",
        "select l[2] is null from (select case when v > 20000 then [1, null] else [1, 2] end as l from generate_series(1, 30000) as s(v)) \
         order by l desc limit 1",
        "true",
    ),
    (
        "nans",
        "select count(distinct v - v) from (values (cast('infinity' as double)), (cast('nan' as double))) as t(v)",
        "1",
    ),
    ("barrier", "select c from (select count(*) as c, 1 as one from n) where one = 2", ""),
    ("in_lists", "select k in (1, 2) and k in (3, 4) from n where k is null", "NULL\nNULL"),
    ("in_lists", "select k not in (1, 2) or k not in (3, 4) from n where k is null", "NULL\nNULL"),
    (
        "lost_keys",
        "select r.id, b.id from ratios r join (b join n on b.id = n.k) on r.id = b.y + n.v",
        "3, 1",
    ),
    ("lossy_casts", "select n from d where cast(n as int) = 2 order by n", "1.99\n2.00"),
    ("lossy_casts", "select n from d where cast(n as decimal(9, 1)) < 2", ""),
    ("nested_counts", "select count(*) filter (where c > 1) from (select count(*) as c from n)", "1"),
    (
        "null_equality",
        "select a.k, b.k from n a join n b on a.k is not distinct from b.k where a.v = b.v order by 1",
        "1, 1\nNULL, NULL",
    ),
    (
        "nested_extremes",
        "select (min(v))['c1'] from (values (struct(1, cast(null as int))), (struct(1, 5))) as t(v)",
        "5",
    ),
    ("src/numbers/powers.rs", "select power(2e0, log(2e0, -x)) from (values (1e0)) as t(x)", "NaN"),
    ("regexes", "select t ~ '.*' from (values ('a'), (null)) as v(t) where t is null", "NULL"),
    ("src/numbers/whole_parts.rs", "select ceil(cast(n as decimal(3, 3))) from (values (0.5)) as t(n)", "1"),
    ("rounding", "select n from d where round(n, 1) > n order by n", "1.99\n3.75"),
    ("subquery", "select id from l where exists (select 1 from b where b.id = l.id offset 1)", ""),
    (
        "subquery",
        "select id from l where (select max(c) from (select count(*) as c from b where b.id = l.id)) = 0",
        "3",
    ),
    (
        "constants",
        "select k, id from (select 1 as k, id from l union all select 2 as k, id from l) order by k desc, id limit 1",
        "2, 1",
    ),
    (
        "source_names",
        "select (select count(*) from generate_series(1, 2)) as a, (select count(*) from generate_series(1, 3)) as b",
        "2, 3",
    ),
    ("repeated_orders", "select distinct on (g) g, id from l order by g, id desc, g", "1, 3"),
];

/// What DataFusion answers, or its error.
async fn answer(statement: &'static str) -> Result<String, String> {
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    for (name, columns, rows) in TABLES {
        let table = format!("create table {name} ({columns}) as {rows}");
        context.sql(&table).await.expect(name).collect().await.expect(name);
    }
    let answer = context.sql(statement).await.map_err(|error| error.to_string())?;
    let batches = answer.collect().await.map_err(|error| error.to_string())?;
    let mut lines = Vec::new();
    let options = FormatOptions::default().with_null("NULL");
    for batch in &batches {
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap());
        let columns: Vec<_> = columns.collect();
        lines.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(", ")
        }));
    }
    Ok(lines.join("\n"))
}

/// How often a right answer is asked for again.
const TRIES: usize = 200;

/// Keeps away: guards that nothing needs any more.
#[test]
fn what_is_guarded_against_is_still_wrong() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut mended = Vec::new();
    for (guard, statement, right) in FAULTS {
        let is_right = || matches!(runtime.block_on(runtime.spawn(answer(statement))), Ok(Ok(answer)) if answer == right);
        // Where threads say which rows come first, a wrong plan has the right answer now and then.
        if (0..TRIES).all(|_| is_right()) {
            mended.push(format!("{guard}: {statement}"));
        }
    }
    assert!(mended.is_empty(), "DataFusion answers rightly now, guards may go:\n{}", mended.join("\n"));
}

/// Keeps away: statements above whose right answer is none.
#[test]
fn what_is_guarded_against_is_right_here() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    for (name, columns, rows) in TABLES {
        connection.script(&format!("create table {name} ({columns}); insert into {name} {rows};")).unwrap();
    }
    for (guard, statement, right) in FAULTS {
        assert_eq!(rows(&mut connection, statement), right, "{guard}: {statement}");
    }
}

/// Keeps away: guards that are listed nowhere.
#[test]
fn guards_are_listed() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = std::fs::read_to_string(here.join("../../docs/upstream/README.md")).unwrap();
    let shared =
        ["mod", "asof", "expressions", "from_below", "pass_on", "failing", "range", "frames", "moments"];
    for (folder, prefix) in [("src/optimizer", ""), ("src/optimizer/guards", "guards/")] {
        for file in std::fs::read_dir(here.join(folder)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let is_guard = path.extension().is_some() && !shared.contains(&name.as_str());
            assert!(!is_guard || listed.contains(&format!("| `{prefix}{name}` |")), "{prefix}{name}");
        }
    }
    for (guard, ..) in FAULTS {
        assert!(listed.contains(&format!("| `{guard}` |")), "{guard}");
    }
}
