//! The shell, fed from a pipe or from `-c`.

use std::io::{Read, Write};

use crate::program::{Scratch, ambo, ambo_with_input, assert_sound, command, exists, finish};

const TOWNS: &str = "create table towns (id bigint primary key, name text, height double);
                     insert into towns values (1, 'Bergen', 12.5), (2, 'Porto', null), (3, 'a,\"b\"\tc', -1);";

fn towns(scratch: &Scratch) -> String {
    let db = scratch.db();
    assert_eq!(ambo(&[&db, "-c", TOWNS]).ok(), "", "nobody asked for rows");
    db
}

// Keeps away: a directory called `:memory:`, and rows that are put where they are gone at once.
#[test]
fn a_database_in_memory() {
    let scratch = Scratch::new();
    let here = |words: &[&str]| finish(command(words).current_dir(scratch.path("")).spawn().unwrap());
    let script = "create table t (a int); insert into t values (1); select a + 1 from t";
    assert_eq!(here(&[":memory:", "-c", script]).ok(), "2\n");
    let refused = here(&["put", ":memory:", "a", "b"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("name a directory"), "{refused:?}");
    assert!(!scratch.path(":memory:").exists());
}

// Keeps away: forms of rows that other programs read otherwise.
#[test]
fn forms_of_rows() {
    let scratch = Scratch::new();
    let db = &towns(&scratch);
    let all = "select * from towns order by id";
    assert_eq!(ambo(&[db, "-c", all]).ok(), "1\tBergen\t12.5\n2\tPorto\tNULL\n3\ta,\"b\"\\tc\t-1.0\n");
    assert_eq!(
        ambo(&[db, "--csv", "-c", all]).ok(),
        "id,name,height\n1,Bergen,12.5\n2,Porto,\n3,\"a,\"\"b\"\"\tc\",-1.0\n"
    );
    assert_eq!(
        ambo(&[db, "--json", "-c", all]).ok(),
        "{\"id\":1,\"name\":\"Bergen\",\"height\":12.5}\n{\"id\":2,\"name\":\"Porto\",\"height\":null}\n\
         {\"id\":3,\"name\":\"a,\\\"b\\\"\\tc\",\"height\":-1.0}\n"
    );
    let script = format!(".mode markdown\n{all};\n.mode line\n{all} limit 1;\n.mode table\n{all};\n");
    assert_eq!(
        ambo_with_input(&[db], &script).ok(),
        "| id | name | height |\n| ---: | --- | ---: |\n| 1 | Bergen | 12.5 |\n| 2 | Porto | NULL |\n\
         | 3 | a,\"b\"\tc | -1.0 |\n    id = 1\n  name = Bergen\nheight = 12.5\n\
         id  name      height\n──  ────────  ──────\n 1  Bergen      12.5\n 2  Porto       NULL\n 3  a,\"b\"\\tc    -1.0\n"
    );
    assert_eq!(ambo(&[db, "--csv", "-c", "select * from towns where id > 9"]).ok(), "id,name,height\n");
    ambo(&[db, "--csv", "--json", "-c", "select 1"]).code.filter(|&code| code == 2).unwrap();
    let none = "select '' as empty, cast(null as text) as none, x'00ff' as bytes";
    assert_eq!(ambo(&[db, "--csv", "-c", none]).ok(), "empty,none,bytes\n\"\",,\\0\\xff\n");
    assert_eq!(
        ambo(&[db, "--json", "-c", none]).ok(),
        "{\"empty\":\"\",\"none\":null,\"bytes\":\"\\\\0\\\\xff\"}\n"
    );
    assert_sound(db);
}

// Keeps away: an Arrow stream that is cut or mixed with other output.
#[test]
fn arrow_streams() {
    let scratch = Scratch::new();
    let db = &towns(&scratch);
    let read = |sql: &str| {
        let mut child = command(&[db, "--arrow", "-c", sql]).spawn().unwrap();
        let mut bytes = Vec::new();
        child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
        assert!(child.wait().unwrap().success());
        let reader = arrow_ipc::reader::StreamReader::try_new(&bytes[..], None).unwrap();
        let names: Vec<_> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        (names, reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>())
    };
    assert_eq!(read("select id, name from towns"), (vec!["id".into(), "name".into()], 3));
    assert_eq!(read("select id from towns where id > 9"), (vec!["id".into()], 0));
    let many = "insert into towns select value, 'x', 0 from generate_series(10, 30000); select id from towns";
    assert_eq!(read(many), (vec!["id".into()], 3 + 29_991));
}

// Keeps away: a message that names the wrong line, and a script that goes on after a failure, or does not when it should.
#[test]
fn mistakes_have_their_line() {
    let scratch = Scratch::new();
    let db = &towns(&scratch);
    let script =
        "select 1;\n-- a remark; with a semicolon\n\nselect id,\n  nam\nfrom towns; select 2;\nselect 3";
    let out = ambo_with_input(&[db], script)
        .explains(1, &["ambo: input line 5: ", "\n  nam\n  ^\n", "hint: did you mean \"name\"?"]);
    assert_eq!(out, "1\n");
    let out = ambo_with_input(&[db, "--keep-going"], script).explains(1, &["input line 5: "]);
    assert_eq!(out, "1\n2\n3\n");
    let out = ambo(&[db, "-c", "select 1; selec 2", "-c", "select 3"]).explains(2, &["selec 2\n^"]);
    assert_eq!(out, "1\n");
    let out = ambo(&[db, "--keep-going", "-c", "selec 2", "-c", "select 3"]).explains(2, &["selec 2\n^"]);
    assert_eq!(out, "3\n");
    let file = scratch.file("script.sql", "select 4;\n.mode no\n");
    let out = ambo(&[db, "-c", &format!(".read {file}")]);
    assert!(out.out == "4\n" && out.err.contains("script.sql:2: invalid value 'no'"), "{out:?}");
    out.explains(2, &["table, line, list, csv"]);
    ambo(&[db, "-c", "insert into towns values (1, 'again', 0)"]).explains(3, &["1"]);
    ambo(&[db, "-c", "select * from cities"]).explains(1, &["cities"]);
    ambo(&[db, "-c", "put a 1"]).explains(2, &["hint: ", ".put"]);
    ambo(&[db, "-c", ".cuont"]).fails(2, &["unknown command '.cuont'", ".count"]);
    ambo(&[db, "-c", "\\z"]).fails(2, &["unknown command \\z", "\\dt"]);
    ambo(&[db, "-c", ".put \"a"]).fails(2, &["quote", "not closed"]);
    ambo(&[db, "-c", ".read /nowhere/x.sql"]).fails(2, &["/nowhere/x.sql: No such file or directory"]);
    let round = scratch.path("round.sql").display().to_string();
    scratch.file("round.sql", format!(".read {round}\n"));
    ambo(&[db, "-c", &format!(".read {round}")]).fails(2, &["files read each other"]);
    assert!(ambo(&[db, "-c", ".help"]).ok().contains(".import"));
    assert!(ambo(&[db, "-c", ".help mode"]).ok().contains("markdown"));
    assert_sound(db);
}

// Keeps away: transactions that leak from a script, or that commands on keys do not take part in.
#[test]
fn transactions() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let out = ambo_with_input(
        &[db],
        ".put a 1   # makes the table\n\
         begin;\n.put b 2\nsavepoint s;\n.put c 3\n.scan\nselect count(*) from \"default\";\nrollback to s;\ncommit;\n\
         begin;\n.del a\n.put d 4\nrollback;\n.scan\n.count\n",
    );
    assert_eq!(out.ok(), "a\t1\nb\t2\nc\t3\n3\na\t1\nb\t2\n2\n");
    ambo_with_input(&[db], "begin;\n.put x 1\n").fails(2, &["within a transaction"]);
    ambo(&["get", db, "x"]).fails(1, &["not found"]);
    ambo(&[db, "-c", "commit"]).explains(2, &["no transaction is open"]);
    ambo(&[db, "-c", "begin", "-c", "begin"]).explains(2, &["open already"]);
    ambo(&[db, "-c", "begin read only", "-c", ".get a"]).fails(2, &["read only"]);
    ambo(&[db, "-c", "begin", "-c", ".drop default"]).fails(2, &["outside of a transaction"]);
    assert_sound(db);
}

// Keeps away: quotes, several tables and typed tables that work as arguments of the program only.
#[test]
fn tables_and_quotes() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let out = ambo_with_input(
        &[db],
        ".create notes\n.put \"two words\" 'it\\'s \\x00'\n.get \"two words\"\n\
         .create people id:bigint,name:text?,born:date? --key id\n\
         .put 1 \"Ada Lovelace\" 1815-12-10\n.put 2 NULL NULL\n.get 1\n.scan --reverse\n\
         .use notes\n.count\n.rename notes memos\n.scan\n.truncate memos\n.count\n.drop people\n",
    );
    let expected = "it's \\0\n1\tAda Lovelace\t1815-12-10\n2\tNULL\tNULL\n1\tAda Lovelace\t1815-12-10\n1\ntwo words\tit's \\0\n0\n";
    assert_eq!(out.ok(), expected);
    let tables = ambo(&[db, "-c", ".tables", "--json"]).json();
    assert_eq!((&tables["table"], &tables["rows"]), (&"memos".into(), &0.into()));
    ambo(&[db, "-c", ".use people"]).fails(1, &["people"]);
}

// Keeps away: statements of `.schema` that do not make the same tables again, and lists that leave something out.
#[test]
fn tables_are_described() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let make = "create table \"Odd name\" (id int primary key, \"select\" text not null, n int default 7) storage = btree;
                create table pairs (a text, b text, size decimal(10, 2), primary key (b, a));
                create table u (id bigint primary key, mail text unique);
                create table events (id int primary key, day date default now(), n int, constraint sized check (n > 0)) sort key (day, n);
                create view late as select id, n + 1 from events;";
    ambo(&[db, "-c", make, "-c", ".create-index by_size pairs size"]).ok();
    let schema = ambo(&[db, "-c", ".schema"]).ok();
    for words in [
        "\"Odd name\" (\n  \"id\" integer NOT NULL",
        "PRIMARY KEY (\"id\")\n) STORAGE = btree;",
        "\"select\" text NOT NULL",
        "n integer DEFAULT 7",
        "STORAGE = btree;",
        "PRIMARY KEY (b, a)",
        "CREATE INDEX by_size ON pairs (\"size\");",
        "CREATE UNIQUE INDEX",
        "PRIMARY KEY (\"id\"),\n  CONSTRAINT sized CHECK (n > 0)\n) STORAGE = column SORT KEY (\"day\", n);",
        "\"day\" date NOT NULL DEFAULT now()",
        "CREATE VIEW late AS SELECT",
    ] {
        assert!(schema.contains(words), "no {words:?} in {schema}");
    }
    let again = scratch.path("again").display().to_string();
    let described = ambo(&[db, "-c", ".describe events"]).ok();
    assert!(
        described.starts_with("id\tint\tfalse\t\tyes\nday\tdate\tfalse\t\t\nn\tint\tfalse\t\t\n"),
        "{described}"
    );
    let tables: String =
        schema.lines().filter(|line| !line.contains("INDEX")).map(|line| format!("{line}\n")).collect();
    ambo_with_input(&[&again], &tables).ok();
    let made = ambo(&[&again, "-c", ".schema"]).ok();
    assert_eq!(made, tables);
    assert_eq!(ambo(&[db, "-c", "\\d pairs"]).ok(), ambo(&[db, "-c", ".describe pairs"]).ok());
    assert_eq!(
        ambo(&[db, "-c", ".describe pairs"]).ok(),
        "a\ttext\tfalse\t\t2\nb\ttext\tfalse\t\t1\nsize\tdecimal(10,2)\ttrue\t\t\n"
    );
    assert!(ambo(&[db, "-c", "\\di"]).ok().contains("by_size\tpairs\tsize\tordered\t0\t"));
    assert_eq!(ambo(&[db, "-c", "\\dt"]).ok().lines().count(), 4);
    ambo(&[db, "-c", "\\d pears"]).fails(1, &["pears"]);
    ambo(&[db, "-c", ".schema pears"]).fails(1, &["pears"]);
    assert_sound(db);
}

// Keeps away: a file that is not what the query said, one that is half written, and one that is loaded into the wrong place.
#[test]
fn files_go_in_and_out() {
    let scratch = Scratch::new();
    let db = &towns(&scratch);
    for ending in ["csv", "jsonl", "parquet"] {
        let file = scratch.path(&format!("out.{ending}")).display().to_string();
        let said = ambo(&[
            db,
            "-c",
            &format!(".export {file} select id, height from towns where id < 3 order by id"),
        ]);
        assert!(said.err.contains("2 rows in "), "{said:?}");
        said.ok();
        let said = ambo(&[db, "-c", &format!(".import '{file}' from_{ending} --key id --storage column")]);
        assert!(said.ok().contains(&format!("2 rows into table from_{ending}")));
        let rows = ambo(&[db, "-c", &format!("select id, height from from_{ending}")]).ok();
        assert_eq!(rows, "1\t12.5\n2\tNULL\n", "{ending}");
    }
    let file = scratch.path("towns.arrow").display().to_string();
    ambo(&[db, "-c", &format!(".export {file} towns")]).ok();
    let bytes = std::fs::read(&file).unwrap();
    let reader = arrow_ipc::reader::StreamReader::try_new(&bytes[..], None).unwrap();
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
    ambo(&[db, "-c", &format!(".export {file} select nam from towns")]).explains(1, &["did you mean"]);
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "what was there stays");
    ambo(&[db, "-c", ".export out.doc towns"]).fails(2, &["out.doc", ".parquet"]);
    ambo(&[db, "-c", ".export /nowhere/out.csv towns"])
        .fails(2, &["/nowhere/out.csv: No such file or directory"]);
    ambo(&[db, "-c", "begin", "-c", &format!(".import {file}")]).fails(2, &["outside of a transaction"]);
    let out = scratch.path("rows.txt").display().to_string();
    let said = ambo_with_input(&[db], &format!(".output {out}\nselect 1;\n.output\nselect 2;\n"));
    assert_eq!((said.ok().as_str(), std::fs::read_to_string(&out).unwrap().as_str()), ("2\n", "1\n"));
    let left: Vec<_> =
        std::fs::read_dir(scratch.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".ambo-export")), "{left:?}");
    assert_sound(db);
}

// Keeps away: a reader that writes or makes a database, and two writers.
#[test]
fn who_may_write() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    ambo(&[db, "--read-only", "-c", "select 1"]).fails(3, &["no database there"]);
    assert!(!exists(db));
    towns(&scratch);
    ambo(&[db, "--read-only", "-c", "insert into towns values (9, '', 0)"]).explains(2, &["read-only"]);
    /// A shell that waits for more statements, and has answered one.
    fn waiting(words: &[&str]) -> std::process::Child {
        let mut child = command(words).stdin(std::process::Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"select 1;\n").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
        child
    }
    let writer = waiting(&[db]);
    ambo(&[db, "-c", "select 1"]).fails(3, &[db, "in use"]);
    finish(writer).ok();
    // Readers do not disturb each other.
    let reader = waiting(&[db, "--read-only"]);
    assert_eq!(ambo(&[db, "--read-only", "-c", "select count(*) from towns"]).ok(), "3\n");
    finish(reader).ok();
    assert_sound(db);
}

// Keeps away: rows that pile up in memory, an error when the reader has gone, and a script that Ctrl-C does not end.
#[test]
fn endless_rows_can_be_left() {
    let scratch = Scratch::new();
    let db = &towns(&scratch);
    let endless = "select value from generate_series(1, 100000000000)";
    for form in ["--json", "--csv"] {
        let mut child = command(&[db, form, "-c", endless]).spawn().unwrap();
        let mut some = [0; 100];
        child.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
        drop(child.stdout.replace(command(&["--version"]).spawn().unwrap().stdout.take().unwrap()));
        let outcome = finish(child);
        assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{form}");
    }
    let mut child = command(&[db, "-c", endless, "-c", "select 'not this'"]).spawn().unwrap();
    let mut some = [0; 100];
    child.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let outcome = finish(child);
    assert_eq!(outcome.code, Some(130));
    assert!(outcome.err.contains("interrupted") && !outcome.out.contains("not this"), "{}", outcome.err);
    assert_sound(db);
}

// Keeps away: rows of a dump that are run as statements, rows that are cut off, and a wrong line for a row that is refused.
#[test]
fn rows_are_copied_from_and_to_the_shell() {
    let scratch = Scratch::new();
    let db = &towns(&scratch);
    let script = "copy towns (id, name, height)\nfrom stdin;\n4\tÅ;l\\ty\t\\N\n5\t\\N\t1e3\n\\.\nselect count(*) from towns;\n";
    assert_eq!(ambo_with_input(&[db], script).ok(), "5\n");
    let out = "copy (select * from towns where id > 2 order by id) to stdout";
    assert_eq!(ambo(&[db, "-c", out]).ok(), "3\ta,\"b\"\\tc\t-1.0\n4\tÅ;l\\ty\t\\N\n5\t\\N\t1000.0\n");
    let csv = format!("{out} (format csv, header)");
    assert_eq!(ambo(&[db, "-c", &csv]).ok().lines().next(), Some("id,name,height"));
    let last = "copy towns from stdin (format csv);\n6,Oslo,\n";
    assert_eq!(ambo_with_input(&[db], last).ok(), "");
    let bad = ambo_with_input(&[db], "copy towns from stdin;\n7\tx\t1\n8\ty\tz\n\\.\n");
    assert!(bad.err.contains("standard input: line 2") && bad.err.contains("'z'"), "{bad:?}");
    assert_eq!(ambo(&[db, "-c", "select count(*), max(id) from towns"]).ok(), "6\t6\n");
    assert_sound(db);
}
