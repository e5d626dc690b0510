//! Transactions in SQL, before somebody's eyes: a conflict and its retry, a rollback, a savepoint.

use ambo_sql::Connection;

use super::broken;
use super::dashboards::TOTAL;
use super::office::Office;
use super::stage::Stage;
use ambo_cli::failure::Result;

/// Shows one of each. Returns what the second of two travellers was told.
pub fn run(stage: &mut Stage<'_>, office: &Office) -> Result<String> {
    let (mut ada, mut bob) = (office.db.connect(), office.db.connect());
    let flights = [0, 1, 2].map(|place| office.ids[place % office.ids.len()]);
    let mut scene = Scene { stage, flights };
    let conflict = scene.conflict(&mut ada, &mut bob)?;
    scene.rollback(&mut ada)?;
    scene.savepoint(&mut bob)?;
    scene.stage.say("\nFree seats and bookings are together as many as were put on sale:")?;
    scene.stage.run(&mut ada, TOTAL)?;
    office.audit(&mut ada)?;
    let found = office.or_fail(passengers(&mut ada))?;
    match found == ["Ada", "Bob", "Dave, out", "Dave, back"] {
        true => Ok(conflict),
        false => Err(broken(format!("the bookings of the transactions are {found:?}"))),
    }
}

fn passengers(connection: &mut Connection) -> ambo_sql::Result<Vec<String>> {
    let rows = connection.sql("select passenger from bookings where seller = 0 order by number")?;
    rows.map(|row| row?.into_values()).collect()
}

struct Scene<'s, 'o> {
    stage: &'s mut Stage<'o>,
    /// Of some flights, in the order of their numbers.
    flights: [i64; 3],
}

impl Scene<'_, '_> {
    fn all(&mut self, who: &str, connection: &mut Connection, statements: &[&str]) -> Result<()> {
        statements.iter().try_for_each(|sql| self.stage.run_as(who, connection, sql).map(drop))
    }

    /// Takes a seat of the flight in this place, without beginning or committing.
    fn take(&mut self, who: &str, on: &mut Connection, place: usize, number: u32, name: &str) -> Result<()> {
        let flight = self.flights[place];
        let update = format!("update flights set seats_free = seats_free - 1 where id = {flight}");
        let insert = format!("insert into bookings values (0, {number}, {flight}, '{name}')");
        self.all(who, on, &[&update, &insert])
    }

    /// Two travellers take a seat of the same flight; the second to commit is told to try again, and does.
    fn conflict(&mut self, ada: &mut Connection, bob: &mut Connection) -> Result<String> {
        self.stage.say("Two transactions change the same row:")?;
        self.all("ada", ada, &["begin"])?;
        self.all("bob", bob, &["begin"])?;
        self.take("ada", ada, 0, 1, "Ada")?;
        self.take("bob", bob, 0, 2, "Bob")?;
        self.all("ada", ada, &["commit"])?;
        let told = self.stage.run_in_vain("bob", bob, "commit")?;
        self.stage.say("Bob runs his transaction again:")?;
        self.all("bob", bob, &["begin"])?;
        self.take("bob", bob, 0, 2, "Bob")?;
        self.all("bob", bob, &["commit"])?;
        Ok(told)
    }

    /// What is rolled back never was.
    fn rollback(&mut self, connection: &mut Connection) -> Result<()> {
        self.stage.say("\nA rollback:")?;
        self.all("carol", connection, &["begin"])?;
        self.take("carol", connection, 1, 3, "Carol")?;
        self.all("carol", connection, &["rollback"])
    }

    /// The way out stays, the way back is chosen again.
    fn savepoint(&mut self, connection: &mut Connection) -> Result<()> {
        self.stage.say("\nA savepoint: the way out stays, the way back is chosen again:")?;
        self.all("dave", connection, &["begin"])?;
        self.take("dave", connection, 1, 3, "Dave, out")?;
        self.all("dave", connection, &["savepoint way_back"])?;
        self.take("dave", connection, 2, 4, "Dave, back")?;
        self.all("dave", connection, &["rollback to savepoint way_back"])?;
        self.take("dave", connection, 0, 4, "Dave, back")?;
        self.all("dave", connection, &["commit"])
    }
}
