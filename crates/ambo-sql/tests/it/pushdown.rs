//! What scans take from the operators above them.

use ambo_sql::Database;

use crate::common::{STORAGES, explained, figure, line, rows, sorted, sound};

/// A hundred thousand compacted rows, and a few to join them with.
fn database() -> Database {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    let statements = "create table many (id bigint primary key, few bigint, n bigint, t text) storage = column;
        insert into many select i, i % 50, i * 7 % 1000, 'text ' || i from generate_series(1, 100000) as s (i);
        create table few (id bigint primary key, name text, at bigint) storage = column;
        insert into few select i, 'name ' || i, i * 1000 from generate_series(0, 49) as s (i);
        create table least (id bigint primary key, few bigint) storage = column;
        insert into least values (1, 7), (2, 9);";
    connection.script(statements).unwrap();
    db.compact().unwrap();
    db
}

#[test]
fn conditions_that_storages_do_not_answer_are_the_scans() {
    let db = database();
    let mut connection = db.connect();
    let query = "select t from many where n + few > 1040 and t not like '%9'";
    let plan = explained(&mut connection, "explain", query);
    assert!(line(&plan, "TableScan: main.many").contains("predicates=["), "{plan}");
    assert!(!plan.contains("FilterExec"), "{plan}");
    let expected = (1..=100_000i64).filter(|i| i * 7 % 1000 + i % 50 > 1040 && i % 10 != 9).count();
    assert_eq!(connection.sql(query).unwrap().count(), expected);
    sound(&db);
}

#[test]
fn scans_skip_what_joins_do_not_look_for() {
    let db = database();
    let mut connection = db.connect();
    let query = "select few.name, many.t from few join many on few.at = many.id where few.name = 'name 50' or few.id = 3";
    assert_eq!(rows(&mut connection, query), "name 3, text 3000");
    let plan = explained(&mut connection, "explain analyze", query);
    let scan = line(&plan, "TableScan: main.many");
    assert!(scan.contains("DynamicFilter"), "{plan}");
    assert_eq!(figure(&scan, "units_read"), 1, "{plan}");
    assert!(figure(&scan, "units_skipped") > 5, "{plan}");
    // The key, and for the row that was found the text.
    assert_eq!(figure(&scan, "blocks_read"), 2, "{plan}");
    assert_eq!(figure(&scan, "blocks_skipped"), 2 * figure(&scan, "units_skipped"), "{plan}");
    assert!((8..1 << 20).contains(&figure(&scan, "bytes_decoded")), "{plan}");
    sound(&db);
}

#[test]
fn tables_are_joined_from_the_few_rows_to_the_many() {
    let db = database();
    let mut connection = db.connect();
    let query = "select count(*) from many, few, least where many.few = few.id and few.id = least.few and least.id = 1";
    assert_eq!(rows(&mut connection, query), "2000");
    let plan = explained(&mut connection, "explain", query);
    assert!(!plan.contains("CrossJoin"), "{plan}");
    let depth = |table: &str| {
        let line = line(plan.split("physical_plan").nth(1).unwrap(), &format!("TableScan: main.{table} "));
        line.len() - line.trim_start().len()
    };
    assert!(depth("least") > depth("many"), "{plan}");
    assert!(depth("few") > depth("many"), "{plan}");
    sound(&db);
}

/// Keeps away: joins of all rows where their groups would do, and groups in the storage of what the join hardly leaves anything.
#[test]
fn groups_are_made_before_joins() {
    let db = database();
    let mut connection = db.connect();
    let query = "select f.name, count(*), avg(m.n) from many m join few f on f.id = m.few group by f.name order by f.name limit 1";
    let plan = explained(&mut connection, "explain", query);
    assert!(plan.contains("TableAggregate: main.many"), "{plan}");
    assert!(!plan.contains("TableScan: main.many"), "{plan}");
    let of_zero: Vec<i64> = (1..=100_000).filter(|i| i % 50 == 0).map(|i| i * 7 % 1000).collect();
    let mean = of_zero.iter().sum::<i64>() as f64 / of_zero.len() as f64;
    assert_eq!(rows(&mut connection, query), format!("name 0, {}, {mean}", of_zero.len()));
    let narrow = "select count(*) from many m join few f on f.id = m.few where f.name = 'name 3'";
    let plan = explained(&mut connection, "explain", narrow);
    assert!(plan.contains("TableScan: main.many"), "{plan}");
    assert_eq!(rows(&mut connection, narrow), "2000");
    sound(&db);
}

/// Keeps away: CASE and FILTER that take an aggregation out of the storage's hands.
#[test]
fn conditions_in_aggregates_are_the_storages() {
    let db = database();
    let mut connection = db.connect();
    let query = "select sum(case when n > 500 or t like 'text 9%' then 1 else 0 end), count(*) filter (where few not in (1, 2)), avg(few) from many";
    let plan = explained(&mut connection, "explain", query);
    assert!(plan.contains("TableAggregate: main.many"), "{plan}");
    let first = (1..=100_000i64).filter(|i| i * 7 % 1000 > 500 || i.to_string().starts_with('9')).count();
    let second = (1..=100_000i64).filter(|i| i % 50 != 1 && i % 50 != 2).count();
    assert_eq!(rows(&mut connection, query), format!("{first}, {second}, 24.5"));
    sound(&db);
}

#[test]
fn compacted_tables_are_in_the_order_of_their_key() {
    let db = database();
    let mut connection = db.connect();
    let query = "select id, t from many order by id limit 2";
    let plan = explained(&mut connection, "explain", query);
    assert!(!plan.contains("SortExec"), "{plan}");
    assert_eq!(rows(&mut connection, query), "1, text 1\n2, text 2");
    let all = rows(&mut connection, "select id from many order by id");
    let ids: Vec<i64> = all.lines().map(|id| id.parse().unwrap()).collect();
    assert!(ids.is_sorted() && ids.len() == 100_000);
    // A row that is not compacted yet comes first all the same.
    connection.script("insert into many values (0, 1, 2, 'new')").unwrap();
    assert_eq!(rows(&mut connection, query), "0, new\n1, text 1");
    sound(&db);
}

#[test]
fn a_scan_can_be_run_again_and_again() {
    let db = database();
    let mut connection = db.connect();
    let query = "with recursive steps (id) as (
            select 1::bigint union all select many.id * 2 from steps join many on many.id = steps.id where steps.id < 50000)
        select count(*), max(id) from steps";
    assert_eq!(rows(&mut connection, query), "17, 65536");
    sound(&db);
}

/// Keeps away: values that are seen twice or not at all, over deleted, newer and own rows.
#[test]
fn different_values_are_read_off_an_index() {
    for storage in STORAGES {
        let db = Database::in_memory().unwrap();
        let mut connection = db.connect();
        let statements = format!(
            "create table d (id bigint, n bigint, kind bigint, name text, primary key (n, id)) storage = {storage};
             create index kinds on d (kind); create index names on d (name, id);
             insert into d select i, i % 40, case when i % 11 = 0 then null else i % 10 end, 'name ' || (i % 7)
                from generate_series(1, 40000) as s (i);"
        );
        connection.script(&statements).unwrap();
        db.compact().unwrap();
        let changes = [
            "",
            "delete from d where kind = 3; update d set name = 'other' where name = 'name 2'",
            "begin; insert into d values (1, -5, -5, 'own'); delete from d where name = 'name 4'",
        ];
        for change in changes {
            connection.script(change).unwrap();
            for column in ["n", "kind", "name"] {
                let count = format!("select count(distinct {column}) from d");
                let plan = rows(&mut connection, &format!("explain {count}"));
                let is_by_key = column == "n";
                let is_by_order = plan.contains(&format!("values of {column} by "));
                assert_eq!(is_by_order, !(is_by_key && storage == "column"), "{storage}: {plan}");
                let rest = "where id > 0 or id <= 0";
                assert_eq!(rows(&mut connection, &count), rows(&mut connection, &format!("{count} {rest}")));
                let all = format!("select distinct {column} from d");
                assert_eq!(sorted(&mut connection, &all), sorted(&mut connection, &format!("{all} {rest}")));
            }
        }
        connection.script("rollback").unwrap();
        sound(&db);
    }
}
