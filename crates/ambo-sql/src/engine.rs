//! What all connections to a database share: the planner's functions and settings, its memory, and its threads.

use std::{
    num::NonZeroUsize,
    ops::Deref,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use ambo::{Records, Storage, give_way};
use datafusion::{
    execution::{
        SessionState, SessionStateBuilder,
        disk_manager::{DiskManagerBuilder, DiskManagerMode},
        memory_pool::FairSpillPool,
        runtime_env::{RuntimeEnv, RuntimeEnvBuilder},
    },
    prelude::SessionConfig,
};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::{
    Error, ErrorKind, Result,
    databases::Attached,
    foreign_keys,
    functions::{BitOperators, JsonOperators, add_functions},
    joins::ByCodes,
    numbers::{WholeQuotients, WideBits},
    optimizer::{QueryPlanner, analyzer_rules, logical_rules, physical_rules},
    planner::{EnumOperators, NestedValues, Truths},
    prepared::KnownStatements,
    rights::Keeper,
    sequences::Sequences,
    session::machine_time,
    settings::Settings,
    stack,
    times::TimeOperators,
    window::window_functions,
};

/// How statements are run.
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a database is opened with them"]
pub struct SqlOptions {
    pub(crate) threads: usize,
    memory_bytes: usize,
    default_storage: Storage,
    pub(crate) default_records: Records,
    niceness: u8,
    divides_finely: bool,
}

impl Default for SqlOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            threads,
            memory_bytes: 4 << 30,
            default_storage: Storage::Column,
            default_records: Records::default(),
            niceness: 5,
            divides_finely: false,
        }
    }
}

impl SqlOptions {
    /// As many threads as the machine has processors, 4 GiB, and tables of storage column.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many threads work on a statement, at least one.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// How much memory the operators of all statements may use together; what does not fit goes to temporary files where an operator can
    /// do with that, and is an error elsewhere.
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// The storage of tables whose CREATE TABLE does not say.
    pub fn default_storage(mut self, storage: Storage) -> Self {
        self.default_storage = storage;
        self
    }

    /// What tables of storage append say of their records where neither CREATE TABLE nor another table says it.
    pub fn default_records(mut self, records: Records) -> Self {
        self.default_records = records;
        self
    }

    /// How far the threads that work on statements beside those of their callers stand behind all other threads of the machine, in steps of
    /// `nice(1)`; 5 unless said otherwise. While there are processors for all, that changes nothing; where analytics and transactions want
    /// the same ones, transactions go first. On Linux only.
    pub fn niceness(mut self, steps: u8) -> Self {
        self.niceness = steps;
        self
    }

    /// Divides few rows among operators and threads as if they were many, so that tests of small tables meet the plans of large ones.
    #[doc(hidden)]
    pub fn divide_finely(mut self, on: bool) -> Self {
        self.divides_finely = on;
        self
    }

    pub(crate) fn parts(&self) -> (usize, usize, Storage) {
        (self.threads, self.memory_bytes, self.default_storage)
    }
}

/// Up to this size the smaller side of a join is one hash table that all threads share, made by one of them. Beyond, both sides are
/// divided among the threads by their keys, which costs a copy of the larger one.
const ONE_TABLE_BYTES: usize = 256 << 20;
const ONE_TABLE_ROWS: usize = 4 << 20;

/// Integer keys in a range of this width, or that are at least this share of their range, are looked up in an array instead of a hash
/// table: four bytes for each number of the range.
const DENSE_RANGE: usize = 1 << 20;
const DENSE_SHARE: f64 = 0.02;

/// The rows of a batch in tests of small tables.
const FEW_ROWS: usize = 3;

/// How long the end of a database waits for threads that still work on statements which nobody waits for.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// A database with what SQL keeps for it.
pub(crate) struct SqlEngine {
    /// First to go: its threads have tables of the database.
    host: Arc<Host>,
    pub known: KnownStatements,
    pub sequences: Arc<Sequences>,
    pub foreign_keys: foreign_keys::AreThere,
    pub db: ambo::Database,
}

/// What databases share that are used by the same connections: one's own, and those beside it.
pub(crate) struct Host {
    pub options: SqlOptions,
    pub settings: Settings,
    /// Whether statements may write rows that do not fit into memory to temporary files: not where the database is encrypted.
    pub spills: bool,
    pub attached: Attached,
    /// Who keeps passwords and roles of its own, where the database is served.
    pub keeper: OnceLock<Arc<dyn Keeper>>,
    /// When the first of them was opened.
    pub opened: SystemTime,
    state: Mutex<Option<Arc<SessionState>>>,
    runtime: OnceLock<Runtime>,
}

impl SqlEngine {
    pub(crate) fn new(db: ambo::Database, options: SqlOptions) -> Self {
        let host = Host {
            settings: Settings::new(&options),
            spills: db.data_keys().is_none(),
            options,
            attached: Attached::default(),
            keeper: OnceLock::new(),
            opened: machine_time(),
            state: Mutex::default(),
            runtime: OnceLock::new(),
        };
        Self::on(Arc::new(host), db)
    }

    /// A database beside another.
    pub(crate) fn beside(&self, db: ambo::Database) -> Self {
        Self::on(self.host.clone(), db)
    }

    fn on(host: Arc<Host>, db: ambo::Database) -> Self {
        Self {
            host,
            known: KnownStatements::default(),
            sequences: Arc::new(Sequences::new(db.clone())),
            foreign_keys: foreign_keys::AreThere::default(),
            db,
        }
    }
}

impl Deref for SqlEngine {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

impl Host {
    /// The planner's state; made when first a statement needs the planner.
    pub(crate) fn state(&self) -> Result<Arc<SessionState>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = &*state {
            return Ok(state.clone());
        }
        let made = Arc::new(self.make_state()?);
        *state = Some(made.clone());
        Ok(made)
    }

    /// Gives the operators of statements that begin from now on so much memory.
    pub(crate) fn set_memory_bytes(&self, bytes: usize) {
        self.settings.set_memory_bytes(bytes);
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn make_state(&self) -> Result<SessionState> {
        let mut config = SessionConfig::new().with_target_partitions(self.options.threads);
        if self.options.divides_finely {
            config = config.with_batch_size(FEW_ROWS);
        }
        let options = config.options_mut();
        options.catalog.create_default_catalog_and_schema = false;
        options.sql_parser.collect_spans = true;
        // Ours knows which orders of queries within others count.
        options.sql_parser.enable_subquery_sort_elimination = false;
        options.sql_parser.parse_float_as_decimal = true;
        options.sql_parser.map_string_types_to_utf8view = false;
        options.execution.parquet.schema_force_view_types = false;
        options.execution.parquet.coerce_int96 = Some("us".to_owned());
        // Operators and expressions know less exactly than plans what cannot be NULL (CASE), which is no error.
        options.execution.skip_physical_aggregate_schema_check = true;
        options.optimizer.hash_join_single_partition_threshold = ONE_TABLE_BYTES;
        options.optimizer.hash_join_single_partition_threshold_rows = ONE_TABLE_ROWS;
        options.execution.perfect_hash_join_small_build_threshold = DENSE_RANGE;
        options.execution.perfect_hash_join_min_key_density = DENSE_SHARE;
        if self.options.divides_finely {
            options.optimizer.hash_join_single_partition_threshold = 0;
            options.optimizer.hash_join_single_partition_threshold_rows = 0;
        }
        let by_codes = if self.options.divides_finely { ByCodes::Always } else { ByCodes::WhereWorth };
        let mut state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(self.runtime_env()?)
            .with_expr_planners(vec![
                Arc::new(WholeQuotients),
                Arc::new(BitOperators),
                Arc::new(WideBits),
                Arc::new(Truths),
                Arc::new(EnumOperators),
                Arc::new(JsonOperators),
                Arc::new(NestedValues),
                Arc::new(TimeOperators),
            ])
            .with_default_features()
            .with_window_functions(window_functions())
            .with_analyzer_rules(analyzer_rules())
            .with_optimizer_rules(logical_rules())
            .with_query_planner(Arc::new(QueryPlanner { by_codes }))
            .with_physical_optimizer_rules(physical_rules())
            .build();
        add_functions(&mut state)?;
        Ok(state)
    }

    fn runtime_env(&self) -> Result<Arc<RuntimeEnv>> {
        let pool = Arc::new(FairSpillPool::new(self.settings.memory_bytes()));
        let mode = match self.spills {
            true => DiskManagerMode::OsTmpDirectory,
            false => DiskManagerMode::Disabled,
        };
        let files = DiskManagerBuilder::default().with_mode(mode);
        Ok(Arc::new(
            RuntimeEnvBuilder::new().with_memory_pool(pool).with_disk_manager_builder(files).build()?,
        ))
    }

    /// The threads that work on statements beside the caller's own; started when first a statement needs them.
    pub(crate) fn runtime(&self) -> Result<&Handle> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime.handle());
        }
        let niceness = self.options.niceness;
        let made = Builder::new_multi_thread()
            .worker_threads(self.options.threads)
            .thread_name("ambo-sql")
            .enable_time()
            .thread_stack_size(stack::OF_THREADS)
            .on_thread_start(move || give_way(niceness))
            .build()
            .map_err(|error| Error::new(ErrorKind::Execution, format!("starting threads: {error}")))?;
        Ok(self.runtime.get_or_init(|| made).handle())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        // What still runs belongs to statements that nobody waits for. It holds the tables, so whoever opens the database again soon
        // would find it in use.
        match Handle::try_current() {
            Ok(_) => runtime.shutdown_background(),
            Err(_) => runtime.shutdown_timeout(LEFT_ALONE),
        }
    }
}
