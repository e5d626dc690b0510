//! psql and pgbench.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use crate::support::{Served, run, run_with, start, until, wait};

const TABLES: &str = "create table t (id int primary key, name text, n decimal(10, 2)); insert into t values (1, 'one', 1.5), (2, null, -0.05)";

#[test]
fn statements_give_rows_and_tags() {
    let served = Served::new(TABLES);
    assert_eq!(served.ask("select * from t order by id"), "1|one|1.50\n2||-0.05");
    let asked = "create table u (a int); insert into u values (1), (2); update u set a = a + 1; delete from u where a = 3; select * from u";
    assert_eq!(served.ask(asked), "CREATE TABLE\nINSERT 0 2\nUPDATE 2\nDELETE 1\n2");
    assert_eq!(served.ask("-- nothing"), "");
    assert_eq!(
        served.ask("show server_version; set application_name = 'x'; show application_name"),
        "15.13\nSET\nx"
    );
}

#[test]
fn errors_have_their_states_and_places() {
    let served = Served::new(TABLES);
    for (statement, state) in [
        ("selec 1", "42601"),
        ("select * from nothing", "42P01"),
        ("select nothing from t", "42703"),
        ("insert into t values (1, 'again', 0)", "23505"),
        ("select 1 / 0", "22012"),
        ("set no_such_setting = 1", "42704"),
        ("listen x", "0A000"),
    ] {
        let said = served.fail(statement);
        assert!(said.contains(&format!("ERROR:  {state}:")), "{statement}: {said}");
    }
    let said = served.fail("select 1; select nothing\nfrom t");
    assert!(said.contains("LINE 1: select 1; select nothing\n                         ^"), "{said}");
}

#[test]
fn statements_of_one_text_are_one_transaction() {
    let served = Served::new(TABLES);
    served.fail("insert into t values (3, 'three', 3); insert into t values (1, 'again', 0)");
    assert_eq!(served.ask("select count(*) from t"), "2");
    served.fail("insert into t values (3, 'three', 3); commit; insert into t values (1, 'again', 0)");
    assert_eq!(served.ask("select count(*) from t"), "3");
}

#[test]
fn a_transaction_that_failed_can_only_be_ended() {
    let served = Served::new(TABLES);
    let script = b"begin;\ninsert into t values (3, 'x', 0);\nselect 1 / 0;\nselect 1;\ncommit;\nselect count(*) from t;\n\
        begin;\nsavepoint a;\nselect 1 / 0;\nrollback to a;\ninsert into t values (4, 'x', 0);\ncommit;\nselect count(*) from t;\n";
    let done = run_with(served.psql(&["-At"]), script);
    let (out, err) = (String::from_utf8(done.stdout).unwrap(), String::from_utf8(done.stderr).unwrap());
    assert_eq!(out, "BEGIN\nINSERT 0 1\nROLLBACK\n2\nBEGIN\nSAVEPOINT\nROLLBACK\nINSERT 0 1\nCOMMIT\n3\n");
    assert!(err.contains("current transaction is aborted"), "{err}");
}

#[test]
fn rows_are_copied_in_and_out() {
    let served = Served::new(TABLES);
    let done = run_with(
        served.psql(&["-c", "copy t from stdin with (format csv, header)"]),
        b"id,name,n\n3,\"a,b\n\"\"\",7\n4,,\n",
    );
    assert_eq!(
        (String::from_utf8_lossy(&done.stdout).as_ref(), done.stderr.as_slice()),
        ("COPY 2\n", &b""[..])
    );
    let out = "1\tone\t1.50\n2\t\\N\t-0.05\n3\ta,b\\n\"\t7.00\n4\t\\N\t\\N";
    assert_eq!(served.ask("copy (select * from t order by id) to stdout"), out);
    let done = run_with(served.psql(&["-c", "copy t (id, name) from stdin"]), b"5\tx\n1\tagain\n");
    assert!(String::from_utf8_lossy(&done.stderr).contains("ERROR:"), "{done:?}");
    let done = run_with(served.psql(&["-c", "copy t (id, name) from stdin"]), b"5\tx\ty\n");
    assert!(
        String::from_utf8_lossy(&done.stderr).contains("a row has 3 fields for 2 columns, in row 1"),
        "{done:?}"
    );
    assert_eq!(served.ask("select count(*) from t"), "4");
    assert_eq!(served.ask("copy t to stdout (format csv, header)").lines().next(), Some("id,name,n"));
}

#[test]
fn all_types_come_as_postgresql_writes_them() {
    let served = Served::new("create type mood as enum ('glad', 'sad')");
    for (value, text) in [
        ("true", "t"),
        ("1.5::real", "1.5"),
        ("1e20::double", "1e+20"),
        ("'1 year 2 months 3 days 04:05:06.5'::interval", "1 year 2 mons 3 days 04:05:06.5"),
        ("'2024-02-29'::date", "2024-02-29"),
        ("'12:34:56.5'::time", "12:34:56.5"),
        ("'2024-02-29 01:02:03.25'::timestamp", "2024-02-29 01:02:03.25"),
        ("'2024-02-29 01:02:03+02'::timestamptz", "2024-02-28 23:02:03+00"),
        ("decode('00ff', 'hex')", "\\x00ff"),
        ("'5b1d1f9a-6d0c-4f1e-8d6e-111111111111'::uuid", "5b1d1f9a-6d0c-4f1e-8d6e-111111111111"),
        ("[1, null, 3]", "{1,NULL,3}"),
        ("[['a b'], ['c']]", "{{\"a b\"},{c}}"),
        ("'{\"a\": 1}'::json", "{\"a\": 1}"),
        ("'sad'::mood", "sad"),
        ("99999999999999999999999999999999999999::hugeint", "99999999999999999999999999999999999999"),
        ("null", ""),
    ] {
        assert_eq!(served.ask(&format!("select {value}")), text, "{value}");
    }
    assert_eq!(
        served.ask("set time zone 'Europe/Berlin'; select '2024-02-29 01:02:03+00'::timestamptz"),
        "SET\n2024-02-29 02:02:03+01"
    );
}

const ENDLESS: &str =
    "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t";

#[test]
fn a_statement_is_cancelled_and_a_client_that_dies_ends_its_own() {
    let served = Served::new(TABLES);
    let client = start(served.psql(&["-c", ENDLESS]));
    until("it runs", || served.running().sessions().iter().any(|session| session.state == "active"));
    // SIGINT has psql send a request to cancel.
    let id = client.id().to_string();
    assert!(
        run({
            let mut kill = Command::new("kill");
            kill.args(["-INT", &id]);
            kill
        })
        .status
        .success()
    );
    let done = wait(client);
    assert!(String::from_utf8_lossy(&done.stderr).contains("interrupted"), "{done:?}");
    let mut client = start(served.psql(&["-c", ENDLESS]));
    until("it runs", || served.running().sessions().iter().any(|session| session.state == "active"));
    client.kill().unwrap();
    client.wait().unwrap();
    until("its session has ended", || served.running().sessions().is_empty());
}

#[test]
fn pgbench_runs_its_scripts() {
    let served = Served::new("");
    let pgbench = |arguments: &[&str]| {
        let mut command = Command::new("pgbench");
        let (host, port) = (served.address.ip().to_string(), served.address.port().to_string());
        command.args(["-h", &host, "-p", &port, "-U", "ada"]).args(arguments).arg("ambo");
        let done = run(command);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{arguments:?}: {said}");
        String::from_utf8(done.stdout).unwrap()
    };
    pgbench(&["-i", "-q"]);
    pgbench(&["-i", "-q", "-s", "1", "--fillfactor=90"]);
    assert_eq!(served.ask("select count(*), sum(abalance) from pgbench_accounts"), "100000|0");
    let modes = ["simple", "extended", "prepared"];
    let scripts: [&[&str]; 3] = [&["-S"], &["-N"], &[]];
    let runs = modes.into_iter().flat_map(|mode| scripts.map(|script| (mode, script)));
    for (mode, script) in runs {
        let more =
            [script, &["-n", "-M", mode, "-c", "4", "-j", "2", "-t", "25", "--max-tries=100"]].concat();
        let said = pgbench(&more);
        assert!(said.contains("number of transactions actually processed: 100/100"), "{more:?}: {said}");
    }
    // What one table says of all that was done, the others say too.
    let sums =
        "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history),
        (select sum(tbalance) from pgbench_tellers) = (select sum(bbalance) from pgbench_branches)";
    assert_eq!(served.ask(sums), "t|t");
}

#[test]
fn cursors_give_rows_a_part_at_a_time() {
    let served = Served::new("create table t as select range as a from range(5)");
    let asked = "begin; declare c no scroll cursor for select a, a * 2 as b from t order by a; fetch c; move 1 from c;
        fetch forward 2 in c; fetch all c; fetch c; close c; commit";
    let expected = "BEGIN\nDECLARE CURSOR\n0|0\nMOVE 1\n2|4\n3|6\n4|8\nCLOSE CURSOR\nCOMMIT";
    assert_eq!(served.ask(asked), expected);
    // One that outlives its transaction, and is of what that saw.
    let asked =
        "begin; declare h cursor with hold for select a from t order by a; fetch 2 h; commit; delete from t;
        fetch 2 h; close all; select count(*) from t";
    let expected = "BEGIN\nDECLARE CURSOR\n0\n1\nCOMMIT\nDELETE 5\n2\n3\nCLOSE CURSOR ALL\n0";
    assert_eq!(served.ask(asked), expected);
    for (statements, state) in [
        ("declare c cursor for select 1; fetch c", "25P01"),
        ("fetch c", "34000"),
        ("close c", "34000"),
        ("begin; declare c cursor for select 1; declare c cursor for select 1", "42P03"),
        ("begin; declare c cursor for select 1; fetch backward 1 from c", "55000"),
        ("begin; declare c scroll cursor for select 1", "0A000"),
        ("begin; declare c cursor for select 1; commit; fetch c", "34000"),
        ("begin; declare c cursor for delete from t", "42601"),
    ] {
        let said = served.fail(statements);
        assert!(said.contains(&format!("ERROR:  {state}:")), "{statements}: {said}");
    }
}

#[test]
fn set_config_sets() {
    let served = Served::new("");
    let asked = "select set_config('application_name', 'a', false); show application_name;
        begin; select set_config('application_name', 'b', true); show application_name; commit; show application_name;
        select current_setting('application_name'), current_setting('none', true) is null";
    assert_eq!(served.ask(asked), "a\na\nBEGIN\nb\nb\nCOMMIT\na\na|t");
    assert!(served.fail("select set_config('none', 'a', false)").contains("42704"));
}

#[test]
fn columns_are_called_as_postgresql_calls_them() {
    let served = Served::new(TABLES);
    let done = run(served.psql(&[
        "-A",
        "-c",
        "select count(*), 1, max(id) + 1, id::text from t group by id limit 0",
    ]));
    assert_eq!(String::from_utf8(done.stdout).unwrap(), "count|?column?|?column?|id\n(0 rows)\n");
}

#[test]
fn the_end_of_the_server_ends_sessions() {
    let mut served = Served::new(TABLES);
    let mut idle = start({
        let mut command = served.psql(&["-At"]);
        command.stdin(std::process::Stdio::piped());
        command
    });
    until("it is there", || served.running().sessions().len() == 1);
    let busy = start(served.psql(&["-c", ENDLESS]));
    until("it runs", || served.running().sessions().iter().any(|session| session.state == "active"));
    let begun = Instant::now();
    served.running.take().unwrap().shutdown(Duration::from_millis(200));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(!wait(busy).status.success());
    drop(idle.stdin.take());
    wait(idle);
}

// Keeps away: a query of the catalog by `tableoid`, which no `*` shows.
#[test]
fn descriptions_are_listed() {
    let served = Served::new("create table t (id int primary key); comment on table t is 'of t'");
    let done = run(served.psql(&["-c", "\\dd"]));
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(done.status.success() && said.contains("Object descriptions"), "{said}");
    let asked = "select c.tableoid, d.description from pg_catalog.pg_class c
         join pg_catalog.pg_description d on d.objoid = c.oid and d.classoid = c.tableoid where c.relname = 't'";
    assert_eq!(served.ask(asked), "1259|of t");
}
