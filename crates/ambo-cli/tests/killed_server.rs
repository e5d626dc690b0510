//! A server that is killed while clients write by every protocol: nothing that any of them was told is written is lost.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use ambo_sql::Database;

/// How long the server works before it is killed, each time.
const WORK: Duration = Duration::from_millis(1500);
const ROUNDS: usize = 3;

/// Numbers that clients were told are written, each client with a table of its own.
type Told = Mutex<BTreeSet<(&'static str, i64)>>;

/// A server, which is killed with this.
struct Serving {
    child: Child,
    addresses: Vec<(String, SocketAddr)>,
}

impl Serving {
    fn new(directory: &Path) -> Self {
        let any = "127.0.0.1:0";
        let options = ["--listen", any, "--http", any, "--thrift", any, "--flight", any];
        let mut child = Command::new(env!("CARGO_BIN_EXE_ambo"))
            .arg("serve")
            .arg(directory)
            .args(options)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let pid = child.id();
        loop {
            let host = ambo_server::Host::of(directory).unwrap().filter(|host| host.pid == pid);
            if let Some(host) = host {
                return Self { child, addresses: host.addresses };
            }
            assert!(child.try_wait().unwrap().is_none(), "it does not serve");
            assert!(began.elapsed() < Duration::from_secs(60), "it does not serve");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn address(&self, protocol: &str) -> SocketAddr {
        self.addresses.iter().find(|(of, _)| of == protocol).unwrap().1
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It is kill -9.
        let _unless_dead = self.child.kill();
        self.child.wait().unwrap();
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Takes messages of PostgreSQL's up to one of a kind; whether that came and no error.
fn until(stream: &mut TcpStream, wanted: u8) -> std::io::Result<bool> {
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize - 4];
        stream.read_exact(&mut body)?;
        match head[0] {
            b'E' => return Ok(false),
            tag if tag == wanted => return Ok(true),
            _ => {}
        }
    }
}

/// Writes numbers by PostgreSQL's protocol until the server is gone.
fn by_postgres(address: SocketAddr, from: i64, told: &Told) -> std::io::Result<()> {
    let mut stream = connect(address);
    stream.write_all(b"\0\0\0\x12\0\x03\0\0user\0ada\0\0")?;
    until(&mut stream, b'Z')?;
    for number in from.. {
        let text = format!("insert into postgres values ({number})\0");
        stream.write_all(&[&b"Q"[..], &(text.len() as u32 + 4).to_be_bytes(), text.as_bytes()].concat())?;
        if until(&mut stream, b'C')? {
            told.lock().unwrap().insert(("postgres", number));
        }
        until(&mut stream, b'Z')?;
    }
    Ok(())
}

fn by_http(address: SocketAddr, from: i64, told: &Told) -> std::io::Result<()> {
    let mut stream = BufReader::new(connect(address));
    for number in from.. {
        let body = format!("insert into http values ({number})");
        let length = body.len();
        let head = "POST /sql HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n";
        stream.get_mut().write_all(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes())?;
        let (mut line, mut status, mut length) = (String::new(), String::new(), 0);
        while line != "\r\n" {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if status.is_empty() {
                status.clone_from(&line);
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        stream.read_exact(&mut vec![0; length])?;
        if status.contains(" 200 ") {
            told.lock().unwrap().insert(("http", number));
        }
    }
    Ok(())
}

fn by_thrift(address: SocketAddr, from: i64, told: &Told) -> std::io::Result<()> {
    let mut stream = connect(address);
    for number in from.. {
        let mut call = vec![0x80, 1, 0, 1];
        let text = |out: &mut Vec<u8>, text: &str| {
            out.extend((text.len() as u32).to_be_bytes());
            out.extend_from_slice(text.as_bytes());
        };
        text(&mut call, "put");
        call.extend([0, 0, 0, 1]);
        for (id, value) in (1u16..).zip(["thrift", &number.to_string(), "x"]) {
            call.push(11);
            call.extend(id.to_be_bytes());
            text(&mut call, value);
        }
        call.push(0);
        stream.write_all(&[&(call.len() as u32).to_be_bytes()[..], &call].concat())?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut answer)?;
        // A reply without an error in it: name, number, an empty structure or the result.
        if answer.starts_with(&[0x80, 1, 0, 2]) && !String::from_utf8_lossy(&answer).contains("rror") {
            told.lock().unwrap().insert(("thrift", number));
        }
    }
    Ok(())
}

/// A program in Python writes by Flight SQL, and says each number that it was told.
fn by_flight(address: SocketAddr, from: i64, told: &Told) {
    let python = std::env::var_os("AMBO_SERVER_PYTHON");
    let python =
        python.expect("AMBO_SERVER_PYTHON names no Python with ADBC: `make test` makes one and says where");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../ambo-server/tests/python/writes_by_flight.py");
    let mut child = Command::new(python)
        .arg("-B")
        .arg(script)
        .args([address.to_string(), from.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        told.lock().unwrap().insert(("flight", line.unwrap().parse().unwrap()));
    }
    child.wait().unwrap();
}

#[test]
fn what_a_client_was_told_is_there_when_the_server_was_killed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let db = Database::open(&path).unwrap();
    for table in ["postgres", "http", "flight"] {
        db.connect().execute(&format!("create table {table} (id bigint primary key)"), ()).unwrap();
    }
    db.key_value("thrift").unwrap();
    drop(db);
    let told = Told::default();
    for round in 0..ROUNDS {
        let from = round as i64 * 1_000_000;
        let serving = Serving::new(&path);
        let before = told.lock().unwrap().len();
        thread::scope(|scope| {
            let (told, serving) = (&told, &serving);
            scope.spawn(move || by_postgres(serving.address("postgres"), from, told));
            scope.spawn(move || by_http(serving.address("http"), from, told));
            scope.spawn(move || by_thrift(serving.address("thrift"), from, told));
            scope.spawn(move || by_flight(serving.address("flight"), from, told));
            // All of them have written something by then.
            let began = Instant::now();
            let all = || {
                let told = told.lock().unwrap();
                let new = told.iter().filter(|(_, number)| *number >= from);
                new.map(|(of, _)| *of).collect::<BTreeSet<_>>().len() == 4
            };
            while !all() {
                assert!(began.elapsed() < Duration::from_secs(60), "{:?}", told.lock().unwrap());
                thread::sleep(Duration::from_millis(10));
            }
            thread::sleep(WORK);
            let killed = Command::new("kill").args(["-9", &serving.child.id().to_string()]).status().unwrap();
            assert!(killed.success());
        });
        drop(serving);
        let told = told.lock().unwrap();
        assert!(told.len() > before);
        all_there(&path, &told);
    }
}

/// All that was told is there, and the database is sound.
fn all_there(path: &Path, told: &BTreeSet<(&'static str, i64)>) {
    let db = Database::open(path).unwrap();
    let mut connection = db.connect();
    for table in ["postgres", "http", "flight"] {
        let rows = connection.query(&format!("select id from {table}"), ()).unwrap();
        let there: BTreeSet<i64> = rows.map(|row| row.unwrap().get::<i64>(0).unwrap()).collect();
        let lost: Vec<_> = told.iter().filter(|(of, id)| *of == table && !there.contains(id)).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }
    let keys = db.key_value("thrift").unwrap();
    for (_, number) in told.iter().filter(|(of, _)| *of == "thrift") {
        assert!(keys.get(number.to_string().as_bytes()).unwrap().is_some(), "{number} of thrift");
    }
    drop((connection, keys));
    let report = db.check().unwrap();
    assert!(report.is_sound(), "{report:?}");
    drop(db);
}
