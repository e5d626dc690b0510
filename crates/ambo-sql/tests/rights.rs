//! Roles and rights: what a connection that works for a role may do, and what it may not.

use ambo_sql::{Connection, Database, Keeper, Level, Role};

/// A database that is checked as a whole at the end.
struct Checked(Database);

impl std::ops::Deref for Checked {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.0
    }
}

impl Drop for Checked {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let report = self.0.check().unwrap();
            assert!(report.is_sound(), "{report:?}");
        }
    }
}

/// A database with tables, a view, and a role that has been granted little.
fn database() -> Checked {
    let db = Database::in_memory().unwrap();
    let script = "
        create table open (id int primary key, n int);
        insert into open values (1, 10), (2, 20);
        create table secret (id int primary key, n int);
        insert into secret values (1, 7);
        create index secret_n on secret (n);
        create view shown as select n from secret;
        create schema s;
        create table s.own (id int primary key);
        create role ada;
        grant select on open, shown to ada;
    ";
    db.connect().script(script).unwrap();
    Checked(db)
}

fn ada(db: &Database) -> Connection {
    let mut connection = db.connect();
    connection.set_role(Role::new("ada", Level::Granted));
    connection
}

fn number(connection: &mut Connection, sql: &str) -> i64 {
    connection
        .query(sql, ())
        .and_then(|rows| rows.single()?.into_values())
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// The last of some statements is not the role's.
fn refused(connection: &mut Connection, sql: &str) {
    let done = connection.execute(sql, ());
    let error = done.err().unwrap_or_else(|| panic!("{sql} was done"));
    assert_eq!(error.sqlstate(), "42501", "{sql}: {error}");
}

fn done(connection: &mut Connection, sql: &str) {
    connection.execute(sql, ()).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

// Keeps away: rows that are read by a way on which nobody looks.
#[test]
fn what_was_not_granted_is_not_read() {
    let db = database();
    let mut ada = ada(&db);
    assert_eq!(number(&mut ada, "select n from open where id = 1"), 10);
    assert_eq!(number(&mut ada, "select sum(n)::bigint from open"), 30);
    for sql in [
        "select * from secret where id = 1",
        "select count(*) from secret",
        "select * from secret",
        "select * from main.secret",
        "select * from \"SECRET\"",
        "table secret",
        "from secret",
        "select rowid from secret",
        "select (select max(n) from secret) from open",
        "select * from open where n in (select n from secret)",
        "select * from open o, lateral (select * from secret s where s.id = o.id) x",
        "with x as (select * from secret) select * from x",
        "with recursive x as (select 1 as n union all select n + 1 from x where n < 3) select * from x, secret",
        "select * from open union all select * from secret",
        "explain select * from secret",
        "explain analyze select * from secret",
        "summarize secret",
        "select * from query('select * from secret')",
        "select * from query_table('secret')",
        "copy secret to '/tmp/ambo-secret.csv'",
        "copy open to '/tmp/ambo-open.csv'",
        "create table s.copied as select * from secret",
        "insert into open select * from secret",
        "select * from secret for update",
        "prepare p as select * from secret; execute p",
        "select * from \"\u{1}numbered 0 secret\"",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd.csv'",
        "select * from read_text('/etc/hostname')",
        "attach '/tmp/ambo-other' as other",
        "show create table secret",
    ] {
        let done = ada.script(sql);
        let error = done.err().unwrap_or_else(|| panic!("{sql} was done"));
        assert_eq!(error.sqlstate(), "42501", "{sql}: {error}");
    }
    let mut out = Vec::new();
    let error = ada.copy_out("copy secret to stdout", &mut out).unwrap_err();
    assert_eq!((error.sqlstate(), out.len()), ("42501", 0));
    assert_eq!(ada.copy_out("copy open to stdout", &mut out).unwrap(), 2);
}

// Keeps away: views that need a right to what they show, and views that give one.
#[test]
fn a_view_is_checked_and_not_what_it_reads() {
    let db = database();
    let mut ada = ada(&db);
    assert_eq!(number(&mut ada, "select n from shown"), 7);
    // What was found for the view is not found for the statement.
    refused(&mut ada, "select * from shown, secret");
    refused(&mut ada, "select * from secret, shown");
    db.connect().script("revoke select on shown from ada").unwrap();
    refused(&mut ada, "select n from shown");
    // Nobody makes a view of what it may not read.
    db.connect().script("grant create on schema main to ada").unwrap();
    refused(&mut ada, "create view mine as select * from secret");
    done(&mut ada, "create view mine as select * from open");
    refused(&mut ada, "create or replace view mine as select * from secret");
    refused(&mut ada, "alter view mine as select * from secret");
    refused(&mut ada, "create function peek() as (select max(n) from secret); select peek()");
}

// Keeps away: changes by a way on which nobody looks.
#[test]
fn what_was_not_granted_is_not_written() {
    let db = database();
    let mut ada = ada(&db);
    let writes = [
        ("insert into open values (3, 30)", "insert"),
        ("insert into open select 4, 40", "insert"),
        ("update open set n = 11 where id = 1", "update"),
        ("update open set n = n + 1", "update"),
        ("delete from open where id = 2", "delete"),
        ("delete from open where n > 100", "delete"),
        ("truncate open", "delete"),
        (
            "merge into open using (values (9, 90)) v (id, n) on open.id = v.id when not matched then insert values (v.id, v.n)",
            "insert",
        ),
        ("insert into open values (1, 12) on conflict (id) do update set n = excluded.n", "insert, update"),
        ("with x as (delete from open where id = 77 returning id) select count(*) from x", "delete"),
    ];
    for (sql, _) in writes {
        refused(&mut ada, sql);
    }
    assert_eq!(
        ada.copy_in("copy open from stdin", &mut "5\t50\n".as_bytes()).unwrap_err().sqlstate(),
        "42501"
    );
    for (sql, right) in writes {
        db.connect().script(&format!("grant {right} on open to ada")).unwrap();
        done(&mut ada, sql);
        db.connect().script(&format!("revoke {right} on open from ada")).unwrap();
        refused(&mut ada, sql);
    }
    db.connect().script("grant insert on secret to ada").unwrap();
    // Who may write what it may not read does not get it back.
    done(&mut ada, "insert into secret values (5, 50)");
    for sql in [
        "insert into secret values (6, 60) returning *",
        "insert into secret values (1, 0) on conflict (id) do update set n = 1 returning n",
        "insert or replace into secret values (1, 0)",
    ] {
        refused(&mut ada, sql);
    }
    db.connect().script("grant update, delete on secret to ada").unwrap();
    refused(&mut ada, "update secret set n = 1 where n > 3 returning n");
    refused(&mut ada, "delete from secret where n = 7");
}

#[test]
fn only_who_owns_something_changes_it() {
    let db = database();
    let mut ada = ada(&db);
    for sql in [
        "create table mine (id int)",
        "create schema mine",
        "create view mine as select 1",
        "create sequence mine",
        "create type mine as enum ('a')",
        "drop table open",
        "drop table s.own",
        "drop view shown",
        "drop schema s",
        "drop index secret_n",
        "alter table open add column x int",
        "alter table open rename to mine",
        "alter table open set storage = btree",
        "alter view shown rename to mine",
        "create index i on open (n)",
        "comment on table open is 'x'",
        "grant select on open to public",
        "grant create on schema main to ada",
        "create role eve superuser",
        "alter role ada superuser",
        "grant pg_read_all_data to ada",
        "drop role ada",
        "vacuum",
        "checkpoint",
        "compact",
        "analyze open",
        "set memory_limit = '1GB'",
        "set threads = 1",
        "reset threads",
        "backup to '/tmp/ambo-backup'",
    ] {
        refused(&mut ada, sql);
    }
    for sql in ["set statement_timeout = 1000", "show tables", "begin", "savepoint a", "rollback"] {
        done(&mut ada, sql);
    }
    // Temporary tables are one's own.
    done(&mut ada, "create temporary table t (id int)");
    done(&mut ada, "insert into t values (1)");
    assert_eq!(number(&mut ada, "select count(*) from t"), 1);
    done(&mut ada, "drop table t");
    db.connect().script("grant create on schema main to ada").unwrap();
    done(&mut ada, "create table mine (id int primary key, n int)");
    done(&mut ada, "insert into mine values (1, 1)");
    done(&mut ada, "alter table mine add column x int");
    done(&mut ada, "create index mine_n on mine (n)");
    done(&mut ada, "comment on table mine is 'x'");
    refused(&mut ada, "create or replace table open (id int)");
    refused(&mut ada, "create table refers (id int references secret (id))");
    refused(&mut ada, "alter table mine rename to s.mine");
    done(&mut ada, "create table if not exists open (id int)");
    refused(&mut ada, "drop table open");
    // Neither by what is kept with a table nor by what changes it.
    done(&mut ada, "create function peek() as (select max(n) from secret)");
    refused(&mut ada, "select peek()");
    refused(&mut ada, "alter table mine alter column n type int using peek()");
    refused(&mut ada, "create table peeks (id int, n int default peek()); insert into peeks (id) values (1)");
    done(&mut ada, "alter table mine alter column n type bigint");
    done(&mut ada, "insert into mine (id, n) values (2, 2)");
    // What takes the place of one's own is one's own.
    done(&mut ada, "begin; create or replace table mine (id int primary key, n int); commit");
    done(
        &mut ada,
        "create or replace table mine (id int primary key, n int); insert into mine values (1, 1)",
    );
    db.connect().script("create role bob; revoke create on schema main from ada").unwrap();
    done(&mut ada, "grant select on mine to bob");
    let mut bob = db.connect();
    bob.set_role(Role::new("bob", Level::Granted));
    assert_eq!(number(&mut bob, "select n from mine where id = 1"), 1);
    refused(&mut bob, "drop table mine");
    done(&mut ada, "drop table mine");
}

// Keeps away: rights that stay when their table is gone, or are of another's.
#[test]
fn rights_go_with_their_table_and_with_their_transaction() {
    let db = database();
    let mut ada = ada(&db);
    let mut owner = db.connect();
    owner.script("alter table open rename to renamed").unwrap();
    assert_eq!(number(&mut ada, "select count(*) from renamed"), 2);
    owner.script("create table open (id int); insert into open values (1)").unwrap();
    refused(&mut ada, "select * from open");
    owner.script("alter table renamed set storage = btree; truncate renamed").unwrap();
    assert_eq!(number(&mut ada, "select count(*) from renamed"), 0);
    owner.script("drop table renamed; create table renamed (id int)").unwrap();
    refused(&mut ada, "select * from renamed");
    owner.script("begin; grant select on renamed to ada; rollback").unwrap();
    refused(&mut ada, "select * from renamed");
    owner.script("begin; grant all on renamed to ada").unwrap();
    refused(&mut ada, "select * from renamed");
    owner.script("commit").unwrap();
    assert_eq!(number(&mut ada, "select count(*) from renamed"), 0);
    owner.script("grant select on all tables in schema main to public").unwrap();
    assert_eq!(number(&mut ada, "select count(*) from secret"), 1);
    owner.script("revoke all privileges on all tables in schema main from public, ada").unwrap();
    refused(&mut ada, "select * from secret");
    refused(&mut ada, "select * from renamed");
    owner.script("grant select on secret to ada; drop role ada; create role ada").unwrap();
    refused(&mut ada, "select * from secret");
    assert!(owner.execute("grant select on secret to nobody", ()).unwrap_err().message().contains("nobody"));
    for (grant, why) in [
        (
            "grant select (id) on secret to ada",
            "rights are to tables, not to columns: a view shows some columns",
        ),
        (
            "grant select on secret to ada with grant option",
            "rights are given by the owner and by superusers alone",
        ),
    ] {
        let error = owner.execute(grant, ()).unwrap_err();
        assert_eq!(error.message(), format!("not supported: {why}"), "{grant}");
    }
}

// Keeps away: a statement whose plan was made for somebody else.
#[test]
fn what_one_role_has_run_another_may_not() {
    let db = database();
    let (mut owner, mut ada) = (db.connect(), ada(&db));
    for sql in ["select n from secret where id = 1", "select max(n) from secret"] {
        for _ in 0..3 {
            done(&mut owner, sql);
        }
        refused(&mut ada, sql);
        let mut prepared = owner.prepare(sql).unwrap();
        prepared.execute(&mut owner, ()).unwrap();
        assert!(prepared.execute(&mut ada, ()).is_err());
    }
}

#[test]
fn the_catalog_tells_the_truth() {
    let db = database();
    let mut ada = ada(&db);
    db.connect()
        .script("grant update on open to ada; grant create on schema s to ada; create role bob")
        .unwrap();
    let mut text = |sql: &str| -> String {
        let rows = ada.query(sql, ()).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let row = rows.map(|row| {
            row.unwrap().values().iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" ")
        });
        row.collect::<Vec<_>>().join("\n")
    };
    for (sql, is) in [
        ("has_table_privilege('open', 'select')", true),
        ("has_table_privilege('ada', 'open', 'UPDATE')", true),
        ("has_table_privilege('bob', 'open', 'select')", false),
        ("has_table_privilege('open', 'delete')", false),
        ("has_table_privilege('open', 'delete, select')", true),
        ("has_table_privilege('open'::regclass, 'insert')", false),
        ("has_table_privilege('pg_class', 'select')", true),
        ("has_any_column_privilege('open', 'select')", true),
        ("has_column_privilege('open', 'n', 'insert')", false),
        ("has_schema_privilege('s', 'create')", true),
        ("has_schema_privilege('public', 'create')", false),
        ("has_schema_privilege('public', 'usage')", true),
        ("has_database_privilege('ambo', 'create')", false),
        ("pg_has_role('ada', 'member')", true),
        ("pg_has_role('bob', 'member')", false),
    ] {
        assert_eq!(text(&format!("select {sql}")), format!("Bool({is})"), "{sql}");
    }
    let seen =
        text("select relname from pg_class where relkind in ('r', 'v') and relnamespace = 2200 order by 1");
    assert_eq!(seen, "Utf8(\"open\")\nUtf8(\"shown\")");
    let seen =
        text("select table_name from information_schema.tables where table_schema = 'main' order by 1");
    assert_eq!(seen, "Utf8(\"open\")\nUtf8(\"shown\")");
    assert_eq!(text("select table_name from ambo_catalog.tables order by 1"), "Utf8(\"open\")");
    assert_eq!(text("select count(*) from ambo_catalog.indexes"), "I64(0)");
    let acl = text("select array_to_string(relacl, ' ') from pg_class where relname = 'open'");
    assert_eq!(acl, "Utf8(\"ambo=arwdDxt/ambo ada=rw/ambo\")");
    let roles = text(
        "select rolname, rolsuper, rolcanlogin from pg_roles where rolname in ('ada', 'bob', 'ambo') order by 1",
    );
    assert_eq!(
        roles,
        "Utf8(\"ada\") Bool(false) Bool(false)\nUtf8(\"ambo\") Bool(true) Bool(true)\nUtf8(\"bob\") Bool(false) Bool(false)"
    );
    let error = ada.execute("select has_table_privilege('nobody', 'open', 'select')", ());
    assert!(error.unwrap_err().message().contains("role \"nobody\" does not exist"));
}

struct Plain;

impl Keeper for Plain {
    fn secret(&self, password: &str) -> String {
        format!("hash-of-{}", password.len())
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::new("of_file", Level::Granted)]
    }
}

#[test]
fn roles_are_made_and_nobody_is_locked_out() {
    let db = database();
    let mut owner = db.connect();
    let error = owner.execute("create role bob login password 'x'", ()).unwrap_err();
    assert!(error.message().contains("passwords are kept by the server"), "{error}");
    db.set_keeper(std::sync::Arc::new(Plain));
    let error = owner.execute("create user bob password 'x'", ()).unwrap_err();
    assert!(error.message().contains("no superuser"), "{error}");
    assert!(!db.has_roles() && db.login("bob").is_none());
    owner.script("create user root superuser password 'xyz'; create user bob with encrypted password 'x' in role pg_read_all_data").unwrap();
    let (role, secret) = db.login("bob").unwrap();
    assert_eq!((role.level(), secret.as_deref()), (Level::Reader, Some("hash-of-1")));
    for sql in [
        "alter role root nosuperuser",
        "alter role root password null",
        "drop role root",
        "alter user root nologin",
    ] {
        assert!(owner.execute(sql, ()).unwrap_err().message().contains("no superuser"), "{sql}");
    }
    assert_eq!(db.login("root").unwrap().0.level(), Level::Superuser);
    let mut bob = db.connect();
    bob.set_role(role);
    assert_eq!(number(&mut bob, "select count(*) from secret"), 1);
    refused(&mut bob, "delete from secret");
    // One's own password is one's own.
    done(&mut bob, "alter role bob password 'longer'");
    assert_eq!(db.login("bob").unwrap().1.as_deref(), Some("hash-of-6"));
    refused(&mut bob, "alter role bob superuser password 'x'");
    refused(&mut bob, "alter role root password 'x'");
    owner
        .script(
            "grant pg_write_all_data to bob; alter role bob rename to bert; grant insert on open to of_file",
        )
        .unwrap();
    assert_eq!((db.login("bert").unwrap().0.level(), db.login("bob").is_none()), (Level::Writer, true));
    owner
        .script(
            "revoke pg_write_all_data from bert; drop role if exists nobody; create role if not exists bert",
        )
        .unwrap();
    assert_eq!(db.login("bert").unwrap().0.level(), Level::Reader);
    for sql in [
        "create role bert",
        "create role of_file",
        "create role pg_x",
        "drop role nobody",
        "create role x createdb",
    ] {
        assert!(owner.execute(sql, ()).is_err(), "{sql}");
    }
}
