//! `/metrics`, in the text that Prometheus reads (0.0.4), and `/health`.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{App, blocking, catalog::Json, problem::Problem, sessions};

/// Upper ends of the classes of times, in seconds.
const CLASSES: [f64; 11] = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// What was counted since the server started.
pub(crate) struct Figures {
    began: Instant,
    requests: Mutex<BTreeMap<(String, u16), u64>>,
    /// Those of Flight: what was asked for, and the code of gRPC.
    calls: Mutex<BTreeMap<(&'static str, i32), u64>>,
    statements: Mutex<BTreeMap<&'static str, u64>>,
    classes: [AtomicU64; CLASSES.len()],
    micros: AtomicU64,
    rows: AtomicU64,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            requests: Mutex::default(),
            calls: Mutex::default(),
            statements: Mutex::default(),
            classes: Default::default(),
            micros: AtomicU64::new(0),
            rows: AtomicU64::new(0),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Figures {
    /// A request was answered.
    pub(crate) fn answered(&self, method: &Method, status: StatusCode) {
        // Methods that somebody makes up would be as many lines.
        let known = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::HEAD, Method::OPTIONS];
        let method = if known.contains(method) { method.as_str() } else { "other" };
        *locked(&self.requests).entry((method.to_owned(), status.as_u16())).or_default() += 1;
    }

    /// A request of Flight has its first answer.
    #[cfg(feature = "flight")]
    pub(crate) fn called(&self, method: &'static str, code: i32) {
        *locked(&self.calls).entry((method, code)).or_default() += 1;
    }

    /// A statement has said its first word, or failed before.
    pub(crate) fn ran(&self, took: Duration, problem: Option<&Problem>) {
        let code = problem.map_or("00000", |problem| problem.code.unwrap_or("XX000"));
        *locked(&self.statements).entry(code).or_default() += 1;
        for (class, end) in self.classes.iter().zip(CLASSES) {
            class.fetch_add(u64::from(took.as_secs_f64() <= end), Ordering::Relaxed);
        }
        self.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Rows were given to a client.
    pub(crate) fn returned(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    fn write(&self, out: &mut Page) {
        out.kind("ambo_http_requests_total", "counter", "Requests that were answered.");
        for ((method, status), count) in &*locked(&self.requests) {
            out.line(
                &format!("ambo_http_requests_total{{method=\"{method}\",status=\"{status}\"}}"),
                *count as f64,
            );
        }
        out.kind(
            "ambo_flight_requests_total",
            "counter",
            "Requests of Flight, by the code of gRPC; 0: it was begun.",
        );
        for ((method, code), count) in &*locked(&self.calls) {
            let name = format!("ambo_flight_requests_total{{method=\"{method}\",code=\"{code}\"}}");
            out.line(&name, *count as f64);
        }
        out.kind("ambo_http_statements_total", "counter", "Statements of HTTP and Flight, by SQLSTATE.");
        let statements = locked(&self.statements).clone();
        for (code, count) in &statements {
            out.line(&format!("ambo_http_statements_total{{code=\"{code}\"}}"), *count as f64);
        }
        out.kind("ambo_http_statement_seconds", "histogram", "Times from a statement to its first rows.");
        for (class, end) in self.classes.iter().zip(CLASSES) {
            let count = class.load(Ordering::Relaxed) as f64;
            out.line(&format!("ambo_http_statement_seconds_bucket{{le=\"{end}\"}}"), count);
        }
        let all = statements.values().sum::<u64>() as f64;
        out.line("ambo_http_statement_seconds_bucket{le=\"+Inf\"}", all);
        out.line("ambo_http_statement_seconds_sum", self.micros.load(Ordering::Relaxed) as f64 / 1e6);
        out.line("ambo_http_statement_seconds_count", all);
        out.one(
            "ambo_http_rows_total",
            "counter",
            "Rows that were returned.",
            self.rows.load(Ordering::Relaxed) as f64,
        );
        out.one(
            "ambo_uptime_seconds",
            "gauge",
            "Since the server began.",
            self.began.elapsed().as_secs_f64(),
        );
    }
}

/// A page of figures.
#[derive(Default)]
struct Page(String);

impl Page {
    fn kind(&mut self, name: &str, kind: &str, help: &str) {
        // Memory takes any text.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, value: f64) {
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.kind(name, kind, help);
        self.line(name, value);
    }
}

fn of_sessions(app: &App, out: &mut Page) {
    let mut counts = BTreeMap::<_, u64>::new();
    for session in app.shared.sessions.list() {
        *counts.entry((session.protocol, session.state)).or_default() += 1;
    }
    out.kind("ambo_sessions", "gauge", "Sessions, by protocol and what they do.");
    for ((protocol, state), count) in counts {
        out.line(&format!("ambo_sessions{{protocol=\"{protocol}\",state=\"{state}\"}}"), count as f64);
    }
}

fn of_database(info: &ambo::Info, out: &mut Page) {
    let figures = [
        ("ambo_tables", "gauge", "Tables.", info.tables.len() as u64),
        ("ambo_damaged_tables", "gauge", "Tables that cannot be read.", info.damaged.len() as u64),
        ("ambo_pages_file_bytes", "gauge", "Bytes of the file of pages.", info.file_bytes),
        ("ambo_segments", "gauge", "Segments of column tables.", info.segments),
        ("ambo_segment_bytes", "gauge", "Bytes of their files.", info.segment_bytes),
        ("ambo_log_bytes", "gauge", "Bytes of the log.", info.log_bytes),
        ("ambo_log_segments", "gauge", "Files of the log.", info.log_segments),
        ("ambo_memtable_bytes", "gauge", "Bytes that are not compacted yet.", info.memtable_bytes),
        ("ambo_memtable_budget_bytes", "gauge", "How many there may be.", info.memtable_budget),
        ("ambo_cache_budget_bytes", "gauge", "Bytes that caches may have.", info.cache_bytes),
        ("ambo_block_cache_bytes", "gauge", "Bytes of blocks in memory.", info.block_cache_bytes),
        ("ambo_block_hits_total", "counter", "Blocks that were found in memory.", info.block_hits),
        ("ambo_block_misses_total", "counter", "Blocks that were read from files.", info.block_misses),
        ("ambo_checkpoints_total", "counter", "Checkpoints since the database was made.", info.checkpoints),
        ("ambo_snapshots", "gauge", "Snapshots and transactions that are open.", info.snapshots),
        ("ambo_readers", "gauge", "Readers in other processes.", info.readers.readers),
        (
            "ambo_readers_held_pages",
            "gauge",
            "Pages that they keep from being reused.",
            info.readers.held_pages,
        ),
        (
            "ambo_readers_held_segment_bytes",
            "gauge",
            "Bytes of segments that they keep.",
            info.readers.held_segment_bytes,
        ),
        (
            "ambo_readers_oldest_age_milliseconds",
            "gauge",
            "How long ago the oldest checkpoint was made that they read.",
            info.readers.oldest_age.map_or(0, |age| age.as_millis() as u64),
        ),
    ];
    for (name, kind, help, value) in figures {
        out.one(name, kind, help, value as f64);
    }
}

/// What the system says of the process, where it does.
fn of_process(out: &mut Page) {
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        if let Some(kilobytes) = field("VmRSS:") {
            out.one("process_resident_memory_bytes", "gauge", "Bytes in memory.", kilobytes * 1024.0);
        }
        if let Some(threads) = field("Threads:") {
            out.one("process_threads", "gauge", "Threads.", threads);
        }
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        out.one("process_open_fds", "gauge", "Open files.", files.count() as f64);
    }
}

/// `GET /metrics`.
pub(crate) async fn metrics(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    sessions::client(&request)?;
    let page = blocking(move || {
        let mut page = Page::default();
        app.figures.write(&mut page);
        of_sessions(&app, &mut page);
        of_database(&app.shared.database.info()?, &mut page);
        of_process(&mut page);
        Ok(page.0)
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response())
}

/// `GET /health`: 503 when the server stops.
pub(crate) async fn health(State(app): State<Arc<App>>) -> Response {
    match app.shared.is_stopping() {
        false => Json(json!({ "status": "ok", "version": env!("CARGO_PKG_VERSION") })).into_response(),
        true => Problem::busy("the server is stopping").into_response(),
    }
}
