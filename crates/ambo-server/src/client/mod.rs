//! A client of the socket of [`attach`](crate::attach()): statements, keys and values, one after the other.
//!
//! It is for programs that wait; its own runtime moves the bytes. What it waits for ends when it is told to, or dropped.

mod error;
mod wire;

use std::{
    io,
    path::Path,
    time::{Duration, Instant},
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hyper::Method;
use serde_json::Value as Json;
use tokio::runtime;

pub use error::ClientError;
use wire::{Body, GLANCE};

use crate::{Error, Host, Result};

type Answered<T> = std::result::Result<T, ClientError>;

/// What a statement did.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Its kind, in capitals.
    pub tag: String,
    /// How many rows it changed.
    pub affected: Option<u64>,
    /// The columns of its rows; none for a statement without rows.
    pub schema: SchemaRef,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
}

/// Which keys.
#[derive(Clone, Debug, Default)]
pub struct Range {
    /// From this key on.
    pub from: Option<Vec<u8>>,
    /// Up to this key, without it.
    pub to: Option<Vec<u8>>,
    /// Those that begin with this.
    pub prefix: Option<Vec<u8>>,
    /// At most so many.
    pub limit: Option<u64>,
    /// From the last to the first.
    pub reverse: bool,
}

/// See the module. Statements work in one session, so transactions and settings stay from one to the next.
pub struct Client {
    runtime: runtime::Runtime,
    host: Host,
    session: Option<String>,
}

/// How long a statement waits for the one before it.
const BUSY: Duration = Duration::from_secs(5);
/// How long a session is kept that asks nothing, the longest that there is.
const IDLE_MS: u32 = 600_000;

impl Client {
    /// A client of whoever has the database in a directory open; `None` where nobody lets others in.
    ///
    /// # Errors
    /// What the directory says is not readable; the runtime cannot be made.
    pub fn of(directory: &Path) -> Result<Option<Self>> {
        let Some(host) = Host::of(directory)? else { return Ok(None) };
        // What is dropped closes its connection though nobody waits.
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("ambo-client")
            .enable_all()
            .build()
            .map_err(|error| Error::new(error.to_string()))?;
        let client = Self { runtime, host, session: None };
        // A process that was killed has left its file.
        Ok(client.request(Method::GET, "/health", &[], Bytes::new()).is_ok().then_some(client))
    }

    /// Who serves.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Runs a statement. `take` is given its rows as they come. Where that returns `false`, or `goes_on`, which is asked while there are
    /// none, the statement is ended.
    ///
    /// # Errors
    /// What is wrong with it. A session that did nothing for ten minutes has ended: it begins anew.
    pub fn query(
        &mut self,
        statement: &str,
        goes_on: impl Fn() -> bool,
        mut take: impl FnMut(&RecordBatch) -> bool,
    ) -> Answered<Reply> {
        let session = self.session()?;
        let headers = [("content-type", "application/sql"), ("ambo-session", session.as_str())];
        let statement = Bytes::copy_from_slice(statement.as_bytes());
        let path = "/sql?format=arrow";
        let began = Instant::now();
        let answer = loop {
            match self.send(Method::POST, path, &headers, statement.clone(), &goes_on) {
                // The one before was interrupted, and ends.
                Err(error) if error.kind == "busy" && began.elapsed() < BUSY => std::thread::sleep(GLANCE),
                answer => break answer,
            }
        };
        let answer = match answer {
            Err(error) if error.message.contains("no such session") => {
                self.session = None;
                return Err(ClientError::new(
                    "session",
                    "the session has ended, because nothing was asked of it for ten minutes: what was set and not committed is gone",
                ));
            }
            other => other?,
        };
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let tag = header("ambo-tag").unwrap_or_default().to_owned();
        let affected = header("ambo-affected").and_then(|rows| rows.parse().ok());
        let wrong = |error: arrow_schema::ArrowError| ClientError::lost(error);
        let body = Body { client: self, body: answer.into_body(), held: Bytes::new(), goes_on: &goes_on };
        let reader = StreamReader::try_new(body, None).map_err(wrong)?;
        let schema = reader.schema();
        for batch in reader {
            if !take(
                &batch.map_err(|error| if goes_on() { wrong(error) } else { ClientError::interrupted() })?,
            ) {
                return Err(ClientError::interrupted());
            }
        }
        Ok(Reply { tag, affected, schema })
    }

    /// The names of all tables, those of the schema `main` without it, each with whether it is one of keys and values.
    ///
    /// # Errors
    /// Whoever serves does not answer.
    pub fn tables(&mut self) -> Answered<Vec<String>> {
        let json = self.json(Method::GET, "/tables", Bytes::new())?;
        let name = |table: &Json| match (table["schema"].as_str()?, table["name"].as_str()?) {
            (ambo::DEFAULT_SCHEMA, name) => Some(name.to_owned()),
            (schema, name) => Some(format!("{schema}.{name}")),
        };
        let tables = json["tables"].as_array().into_iter().flatten();
        Ok(tables.filter(|table| table["kind"] == "table").filter_map(name).collect())
    }

    /// The value of a key.
    ///
    /// # Errors
    /// There is no such table, or it has columns.
    pub fn get(&mut self, table: &str, key: &[u8]) -> Answered<Option<Vec<u8>>> {
        match self.request(Method::GET, &place(table, key), &[], Bytes::new()) {
            Ok(value) => Ok(Some(value.to_vec())),
            Err(error) if error.message.contains("no such key") => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a key, into a table of keys and values that is made if it is not there.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn put(&mut self, table: &str, key: &[u8], value: &[u8]) -> Answered<()> {
        let path = format!("{}?create", place(table, key));
        self.request(Method::PUT, &path, &[], Bytes::copy_from_slice(value)).map(drop)
    }

    /// Deletes a key; whether it was there.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn delete(&mut self, table: &str, key: &[u8]) -> Answered<bool> {
        match self.request(Method::DELETE, &place(table, key), &[], Bytes::new()) {
            Ok(_) => Ok(true),
            Err(error) if error.message.contains("no such key") => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The entries of a range, each handed to `take` until that returns `false`.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn scan(&mut self, table: &str, range: &Range, mut take: impl FnMut(Entry) -> bool) -> Answered<()> {
        let path = format!("/kv/{}?{}", encoded(table.as_bytes()), range.query());
        let headers = [("accept", "application/x-ndjson")];
        let answer = self.send(Method::GET, &path, &headers, Bytes::new(), &|| true)?;
        let body = Body { client: self, body: answer.into_body(), held: Bytes::new(), goes_on: &|| true };
        for line in io::BufRead::lines(io::BufReader::new(body)) {
            let line = line.map_err(ClientError::lost)?;
            let json: Json = serde_json::from_str(&line).map_err(ClientError::lost)?;
            let bytes = |name: &str| match (json[name].as_str(), json[format!("{name}_base64")].as_str()) {
                (Some(text), _) => Some(text.as_bytes().to_vec()),
                (None, Some(text)) => STANDARD.decode(text).ok(),
                (None, None) => None,
            };
            let (Some(key), Some(value)) = (bytes("key"), bytes("value")) else {
                return Err(ClientError::of(json.get("error").unwrap_or(&json)));
            };
            if !take(Entry { key, value }) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// How many entries a range has.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub fn count(&mut self, table: &str, range: &Range) -> Answered<u64> {
        let path = format!("/kv/{}?count=true&{}", encoded(table.as_bytes()), range.query());
        let json = self.json(Method::GET, &path, Bytes::new())?;
        json["count"].as_u64().ok_or_else(|| ClientError::of(&json))
    }

    fn session(&mut self) -> Answered<String> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let json = self.json(Method::POST, &format!("/sessions?idle_ms={IDLE_MS}"), Bytes::new())?;
        let session = json["session"].as_str().ok_or_else(|| ClientError::of(&json))?.to_owned();
        self.session = Some(session.clone());
        Ok(session)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            // It would end by itself.
            let _unless_gone =
                self.request(Method::DELETE, &format!("/sessions/{session}"), &[], Bytes::new());
        }
    }
}

impl Range {
    fn query(&self) -> String {
        let bytes = |name: &str, value: &Option<Vec<u8>>| {
            value.as_ref().map(|value| format!("{name}={}", encoded(value)))
        };
        let parts = [
            bytes("from", &self.from),
            bytes("to", &self.to),
            bytes("prefix", &self.prefix),
            self.limit.map(|limit| format!("limit={limit}")),
            self.reverse.then(|| "reverse=true".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("&")
    }
}

fn place(table: &str, key: &[u8]) -> String {
    format!("/kv/{}/{}", encoded(table.as_bytes()), encoded(key))
}

/// Bytes as a part of a path or a query.
fn encoded(bytes: &[u8]) -> String {
    let one = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.iter().map(one).collect()
}
