//! A sequence as PostgreSQL's clients read it: a table of one row, with the number that was given out last.

use std::sync::Arc;

use ambo::{Definitions, ObjectKind, qualify};
use datafusion::{catalog::TableProvider, datasource::MemTable};

use super::shape::{Cell, Column, Shape};
use crate::{Result, names::split, planner::Planner, sequences::Definition};

/// What a sequence gives out next, and how.
struct State {
    next: i128,
    of: Definition,
}

/// The sequence of this name in a database; `None` if there is none.
///
/// # Errors
/// One that an older version cannot read.
pub(crate) fn table(
    planner: &Planner<'_>,
    place: usize,
    name: &str,
) -> Result<Option<Arc<dyn TableProvider>>> {
    let seen = planner.place(place);
    let definitions = seen.definitions();
    let found = match definitions.object(ObjectKind::Sequence, name) {
        Ok(object) => {
            let of = Definition::read(&object.text)?;
            Some(State { next: seen.engine.sequences.position(&of), of })
        }
        Err(_) => match of_identity(&definitions, name)? {
            Some(found) => {
                planner.require_read(place, found.of.owner.as_deref().unwrap_or(name), "sequence")?;
                Some(found)
            }
            None => None,
        },
    };
    let Some(State { next, of }) = found else { return Ok(None) };
    let last = next - i128::from(of.increment);
    // One that has given out nothing says what it begins with.
    let is_called = next != i128::from(of.start) && of.has(last);
    let said = if is_called { last } else { next };
    let columns = [("last_value", "int8"), ("log_cnt", "int8"), ("is_called", "bool")];
    let columns = columns.map(|(name, ty)| Column { name, ty }).into();
    let shape = Shape { name: "sequence", oid: 0, kind: "S", columns };
    let said = i64::try_from(said).map_or(Cell::Null, Cell::Int);
    let row = vec![said, Cell::Int(0), Cell::Bool(is_called)];
    Ok(Some(Arc::new(MemTable::try_new(shape.schema(), vec![vec![shape.batch(&[row])?]])?)))
}

/// What is shown as a sequence of a primary key that numbers itself: the table counts.
fn of_identity(definitions: &Definitions<'_>, name: &str) -> Result<Option<State>> {
    // What has another kind of name is no sequence.
    let Ok(whole) = qualify(name) else { return Ok(None) };
    let (schema, wanted) = split(&whole);
    for known in definitions.tables() {
        let (of_schema, short) = split(&known);
        if of_schema != schema || !wanted.starts_with(short) {
            continue;
        }
        let Ok(table) = definitions.table(&known) else { continue };
        let of = table.definition();
        let numbered = (0..of.columns.len()).find(|place| of.numbers_itself(*place));
        let Some(column) = numbered.map(|place| &of.columns[place].name) else { continue };
        if wanted != identity_name(split(&of.name).1, column) {
            continue;
        }
        let next = i128::from(table.next_number()?);
        let of = Definition {
            id: 0,
            increment: 1,
            min: 1,
            max: i64::MAX,
            start: 1,
            cycle: false,
            next,
            owner: Some(of.name.clone()),
        };
        return Ok(Some(State { next, of }));
    }
    Ok(None)
}

/// What is shown as the sequence of a primary key that numbers itself is called so.
pub(super) fn identity_name(table: &str, column: &str) -> String {
    format!("{table}_{column}_seq")
}
