//! Two oracles that need no other database.
//!
//! NoREC (Rigger and Su, 2020): rows that a condition in WHERE leaves are as many as those for which it is true in the select list, where
//! nothing is optimised by it. TLP (the same, 2020): the rows for which a condition is true, those for which it is false, and those for
//! which it is NULL, make all rows.

use crate::{
    Result,
    answer::{Answer, Cell},
    pair::{Difference, Verdict, in_short},
    random::Random,
    reduce,
    run::Tally,
    subject::{Failure, Subject, Way, is_out_of_range, is_refusal, is_too_large},
    wide::{Generator, Schema},
};

/// Conditions of each database.
const CONDITIONS: usize = 200;

/// Which of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    NoRec,
    Tlp,
}

/// What is asked: tables, a condition, and columns of theirs.
#[derive(Clone)]
struct Question {
    from: String,
    condition: String,
    items: String,
}

impl Oracle {
    /// Runs databases from a seed on.
    ///
    /// # Errors
    /// A database could not be made.
    pub fn run(self, seed: u64, databases: u64, tally: &mut Tally, tell: &mut dyn FnMut(&str)) -> Result<()> {
        for seed in seed..seed + databases {
            let random = &mut Random::new(seed);
            let way = Way::new(random);
            let mut subject = Subject::new(way)?;
            let schema = Schema::new(random);
            let mut script: Vec<_> = schema.statements(random).into_iter().map(|(ambo, _)| ambo).collect();
            script.retain(|statement| match subject.run(statement) {
                Ok(_) => true,
                Err(failure) => {
                    tally.set_apart("not inserted", &failure.message(), statement);
                    false
                }
            });
            for _ in 0..CONDITIONS {
                let question = question(&schema, random);
                match self.ask(&mut subject, &question) {
                    Verdict::Alike(_) => tally.queries += 1,
                    Verdict::Apart(why, message) => tally.set_apart(why, &message, &question.condition),
                    Verdict::Differs(Difference { kind, .. }) => {
                        *tally.differences.entry(format!("{self:?} {kind}")).or_default() += 1;
                        let found = self.smaller(way, script, &mut subject, question, &kind);
                        tell(&format!("seed {seed}: {self:?} [{kind}] {way:?}\n{found}"));
                        break;
                    }
                }
            }
            if (seed + 1).is_multiple_of(100) {
                tell(&format!("seed {seed}: {} conditions", tally.queries));
            }
        }
        Ok(())
    }

    /// Whether the two answers fit.
    fn ask(self, subject: &mut Subject, question: &Question) -> Verdict {
        match self.misfit(subject, question) {
            Ok(None) => Verdict::Alike(1),
            Ok(Some(text)) => Verdict::Differs(Difference { kind: "rows".into(), text }),
            Err(failed) => {
                let (text, failure) = *failed;
                let message = failure.message();
                match () {
                    () if matches!(failure, Failure::Slow) => Verdict::Apart("too slow", message),
                    () if is_refusal(&message) || is_out_of_range(&message) => {
                        Verdict::Apart("refused by Ambo", message)
                    }
                    () if is_too_large(&message) => Verdict::Apart("too large", message),
                    () => Verdict::Differs(Difference {
                        kind: format!("error: {}", in_short(&message)),
                        text: format!("{text};\n{message}\n"),
                    }),
                }
            }
        }
    }

    /// The two answers where they differ; or the statement that failed, and why.
    fn misfit(
        self,
        subject: &mut Subject,
        question: &Question,
    ) -> std::result::Result<Option<String>, Box<(String, Failure)>> {
        let Question { from, condition, items } = question;
        let mut run = |text: String| match subject.run(&text) {
            Ok(answer) => Ok((text, answer)),
            Err(failure) => Err(Box::new((text, failure))),
        };
        match self {
            Self::NoRec => {
                let (first, left) = run(format!("select count(*) from {from} where {condition}"))?;
                let (second, right) =
                    run(format!("select sum(case when {condition} then 1 else 0 end) from {from}"))?;
                let count = |answer: &Answer| match answer.rows.first().and_then(|row| row.first()) {
                    Some(Cell::Exact(count, 0)) => *count,
                    _ => 0,
                };
                Ok((count(&left) != count(&right)).then(|| format!("{first};\n{left}{second};\n{right}")))
            }
            Self::Tlp => {
                let (whole, all) = run(format!("select {items} from {from}"))?;
                let mut parts = Answer::default();
                let mut texts = String::new();
                for test in ["", " is false", " is null"] {
                    let (text, part) = run(format!("select {items} from {from} where ({condition}){test}"))?;
                    texts += &format!("{text};\n{part}");
                    parts.rows.extend(part.rows);
                }
                let (all, parts) = (all.sorted(), parts.sorted());
                Ok((!all.has_rows_of(&parts)).then(|| format!("{whole};\n{all}{texts}")))
            }
        }
    }

    fn smaller(
        self,
        way: Way,
        script: Vec<String>,
        subject: &mut Subject,
        mut question: Question,
        kind: &str,
    ) -> String {
        let shows = |verdict: Verdict| match verdict {
            Verdict::Differs(difference) if difference.kind == kind => Some(difference.text),
            _ => None,
        };
        let until = reduce::deadline();
        let condition = question.condition.clone();
        question.condition = reduce::simpler(&condition, until, |condition| {
            let question = Question { condition: condition.to_owned(), ..question.clone() };
            shows(self.ask(subject, &question)).is_some()
        });
        let from = question.from.clone();
        question.from = reduce::simpler(&from, until, |from| {
            let question = Question { from: from.to_owned(), ..question.clone() };
            shows(self.ask(subject, &question)).is_some()
        });
        let until = reduce::deadline();
        let mut text = "it did not come again".to_owned();
        let script = reduce::shorter(script, until, |script| {
            let Ok(mut subject) = Subject::new(way) else { return false };
            for statement in script {
                if subject.run(statement).is_err() {
                    return false;
                }
            }
            let shown = shows(self.ask(&mut subject, &question));
            shown.map(|shown| text = shown).is_some()
        });
        format!("{};\n{text}", script.join(";\n"))
    }
}

fn question(schema: &Schema, random: &mut Random) -> Question {
    let mut generator = Generator::new(schema, random);
    let from = generator.from(&[], &[]);
    let condition = generator.condition(&from.columns, 3);
    let items: Vec<_> = (0..2).map(|_| generator.pick(&from.columns).name).collect();
    Question { from: from.text, condition, items: items.join(", ") }
}
