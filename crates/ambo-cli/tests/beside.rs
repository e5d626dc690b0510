//! A database that another process writes, read beside that one by the shell and by commands.

use std::{
    path::Path,
    process::{Command, Output},
};

fn ambo(path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ambo"));
    match arguments {
        // A command stands before the directory, what the prompt takes behind it.
        [name, rest @ ..] if *name != "-c" => command.arg(name).arg(path).args(rest),
        _ => command.arg(path).args(arguments),
    };
    command.arg("--beside").output().unwrap()
}

fn said(output: &Output) -> String {
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}{said}");
    said.into_owned()
}

fn told(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

// Keeps away: a database that nobody can look into while a program that serves nobody has it open.
#[test]
fn the_shell_and_commands_read_beside_the_process_that_writes() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let db = ambo::Database::open(&path).unwrap();
    let writer = ambo_sql::Database::new(db.clone());
    let mut connection = writer.connect();
    connection
        .script(
            "create table t (id int primary key, name text); insert into t values (1, 'one');
             create table c (n int) with (storage = column); insert into c select * from range(5000);
             create table m (id int primary key) with (storage = memory);",
        )
        .unwrap();
    let asked =
        said(&ambo(&path, &["-c", "checkpoint", "-c", "select count(*) as rows, sum(n) as sum from c, t"]));
    assert!(asked.contains("5000") && asked.contains("12497500"), "{asked}");
    connection.script("insert into t values (2, 'two')").unwrap();
    let asked = said(&ambo(&path, &["-c", "checkpoint", "-c", "select name from t order by id"]));
    assert!(asked.contains("one") && asked.contains("two"), "{asked}");
    let refused = told(&ambo(&path, &["-c", "insert into t values (3, 'three')"]));
    assert!(refused.contains("beside the process that writes it"), "{refused}");
    let refused = told(&ambo(&path, &["-c", "select * from m"]));
    assert!(refused.contains("in the memory of the process that writes"), "{refused}");
    said(&ambo(&path, &["check"]));
    said(&ambo(&path, &["info"]));
    assert!(said(&ambo(&path, &["count", "--table", "t"])).contains('2'));
    assert!(told(&ambo(&path, &["put", "key", "value"])).contains("--beside only reads"));
    // Without it a person is told how.
    let without =
        Command::new(env!("CARGO_BIN_EXE_ambo")).arg(&path).args(["-c", "select 1"]).output().unwrap();
    assert!(told(&without).contains("--beside"));

    let other = ambo_sql::Database::new(ambo::Database::in_memory().unwrap());
    let mut other = other.connect();
    other.script(&format!("attach '{}' as live (beside)", path.display())).unwrap();
    let count = |connection: &mut ambo_sql::Connection| {
        let rows = connection.sql("select count(*) from live.t").unwrap();
        rows.single().unwrap().into_values::<i64>().unwrap()
    };
    assert_eq!(count(&mut other), 2);
    let error = other.script("insert into live.t values (4, 'four')").unwrap_err().to_string();
    assert!(error.contains("database \"live\" is attached read only"), "{error}");
    drop(other);
    drop(connection);
    assert_eq!(db.readers(), 0);
    assert!(writer.check().unwrap().is_sound());
}
