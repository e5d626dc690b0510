//! publish, and who reads what was published.

use std::process::Stdio;

use crate::program::{Scratch, ambo, assert_sound, command, finish, rows};

// Keeps away: a publication that no door opens, one that is written to, and one that is copied as a whole each time.
#[test]
fn what_is_published_is_read_by_every_door() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let [published, again, other] =
        ["published", "again", "other"].map(|name| scratch.path(name).display().to_string());
    ambo(&[db, "-c", "create table t (id int primary key, n int) with (storage = column)"]).ok();
    ambo(&[db, "-c", "insert into t select value, value * 2 from generate_series(1, 50000)"]).ok();
    ambo(&[db, "-c", "compact"]).ok();
    let first = ambo(&["publish", db, &published, "--json"]).json();
    assert!(first["linked"].as_u64() > Some(0), "segments are linked: {first}");
    assert_eq!(ambo(&["publish", db, &published, "--json"]).json()["new"], false);
    ambo(&[db, "-c", "create table u (id int primary key); insert into u values (1)"]).ok();
    let said = ambo(&["publish", db, &published]).ok();
    assert!(said.contains("publication 2") && said.contains("2 publications are kept"), "{said}");
    assert_eq!(rows(&published, "t"), 50_000);
    assert_sound(&published);
    let count = |place: &[&str]| {
        let text = ambo(&[place, &["--read-only", "--csv", "-c", "select count(*) from t"]].concat()).ok();
        text.lines().last().unwrap().to_owned()
    };
    assert_eq!(count(&[&published]), "50000");
    ambo(&[&published, "--read-only", "-c", "select * from u"]).ok();
    let first = ambo(&[&published, "--read-only", "--publication", "1", "-c", "select * from u"]);
    first.explains(1, &["there is no table \"u\""]);
    ambo(&[&published, "--read-only", "--publication", "7", "-c", "select 1"]).fails(1, &["there are: 1, 2"]);
    ambo(&[&published, "-c", "select 1"]).fails(2, &["only read"]);
    let attach = format!("attach '{published}' as p (read_only); select count(*) from p.t");
    let text = ambo(&[&other, "--csv", "-c", &attach]).ok();
    assert!(text.ends_with("50000\n"), "{text}");
    ambo(&["restore", &published, &again]).ok();
    assert_eq!(rows(&again, "t"), 50_000);
    assert_sound(&again);
    ambo(&["publish", &other, &published]).fails(2, &["of another database"]);
    ambo(&["publish", db, &again]).fails(2, &["which is none of a publication"]);
    let one = format!("publish to '{published}' (keep 1, grace 0)");
    ambo(&[db, "-c", "insert into u values (2)", "-c", &one]).ok();
    let files = std::fs::read_dir(&published).unwrap().map(|file| file.unwrap().file_name());
    let manifests = files.filter(|name| name.to_string_lossy().starts_with("manifest-")).count();
    assert_eq!(manifests, 1);
    ambo(&[db, "-c", "publish to 'x' (keep many)"]).explains(2, &["KEEP of PUBLISH is a whole number"]);
    ambo(&[db, "-c", "publish to 'x' (sometimes)"]).explains(1, &["option of PUBLISH"]);
    ambo(&[db, "-c", "begin; publish to 'x'"])
        .explains(2, &["PUBLISH TO is not done inside of a transaction"]);
}

// Keeps away: a database in use that nobody can publish from outside.
#[test]
fn a_database_in_use_is_published_beside_it() {
    let scratch = Scratch::new();
    let db = &scratch.db();
    let published = scratch.path("published").display().to_string();
    ambo(&[db, "-c", "create table t (id int primary key)"]).ok();
    let mut shell = command(&[db]).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = shell.stdin.take().unwrap();
    use std::io::Write;
    let made = scratch.path("made");
    writeln!(lines, "insert into t values (1); checkpoint; copy t to '{}' (format csv);", made.display())
        .unwrap();
    lines.flush().unwrap();
    while !made.exists() {
        assert!(shell.try_wait().unwrap().is_none(), "the shell ended");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    ambo(&["publish", db, &published]).fails(3, &["another process", "--beside", "PUBLISH TO in SQL"]);
    ambo(&["publish", db, &published, "--beside"]).ok();
    assert_eq!(rows(&published, "t"), 1);
    assert_sound(&published);
    drop(lines);
    finish(shell).ok();
}
