//! The prompt, fed from a pipe or from `-c`.

use crate::program::{Scratch, ambo, ambo_with_input, assert_sound};

// Keeps away: transactions at the prompt that leak, or savepoints that undo too much or too little.
#[test]
fn transactions() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let out = ambo_with_input(
        &[db],
        "put a 1   # makes the table\n\
         begin\nput b 2\nsavepoint s\nput c 3\nscan\nrollback s\ncommit\n\
         begin\ndel a\nput d 4\nrollback\nscan\ncount\n",
    );
    assert_eq!(out.ok(), "a\t1\nb\t2\nc\t3\na\t1\nb\t2\n2\n");
    ambo_with_input(&[db], "begin\nput x 1\n").fails(2, &["within a transaction"]);
    ambo(&["get", db, "x"]).fails(1, &["not found"]);
    ambo(&[db, "-c", "commit"]).fails(2, &["no transaction is open"]);
    ambo(&[db, "-c", "begin", "-c", "begin"]).fails(2, &["open already"]);
    assert_sound(db);
}

// Keeps away: quotes, several tables and typed tables that work in the shell only.
#[test]
fn tables_and_quotes() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let out = ambo_with_input(
        &[db],
        "create notes\nput \"two words\" 'it\\'s \\x00'\nget \"two words\"\n\
         create people id:bigint,name:text?,born:date? --key id\n\
         put 1 \"Ada Lovelace\" 1815-12-10\nput 2 NULL NULL\nget 1\nscan --reverse\n\
         use notes\ncount\nrename notes memos\nscan\ntruncate memos\ncount\ndrop people\n",
    );
    let expected = "it's \\0\n1\tAda Lovelace\t1815-12-10\n2\tNULL\tNULL\n1\tAda Lovelace\t1815-12-10\n1\ntwo words\tit's \\0\n0\n";
    assert_eq!(out.ok(), expected);
    let tables = ambo(&[db, "-c", "tables", "--json"]).json();
    assert_eq!(tables["tables"].as_array().unwrap().len(), 1);
    ambo(&[db, "-c", "use people"]).fails(1, &["people"]);
    ambo(&[db, "-c", "cuont"]).fails(2, &["unknown command 'cuont'", "count"]);
    ambo(&[db, "-c", "put \"a"]).fails(2, &["quote", "not closed"]);
    assert!(ambo(&[db, "-c", "help"]).ok().contains("savepoint"));
}
