//! A dashboard that is asked again, over a table of which one row of a hundred is new: how much of its first time it takes, by
//! `Query::run` and by UQI, over storage `append` and `column`.

use ambo::{
    Aggregate, ColumnBuffer, Compare, Database, DatumRef, LoadOptions, Options, Query, Storage, Table,
    TableDefinition, Test, col,
};

use crate::{
    Settings,
    flows::{COLUMNS, column, layout, records},
    quickest,
};

type Failure = Box<dyn std::error::Error>;

/// Rows that are pushed at once.
const PUSHED: usize = 64 << 10;

pub fn run(settings: &Settings) -> Result<(), Failure> {
    let rows = settings.rows.unwrap_or(20_000_000);
    println!(
        "{rows} records, then a hundredth more; milliseconds of processor time, the quickest of {} runs, with new rows the first",
        settings.runs
    );
    println!("| storage | query | first | again | again, 1 % new | of the first | without what is kept |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for storage in [Storage::Append, Storage::Column] {
        let dir = settings.dir.join(storage.name());
        if dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        let db = Options::new().cache_bytes(4 << 30).open(&dir)?;
        let definition = TableDefinition::new("flows").storage(storage);
        let definition = COLUMNS.iter().fold(definition, |table, (name, ty)| table.column(*name, *ty));
        let table = db.create_table(definition)?;
        let all = records(rows + rows / 100);
        let (old, new) = all.split_at(rows * layout().size());
        load(&table, old)?;
        db.compact()?;
        let cases = cases(&table)?;
        let ask_all = |runs| -> Result<Vec<(f64, String)>, Failure> {
            let mut taken = Vec::new();
            for case in &cases {
                let one = quickest(runs, || case.ask(&db));
                taken.push((one.processor * 1e3, one.said?));
            }
            Ok(taken)
        };
        // With blocks in memory already, so that the first time is not that of the disk.
        db.keep_partials(false);
        let first = ask_all(settings.runs)?;
        db.keep_partials(None);
        ask_all(1)?;
        let again = ask_all(settings.runs)?;
        load(&table, new)?;
        let with_new = ask_all(1)?;
        db.keep_partials(false);
        let without = ask_all(settings.runs)?;
        for (place, case) in cases.iter().enumerate() {
            assert_eq!(first[place].1, again[place].1, "{}", case.name);
            assert_eq!(with_new[place].1, without[place].1, "{}", case.name);
            let took = [&first, &again, &with_new].map(|times| times[place].0);
            println!(
                "| {} | {} | {:.2} | {:.2} | {:.2} | {:.1} % | {:.2} |",
                storage.name(),
                case.name,
                took[0],
                took[1],
                took[2],
                took[2] / took[0] * 100.0,
                without[place].0,
            );
        }
        db.close()?;
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(())
}

/// Loads records, column by column.
fn load(table: &Table, records: &[u8]) -> Result<(), Failure> {
    let (layout, load) = (layout(), table.load(LoadOptions::default())?);
    let mut writer = load.writer();
    for part in records.chunks(PUSHED * layout.size()) {
        let mut buffers = Vec::with_capacity(COLUMNS.len());
        for (place, (_, ty)) in COLUMNS.iter().enumerate() {
            let offset = usize::from(layout.fields()[place].offset);
            let mut buffer = ColumnBuffer::new(*ty);
            for record in part.chunks_exact(layout.size()) {
                let mut word = [0; 8];
                let width = ty.fixed_width().unwrap_or(8).min(8);
                word[..width].copy_from_slice(&record[offset..offset + width]);
                let number = u64::from_le_bytes(word);
                buffer.push(match ty {
                    ambo::Type::I64 => DatumRef::I64(number as i64),
                    ambo::Type::U8 => DatumRef::U8(number as u8),
                    ambo::Type::U16 => DatumRef::U16(number as u16),
                    ambo::Type::U32 => DatumRef::U32(number as u32),
                    _ => DatumRef::U64(number),
                })?;
            }
            buffers.push(buffer);
        }
        writer.push(buffers)?;
    }
    writer.finish()?;
    load.finish()?;
    Ok(())
}

/// A query of the dashboard.
struct Case {
    name: &'static str,
    asks: Asks,
}

enum Asks {
    Query(Box<Query>),
    Uqi(&'static str),
}

impl Case {
    /// The answer, as text.
    fn ask(&self, db: &Database) -> ambo::Result<String> {
        Ok(match &self.asks {
            Asks::Query(query) => format!("{:?}", query.run(1)?.rows),
            Asks::Uqi(text) => format!("{:?}", db.uqi(db, text)?.single()),
        })
    }
}

fn cases(table: &Table) -> Result<Vec<Case>, Failure> {
    assert_eq!(column("first"), 0, "times come first");
    let all = || table.select(&[]);
    let query = |query: Query| Asks::Query(Box::new(query));
    let large = Test::Compare(Compare::Greater, 20_000u64.into());
    Ok(vec![
        Case {
            name: "bytes and packets by protocol",
            asks: query(all()?.group_by(&["proto"])?.aggregate(&[
                Aggregate::Rows,
                Aggregate::sum("bytes"),
                Aggregate::average("packets"),
            ])?),
        },
        Case {
            name: "bytes a packet of large flows by flags and service",
            asks: query(all()?.filter("bytes", large)?.group_by(&["flags", "tos"])?.aggregate(&[
                Aggregate::Rows,
                Aggregate::sum(col("bytes") * col("packets")),
                Aggregate::max("last"),
            ])?),
        },
        Case {
            name: "sum, least and greatest of all",
            asks: query(all()?.aggregate(&[
                Aggregate::sum("bytes"),
                Aggregate::min("first"),
                Aggregate::max("packets"),
            ])?),
        },
        Case {
            name: "UQI: SUM(bytes) WHERE proto = 1",
            asks: Asks::Uqi("SUM(bytes) FROM flows WHERE proto = 1"),
        },
        Case {
            name: "UQI: AVERAGE(bytes) WHERE packets * 3 > 60",
            asks: Asks::Uqi("AVERAGE(bytes) FROM flows WHERE packets * 3 > 60"),
        },
    ])
}
