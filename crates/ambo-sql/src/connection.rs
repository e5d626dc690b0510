//! A connection: where statements run, one after the other, in transactions.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ambo::{CatalogEdit, Datum, Definitions, Read, Snapshot, Table, Transaction};
use datafusion::{common::ScalarValue, logical_expr::TableSource};

use crate::{
    Error, ErrorKind, Result, Rows,
    convert::Params,
    databases::{Kind, Place, Scope, Seen, no_transaction},
    engine::SqlEngine,
    fast::FastPlan,
    foreign_keys,
    parse::{Statement, parse},
    pg_catalog::PostgresSession,
    planner::Planner,
    prepared::{Known, PreparedStatement, SEVERAL, check_parameters},
    rights,
    session::{Session, machine_time},
    sources::{OnMissing, Sources},
    stack,
    statement::{self, Prepared},
    times::Zone,
    value::{make_one_nan, scalar},
    wait::Interrupter,
};

/// A connection to a database. Statements run in the transaction that BEGIN opened, or each in one of its own.
///
/// ```
/// let db = ambo_sql::Database::in_memory()?;
/// let mut connection = db.connect();
/// connection.script("create table accounts (id int primary key, cents bigint not null); begin;")?;
/// connection.execute("insert into accounts values ($1, $2)", (1, 500i64))?;
/// let cents: i64 = connection.query("select cents from accounts where id = $1", (1,))?.single()?.into_values()?;
/// assert_eq!(cents, 500);
/// connection.execute("rollback", ())?;
/// assert_eq!(connection.sql("select * from accounts")?.count(), 0);
/// # Ok::<(), ambo_sql::Error>(())
/// ```
pub struct Connection {
    /// The database that statements are about.
    pub(crate) home: Place,
    /// The others that it has beside its own.
    pub(crate) others: Vec<Place>,
    prepared: HashMap<String, Prepared>,
    interrupter: Interrupter,
    progress: Telling,
    pub(crate) session: Session,
    on_missing: Option<OnMissing>,
}

/// What a transaction is protected from. See [`ambo::Database::begin`] and its sisters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Isolation {
    ReadCommitted,
    Snapshot,
    Serializable,
}

/// What a statement that writes has at hand.
pub(crate) struct Work<'a> {
    pub engine: &'a SqlEngine,
    pub transaction: &'a mut Transaction,
    /// The database that it writes to, without its transaction.
    pub home: (&'a str, Kind),
    /// The others.
    pub others: &'a [Place],
    pub interrupter: &'a Interrupter,
    pub params: &'a [ScalarValue],
    /// Whether the transaction is the statement's own.
    pub is_auto: bool,
    pub progress: &'a Telling,
    pub session: &'a Session,
    /// What all parts of a statement with several see, if it has several.
    pub before: Option<Arc<Snapshot>>,
    /// What parts of the statement have returned, by their names.
    pub returned: Vec<(String, Arc<dyn TableSource>)>,
    /// Rows that have another key than before.
    pub moved: Vec<foreign_keys::Moved>,
}

/// Whom to tell how many rows a statement has read so far.
#[derive(Clone, Default)]
pub(crate) struct Telling(Option<Arc<dyn Fn(u64) + Send + Sync>>);

impl Telling {
    pub(crate) fn report(&self, rows: u64) {
        if let Some(tell) = &self.0 {
            tell(rows);
        }
    }
}

impl Work<'_> {
    /// What there is, as the transaction sees it.
    pub(crate) fn definitions(&self) -> Definitions<'_> {
        self.engine.db.definitions(&*self.transaction)
    }

    /// A planner that sees what the transaction wrote so far.
    pub(crate) fn planner(&self) -> Result<Planner<'_>> {
        let home = Seen {
            name: self.home.0,
            kind: self.home.1,
            path: None,
            engine: self.engine,
            view: self.before.clone().unwrap_or_else(|| Arc::new(self.transaction.view())),
            transaction: Some(self.transaction),
        };
        let others = self.others.iter().map(Place::seen);
        let mut planner = Planner::new(home, others.collect(), self.interrupter, self.session)?;
        for (name, rows) in &self.returned {
            planner.add_table(name, rows.clone());
        }
        Ok(planner)
    }

    /// The same, in which names mean what they mean in the database that is written to, for texts that are kept there.
    pub(crate) fn own_planner(&self) -> Result<Planner<'_>> {
        Ok(self.planner()?.of_home())
    }
}

impl Connection {
    pub(crate) fn new(engine: Arc<SqlEngine>) -> Self {
        Self {
            home: Place::main(engine),
            others: Vec::new(),
            prepared: HashMap::new(),
            interrupter: Interrupter::default(),
            progress: Telling::default(),
            session: Session::default(),
            on_missing: None,
        }
    }

    /// What ends a statement of this connection from another thread.
    pub fn interrupter(&self) -> Interrupter {
        self.interrupter.without_timeout()
    }

    /// Has `tell` called with the number of rows that COPY and INSERT … SELECT have read so far, from time to time, by any thread.
    pub fn on_progress(&mut self, tell: impl Fn(u64) + Send + Sync + 'static) {
        self.progress = Telling(Some(Arc::new(tell)));
    }

    /// The time zone of the session, by its name: `SET TIME ZONE` says which.
    pub fn time_zone(&self) -> String {
        self.session.zone.name()
    }

    pub(crate) fn set_zone(&mut self, zone: Zone) {
        self.session.zone = zone;
    }

    pub(crate) fn progress(&self) -> &Telling {
        &self.progress
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.session.sources
    }

    pub(crate) fn sources_mut(&mut self) -> &mut Arc<Sources> {
        &mut self.session.sources
    }

    pub(crate) fn on_missing_mut(&mut self) -> &mut Option<OnMissing> {
        &mut self.on_missing
    }

    /// Has `act` called about each `every` while a statement of this connection is waited for, by the thread that waits; where it returns
    /// `false`, the statement ends with [`ErrorKind::Cancelled`]. What an interpreter does between its own steps has its place here, such
    /// as looking for signals. It must not use the connection.
    ///
    /// ```
    /// use std::time::Duration;
    /// let db = ambo_sql::Database::in_memory()?;
    /// let mut connection = db.connect();
    /// connection.on_wait(Duration::from_millis(10), || false);
    /// let endless = "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t";
    /// let error = connection.sql(endless).and_then(|rows| rows.single()).unwrap_err();
    /// assert_eq!(error.kind(), ambo_sql::ErrorKind::Cancelled);
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    pub fn on_wait(&mut self, every: Duration, act: impl FnMut() -> bool + Send + 'static) {
        self.interrupter.set_hook(every, Box::new(act));
    }

    /// Whether a transaction is open.
    pub fn in_transaction(&self) -> bool {
        !matches!(self.home.scope, Scope::Auto)
    }

    /// The open transaction, for what is done in it without SQL; `None` if none is open or it is read only.
    ///
    /// ```
    /// let db = ambo_sql::Database::in_memory()?;
    /// let notes = db.key_value("notes")?;
    /// let mut connection = db.connect();
    /// connection.sql("begin")?;
    /// connection.transaction().expect("just begun").put(&notes, b"a", b"1")?;
    /// assert_eq!(connection.sql("select * from notes")?.count(), 1);
    /// connection.sql("rollback")?;
    /// assert_eq!(notes.len()?, 0);
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    pub fn transaction(&mut self) -> Option<&mut Transaction> {
        match &mut self.home.scope {
            Scope::Open(open) => {
                open.has_written = true;
                Some(&mut open.transaction)
            }
            Scope::Auto | Scope::ReadOnly(..) => None,
        }
    }

    /// What the open transaction sees, if it is one that only reads; for what is read in it without SQL.
    pub fn read_only_view(&self) -> Option<Arc<Snapshot>> {
        match &self.home.scope {
            Scope::ReadOnly(snapshot, _) => Some(snapshot.clone()),
            Scope::Auto | Scope::Open(_) => None,
        }
    }

    /// Runs a statement; of several, one after the other, the rows are those of the last.
    ///
    /// # Errors
    /// [`Error`] that says what is wrong and where. The statement has changed nothing then; an open transaction stays open.
    pub fn sql(&mut self, statement: &str) -> Result<Rows<'_>> {
        self.query(statement, ())
    }

    /// Runs a statement with values for its parameters, `$1`, `$2` … or `?`. Several statements without parameters are run one after the
    /// other; the rows are those of the last.
    ///
    /// # Errors
    /// As [`Connection::sql`]; of several statements, that of the first that fails. Those before it have been done.
    pub fn query(&mut self, statement: &str, params: impl Params) -> Result<Rows<'_>> {
        self.run(statement, params)
    }

    /// As [`Connection::query`], with rows that need the connection no longer: others may be taken at the same time, and statements run
    /// between. They are those of the moment when the statement began, and stay so when the transaction ends. An
    /// [`Interrupter`] of the connection ends all of them.
    ///
    /// ```
    /// let db = ambo_sql::Database::in_memory()?;
    /// let mut connection = db.connect();
    /// connection.script("create table t (id int primary key); insert into t values (1), (2)")?;
    /// let rows = connection.run("select id from t order by id", ())?;
    /// for row in rows {
    ///     let id: i32 = row?.into_values()?;
    ///     connection.execute("insert into t values ($1)", (id + 10,))?;
    /// }
    /// assert_eq!(connection.sql("select * from t")?.count(), 4);
    /// # Ok::<(), ambo_sql::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub fn run(&mut self, statement: &str, params: impl Params) -> Result<Rows<'static>> {
        let params = params.values();
        let rows = match self.known(statement) {
            Ok(known) => self.run_known(&known, params),
            Err(error) if params.is_empty() && error.message() == SEVERAL => {
                stack::for_text(statement, || self.run_all(statement))
            }
            Err(error) => Err(error),
        };
        Ok(rows?.keeping(&self.home.engine))
    }

    /// Runs statements one after the other.
    fn run_all(&mut self, statements: &str) -> Result<Rows<'static>> {
        let mut last = None;
        for statement in parse(statements)? {
            if let Some(rows) = last.take() {
                Rows::finish(rows)?;
            }
            let known = Known::of(&self.home.engine.db, statement)?;
            last = Some(self.run_known(&known, Vec::new())?);
        }
        last.ok_or_else(|| Error::new(ErrorKind::Syntax, "there is no statement"))
    }

    /// Reads a statement, to run it often.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Syntax`] with the place.
    pub fn prepare(&self, statement: &str) -> Result<PreparedStatement> {
        Ok(PreparedStatement::new(statement, self.known(statement)?))
    }

    /// Says that a client of PostgreSQL works with it: what that is told by functions and settings, and that it sees `information_schema`
    /// as PostgreSQL has it.
    pub fn set_postgres(&mut self, client: PostgresSession) {
        self.session.postgres = Some(Arc::new(client));
    }

    pub(crate) fn known(&self, statement: &str) -> Result<Arc<Known>> {
        self.home.engine.known.get(&self.home.engine.db, statement)
    }

    /// Has the next statement see what others have committed, if that is how the transaction reads.
    fn begin_statement(&mut self) -> Result<()> {
        self.refresh_role()?;
        match self.others.is_empty() {
            true => self.home.refresh(),
            false => {
                self.tidy();
                self.places_mut().try_for_each(Place::refresh)
            }
        }
    }

    pub(crate) fn run_known(&mut self, known: &Known, mut params: Vec<Datum>) -> Result<Rows<'static>> {
        check_parameters(known, &params)?;
        params.iter_mut().for_each(make_one_nan);
        self.interrupter.set_timeout(self.session.statement_timeout);
        self.begin_statement()?;
        if let Some(fast) = self.fast(known, &params)
            && let Some(rows) = self.run_fast(fast, &params)?
        {
            return Ok(rows);
        }
        self.session.text.clone_from(&known.text);
        let params: Vec<_> = params.iter().map(scalar).collect();
        if let Some(kept) = &known.kept
            && self.is_plain()
        {
            self.interrupter.begin();
            if let Some(rows) = stack::with_enough(|| kept.run(self, &known.statement, &params))? {
                return Ok(rows);
            }
        }
        self.run_statement(known.statement.clone(), &params)
    }

    /// The way of a statement without the planner, if it is one for this session. What clocks of other zones show is known to the planner
    /// alone, and so are other databases, and tables that only a transaction has.
    pub(crate) fn fast<'k>(&self, known: &'k Known, params: &[Datum]) -> Option<&'k FastPlan> {
        let is_own = matches!(&self.home.scope, Scope::Open(open) if open.transaction.has_own_definitions());
        known.fast.as_ref().filter(|fast| {
            !is_own
                && self.is_plain()
                && self.may_run_fast(fast)
                && (self.session.zone == Zone::UTC || !fast.reads_clocks(params))
        })
    }

    /// Whether the role may do what a statement does. What it may not is told by the planner.
    fn may_run_fast(&self, fast: &FastPlan) -> bool {
        let Some(role) = self.session.restricted() else { return true };
        let (table, rights) = fast.rights();
        let definitions = self.definitions();
        rights.iter().all(|right| role.may(&definitions, table, *right))
    }

    /// Runs a statement without the planner; `None` if it needs that after all.
    fn run_fast(&mut self, fast: &FastPlan, params: &[Datum]) -> Result<Option<Rows<'static>>> {
        // A transaction may be older than the table or the index. The planner says so.
        let is_older = |error: &Error| error.kind() == ErrorKind::NotFound;
        if !fast.writes() {
            let db = &self.home.engine.db;
            let read = match &self.home.scope {
                Scope::Auto if fast.reads_often() => fast.read(&db.snapshot(), params),
                Scope::Auto => fast.read(db, params),
                Scope::ReadOnly(snapshot, _) => fast.read(&**snapshot, params),
                Scope::Open(open) => fast.read(&open.transaction, params),
            };
            return if read.as_ref().is_err_and(is_older) { Ok(None) } else { read };
        }
        let (mut is_slow, mut tries) = (false, 0);
        let written = self.write(&[], |work| {
            tries += 1;
            if fast.deletes_range() && tries > RANGE_TRIES {
                // Others write in the range all the time. One by one only rows that they write put it off.
                is_slow = true;
                return Err(Error::invalid("the statement needs the planner"));
            }
            let written = fast.write(work.transaction, params, || work.session.now());
            is_slow = matches!(&written, Ok(None)) || written.as_ref().is_err_and(is_older);
            let written = written?;
            // An error takes back what was done so far.
            written.ok_or_else(|| Error::invalid("the statement needs the planner"))
        });
        match written {
            Err(_) if is_slow => Ok(None),
            written => Ok(Some(written?.rows(fast))),
        }
    }

    /// Runs one statement and returns how many rows it inserted, changed or deleted.
    ///
    /// # Errors
    /// As [`Connection::sql`].
    pub fn execute(&mut self, statement: &str, params: impl Params) -> Result<u64> {
        self.query(statement, params)?.finish()
    }

    /// Runs statements one after the other until one fails.
    ///
    /// # Errors
    /// That of the first statement that fails; those before it have been done.
    pub fn script(&mut self, statements: &str) -> Result<()> {
        stack::for_text(statements, || {
            for statement in parse(statements)? {
                let known = Known::of(&self.home.engine.db, statement)?;
                self.run_known(&known, Vec::new())?.finish()?;
            }
            Ok(())
        })
    }

    pub(crate) fn run_once(mut self, statement: &str) -> Result<Rows<'static>> {
        let known = self.known(statement)?;
        Ok(self.run_known(&known, Vec::new())?.keeping(&self.home.engine))
    }

    /// What comes before a statement that is not run as others are.
    pub(crate) fn begin_to_act(&mut self, statement: &Statement) -> Result<()> {
        self.interrupter.set_timeout(self.session.statement_timeout);
        self.begin_statement()?;
        self.interrupter.begin();
        self.look_for_sources(statement)
    }

    /// Runs a statement. The rows are to keep the engine, whose threads compute them.
    fn run_statement(&mut self, statement: Statement, params: &[ScalarValue]) -> Result<Rows<'static>> {
        self.interrupter.begin();
        let is_flat = statement.is_transaction();
        let act = || {
            self.look_for_sources(&statement)?;
            self.run_at_home(statement, params)
        };
        if is_flat { act() } else { stack::with_enough(act) }
    }

    /// Runs a statement in the database that it is about.
    pub(crate) fn run_at_home(
        &mut self,
        mut statement: Statement,
        params: &[ScalarValue],
    ) -> Result<Rows<'static>> {
        let home = self.home_of(&mut statement)?;
        rights::check(&self.at(home), &statement)?;
        let created = rights::created(&self.at(home), &statement);
        let result = statement::run(&mut self.at(home), statement, params);
        let result = result.and_then(|rows| match &created {
            Some(created) => rights::owned(&mut self.at(home), created).map(|()| rows),
            None => Ok(rows),
        });
        let result = result.and_then(|rows| self.place(home).empty_after().map(|()| rows));
        // Who waited for a lock, or was cancelled, has not looked at the time.
        result.map_err(|error| match error.storage() {
            Some(ambo::Error::Lock(_) | ambo::Error::Cancelled) => {
                self.interrupter.check_time().err().unwrap_or(error)
            }
            _ => error,
        })
    }

    pub(crate) fn engine(&self) -> &Arc<SqlEngine> {
        &self.home.engine
    }

    pub(crate) fn interrupter_ref(&self) -> &Interrupter {
        &self.interrupter
    }

    pub(crate) fn prepared(&mut self) -> &mut HashMap<String, Prepared> {
        &mut self.prepared
    }

    /// What there is in the database that it is about, as the next statement sees it.
    pub(crate) fn definitions(&self) -> Definitions<'_> {
        self.home.definitions()
    }

    /// Whether a table has no rows, as the next statement sees it.
    pub(crate) fn is_empty(&self, table: &Table) -> Result<bool> {
        let mut rows = match &self.home.scope {
            Scope::Auto => table.scan(..)?,
            Scope::Open(open) => open.transaction.scan(table, ..)?,
            Scope::ReadOnly(snapshot, _) => snapshot.scan(table, ..)?,
        };
        Ok(rows.next().transpose()?.is_none())
    }

    /// Makes changes of what there is, in the open transaction or in one of their own.
    pub(crate) fn define(&mut self, edits: &[CatalogEdit]) -> Result<()> {
        self.write(&[], |work| edits.iter().try_for_each(|edit| Ok(work.transaction.define(edit)?)))
    }

    /// Does something of which all is to be undone after an error, if a transaction is open; without one its parts are commits of their
    /// own.
    pub(crate) fn whole<R>(&mut self, act: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let before = self.transaction().map(Transaction::savepoint);
        let result = act(self);
        if let (Err(_), Some(before), Some(transaction)) = (&result, before, self.transaction()) {
            transaction.rollback_to(before)?;
        }
        result
    }

    /// A planner for a statement that only reads.
    pub(crate) fn reader(&self) -> Result<Planner<'_>> {
        let others = self.others.iter().map(Place::seen);
        Planner::new(self.home.seen(), others.collect(), &self.interrupter, &self.session)
    }

    /// The same, in which names mean what they mean in the database that it is about, for texts that are kept there.
    pub(crate) fn own_reader(&self) -> Result<Planner<'_>> {
        Ok(self.reader()?.of_home())
    }

    /// Does something in the open transaction, or in one of its own, which is begun anew after a conflict or a
    /// deadlock. All of it is done or nothing.
    pub(crate) fn write<R>(
        &mut self,
        params: &[ScalarValue],
        mut act: impl FnMut(&mut Work<'_>) -> Result<R>,
    ) -> Result<R> {
        self.require_writable()?;
        let (interrupter, progress, session) = (&self.interrupter, &self.progress, &self.session);
        let (Place { name, kind, engine, scope, .. }, others) = (&mut self.home, &self.others[..]);
        let (engine, home) = (&**engine, (name.as_str(), *kind));
        let patience = || {
            let lock = session.lock_timeout.map(|timeout| timeout.unwrap_or(WITHOUT_END));
            match (lock, interrupter.time_left()) {
                (lock, None) => lock,
                (lock, Some(left)) => Some(lock.unwrap_or_else(|| engine.db.lock_timeout()).min(left)),
            }
        };
        match scope {
            Scope::ReadOnly(..) => Err(Error::invalid("the transaction is read only")),
            Scope::Open(open) => loop {
                open.has_written = true;
                open.transaction.set_lock_timeout(patience());
                let before = open.transaction.savepoint();
                let mut work = Work {
                    engine,
                    transaction: &mut open.transaction,
                    home,
                    others,
                    interrupter,
                    params,
                    is_auto: false,
                    progress,
                    session,
                    before: None,
                    returned: Vec::new(),
                    moved: Vec::new(),
                };
                let result = act(&mut work).and_then(|result| {
                    match foreign_keys::are_watched(engine, work.transaction) {
                        true => foreign_keys::hold_to(&mut work, before).map(|()| result),
                        false => Ok(result),
                    }
                });
                let Err(error) = result else { return result };
                open.transaction.rollback_to(before)?;
                let came_second = matches!(error.storage(), Some(ambo::Error::Conflict(_)));
                if !came_second || !open.transaction.is_read_committed() {
                    return Err(error);
                }
                // Who came first has committed: the statement looks again.
                interrupter.check()?;
                open.transaction.refresh()?;
            },
            Scope::Auto => {
                let mut attempts = 0;
                loop {
                    let mut transaction = engine.db.begin()?;
                    transaction.set_lock_timeout(patience());
                    let since = engine.foreign_keys.ask(&engine.db).then(|| transaction.savepoint());
                    let work = &mut Work {
                        engine,
                        transaction: &mut transaction,
                        home,
                        others,
                        interrupter,
                        params,
                        is_auto: true,
                        progress,
                        session,
                        before: None,
                        returned: Vec::new(),
                        moved: Vec::new(),
                    };
                    let result = act(work).and_then(|result| match since {
                        Some(since) => foreign_keys::hold_to(work, since).map(|()| result),
                        None => Ok(result),
                    });
                    let error = match result {
                        Ok(result) => match transaction.commit() {
                            Ok(()) => return Ok(result),
                            // Who was in the way has committed: so this ends.
                            Err(ambo::Error::Conflict(_)) => {
                                interrupter.check()?;
                                continue;
                            }
                            Err(error) => error.into(),
                        },
                        Err(error) => error,
                    };
                    attempts += 1;
                    if attempts >= attempts_max(&error) {
                        return Err(error);
                    }
                    interrupter.check()?;
                }
            }
        }
    }

    /// For statements that are not part of a transaction.
    ///
    /// # Errors
    /// A transaction is open.
    pub(crate) fn require_no_transaction(&self, what: &str) -> Result<()> {
        match self.home.scope {
            Scope::Auto => Ok(()),
            _ => Err(Error::invalid(format!("{what} is not done inside of a transaction"))
                .with_hint("COMMIT or ROLLBACK first")),
        }
    }

    pub(crate) fn begin(&mut self, read_only: bool, isolation: Isolation) -> Result<()> {
        if self.in_transaction() {
            return Err(Error::invalid("a transaction is open already").with_hint("COMMIT or ROLLBACK first"));
        }
        let begun = self.places_mut().try_for_each(|place| place.begin(read_only, isolation));
        if begun.is_err() {
            self.places_mut().for_each(Place::rollback);
            return begun;
        }
        self.session.began = Some(machine_time());
        Ok(())
    }

    /// Commits in all databases. Where others may be in the way, it is first: what only they have read, and what was written.
    pub(crate) fn commit(&mut self) -> Result<()> {
        if !self.in_transaction() {
            return Err(no_transaction());
        }
        let turn = |place: &Place| (place.is_own(), place.has_written());
        let mut order: Vec<_> = self.places().map(turn).enumerate().map(|(nth, turn)| (turn, nth)).collect();
        order.sort_unstable();
        let committed = order.iter().try_for_each(|(_, nth)| self.at(*nth).hold_to_foreign_keys());
        let committed =
            committed.and_then(|()| order.iter().try_for_each(|(_, nth)| self.at(*nth).home.commit()));
        self.session.began = None;
        self.places_mut().for_each(Place::rollback);
        committed
    }

    /// What was deferred to the end of the transaction.
    fn hold_to_foreign_keys(&mut self) -> Result<()> {
        match &self.home.scope {
            Scope::Open(open)
                if open.has_written && foreign_keys::are_watched(&self.home.engine, &open.transaction) =>
            {
                self.write(&[], foreign_keys::at_commit)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn rollback(&mut self) -> Result<()> {
        if !self.in_transaction() {
            return Err(no_transaction());
        }
        self.session.began = None;
        self.places_mut().for_each(Place::rollback);
        Ok(())
    }

    pub(crate) fn savepoint(&mut self, name: &str) -> Result<()> {
        self.places_mut().try_for_each(|place| place.savepoint(name))
    }

    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<()> {
        self.places_mut().try_for_each(|place| place.rollback_to(name))
    }

    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        self.places_mut().try_for_each(|place| place.release(name))
    }
}

/// So often a range of keys is deleted as such before it is done row by row.
const RANGE_TRIES: u32 = 3;

/// How long a lock is waited for without an end.
const WITHOUT_END: Duration = Duration::from_secs(10 * 365 * 86_400);

/// How often a statement is tried that has a transaction of its own, before an error of it is told. Nothing of it was seen, so it may begin
/// anew. A lock that was not to be had was waited for already; in a deadlock the others went on.
pub(crate) fn attempts_max(error: &Error) -> u32 {
    match error.storage() {
        Some(ambo::Error::Lock(_)) => 3,
        _ if error.is_retryable() => 16,
        _ => 1,
    }
}
