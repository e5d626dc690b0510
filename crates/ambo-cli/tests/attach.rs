//! A database that another process has open: the shell and the commands for keys work through that one.

use std::{
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use ambo_sql::Database;

/// How long a command may take.
const LONG: Duration = Duration::from_secs(60);

fn ambo(arguments: &[&str], input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_ambo"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LONG {
            child.kill().unwrap();
            panic!("ambo {arguments:?} took too long");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn done(arguments: &[&str], input: &str) -> String {
    let output = ambo(arguments, input);
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "ambo {arguments:?}: {told}{said}");
    assert!(told.contains("answers from there"), "{told}");
    said.into_owned()
}

fn sound(db: &Database) {
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
}

fn open(path: &Path) -> Database {
    let db = Database::open(path).unwrap();
    db.connect()
        .script("create table t (id int primary key, name text); insert into t values (1, 'one')")
        .unwrap();
    db
}

// Keeps away: a database that nobody can look into while the program that owns it runs.
#[test]
fn the_shell_works_through_the_process_that_has_it_open() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let dir = path.to_str().unwrap();
    let db = open(&path);
    // Without the socket it is refused.
    let refused = ambo(&[dir, "-c", "select 1"], "");
    assert_eq!(refused.status.code(), Some(3), "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("close it there first"));
    let attached = ambo_server::attach(&db, &path).unwrap();
    assert_eq!(done(&[dir, "--csv", "-c", "select * from t"], ""), "id,name\n1,one\n");
    done(&[dir, "-c", "insert into t values (2, 'two')"], "");
    assert_eq!(db.table("t").unwrap().len().unwrap(), 2);
    // Statements of a script share a session, and so a transaction.
    let script =
        "begin;\ninsert into t values (3, 'x;y');\nselect count(*) as n from t;\nrollback;\n.tables\n";
    let said = done(&[dir, "--csv"], script);
    assert!(said.starts_with("n\n3\n") && said.contains(",t,"), "{said}");
    assert_eq!(db.table("t").unwrap().len().unwrap(), 2);
    let wrong = ambo(&[dir, "-c", "select nothing from t"], "");
    let told = String::from_utf8_lossy(&wrong.stderr);
    assert!(wrong.status.code() == Some(1) && told.contains("nothing") && told.contains('^'), "{told}");
    let unfinished = ambo(&[dir, "-c", "begin; delete from t"], "");
    assert_eq!(unfinished.status.code(), Some(2));
    assert_eq!(db.table("t").unwrap().len().unwrap(), 2);
    attached.detach(Duration::from_secs(5));
    assert!(!path.join("server.json").exists() && !path.join("ambo.sock").exists());
    assert_eq!(ambo(&[dir, "-c", "select 1"], "").status.code(), Some(3));
    sound(&db);
}

#[test]
fn keys_are_read_and_written_through_the_process_that_has_it_open() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let dir = path.to_str().unwrap();
    let db = open(&path);
    let _attached = ambo_server::attach(&db, &path).unwrap();
    for (key, value) in [("a", "1"), ("b/%\\x00", "two"), ("c", "3")] {
        done(&["put", dir, "--table", "keys", key, value], "");
    }
    assert_eq!(done(&["get", dir, "--table", "keys", "b/%\\x00"], ""), "two\n");
    assert_eq!(db.table("keys").unwrap().get(b"b/%\0").unwrap().as_deref(), Some(&b"two"[..]));
    assert_eq!(done(&["count", dir, "--table", "keys", "--from", "b"], "").trim(), "2");
    let scanned = done(&["scan", dir, "--table", "keys", "--reverse", "-n", "2"], "");
    assert_eq!(scanned.split_whitespace().collect::<Vec<_>>(), ["c", "3", "b/%\\0", "two"]);
    done(&["del", dir, "--table", "keys", "a"], "");
    let gone = ambo(&["get", dir, "--table", "keys", "a"], "");
    assert_eq!(gone.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("not found: a"));
    assert_eq!(ambo(&["get", dir, "--table", "t", "1"], "").status.code(), Some(2));
    sound(&db);
}

// Keeps away: a server that has to be stopped to see whether its database is sound.
#[test]
fn a_database_is_looked_at_through_the_process_that_has_it_open() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let dir = path.to_str().unwrap();
    let db = open(&path);
    db.connect().script("create schema s; create table s.deep (id int primary key)").unwrap();
    assert_eq!(ambo(&["check", dir], "").status.code(), Some(3));
    let _attached = ambo_server::attach(&db, &path).unwrap();
    let said = done(&["check", dir], "");
    assert!(said.starts_with(&format!("{dir}: checked in ")) && said.ends_with(": sound\n"), "{said}");
    assert!(done(&["check", dir, "--json"], "").contains("\"sound\":true"));
    let said = done(&["info", dir], "");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = said.lines().map(words).collect();
    assert!(lines.iter().any(|line| line[..3] == ["t", "column", "1"]), "{said}");
    assert!(lines.iter().any(|line| line[..3] == ["s.deep", "column", "0"]), "{said}");
    let told: serde_json::Value =
        serde_json::from_str(&done(&["info", dir, "--table", "t", "--json"], "")).unwrap();
    assert_eq!(
        (told["tables"][0]["name"].as_str(), told["tables"][0]["rows"].as_u64()),
        (Some("t"), Some(1))
    );
    assert_eq!(told["tables"].as_array().unwrap().len(), 1);
    let missing = ambo(&["info", dir, "--table", "nothing"], "");
    assert_eq!(missing.status.code(), Some(1), "{}", String::from_utf8_lossy(&missing.stderr));
    sound(&db);
}

// Keeps away: a socket that a killed process has left, which answers nobody and is in the way of the next.
#[test]
fn what_a_killed_process_left_is_taken_away() {
    let home = tempfile::tempdir().unwrap();
    // Longer than the path of a socket may be.
    let path = home.path().join("a".repeat(120)).join("db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let dir = path.to_str().unwrap();
    let mut serving = Command::new(env!("CARGO_BIN_EXE_ambo"))
        .args(["serve", dir, "--listen", "none", "--http", "127.0.0.1:0"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !path.join("server.json").exists() {
        assert!(began.elapsed() < LONG, "it does not serve");
        std::thread::sleep(Duration::from_millis(10));
    }
    done(&[dir, "-c", "create table t (id int primary key); insert into t values (7)"], "");
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert!(path.join("server.json").exists());
    // Nobody has it open: it is opened here.
    let here = ambo(&[dir, "--csv", "-c", "select * from t"], "");
    assert_eq!(String::from_utf8_lossy(&here.stdout), "id\n7\n");
    let db = Database::open(&path).unwrap();
    let told = String::from_utf8_lossy(&ambo(&[dir, "-c", "select 1"], "").stderr).into_owned();
    assert!(told.contains("close it there first"), "{told}");
    let attached = ambo_server::attach(&db, &path).unwrap();
    assert_eq!(done(&[dir, "--csv", "-c", "select * from t"], ""), "id\n7\n");
    drop(attached);
    sound(&db);
}

#[test]
fn only_the_user_comes_in() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let db = open(&path);
    let _attached = ambo_server::attach(&db, &path).unwrap();
    for file in ["ambo.sock", "server.json"] {
        let mode = std::fs::metadata(path.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    sound(&db);
}
