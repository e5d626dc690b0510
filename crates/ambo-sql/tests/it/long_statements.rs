//! Statements as programs write them, longer and deeper than people would, on threads with the stack that a test has (2 MiB).

use ambo_sql::{Connection, Database, ErrorKind};

use crate::common::{refused, rows, sound, written};

fn chain(count: usize, between: &str, each: impl Fn(usize) -> String) -> String {
    (0..count).map(each).collect::<Vec<_>>().join(between)
}

fn with_table(test: impl Fn(&mut Connection)) {
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (k int primary key, a int); insert into t select value, value % 10 from generate_series(1, 99)")
        .unwrap();
    test(&mut c);
    sound(&db);
}

#[test]
fn conditions_may_be_long() {
    with_table(|c| {
        let any = chain(5_000, " or ", |i| format!("k = {i} and a <> 3"));
        assert_eq!(rows(c, &format!("select count(*) from t where {any}")), "89");
        let all = chain(5_000, " and ", |i| format!("k <> {}", i + 50));
        assert_eq!(rows(c, &format!("select count(*), sum(k) from t where {all}")), "49, 1225");
        let none = chain(5_000, " and ", |i| format!("a <> {}", i + 5));
        assert_eq!(rows(c, &format!("select max(a) from t where not ({none})")), "9");
        // NULL among them: neither true nor false.
        let unknown =
            chain(200, " or ", |i| if i == 100 { "null".into() } else { format!("k = {}", i + 90) });
        assert_eq!(
            rows(c, &format!("select k, {unknown} as c from t where k in (1, 95)")),
            "1, NULL\n95, true"
        );
        assert_eq!(written(c, &format!("update t set a = 20 where {any}")), 89);
        assert_eq!(written(c, &format!("delete from t where {any}")), 89);
        assert_eq!(rows(c, "select count(*) from t"), "10");
    });
}

#[test]
fn rules_of_tables_may_be_long() {
    let dir = tempfile::tempdir().unwrap();
    let all = chain(1_000, " and ", |i| format!("a <> {}", i + 50));
    {
        let db = Database::open(dir.path()).unwrap();
        let mut c = db.connect();
        c.script(&format!(
            "create table t (k int primary key, a int check ({all}));
             create view v as select k from t where {all};
             insert into t values (1, 2)"
        ))
        .unwrap();
    }
    let db = Database::open(dir.path()).unwrap();
    let mut c = db.connect();
    assert_eq!(refused(&mut c, "insert into t values (2, 1049)").kind(), ErrorKind::Constraint);
    assert_eq!(written(&mut c, "insert into t values (2, 1050)"), 1);
    assert_eq!(rows(&mut c, "select k from v order by k"), "1\n2");
    sound(&db);
}

#[test]
fn what_is_too_deep_is_refused() {
    with_table(|c| {
        let sum = |count| chain(count, " + ", |_| "k".into());
        assert_eq!(rows(c, &format!("select {} from t where k = 2", sum(1_000))), "2000");
        let too_deep = |c: &mut Connection, statement: String| {
            let error = refused(c, &statement);
            assert_eq!(error.kind(), ErrorKind::Syntax, "{error}");
            assert!(error.message().contains("deep") || error.message().contains("long"), "{error}");
        };
        too_deep(c, format!("select {} from t", sum(1_001)));
        too_deep(c, format!("select {} from t", sum(200_000)));
        too_deep(c, format!("select {} from t", sum(1_000_001)));
        too_deep(c, format!("create table u (a int check ({} > 0))", sum(1_001)));

        let nested = |count| format!("select {}1{}", "(".repeat(count), " + 1)".repeat(count));
        assert_eq!(rows(c, &nested(150)), "151");
        too_deep(c, nested(100_000));
        too_deep(c, format!("select {}1", "- ".repeat(100_000)));
        too_deep(c, format!("select * from {}t{}", "(select * from ".repeat(5_000), ") as x".repeat(5_000)));

        let union = |count| chain(count, " union all ", |i| format!("select {i}, 1"));
        assert_eq!(rows(c, &union(500)).lines().count(), 500);
        too_deep(c, union(501));
        too_deep(c, union(50_000));
        // What is wrong elsewhere is found on the way.
        let error = refused(c, &format!("select {} from t where where", sum(100_000)));
        assert_eq!(error.kind(), ErrorKind::Syntax);
        assert_eq!(rows(c, "select count(*) from t"), "99");
    });
}

#[test]
fn the_place_of_a_mistake_in_a_long_line_is_shown() {
    with_table(|c| {
        let any = chain(1_000, " or ", |i| format!("k = {i}"));
        let statement = format!("select k from t where {any} or kk = 1 or {any}");
        let shown = refused(c, &statement).show(&statement);
        let [_, line, mark, ..] = &shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
        assert!(line.starts_with('…') && line.ends_with('…') && line.chars().count() < 130, "{shown}");
        let at = mark.chars().position(|c| c == '^').unwrap();
        assert!(line.chars().skip(at).collect::<String>().starts_with("kk = 1"), "{shown}");
    });
}

#[test]
fn what_is_made_of_each_other_may_be_deep() {
    with_table(|c| {
        c.script("create view v0 as select k as a from t").unwrap();
        for i in 1..64 {
            c.script(&format!("create view v{i} as select a from v{} where a <> {i}", i - 1)).unwrap();
        }
        assert_eq!(rows(c, "select count(*) from v63"), "36");
        let error = refused(c, "create view v64 as select a from v63");
        assert!(error.message().contains("64 deep"), "{error}");

        let ctes = |count: usize, last: &str| {
            let each = |i: usize| format!("c{i} as (select a from c{} where a <> {i})", i - 1);
            let chain = (1..count).map(each).collect::<Vec<_>>().join(", ");
            format!("with c0 as (select k as a from t), {chain} select {last} from c{}", count - 1)
        };
        assert_eq!(rows(c, &ctes(60, "count(*)")), "40");
        assert_eq!(rows(c, &ctes(330, "count(*)")), "0");
        let error = refused(c, &ctes(340, "count(*)"));
        assert!(error.message().contains("nested too deeply"), "{error}");

        let joined = |i: usize| format!(" left join t as t{i} on t{i}.k = t{}.k", i - 1);
        let joins: String = (1..100).map(joined).collect();
        assert_eq!(rows(c, &format!("select count(t99.a) from t as t0{joins}")), "99");
    });
}
