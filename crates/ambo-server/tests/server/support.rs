//! A server with a database in memory, and its clients.

use std::{
    io::{Read, Write},
    net::SocketAddr,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use ambo_server::{Options, Protocol, Running, Server};
use ambo_sql::Database;

/// How long a client may take.
const CLIENT: Duration = Duration::from_secs(60);

/// A server that runs.
pub struct Served {
    pub database: Database,
    pub running: Option<Running>,
    pub address: SocketAddr,
}

impl Served {
    /// With these statements run before.
    pub fn new(script: &str) -> Self {
        Self::with(script, |options| options)
    }

    pub fn with(script: &str, more: impl FnOnce(Options) -> Options) -> Self {
        let database = Database::in_memory().unwrap();
        database.connect().script(script).unwrap();
        let options = more(Options::new().postgres("127.0.0.1:0".parse().unwrap()));
        let running = Server::start(database.clone(), options).unwrap();
        let address = running.address(Protocol::Postgres).unwrap();
        Self { database, running: Some(running), address }
    }

    pub fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// What a client needs to know.
    pub fn url(&self) -> String {
        format!("postgresql://ada@{}/ambo", self.address)
    }

    /// psql with these arguments.
    pub fn psql(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("psql");
        command.args(["-X", "-d", &self.url()]).args(arguments);
        command
    }

    /// What psql writes for a text of statements, without alignment.
    pub fn ask(&self, statements: &str) -> String {
        let done = run(self.psql(&["-At", "-v", "ON_ERROR_STOP=1", "-c", statements]));
        assert!(done.status.success(), "{statements}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim_end().to_owned()
    }

    /// What psql says of statements that fail.
    pub fn fail(&self, statements: &str) -> String {
        let done =
            run(self.psql(&["-At", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose", "-c", statements]));
        assert!(!done.status.success(), "{statements}");
        String::from_utf8(done.stderr).unwrap()
    }
}

impl Drop for Served {
    /// Tests end with the check of the whole database.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown(Duration::from_secs(5));
        }
        if !std::thread::panicking() {
            let report = self.database.check().unwrap();
            assert!(report.is_sound(), "{report:?}");
        }
    }
}

/// What psql says that comes in as a role, and whether it did what it was told.
pub fn psql_as(served: &Served, role: &str, password: &str, more: &str, statement: &str) -> (bool, String) {
    let mut command = Command::new("psql");
    command.args(["-X", "-At", "-c", statement, "-d"]);
    command.arg(format!("host=127.0.0.1 port={} user={role} dbname=ambo {more}", served.address.port()));
    let done = run_as(command, password);
    let said = [done.stdout, done.stderr].concat();
    (done.status.success(), String::from_utf8(said).unwrap())
}

fn run_as(mut command: Command, password: &str) -> Output {
    command.env("PGPASSFILE", "/nonexistent");
    // The support takes what the environment has away.
    let set = format!("PGPASSWORD={password}");
    let mut with = Command::new("env");
    with.arg(set).arg(command.get_program()).args(command.get_args());
    run(with)
}

/// Runs a client to its end.
pub fn run(mut command: Command) -> Output {
    command.stdin(Stdio::null());
    wait(start(command))
}

/// Runs a client that reads this.
pub fn run_with(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped());
    let mut child = start(command);
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        wait(child)
    })
}

/// Starts a client.
pub fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("PGCONNECT_TIMEOUT", "20").env_remove("PGPASSWORD");
    let program = command.get_program().to_string_lossy().into_owned();
    command.spawn().unwrap_or_else(|error| {
        panic!("{program} cannot be started ({error}): `make server-clients` says what is missing, or apt-get install -y postgresql")
    })
}

/// Waits for a client, and kills one that takes too long.
pub fn wait(mut child: Child) -> Output {
    let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut all = Vec::new();
            from.read_to_end(&mut all).map(|_| all)
        })
    };
    let (stdout, stderr) = (read(Box::new(stdout)), read(Box::new(stderr)));
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > CLIENT {
            child.kill().unwrap();
            let end = child.wait().unwrap();
            let said = String::from_utf8_lossy(&stderr.join().unwrap().unwrap()).into_owned();
            panic!("a client took more than {CLIENT:?} ({end}): {said}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Output { status, stdout: stdout.join().unwrap().unwrap(), stderr: stderr.join().unwrap().unwrap() }
}

/// Waits until something is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
