//! Databases one after the other, and what came of them.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use crate::{
    Result, narrow,
    pair::{Difference, Pair, SLOW, Statement, Verdict},
    peer::Peer,
    random::Random,
    reduce,
    subject::Way,
    wide,
};

/// Steps of each database if nothing else is said: mostly queries.
pub const STEPS: usize = 120;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// What SQLite means as Ambo does.
    Narrow,
    /// What DuckDB does.
    Wide,
}

/// What came of all databases.
#[derive(Default)]
pub struct Tally {
    pub queries: u64,
    pub rows: u64,
    pub writes: u64,
    /// Why statements were not compared: how often, and the first.
    apart: BTreeMap<String, (u64, String)>,
    /// Kinds of differences, and how often each was found.
    pub differences: BTreeMap<String, u64>,
}

impl Tally {
    pub fn set_apart(&mut self, why: &str, message: &str, statement: &str) {
        let short: Vec<_> = message.split(['"', '\n', '{']).next().unwrap_or("").split(' ').take(9).collect();
        let entry = self
            .apart
            .entry(format!("{why}: {}", short.join(" ")))
            .or_insert_with(|| (0, format!("{statement}\n    {message}")));
        entry.0 += 1;
    }

    /// What is said in the end.
    pub fn report(&self) -> String {
        let mut text = format!(
            "{} queries with {} rows and {} writes were alike\n",
            self.queries, self.rows, self.writes
        );
        for (why, (times, first)) in &self.apart {
            let _ = writeln!(text, "{times} times {why}\n    {first}");
        }
        for (kind, times) in &self.differences {
            let _ = writeln!(text, "DIFFERENT {times} times: {kind}");
        }
        text
    }
}

/// Databases from a seed on, and where to leave the statements that lead to a difference.
pub struct Plan<'a> {
    pub language: Language,
    pub seed: u64,
    pub databases: u64,
    pub steps: usize,
    pub dir: &'a Path,
    pub reduces: bool,
}

impl Plan<'_> {
    /// Runs them; differences are printed as they are found.
    ///
    /// # Errors
    /// The peer ended.
    pub fn run(&self, peer: &mut dyn Peer, tally: &mut Tally, tell: &mut dyn FnMut(&str)) -> Result<()> {
        std::fs::create_dir_all(self.dir)?;
        for seed in self.seed..self.seed + self.databases {
            if let Some(found) = self.one(seed, peer, tally)? {
                tell(&format!("seed {seed}: {found}"));
            }
            if (seed + 1).is_multiple_of(100) {
                tell(&format!("seed {seed}: {} queries, {} rows", tally.queries, tally.rows));
            }
        }
        Ok(())
    }

    /// One database. Returns the difference that was found.
    fn one(&self, seed: u64, peer: &mut dyn Peer, tally: &mut Tally) -> Result<Option<String>> {
        let random = &mut Random::new(seed);
        let way = Way::new(random);
        let mut pair = Pair::new(way, peer)?;
        let mut maker = Maker::new(self.language, random);
        let mut script = Vec::new();
        for (ambo, peer) in maker.tables(random) {
            script.push(Statement { ambo, peer, is_ordered: false });
        }
        for statement in &script {
            match pair.run(statement)? {
                Verdict::Alike(_) => {}
                Verdict::Apart(why, message) => {
                    tally.set_apart(why, &message, &statement.ambo);
                    return Ok(None);
                }
                Verdict::Differs(difference) => {
                    *tally.differences.entry(difference.kind).or_default() += 1;
                    return Ok(Some(format!("{};\n{}", statement.ambo, difference.text)));
                }
            }
        }
        for _ in 0..self.steps {
            for statement in maker.step(random) {
                match pair.run(&statement)? {
                    Verdict::Alike(rows) => {
                        let is_query = is_query(&statement);
                        tally.queries += u64::from(is_query);
                        tally.writes += u64::from(!is_query);
                        tally.rows += rows as u64;
                    }
                    Verdict::Apart(why, message) => {
                        tally.set_apart(why, &message, &statement.ambo);
                        if !is_query(&statement) {
                            // The tables differ from now on.
                            return Ok(None);
                        }
                    }
                    Verdict::Differs(difference) => {
                        *tally.differences.entry(difference.kind.clone()).or_default() += 1;
                        drop(pair);
                        return self.found(seed, way, peer, script, statement, &difference).map(Some);
                    }
                }
                if !is_query(&statement) {
                    script.push(statement);
                }
            }
        }
        pair.ambo.check()?;
        Ok(None)
    }

    /// Makes a difference smaller and writes it down.
    fn found(
        &self,
        seed: u64,
        way: Way,
        peer: &mut dyn Peer,
        script: Vec<Statement>,
        last: Statement,
        difference: &Difference,
    ) -> Result<String> {
        let file: PathBuf = self.dir.join(format!("{:?}-{seed}.sql", self.language).to_lowercase());
        std::fs::write(&file, text_of(&script, &last))?;
        if !self.reduces || difference.kind == SLOW {
            return Ok(format!("{way:?}\n{};\n{} ({})", last.ambo, difference.text, file.display()));
        }
        let kind = difference.kind.as_str();
        let (script, last, text) = smaller(way, peer, script, last, kind)?;
        std::fs::write(file.with_extension("min.sql"), text_of(&script, &last))?;
        Ok(format!(
            "[{kind}] {way:?} ({})\n{}{}",
            file.display(),
            text_of(&script, &last),
            text.as_deref().unwrap_or("it did not come again")
        ))
    }
}

fn text_of(script: &[Statement], last: &Statement) -> String {
    script.iter().chain([last]).map(|statement| format!("{};\n", statement.ambo)).collect()
}

/// Fewer and shorter statements with the same kind of difference, and its text.
fn smaller(
    way: Way,
    peer: &mut dyn Peer,
    script: Vec<Statement>,
    last: Statement,
    kind: &str,
) -> Result<(Vec<Statement>, Statement, Option<String>)> {
    let again = |peer: &mut dyn Peer, script: &[Statement], last: &Statement| -> Result<Option<String>> {
        let mut pair = Pair::new(way, peer)?;
        for statement in script {
            if !matches!(pair.run(statement)?, Verdict::Alike(_)) {
                return Ok(None);
            }
        }
        Ok(match pair.run(last)? {
            Verdict::Differs(difference) if difference.kind == kind => Some(difference.text),
            _ => None,
        })
    };
    if again(peer, &script, &last)?.is_none() {
        return Ok((script, last, None));
    }
    let until = reduce::deadline();
    let script = reduce::shorter(script, until, |script| matches!(again(peer, script, &last), Ok(Some(_))));
    let until = reduce::deadline();
    let is_query = is_query(&last);
    let mut pair = Pair::new(way, peer)?;
    for statement in &script {
        pair.run(statement)?;
    }
    let text = reduce::simpler(&last.ambo, until, |text| {
        if !is_query || !reduce::keeps_its_order(&last.ambo, text) {
            return false;
        }
        let is_ordered = last.is_ordered && text.contains("order by");
        let verdict = pair.run(&Statement::same(text, is_ordered));
        matches!(verdict, Ok(Verdict::Differs(difference)) if difference.kind == kind)
    });
    drop(pair);
    let last = match is_query {
        true => Statement::same(text.as_str(), last.is_ordered && text.contains("order by")),
        false => last,
    };
    let until = reduce::deadline();
    let script = reduce::shorter(script, until, |script| matches!(again(peer, script, &last), Ok(Some(_))));
    let text = again(peer, &script, &last)?;
    Ok((script, last, text))
}

/// Makes the statements of a database.
enum Maker {
    Narrow(narrow::Schema, bool),
    Wide(wide::Schema),
}

impl Maker {
    fn new(language: Language, random: &mut Random) -> Self {
        match language {
            Language::Narrow => Self::Narrow(narrow::Schema::new(random), false),
            Language::Wide => Self::Wide(wide::Schema::new(random)),
        }
    }

    fn tables(&self, random: &mut Random) -> Vec<(String, String)> {
        match self {
            Self::Narrow(schema, _) => schema.statements(random),
            Self::Wide(schema) => schema.statements(random),
        }
    }

    /// A query, or a statement that writes and queries of what it wrote.
    fn step(&mut self, random: &mut Random) -> Vec<Statement> {
        let compact = || Statement { ambo: "compact".into(), peer: String::new(), is_ordered: false };
        match self {
            Self::Narrow(schema, is_open) => match random.below(20) {
                0 if !*is_open => vec![compact()],
                1 => {
                    let end = *random.of(&["rollback", "commit"]);
                    let word = if *is_open { end } else { "begin" };
                    *is_open = !*is_open;
                    vec![Statement::same(word, false)]
                }
                2 => narrow::Generator::new(schema, random).definition(*is_open),
                3..7 => {
                    let write = narrow::Generator::new(schema, random).write();
                    let all = (0..schema.tables.len())
                        .map(|nth| Statement::same(format!("select * from r{nth}"), false));
                    [Statement::same(write, false)].into_iter().chain(all).collect()
                }
                _ => {
                    let (query, is_ordered) = narrow::Generator::new(schema, random).query();
                    vec![Statement::same(query, is_ordered)]
                }
            },
            Self::Wide(schema) => match random.below(20) {
                0 => vec![compact()],
                1..4 => {
                    let (table, write) = wide::Generator::new(schema, random).write();
                    let names = schema.tables[table].columns.iter().enumerate();
                    let names: Vec<_> =
                        names.map(|(nth, (column, _))| format!("{} as c{nth}", column.name)).collect();
                    let all = format!("select {} from t{table}", names.join(", "));
                    vec![Statement::same(write, false), Statement::same(all, false)]
                }
                4 => vec![Statement::same(wide::Generator::new(schema, random).sequence(), false)],
                _ => {
                    let (query, is_ordered) = wide::Generator::new(schema, random).query();
                    vec![Statement::same(query, is_ordered)]
                }
            },
        }
    }
}

/// Whether later answers do not depend on it.
fn is_query(statement: &Statement) -> bool {
    ["select", "with"].iter().any(|word| statement.ambo.starts_with(word))
}
