//! Single rows updated and inserted, each durable when the statement ends. How long a sync takes changes within minutes, so the engines
//! take turns.

use std::time::Instant;

use ambo::Sync;
use ambo_sql::{Connection, Database, PreparedStatement};
use rusqlite::params;

use super::{
    check, open, open_sqlite,
    points::{self, COLUMNS},
};
use crate::engine::Result;
use crate::workload::columns::{add_operations, latencies};
use crate::workload::sheet::Sheet;

/// How often each engine has its turn. The first is not counted: the system still writes what was loaded.
const TURNS: usize = 11;
/// Updates of a turn, and insertions.
const WRITES: usize = 100;
/// So many writes of a turn are not counted: they pay for what the engine before left to the file system.
const WARMING: usize = 5;

/// A durable write.
#[derive(Clone, Copy)]
enum Write {
    Update(i64),
    Insert(u64),
}

/// Does writes, in a database of its own.
trait Engine {
    fn write(&mut self, write: Write) -> Result<()>;
    fn read(&mut self, id: i64) -> Result<()>;
    fn finish(self: Box<Self>) -> Result<()>;
}

struct Ambo {
    db: Database,
    connection: Connection,
    update: PreparedStatement,
    insert: PreparedStatement,
}

impl Engine for Ambo {
    fn write(&mut self, write: Write) -> Result<()> {
        let rows = match write {
            Write::Update(id) => self.update.execute(&mut self.connection, (id,))?,
            Write::Insert(id) => {
                let (c, d) = points::text(id);
                self.insert.execute(&mut self.connection, (id as i64, 1i64, 0.5, c, d))?
            }
        };
        if rows == 1 { Ok(()) } else { Err(format!("{rows} rows").into()) }
    }

    fn read(&mut self, id: i64) -> Result<()> {
        self.connection.sql(&format!("select * from t where id = {id}"))?.single()?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        check(&self.db)
    }
}

impl Engine for rusqlite::Connection {
    fn write(&mut self, write: Write) -> Result<()> {
        match write {
            Write::Update(id) => {
                self.prepare_cached("update t set a = a + 1 where id = ?")?.execute([id])?;
            }
            Write::Insert(id) => {
                let (c, d) = points::text(id);
                let mut insert = self.prepare_cached("insert into t values (?, ?, ?, ?, ?)")?;
                insert.execute(params![id as i64, 1i64, 0.5, c, d])?;
            }
        }
        Ok(())
    }

    fn read(&mut self, id: i64) -> Result<()> {
        Ok(self.prepare_cached("select * from t where id = ?")?.query_row([id], |_| Ok(()))?)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

pub fn run(sheet: &mut Sheet) -> Result<()> {
    let mut engines: Vec<(String, Box<dyn Engine>)> = Vec::new();
    for storage in ["btree", "column"] {
        let db = open(sheet, &format!("synced-{storage}"), Sync::Commit)?;
        let mut connection = db.connect();
        connection.script(&format!("create table t ({COLUMNS}) storage = {storage}"))?;
        points::load(sheet, &db, &mut connection)?;
        let update = connection.prepare("update t set a = a + 1 where id = $1")?;
        let insert = connection.prepare("insert into t values ($1, $2, $3, $4, $5)")?;
        engines.push((format!("ambo, {storage}"), Box::new(Ambo { db, connection, update, insert })));
    }
    let sqlite = open_sqlite(sheet, "synced.sqlite", true)?;
    points::load_sqlite(sheet, &sqlite)?;
    engines.push(("sqlite".to_owned(), Box::new(sqlite)));

    let ids = points::ids(sheet, TURNS * WRITES, 4);
    // What is updated is in memory.
    for (_, engine) in &mut engines {
        ids.iter().try_for_each(|id| engine.read(*id))?;
    }
    let mut times = vec![[Vec::new(), Vec::new()]; engines.len()];
    for turn in 0..TURNS {
        if turn == 1 {
            times.iter_mut().flatten().for_each(Vec::clear);
        }
        let of_turn = turn * WRITES..(turn + 1) * WRITES;
        for ((_, engine), times) in engines.iter_mut().zip(&mut times) {
            (0..WARMING).try_for_each(|id| engine.write(Write::Update(id as i64)))?;
            let updates = ids[of_turn.clone()].iter().map(|id| Write::Update(*id)).collect();
            let inserts = of_turn.clone().map(|nth| Write::Insert(sheet.records + nth as u64)).collect();
            let mut both: [(usize, Vec<Write>); 2] = [(0, updates), (1, inserts)];
            // Neither is always the first.
            both.rotate_left(turn % 2);
            both.into_iter().try_for_each(|(of, writes)| timed(&mut **engine, writes, &mut times[of]))?;
        }
    }
    for ((whose, engine), times) in engines.into_iter().zip(times) {
        engine.finish()?;
        for (name, us) in ["update, synced", "insert, synced"].into_iter().zip(times) {
            let rate = us.len() as f64 * 1e6 / us.iter().sum::<f64>();
            add_operations(sheet, &points::what(sheet, name), &whose, &latencies(&us), rate);
        }
    }
    Ok(())
}

/// Appends the microseconds of each write.
fn timed(engine: &mut dyn Engine, writes: Vec<Write>, us: &mut Vec<f64>) -> Result<()> {
    for write in writes {
        let start = Instant::now();
        engine.write(write)?;
        us.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(())
}
