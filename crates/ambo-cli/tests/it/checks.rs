//! Rules of tables at every way in: `put`, `load` and SQL.

use crate::program::{Scratch, ambo, assert_sound, rows};

const TABLES: &str = "\
create table t (id int primary key, x int check (x > 0), s varchar(3) default 'new', n text not null default 'none') with (storage = STORAGE);
create table only (id int primary key, s text check (lower(s) = s)) with (storage = STORAGE);
create table late (id int primary key, at text default cast(now() as text)) with (storage = STORAGE);
insert into only values (1, 'low');";

// Keeps away: rows that a CHECK, NOT NULL or a length forbids, through a door that is not SQL; defaults that only SQL knows.
#[test]
fn rules_hold_at_every_door() {
    for storage in ["btree", "column"] {
        let scratch = Scratch::new();
        let db = &scratch.db();
        let file = |name: &str, text: &str| scratch.file(name, text);
        for statement in TABLES.replace("STORAGE", storage).split_inclusive(';') {
            ambo(&[db, "-c", statement]).ok();
        }
        ambo(&["put", db, "-t", "t", "1", "5", "abc", "x"]).ok();
        ambo(&["put", db, "-t", "t", "2", "NULL", "NULL", "x"]).ok();
        ambo(&["put", db, "-t", "t", "3", "0", "abc", "x"]).fails(2, &["check \"t_x_check\"", "x > 0"]);
        ambo(&["put", db, "-t", "t", "3", "5", "\u{f8}\u{f8}\u{f8}\u{f8}", "x"]).fails(2, &["s_length"]);
        ambo(&["put", db, "-t", "only", "2", "low"])
            .fails(2, &["can be evaluated by SQL only", "lower(s) = s"]);
        let load = |table: &str, path: &str| ambo(&["load", db, path, "-t", table]);
        load("t", &file("bad.csv", "id,x,s,n\n7,1,a,b\n8,-7,a,b\n")).fails(2, &["t_x_check", "x > 0"]);
        load("t", &file("long.csv", "id,x,s,n\n7,1,abcd,b\n")).fails(2, &["s_length"]);
        load("only", &file("only.csv", "id,s\n7,low\n")).fails(2, &["SQL only"]);
        load("late", &file("late.csv", "id\n7\n")).fails(2, &["only SQL can compute its default"]);
        load("late", &file("given.csv", "id,at\n7,now\n")).ok();
        load("t", &file("good.csv", "id,x\n9,1\n")).ok();
        load("t", &file("good.jsonl", "{\"id\":10,\"s\":null}\n{\"id\":11,\"s\":\"b\",\"n\":\"c\"}\n")).ok();
        let found = ambo(&[db, "--csv", "-c", "select * from t order by id"]).ok();
        let expected = "id,x,s,n\n1,5,abc,x\n2,,,x\n9,1,new,none\n10,,,none\n11,,b,c\n";
        assert_eq!(found.replace("\"\"", ""), expected);
        assert_eq!(rows(db, "only"), 1);
        assert_sound(db);
    }
}
