//! The socket of programs of the same user: where another process has the database open, they work with it through that one.
//!
//! 1. It is `ambo.sock` in the directory of the database, or where paths are too long for sockets below the user's own directory of such;
//!    `server.json` in the directory says where, and who serves. Both are there as long as they are answered.
//! 2. It speaks HTTP. Nobody but the user, and root, comes in, and needs no password: who may read the directory has the database.
//! 3. Whoever has the database open to write owns the place: what a killed process left there is taken away.

use std::{
    fs::{self, Permissions},
    io::Write,
    net::SocketAddr,
    os::unix::{fs::PermissionsExt, net::UnixListener},
    path::{Path, PathBuf},
    time::Duration,
};

use ambo_sql::Database;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use crate::{Error, Options, Protocol, Result, Running, Server, http::Listener};

/// The file that says who serves.
pub(crate) const TOLD: &str = "server.json";
const SOCKET: &str = "ambo.sock";
/// As long as the path of a socket may be.
const PATH_MAX: usize = 100;

/// Who serves a database to programs of the same user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Host {
    /// The process.
    pub pid: u32,
    /// Its version of Ambo.
    pub version: String,
    /// Where its socket is.
    pub socket: PathBuf,
    /// Where it listens besides: the protocol and the address.
    #[serde(default)]
    pub addresses: Vec<(String, SocketAddr)>,
}

impl Host {
    /// Who serves the database in a directory; `None` where nobody says so.
    ///
    /// # Errors
    /// The file says something else.
    pub fn of(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(TOLD);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::new(format!("{}: {error}", path.display()))),
        };
        let host = serde_json::from_str(&text);
        host.map(Some).map_err(|error| Error::new(format!("{}: {error}", path.display())))
    }
}

/// A socket that is listened at. It is gone when this is dropped.
pub(crate) struct OwnSocket {
    directory: PathBuf,
    path: PathBuf,
}

impl OwnSocket {
    pub(crate) fn bind(directory: &Path) -> Result<(Self, Listener)> {
        let path = place(directory)?;
        let failed = |error: std::io::Error| Error::new(format!("{}: {error}", path.display()));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let socket = Self { directory: directory.to_owned(), path: path.clone() };
        fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed)?;
        Ok((socket, Listener::Own(listener)))
    }

    /// Says where it is. Who reads it reads all of it or nothing.
    pub(crate) fn tell(&self, addresses: &[(Protocol, SocketAddr)]) -> Result<()> {
        let host = Host {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            socket: self.path.clone(),
            addresses: addresses.iter().map(|(of, address)| (of.name().to_owned(), *address)).collect(),
        };
        let (path, new) = (self.directory.join(TOLD), self.directory.join("server.json.new"));
        let text = serde_json::to_string(&host).map_err(|error| Error::new(error.to_string()))?;
        let written = fs::File::create(&new)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::set_permissions(&new, Permissions::from_mode(0o600)))
            .and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| Error::new(format!("{}: {error}", path.display())))
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        // What stays is taken away by who comes next.
        let _unless_gone = fs::remove_file(self.directory.join(TOLD));
        let _unless_gone = fs::remove_file(&self.path);
    }
}

/// Where the socket of a directory is.
fn place(directory: &Path) -> Result<PathBuf> {
    let failed = |path: &Path, error: std::io::Error| Error::new(format!("{}: {error}", path.display()));
    let whole = directory.canonicalize().map_err(|error| failed(directory, error))?;
    let own = whole.join(SOCKET);
    if own.as_os_str().len() <= PATH_MAX {
        return Ok(own);
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    // SAFETY: it takes nothing and always succeeds.
    let user = unsafe { libc::geteuid() };
    let folder = runtime
        .map_or_else(|| std::env::temp_dir().join(format!("ambo-{user}")), |runtime| runtime.join("ambo"));
    fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    let owner = fs::symlink_metadata(&folder).map_err(|error| failed(&folder, error))?;
    if !owner.is_dir() || std::os::unix::fs::MetadataExt::uid(&owner) != user {
        return Err(Error::new(format!(
            "{} is another user's, and sockets of ours would be there: say XDG_RUNTIME_DIR",
            folder.display()
        )));
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).map_err(|error| failed(&folder, error))?;
    let hash = digest(&SHA256, whole.as_os_str().as_encoded_bytes());
    let name: String = hash.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(folder.join(format!("{name}.sock")))
}

/// A database that programs of the same user work with through this process, until this is dropped.
pub struct Attached(Option<Running>);

impl Attached {
    /// What serves them.
    pub fn running(&self) -> Option<&Running> {
        self.0.as_ref()
    }

    /// Lets no more programs in. Statements that run have so long.
    pub fn detach(mut self, patience: Duration) {
        if let Some(running) = self.0.take() {
            running.shutdown(patience);
        }
    }
}

/// Has programs of the same user work with a database that this one has open, in this directory: `ambo DIR` and `ambo get` do so by
/// themselves, others with a [`Client`](crate::Client).
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("db");
/// let db = ambo_sql::Database::open(&path)?;
/// db.sql("create table t (id int primary key)")?;
/// let attached = ambo_server::attach(&db, &path)?;
/// // In another process:
/// let mut client = ambo_server::Client::of(&path)?.expect("somebody serves it");
/// assert_eq!(client.query("insert into t values (1), (2)", || true, |_| true)?.affected, Some(2));
/// drop(client);
/// assert_eq!(db.table("t")?.len()?, 2);
/// attached.detach(std::time::Duration::from_secs(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The socket cannot be made.
pub fn attach(database: &Database, directory: impl AsRef<Path>) -> Result<Attached> {
    let options = Options::new().own_socket(directory.as_ref());
    Server::start(database.clone(), options).map(|running| Attached(Some(running)))
}
