//! Who comes in, and what is refused.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use ambo_server::{Limits, Options, Role, Roles, Server, Tls};
use ambo_sql::Database;

use crate::support::{Served, psql_as as psql, until};

fn roles() -> Roles {
    let mut roles = Roles::none();
    roles.add(Role::new("ada").password("a secret, ü"));
    roles.add(Role::new("bob").password("b").read_only(true));
    roles
}

#[test]
fn only_who_knows_the_password_comes_in() {
    let served = Served::with("create table t (id int primary key)", |options| options.roles(roles()));
    assert_eq!(psql(&served, "ada", "a secret, ü", "", "select 1"), (true, "1\n".to_owned()));
    for (role, password) in [("ada", "another"), ("ada", "b"), ("eve", "b"), ("ada", "")] {
        let (came_in, said) = psql(&served, role, password, "", "select 1");
        assert!(!came_in, "{role} {password}");
        assert!(said.contains("password"), "{said}");
    }
}

#[test]
fn a_role_that_only_reads_changes_nothing() {
    let served = Served::with("create table t (id int primary key)", |options| options.roles(roles()));
    assert_eq!(psql(&served, "bob", "b", "", "select count(*) from t"), (true, "0\n".to_owned()));
    for statement in [
        "insert into t values (1)",
        "drop table t",
        "create table u (a int)",
        "vacuum",
        "copy t to '/tmp/x.csv'",
        "/* x */ checkpoint",
        "-- x\ncopy t to '/tmp/x.csv'",
        "copy t from stdin",
        "begin; delete from t",
    ] {
        let (done, said) = psql(&served, "bob", "b", "", statement);
        assert!(!done && said.contains("this role may only read"), "{statement}: {said}");
    }
}

/// A certificate of localhost's own, for a hundred years.
const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/");

#[test]
fn connections_are_encrypted_where_clients_ask() {
    let tls = Tls::new(format!("{CERTIFICATE}cert.pem"), format!("{CERTIFICATE}key.pem"));
    let served = Served::with("", |options| options.tls(tls).roles(roles()));
    let more = format!("sslmode=verify-ca sslrootcert={CERTIFICATE}cert.pem");
    let (done, said) = psql(&served, "ada", "a secret, ü", &more, "select sum(range) from range(0, 300000)");
    assert_eq!((done, said.as_str()), (true, "44999850000\n"));
    let (done, said) = psql(&served, "ada", "a secret, ü", &more, "\\conninfo");
    assert!(done && said.contains("SSL connection"), "{said}");
    assert!(psql(&served, "ada", "a secret, ü", "sslmode=disable", "select 1").0);
}

#[test]
fn what_would_let_anybody_in_does_not_start() {
    let elsewhere = "0.0.0.0:0".parse().unwrap();
    let tls = Tls::new(format!("{CERTIFICATE}cert.pem"), format!("{CERTIFICATE}key.pem"));
    let options = Options::new().postgres(elsewhere);
    let start = |options| {
        Server::start(Database::in_memory().unwrap(), options).map(drop).map_err(|error| error.to_string())
    };
    assert!(start(options.clone()).unwrap_err().contains("certificate"));
    assert!(start(options.clone().roles(roles())).unwrap_err().contains("certificate"));
    assert!(start(options.clone().tls(tls.clone())).unwrap_err().contains("role"));
    start(options.tls(tls).roles(roles())).unwrap();
    assert!(start(Options::new()).unwrap_err().contains("no address"));
    let missing =
        Options::new().postgres("127.0.0.1:0".parse().unwrap()).tls(Tls::new("/nonexistent", "/nonexistent"));
    assert!(start(missing).unwrap_err().contains("/nonexistent"));
}

#[test]
fn there_are_no_more_sessions_than_may_be() {
    let mut limits = Limits::default();
    limits.connections = 1;
    limits.idle = Some(Duration::from_millis(500));
    let served = Served::with("", |options| options.limits(limits));
    let mut idle = startup(&served);
    until("it is there", || served.running().sessions().len() == 1);
    assert!(served.fail("select 1").contains("there are 1 sessions already"));
    // It does nothing for too long.
    let mut said = Vec::new();
    idle.read_to_end(&mut said).unwrap();
    assert!(String::from_utf8_lossy(&said).contains("57P05"));
    until("it is gone", || served.running().sessions().is_empty());
    assert_eq!(served.ask("select 1"), "1");
}

/// A session that was begun, without a client.
pub fn startup(served: &Served) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = b"\0\x03\0\0user\0ada\0\0";
    let length = (body.len() as u32 + 4).to_be_bytes();
    stream.write_all(&[&length[..], body].concat()).unwrap();
    stream
}

// Keeps away: a certificate that is used until the server is started again, and one that cannot be read.
#[test]
fn a_certificate_is_read_again() {
    let home = tempfile::tempdir().unwrap();
    let (cert, key) = (home.path().join("cert.pem"), home.path().join("key.pem"));
    let take = |name: &str, key_name: &str| {
        std::fs::copy(format!("{CERTIFICATE}{name}"), &cert).unwrap();
        std::fs::copy(format!("{CERTIFICATE}{key_name}"), &key).unwrap();
    };
    take("cert.pem", "key.pem");
    let served = Served::with("", |options| options.tls(Tls::new(&cert, &key)));
    let knows = |root: &str| {
        let more = format!("sslmode=verify-ca sslrootcert={CERTIFICATE}{root}");
        psql(&served, "ada", "", &more, "select 1").0
    };
    assert!(knows("cert.pem") && !knows("other.pem"));
    take("other.pem", "other-key.pem");
    assert!(knows("cert.pem"));
    served.running().reload().unwrap();
    assert!(knows("other.pem") && !knows("cert.pem"));
    take("cert.pem", "other-key.pem");
    let refused = served.running().reload().unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "{}: keys may not be consistent: KeyMismatch; a certificate and its key are PEM files",
            key.display()
        )
    );
    assert!(knows("other.pem"));
}

#[test]
fn what_is_done_is_logged() {
    let home = tempfile::tempdir().unwrap();
    let to = home.path().join("audit");
    let served =
        Served::with("create table t (id int primary key)", |options| options.roles(roles()).audit(&to));
    let lines = || std::fs::read_to_string(to.join("audit.jsonl")).unwrap();
    assert!(!psql(&served, "ada", "wrong", "", "select 1").0);
    assert!(lines().contains("\"ok\":false"), "{}", lines());
    assert!(psql(&served, "ada", "a secret, ü", "", "create role eve password 'of eve'").0);
    assert!(!psql(&served, "bob", "b", "", "insert into t values (1)").0);
    until("it is logged", || lines().contains("insert into t"));
    let written = lines();
    assert!(written.contains("create role eve password …") && !written.contains("of eve"), "{written}");
    let refused = written.lines().find(|line| line.contains("insert into t")).unwrap();
    assert!(refused.contains("\"role\":\"bob\"") && refused.contains("\"code\":\"25006\""), "{refused}");
}

// Keeps away: a client that reads what the server's user can, because the database is open to it.
#[test]
fn statements_have_to_do_with_no_files_unless_they_may() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("rows.csv");
    let statements = [
        format!("copy t to '{}'", file.display()),
        format!("copy t from '{}'", file.display()),
        format!("select * from read_csv('{}')", file.display()),
        format!("select * from '{}'", file.display()),
        format!("create table u as select * from '{}'", file.display()),
        format!("select * from glob('{}/*')", home.path().display()),
        format!("attach '{}' as other", home.path().join("other").display()),
        format!("backup to '{}'", home.path().join("backup").display()),
    ];
    let served = Served::new("create table t (id int primary key); insert into t values (1)");
    for statement in &statements {
        let said = served.fail(statement);
        assert!(said.contains("42501") && said.contains("no files here"), "{statement}: {said}");
    }
    assert!(!file.exists());
    let served = Served::with("create table t (id int primary key); insert into t values (1)", |options| {
        options.files(home.path())
    });
    served.ask(&statements[0]);
    assert_eq!(served.ask(&statements[2]), "1");
    // Nothing that is elsewhere, whatever leads there.
    std::os::unix::fs::symlink("/etc/passwd", home.path().join("link.csv")).unwrap();
    for elsewhere in
        ["/etc/passwd", "/etc/pass*", "link.csv", "*.csv", "../../etc/passwd", "none/../../x.csv"]
    {
        let path = home.path().join(elsewhere).display().to_string();
        for statement in [
            format!("copy t from '{path}'"),
            format!("select * from '{path}.csv'"),
            format!("select * from read_text('{path}')"),
            format!("select * from glob('{path}')"),
            format!("select * from read_csv(['{}', '{path}'])", file.display()),
            format!("attach '{path}' as other"),
            format!("backup to '{path}'"),
        ] {
            if elsewhere == "*.csv" && !statement.contains("read_text") {
                continue;
            }
            if elsewhere == "link.csv" && statement.contains(".csv.csv") {
                continue;
            }
            let said = served.fail(&statement);
            let refused = format!("is not beneath {}", home.path().canonicalize().unwrap().display());
            assert!(said.contains("42501") && said.contains(&refused), "{statement}: {said}");
        }
    }
}

// Keeps away: a statement that takes the memory of all others.
#[test]
fn a_statement_has_a_share_of_the_memory() {
    let mut limits = Limits::default();
    limits.statement_memory = Some(1 << 20);
    let served = Served::with("", |options| options.limits(limits));
    let join = "select count(*) from range(0, 300000) a (x) join range(0, 300000) b (y) on a.x = b.y and a.x % 7 = b.y % 7";
    let said = served.fail(join);
    assert!(said.contains("53200") && said.contains("more than the 1048576 bytes"), "{said}");
    assert_eq!(served.ask("select 1"), "1");
    assert_eq!(served.ask(&format!("set statement_memory = '1GiB'; {join}")), "SET\n300000");
}
