//! COPY, and files in FROM.

use ambo_sql::{Database, ErrorKind};

use crate::common::{STORAGES, enter, everywhere, refused, rows, sound, written};

#[test]
fn what_is_copied_out_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n bigint, name text, d decimal(12, 3), f double, at timestamp, day date, yes boolean) storage = {storage};
             create table u (id int primary key, n bigint, name text, d decimal(12, 3), f double, at timestamp, day date, yes boolean) storage = {storage};
             insert into t values (1, -5, 'a, \"b\"\nc', 1.25, 0.1, timestamp '2024-02-29 12:30:00.5', date '1999-12-31', true),
                                  (2, null, null, null, null, null, null, null), (3, 7, 'ä''x', -0.001, '1e300', null, null, false)"
        ))
        .unwrap();
        enter(c);
        let all = rows(c, "select * from t order by id");
        for name in ["t.csv", "t.csv.gz", "t.tsv.zst", "t.jsonl", "t.json.gz", "t.parquet"] {
            let file = at(name);
            assert_eq!(written(c, &format!("copy t to '{file}'")), 3);
            assert_eq!(written(c, &format!("copy u from '{file}'")), 3, "{name}");
            assert_eq!(rows(c, "select * from u order by id"), all, "{name}");
            c.sql("delete from u").unwrap();
            if !name.contains("gz") && !name.contains("zst") {
                assert_eq!(
                    rows(c, &format!("select count(*), sum(n), max(id) from '{file}'")),
                    "3, 2, 3",
                    "{name}"
                );
                assert_eq!(
                    rows(c, &format!("select t.name from t join '{file}' as f on f.id = t.id where f.n = 7")),
                    "ä'x"
                );
            }
        }
        // Some columns, in another order, with options.
        let file = at("some.txt");
        let options = "with (format csv, header false, delimiter ';', null 'NULL', quote '''')";
        assert_eq!(
            written(c, &format!("copy (select name, id from t where id > 1) to '{file}' {options}")),
            2
        );
        assert!(std::fs::read_to_string(&file).unwrap().contains("NULL;2\n"));
        assert_eq!(written(c, &format!("copy u (name, id) from '{file}' {options}")), 2);
        assert_eq!(rows(c, "select id, name, n from u order by id"), "2, NULL, NULL\n3, ä'x, NULL");
        c.sql("delete from u").unwrap();
        let file = at("old.txt");
        assert_eq!(
            written(
                c,
                &format!(
                    "copy (select id, name from t where id <> 1) to '{file}' csv header delimiter '|' null '-'"
                )
            ),
            2
        );
        assert_eq!(written(c, &format!("copy u from '{file}' csv header delimiter '|' null '-'")), 2);
        assert_eq!(rows(c, "select id, name from u order by id"), "2, NULL\n3, ä'x");
        let file = at("none.csv");
        assert_eq!(written(c, &format!("copy (select id, n from t where false) to '{file}'")), 0);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "id,n\n");
        assert_eq!(written(c, &format!("copy u from '{file}'")), 0);
    });
}

// Keeps away: an option by its name in DuckDB that is passed over.
#[test]
fn options_have_names_of_duckdb() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (id int primary key, name text); insert into t values (1, 'a,b'), (2, null)")
        .unwrap();
    let out = |c: &mut ambo_sql::Connection, name: &str, options: &str| {
        written(c, &format!("copy (from t order by id) to '{}' ({options})", at(name)));
        std::fs::read_to_string(at(name)).unwrap()
    };
    assert_eq!(out(&mut c, "a.csv", "sep ';', header 0, nullstr '-'"), "1;a,b\n2;-\n");
    assert_eq!(
        out(&mut c, "b.txt", "FORMAT 'CSV', HEADER 1, DELIM '|', row_group_size 5"),
        "id|name\n1|a,b\n2|\n"
    );
    assert_eq!(out(&mut c, "c.txt", "format csv, header false, quote '', escape ''"), "1,a,b\n2,\n");
    let list = "[\n\t{\"id\":1,\"name\":\"a,b\"},\n\t{\"id\":2,\"name\":null}\n]\n";
    assert_eq!(out(&mut c, "d.json", "ARRAY"), list);
    assert_eq!(out(&mut c, "e.json", "format json, array false").lines().count(), 2);
    written(&mut c, &format!("copy (select 1 as id where false) to '{}' (array true)", at("f.json")));
    assert_eq!(std::fs::read_to_string(at("f.json")).unwrap(), "[]\n");
    assert_eq!(rows(&mut c, &format!("select * from '{}' order by id", at("d.json"))), "1, a,b\n2, NULL");
    written(&mut c, &format!("copy t to '{}' (format json, compression gzip)", at("g.txt.gz")));
    assert!(std::fs::read(at("g.txt.gz")).unwrap().starts_with(&[0x1f, 0x8b]));
    c.script("create table u (id int primary key, name text)").unwrap();
    assert_eq!(written(&mut c, &format!("copy u from '{}' (format json, array)", at("d.json"))), 2);
    for (options, wrong) in [
        ("format csv, array", "COPY has no option ARRAY"),
        ("format csv, compression lz4", "there is no compression \"lz4\""),
        ("format parquet, compression gzip", "Parquet is compressed by zstd"),
        ("format text, array", "COPY has no option ARRAY"),
    ] {
        let error = refused(&mut c, &format!("copy t to '{}' ({options})", at("x.csv")));
        assert!(error.message().contains(wrong), "{options}: {}", error.message());
    }
}

#[test]
fn a_file_is_copied_as_a_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, n int default 5, name text not null) storage = {storage};
             insert into t values (9, 9, 'nine')"
        ))
        .unwrap();
        enter(c);
        let cases = [
            ("bad.csv", "id,name\n1,a\n\"2\",\"b\nb\"\nx,c\n", "line 5, column \"id\""),
            ("short.csv", "id,name\n1,a\n2\n", "line 3: 1 fields where 2 were expected"),
            ("names.csv", "id,nam\n1,a\n", "line 1: there is no column \"nam\""),
            ("null.jsonl", "{\"id\": 1, \"name\": \"a\"}\n\n{\"id\": 2}\n", "line 3, column \"name\""),
            ("json.jsonl", "{\"id\": 1, \"name\": \"a\"}\n{\"id\": 2,\n", "line 2"),
            ("more.jsonl", "{\"id\": 1, \"name\": \"a\", \"x\": 1}\n", "no column \"x\""),
            ("type.jsonl", "{\"id\": 1.5, \"name\": \"a\"}\n", "line 1, column \"id\""),
            ("twice.csv", "id,name\n1,a\n1,b\n", "exists"),
            ("there.csv", "id,name\n1,a\n9,b\n", "exists"),
        ];
        for (name, text, message) in cases {
            let file = write(name, text);
            let error = refused(c, &format!("copy t from '{file}'"));
            assert!(error.to_string().contains(message), "{name}: {error}");
            assert_eq!(rows(c, "select * from t"), "9, 9, nine");
        }
        let file = write("good.csv", "NAME,id\n,1\nb,2\n");
        assert_eq!(written(c, &format!("copy t from '{file}'")), 2);
        assert_eq!(rows(c, "select * from t order by id"), "1, 5, \n2, 5, b\n9, 9, nine");
        for wrong in [
            "copy t from 'no such file.csv'",
            "copy t from 'x.unknown'",
            "copy t from 'x.csv' with (format xml)",
            "copy t from 'x.parquet' with (delimiter ';')",
            "copy t from 'x.csv' with (force_quote (id))",
            "copy t from stdin",
            "copy t (id, nam) from 'x.csv'",
            "copy u from 'x.csv'",
            "copy (select * from t for update) to 'x.csv'",
            "select * from 'no such file.csv'",
        ] {
            refused(c, wrong);
        }
    });
}

#[test]
fn large_files_are_loaded_and_a_statement_that_fails_leaves_the_file_of_before() {
    for storage in STORAGES {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("many.csv").display().to_string();
        let db = Database::open(dir.path().join("db")).unwrap();
        let mut c = db.connect();
        c.script(&format!("create table t (id bigint primary key, name text) storage = {storage}")).unwrap();
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen_too = seen.clone();
        c.on_progress(move |rows| seen_too.lock().unwrap().push(rows));
        let many = "select value as id, 'name ' || value as name from generate_series(1, 100000)";
        assert_eq!(written(&mut c, &format!("copy ({many}) to '{file}'")), 100_000);
        assert_eq!(written(&mut c, &format!("copy t from '{file}'")), 100_000);
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.len() > 10 && seen.iter().filter(|rows| **rows == 100_000).count() == 2);
        assert_eq!(rows(&mut c, "select count(*), sum(id) from t"), "100000, 5000050000");
        assert_eq!(refused(&mut c, &format!("copy t from '{file}'")).kind(), ErrorKind::Constraint);
        let length = std::fs::metadata(&file).unwrap().len();
        refused(&mut c, &format!("copy (select 1 / (50000 - id) from t) to '{file}'"));
        assert_eq!(std::fs::metadata(&file).unwrap().len(), length);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        sound(&db);
    }
}

#[test]
fn statements_that_are_interrupted_leave_nothing() {
    for storage in STORAGES {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("many.csv").display().to_string();
        let db = Database::open(dir.path().join("db")).unwrap();
        let mut c = db.connect();
        c.script(&format!("create table t (id bigint primary key) storage = {storage}")).unwrap();
        written(&mut c, &format!("copy (select value as id from generate_series(1, 100000)) to '{file}'"));
        let interrupter = c.interrupter();
        c.on_progress(move |rows| {
            if rows > 50_000 {
                interrupter.interrupt();
            }
        });
        for statement in [
            format!("copy t from '{file}'"),
            "insert into t select value from generate_series(1, 100000)".into(),
        ] {
            assert_eq!(refused(&mut c, &statement).kind(), ErrorKind::Cancelled);
            assert_eq!(rows(&mut c, "select count(*) from t"), "0");
        }
        refused(&mut c, &format!("copy (select value as id from generate_series(1, 1000000)) to '{file}'"));
        c.on_progress(|_| {});
        assert_eq!(written(&mut c, &format!("copy t from '{file}'")), 100_000);
        sound(&db);
    }
}

#[test]
fn an_empty_text_in_quotes_is_no_null() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    everywhere(|c, storage| {
        c.script(&format!("create table t (id int primary key, name text, n int) storage = {storage}"))
            .unwrap();
        enter(c);
        std::fs::write(
            at("a.csv"),
            "id,name,n\r\n1,\"\",5\r\n\r\n2,,\r\n3,\"\",\"\"\r\n\"4\",\"a,\"\"\",7\r\n",
        )
        .unwrap();
        assert_eq!(written(c, &format!("copy t from '{}'", at("a.csv"))), 4);
        let all = "1, 0, 5\n2, NULL, NULL\n3, 0, NULL\n4, 3, 7";
        assert_eq!(rows(c, "select id, length(name), n from t order by id"), all);
        // What is spelled as NULL is a text in quotes, too.
        std::fs::write(at("b.csv"), "5;'-';-\n6;-;'-'\n7;'\\'';'1'").unwrap();
        let options = "with (header false, delimiter ';', null '-', quote '''', escape '\\')";
        assert_eq!(written(c, &format!("copy t from '{}' {options}", at("b.csv"))), 3);
        assert_eq!(rows(c, "select * from t where id > 4 order by id"), "5, -, NULL\n6, NULL, NULL\n7, ', 1");
        // A column may be twice in CSV, not in an object.
        let file = at("twice.csv");
        assert_eq!(written(c, &format!("copy (select id, id from t where id = 1) to '{file}'")), 1);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "id,id\n1,1\n");
        let error = refused(c, &format!("copy (select id, id from t) to '{}'", at("twice.jsonl")));
        assert!(error.to_string().contains("two columns"), "{error}");
    });
}

/// Keeps away: values of logical types that a file brings back as others.
#[test]
fn values_of_all_types_come_back() {
    let dir = tempfile::tempdir().unwrap();
    everywhere(|c, storage| {
        let columns = "id uuid primary key, l int[], s struct(a int, b text), m map(text, int), i interval, a double[2], ll text[][], \
                       d date[], j json, n struct(x struct(y int[]), z uuid[])";
        c.script(&format!(
            "create table t ({columns}) storage = {storage};
             create table u ({columns}) storage = {storage};
             insert into t values
                ('550e8400-e29b-41d4-a716-446655440000', [1, null, 3], {{'a': 1, 'b': 'x, ''y'' \"z\"'}}, map {{'k, =': 1, 'l': null}},
                 interval '1 month -2 days 3.5 seconds', [0.5, null], [['a', 'NULL', '', null, 'b]c', '\\'], [], null],
                 ['2024-02-29', null], '{{\"a\": [1, {{}}]}}', {{'x': {{'y': [1, null]}}, 'z': ['00000000-0000-0000-0000-00000000000a', null]}}),
                ('00000000-0000-0000-0000-000000000001', null, null, null, null, null, null, null, null, null),
                ('00000000-0000-0000-0000-000000000002', [], {{'a': null, 'b': null}}, map {{}}, interval '0 days', [1, 2], [], [],
                 'null', {{'x': null, 'z': []}})"
        ))
        .unwrap();
        enter(c);
        let all = rows(c, "select * from t order by id");
        for name in ["t.csv", "t.jsonl", "t.parquet"] {
            let file = dir.path().join(name).display().to_string();
            assert_eq!(written(c, &format!("copy t to '{file}'")), 3);
            assert_eq!(written(c, &format!("copy u from '{file}'")), 3, "{name}");
            assert_eq!(rows(c, "select * from u order by id"), all, "{name}");
            assert_eq!(
                rows(
                    c,
                    "select count(*) from (select id, l, s, a, j, n from t except select id, l, s, a, j, n from u)"
                ),
                "0"
            );
            c.sql("delete from u").unwrap();
        }
        let file = dir.path().join("t.parquet").display().to_string();
        assert_eq!(
            rows(c, &format!("select typeof(id), typeof(l), typeof(s) from '{file}' limit 1")),
            "uuid, integer[], struct(a integer, b text)"
        );
        assert_eq!(
            rows(
                c,
                &format!("select count(*) from '{file}' where id = '550e8400-e29b-41d4-a716-446655440000'")
            ),
            "1"
        );
    });
}

// Keeps away: rows of a stream that come in part, or otherwise than PostgreSQL's, and errors that do not say where.
#[test]
fn rows_come_from_streams_and_go_to_them() {
    everywhere(|c, storage| {
        c.script(&format!(
            "create table t (id int primary key, name text, b blob, on_ boolean, l int[]) storage = {storage};
             insert into t values (1, 'a\tb', '\\x00\\xff', true, [1, 2]), (2, null, null, false, null)"
        ))
        .unwrap();
        enter(c);
        let mut out = Vec::new();
        let all = "copy (select * from t order by id) to stdout";
        assert_eq!(c.copy_out(all, &mut out).unwrap(), 2);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "1\ta\\tb\t\\\\x00ff\tt\t[1, 2]\n2\t\\N\t\\N\tf\t\\N\n");
        let before = rows(c, "select * from t order by id");
        c.sql("delete from t").unwrap();
        assert_eq!(c.copy_in("copy t from stdin", &mut text.as_bytes()).unwrap(), 2);
        assert_eq!(rows(c, "select * from t order by id"), before);
        let shape = c.stream_copy("copy t (name, id) from stdin (format csv)").unwrap().unwrap();
        assert_eq!((shape.is_in, shape.columns, shape.is_text), (true, 2, true));
        assert_eq!(c.stream_copy("select 1").unwrap(), None);
        assert!(c.stream_copy("copy nothing from stdin").is_err());
        let error = c.copy_in("copy t (id, name) from stdin", &mut "3\tx\n4\n".as_bytes()).unwrap_err();
        assert!(error.message().contains("standard input: line 2: 1 fields"), "{error}");
        let error = c.copy_in("copy t (id) from stdin csv", &mut "3\nx\n".as_bytes()).unwrap_err();
        assert!(error.message().contains("standard input: line 2"), "{error}");
        let mut broken = std::io::Read::chain(&b"3\n"[..], Broken);
        let error = c.copy_in("copy t (id) from stdin", &mut broken).unwrap_err();
        assert!(error.message().contains("gave up"), "{error}");
        assert_eq!(rows(c, "select count(*) from t"), "2");
        assert!(c.copy_in("copy t to stdout", &mut &b""[..]).is_err());
        assert!(c.sql("copy t from stdin").is_err());
        let mut out = Vec::new();
        c.copy_out("copy t (id, name) to stdout (format csv, header, null '-')", &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().starts_with("id,name\n"));
        let mut out = Vec::new();
        c.copy_out("copy t (id) to stdout (format json)", &mut out).unwrap();
        assert_eq!(c.copy_in("copy t (id) from stdin (format json)", &mut &b"{\"id\":7}\n"[..]).unwrap(), 1);
    });
}

/// A stream that ends with an error.
struct Broken;

impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the client gave up"))
    }
}

// Keeps away: rows in the folder of other values, folders that do not say what their values are, and files that are written over.
#[test]
fn rows_go_to_folders_by_their_values() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let db = Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script(
        "create table t (id int primary key, p text, q boolean);
         insert into t values (1, 'a/b', null), (2, 'x y%', true), (3, null, false), (4, 'a/b', null), (5, 'ö', true)",
    )
    .unwrap();
    let folder = at("parts");
    let options = "format csv, partition_by (p, Q)";
    assert_eq!(written(&mut c, &format!("copy t to '{folder}' ({options})")), 5);
    let text = |path: &str| std::fs::read_to_string(dir.path().join("parts").join(path)).unwrap();
    assert_eq!(text("p=a%2Fb/q=__HIVE_DEFAULT_PARTITION__/data_0.csv"), "id\n1\n4\n");
    assert_eq!(text("p=x%20y%25/q=true/data_0.csv"), "id\n2\n");
    assert_eq!(text("p=__HIVE_DEFAULT_PARTITION__/q=false/data_0.csv"), "id\n3\n");
    assert_eq!(text("p=%C3%B6/q=true/data_0.csv"), "id\n5\n");
    let error = refused(&mut c, &format!("copy t to '{folder}' ({options})"));
    assert!(error.message().contains("has something in it"), "{error}");
    assert_eq!(written(&mut c, &format!("copy t to '{folder}' ({options}, append)")), 5);
    assert_eq!(text("p=x%20y%25/q=true/data_1.csv"), "id\n2\n");
    // Of many values not all files are open at once.
    let folder = at("many");
    let many = "copy (select i, i % 200 as p from range(20000) as r (i)) to";
    assert_eq!(
        written(
            &mut c,
            &format!("{many} '{folder}' (format parquet, partition_by p, write_partition_columns)")
        ),
        20000
    );
    assert_eq!(
        rows(
            &mut c,
            &format!("select count(*), count(distinct p), min(i % 200 = p) from '{folder}/*/*.parquet'")
        ),
        "20000, 200, true"
    );
    assert_eq!(
        rows(
            &mut c,
            &format!(
                "select count(*) from read_parquet('{folder}/p=7/*.parquet', filename = true) where p = 7"
            )
        ),
        "100"
    );
    for (options, what) in [
        ("partition_by (nope)", "there is no column \"nope\""),
        ("partition_by (id, p, q)", "leaves none to write"),
        ("partition_by (p, p)", "twice"),
        ("write_partition_columns", "stands with PARTITION_BY"),
        ("partition_by (p), overwrite perhaps", "OVERWRITE is true or false"),
        ("partition_by (p), overwrite", "not supported: OVERWRITE with PARTITION_BY"),
    ] {
        let error = refused(&mut c, &format!("copy t to '{}' (format csv, {options})", at("wrong")));
        assert!(error.message().contains(what), "{options}: {error}");
    }
    let error = refused(&mut c, &format!("copy t from '{}' (format csv, partition_by (p))", at("parts")));
    assert!(error.message().contains("PARTITION_BY is for COPY … TO a folder"), "{error}");
}
