//! Files in FROM and COPY have one reader and one writer: values come back as they were written, and what is wrong is told.

use crate::common::{enter, everywhere, refused, rows, sorted, written};

// Keeps away: an empty text, NULL, bytes, decimals or large numbers that come back as something else.
#[test]
fn values_come_back_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    everywhere(|c, storage| {
        for table in ["t", "u"] {
            c.script(&format!(
                "create table {table} (id int primary key, s text, b blob, d decimal(38, 10), big bigint, f double, r real, day date, tm time, at timestamp, n text not null) storage = {storage}"
            ))
            .unwrap();
        }
        c.script(
            "insert into t values
             (1, '', '', 12345678901234567890.0123456789, 9007199254740993, 'NaN', 0.1, date '0001-01-01', time '23:59:59.123456789', timestamp '2261-12-31 23:59:59.999999', ''),
             (2, null, null, null, null, null, null, null, null, null, 'null'),
             (3, 'a,\"b\"', 'a,b', -0.0000000001, -9223372036854775808, '-inf', -1.5, date '2024-02-29', time '00:00:00', timestamp '1700-01-01 00:00:00', 'NULL'),
             (4, '\\n', 'caf\u{e9}', 1, 1, 1e300, 1e30, null, null, timestamp '2024-02-29 10:11:12.5', '007')",
        )
        .unwrap();
        enter(c);
        let all = rows(c, "select * from t order by id");
        for name in ["v.csv", "v.tsv.gz", "v.jsonl", "v.json.zst", "v.parquet"] {
            let file = at(name);
            assert_eq!(written(c, &format!("copy t to '{file}'")), 4);
            assert_eq!(written(c, &format!("copy u from '{file}'")), 4, "{name}");
            assert_eq!(rows(c, "select * from u order by id"), all, "{name}");
            c.sql("delete from u").unwrap();
            assert_eq!(
                rows(c, &format!("select id, d, big from '{file}' where big > 2 order by id")),
                "1, 12345678901234567890.0123456789, 9007199254740993",
                "{name}"
            );
            let empty = format!("select count(*), count(s) from '{file}'");
            assert_eq!(rows(c, &empty), "4, 3", "{name}");
        }
    });
}

// Keeps away: types from the beginning of a file that lose what comes behind: NULL for ever, leading zeros, digits.
#[test]
fn types_are_those_of_the_whole_file() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let db = ambo_sql::Database::in_memory().unwrap();
    let mut c = db.connect();
    let mut text = String::from("id,late,code,num\n");
    (0..30_000).for_each(|id| text += &format!("{id},,{:04},{id}\n", id % 1000));
    text += "30000,5,0042,12345678901234567.89\n";
    let file = write("late.csv", &text);
    let late = format!("select late, code, num from '{file}' where id >= 29999 order by id");
    assert_eq!(rows(&mut c, &late), "NULL, 0999, 29999.00\n5, 0042, 12345678901234567.89");
    assert_eq!(rows(&mut c, &format!("select sum(late), count(*) from '{file}'")), "5, 30001");
    let (a, b) = (write("p1.csv", "a,b\n1,x\n"), write("p2.csv", "b,c\n2.5,true\n"));
    let pattern = a.replace("p1.csv", "p?.csv");
    assert_eq!(sorted(&mut c, &format!("select * from '{pattern}'")), "1, x, NULL\nNULL, 2.5, true");
    assert_eq!(rows(&mut c, &format!("select x.b, y.b from '{a}' x, '{b}' y")), "x, 2.5");
    assert_eq!(rows(&mut c, &format!("select count(*) from '{a}' x join '{a}' y on x.a = y.a")), "1");
    let file = write(
        "n.jsonl",
        "{\"a\":{\"x\":1,\"y\":[1,2]},\"n\":12345678901234567890.5}\n{\"a\":null,\"n\":1}\n",
    );
    assert_eq!(
        rows(&mut c, &format!("select a['x'], a['y'][2], n from '{file}'")),
        "1, 2, 12345678901234567890.5\nNULL, NULL, 1.0"
    );
    // The order of the file, and not more than is asked for.
    let file = write("long.csv", &(0..200_000).fold(String::from("n\n"), |text, n| text + &format!("{n}\n")));
    assert_eq!(rows(&mut c, &format!("select n from '{file}' limit 3 offset 2")), "2\n3\n4");
    assert_eq!(rows(&mut c, &format!("select count(*), sum(n) from '{file}'")), "200000, 19999900000");
}

// Keeps away: a rest of a file that is taken for a field, and errors without a place.
#[test]
fn what_is_wrong_is_told_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let db = ambo_sql::Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (id int primary key, name text)").unwrap();
    for (name, text, place) in [
        ("open.csv", "id,name\n1,a\n2,\"never ends\n3,c\n", "line 3: a quote is opened"),
        ("short.csv", "id,name\n1,a\n2\n", "line 3: 1 fields where 2 were expected"),
        ("long.csv", "id,name\n1,a\n2,\"x\ny\",z\n", "line 3: 3 fields where 2 were expected"),
        ("twice.csv", "id,id\n1,2\n", "line 1: "),
        ("bad.jsonl", "{\"id\": 1}\n{\"id\": 2,}\n", "line 2: character 10"),
        ("two.jsonl", "{\"id\": 1, \"id\": 2}\n", "line 1: the object has two members \"id\""),
    ] {
        let file = write(name, text);
        for statement in [format!("select * from '{file}'"), format!("copy t from '{file}'")] {
            let error = refused(&mut c, &statement).to_string();
            assert!(error.contains(&format!("{name}: {place}")), "{statement}: {error}");
        }
    }
    let file = write("fit.csv", "id,name\n1,a\n3000000000,b\n");
    let error = refused(&mut c, &format!("copy t from '{file}'")).to_string();
    assert!(error.contains("fit.csv: line 3, column \"id\": '3000000000' is no int; a whole number from -2147483648 to 2147483647"), "{error}");
    assert_eq!(rows(&mut c, "select count(*) from t"), "0");
    let empty = write("empty.csv", "");
    assert!(refused(&mut c, &format!("select * from '{empty}'")).to_string().contains("the file is empty"));
    assert_eq!(written(&mut c, &format!("copy t from '{empty}'")), 0);
}

// Keeps away: a panic, or nothing but one, for whatever is in a Parquet file.
#[test]
fn damaged_parquet_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let db = ambo_sql::Database::in_memory().unwrap();
    let mut c = db.connect();
    c.script("create table t (id bigint, name text)").unwrap();
    let many = "select value as id, 'name ' || value as name from generate_series(1, 3000)";
    written(&mut c, &format!("copy ({many}) to '{}'", at("good.parquet")));
    let good = std::fs::read(at("good.parquet")).unwrap();
    let mut state = 5u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let mut failed = 0;
    for round in 0..150 {
        let mut bytes = good.clone();
        match round % 5 {
            0 => bytes.truncate(next(good.len())),
            1 => drop(bytes.drain(..next(good.len()))),
            2 | 3 => {
                let at = good.len() - 1 - next(good.len().min(1500));
                bytes[at] = next(256) as u8;
            }
            _ => (0..20).for_each(|_| bytes[next(good.len())] = next(256) as u8),
        }
        // Another name each time: what is known of files is kept by their names.
        let file = at(&format!("bad{round}.parquet"));
        std::fs::write(&file, bytes).unwrap();
        for statement in [
            format!("select min(name), sum(id), count(*) from '{file}' where id > 0"),
            format!("copy t from '{file}'"),
        ] {
            let rows = c.sql(&statement).and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
            failed += usize::from(rows.is_err());
        }
    }
    assert!(failed > 100, "{failed}");
    std::fs::write(at("junk.parquet"), b"PAR1 this is none PAR1").unwrap();
    let error = refused(&mut c, &format!("select * from '{}'", at("junk.parquet"))).to_string();
    assert!(error.contains("junk.parquet: the Parquet file cannot be read"), "{error}");
}

// Keeps away: options that are read over, a file that is read as another, columns that are in the wrong place.
#[test]
fn functions_in_from_read_files() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let db = ambo_sql::Database::in_memory().unwrap();
    let c = &mut db.connect();
    let csv = write("a.csv", "1;x;2024-01-02\n2;;2024-01-03\n");
    let read = |rest: &str| format!("select * from read_csv('{csv}', delim = ';', header = false{rest})");
    assert_eq!(rows(c, &read("")), "1, x, 2024-01-02\n2, NULL, 2024-01-03");
    let named = "column_name from (describe ";
    assert_eq!(rows(c, &format!("select {named}{})", read(", names = ['id', 'b']"))), "id\nb\ncolumn3");
    let typed = read(", columns = {'id': 'double', 'b': 'text', 'day': 'timestamp'}");
    assert_eq!(rows(c, &typed), "1, x, 2024-01-02 00:00:00\n2, NULL, 2024-01-03 00:00:00");
    assert_eq!(
        rows(
            c,
            &format!(
                "select typeof(a), a from read_csv('{csv}', sep := ';', header => false, names = ['a'], types = {{a: 'smallint'}}) t where a > 1"
            )
        ),
        "smallint, 2"
    );
    let bad = write("bad.csv", "a,b\n1,2\n3\n5,6\n");
    assert!(refused(c, &format!("select * from read_csv('{bad}')")).message().contains("line 3"));
    assert_eq!(rows(c, &format!("select * from read_csv('{bad}', ignore_errors = true)")), "1, 2\n5, 6");
    let unknown = refused(c, &format!("select * from read_csv('{bad}', heeder = true)"));
    assert!(unknown.to_string().contains("no option \"heeder\"; did you mean \"header\""), "{unknown}");
    assert!(refused(c, "select * from read_csv('nothing.csv')").message().contains("no file"));
    assert!(
        refused(c, &format!("select * from range(2) t, read_csv('{bad}', header = t.range)"))
            .message()
            .contains("takes a constant")
    );

    let list = write("l.json", "[{\"a\": 1, \"b\": [1, 2]},\n {\"a\": 2,\n \"b\": null}]\n");
    assert_eq!(rows(c, &format!("select a, b from read_json('{list}')")), "1, [1, 2]\n2, NULL");
    assert_eq!(rows(c, &format!("select sum(a) from '{list}'")), "3");
    assert_eq!(
        rows(
            c,
            &format!("select * from read_json('{list}', columns = {{b: 'bigint[]', a: 'text', z: 'int'}})")
        ),
        "[1, 2], 1, NULL\nNULL, 2, NULL"
    );
    assert_eq!(rows(c, &format!("select json->>'a' from read_json_objects('{list}')")), "1\n2");
    c.script("create table t (a int, b text)").unwrap();
    assert_eq!(written(c, &format!("copy t from '{list}'")), 2);

    for year in [2023, 2024] {
        let file = write(&format!("p/year={year}/x.jsonl"), &format!("{{\"n\": {year}}}\n"));
        let parquet = file.replace(".jsonl", ".parquet");
        c.sql(&format!("copy (select n from '{file}') to '{parquet}'")).unwrap();
    }
    let path = dir.path().display();
    assert_eq!(
        sorted(
            c,
            &format!(
                "select n, year, parse_filename(filename) from read_json('{path}/p/*/*.jsonl', filename = true, hive_partitioning = true)"
            )
        ),
        "2023, 2023, x.jsonl\n2024, 2024, x.jsonl"
    );
    assert_eq!(
        sorted(
            c,
            &format!(
                "select n, year, parse_filename(f) from read_parquet('{path}/p/*/*.parquet', filename = 'f', hive_partitioning = true) where year = '2024'"
            )
        ),
        "2024, 2024, x.parquet"
    );
    // Folders are read as they were written, in the types of what they say.
    for (form, end) in [("csv", "csv"), ("parquet", "parquet")] {
        let values =
            "select 'a b/[0]' as s, 5 as n, date '2024-02-29' as d, 1 as k union all select null, 7, null, 2";
        c.sql(&format!("copy ({values}) to '{path}/{form}' (format {form}, partition_by (s, n, d))"))
            .unwrap();
        assert_eq!(
            sorted(
                c,
                &format!(
                    "select k, s, n + 1, d + 1 from read_{form}('{path}/{form}/*/*/*/*.{end}', hive_partitioning = true)"
                )
            ),
            "1, a b/[0], 6, 2024-03-01\n2, NULL, 8, NULL"
        );
    }
    let both = format!("['{path}/p/year=2023/x.parquet', '{path}/p/year=2024/x.parquet']");
    assert_eq!(sorted(c, &format!("select * from read_parquet({both})")), "2023\n2024");
    assert_eq!(rows(c, &format!("select count(*) from glob('{path}/p/*/*')")), "4");
    assert_eq!(rows(c, "select count(*) from glob('nothing*')"), "0");
    assert_eq!(
        rows(c, &format!("select content, size from read_text('{path}/p/year=2023/x.jsonl')")),
        "{\"n\": 2023}\n, 12"
    );
    assert_eq!(rows(c, &format!("select octet_length(content) from read_blob('{bad}')")), "14");
}
