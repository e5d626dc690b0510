//! Statements that somebody wrote down, whose answers are compared.

use std::path::Path;

use crate::{
    Result,
    pair::{Pair, Statement, Verdict},
    peer::Peer,
    run::Tally,
    subject::Way,
};

/// Asks both the statements of a file; differences are told as they are found.
///
/// # Errors
/// The file cannot be read, or the peer ended.
pub fn run(
    file: &Path,
    way: Way,
    peer: &mut dyn Peer,
    tally: &mut Tally,
    tell: &mut dyn FnMut(&str),
) -> Result<()> {
    let text = std::fs::read_to_string(file)?;
    let mut pair = Pair::new(way, peer)?;
    for statement in statements(&text) {
        match pair.run(&Statement::same(statement, is_ordered(statement)))? {
            Verdict::Alike(rows) => {
                tally.queries += 1;
                tally.rows += rows as u64;
            }
            Verdict::Apart(why, message) => {
                tell(&format!("{why}: {statement}\n    {message}"));
                tally.set_apart(why, &message, statement);
            }
            Verdict::Differs(difference) => {
                tell(&format!("{statement}\n{}", difference.text));
                *tally.differences.entry(difference.kind).or_default() += 1;
            }
        }
    }
    pair.ambo.check()
}

/// The statements of a text, each up to a semicolon at the end of a line; lines of comments are left out.
fn statements(text: &str) -> impl Iterator<Item = &str> {
    let all = text.split(";\n").map(str::trim);
    all.map(|statement| {
        let mut rest = statement;
        while let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, behind)| behind.trim_start());
        }
        rest
    })
    .filter(|statement| !statement.is_empty())
}

/// Whether a statement ends with ORDER BY.
fn is_ordered(statement: &str) -> bool {
    let statement = statement.to_lowercase();
    statement.rfind("order by").is_some_and(|at| at > statement.rfind(')').unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: statements that are cut at other semicolons, and an ORDER BY of a window that is taken for that of the rows.
    #[test]
    fn statements_are_told_apart() {
        let all: Vec<_> = statements("-- one\nselect ';';\n\nselect 1\n, 2;\n-- end\n").collect();
        assert_eq!(all, ["select ';'", "select 1\n, 2"]);
        assert!(
            is_ordered("select (1) from t ORDER BY 1")
                && !is_ordered("select rank() over (order by a) from t")
        );
    }
}
