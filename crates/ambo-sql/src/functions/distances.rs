//! How alike texts are: `hamming`, `damerau_levenshtein`, `jaccard`, `jaro_similarity`, `jaro_winkler_similarity`.

use std::collections::{HashMap, HashSet};

use datafusion::common::{Result, exec_err};

use super::plain::{
    Form, Given,
    Kind::{Double, Text, Whole},
    Made, Named, plain,
};

pub(super) static ALL: [Named; 5] = [
    plain!(["hamming", "mismatches"], [Text, Text] => Whole, hamming),
    plain!(["damerau_levenshtein"], [Text, Text] => Whole, damerau_levenshtein),
    plain!(["jaccard"], [Text, Text] => Double, jaccard),
    plain!(["jaro_similarity"], [Text, Text] => Double, |of| Ok(jaro(&chars(&of[0]), &chars(&of[1])).into())),
    Named {
        names: &["jaro_winkler_similarity"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text, Text], gives: Double, make: |of| Ok(jaro_winkler(of).into()) },
            Form {
                takes: &[Text, Text, Double],
                gives: Double,
                // Below the third argument it is 0.
                make: |of| {
                    Ok(Some(jaro_winkler(of)).filter(|alike| *alike >= of[2].double()).unwrap_or(0.0).into())
                },
            },
        ],
    },
];

fn chars(of: &Given<'_>) -> Vec<char> {
    of.text().chars().collect()
}

/// In how many places texts of one length differ.
fn hamming(of: &[Given<'_>]) -> Result<Made> {
    let (left, right) = (chars(&of[0]), chars(&of[1]));
    if left.len() != right.len() {
        return exec_err!("hamming: the texts have {} and {} characters", left.len(), right.len());
    }
    Ok((left.iter().zip(&right).filter(|(left, right)| left != right).count() as i64).into())
}

/// How many letters have to be put in, taken out, changed, or exchanged with a neighbour.
fn damerau_levenshtein(of: &[Given<'_>]) -> Result<Made> {
    let (left, right) = (chars(&of[0]), chars(&of[1]));
    let most = left.len() + right.len();
    // Distances of what stands before, with a border of the most around.
    let mut costs = vec![vec![most; right.len() + 2]; left.len() + 2];
    for (at, row) in costs.iter_mut().skip(1).enumerate() {
        row[1] = at;
    }
    for (at, cost) in costs[1].iter_mut().skip(1).enumerate() {
        *cost = at;
    }
    let mut last_rows: HashMap<char, usize> = HashMap::new();
    for (i, from) in left.iter().enumerate().map(|(at, from)| (at + 1, from)) {
        let mut last_match = 0;
        for (j, to) in right.iter().enumerate().map(|(at, to)| (at + 1, to)) {
            let (row, column) = (last_rows.get(to).copied().unwrap_or(0), last_match);
            let change = usize::from(from != to);
            if change == 0 {
                last_match = j;
            }
            let exchanged = costs[row][column] + (i - row - 1) + 1 + (j - column - 1);
            costs[i + 1][j + 1] =
                (costs[i][j] + change).min(costs[i + 1][j] + 1).min(costs[i][j + 1] + 1).min(exchanged);
        }
        last_rows.insert(*from, i);
    }
    Ok((costs[left.len() + 1][right.len() + 1] as i64).into())
}

/// The share of the characters of both that both have.
fn jaccard(of: &[Given<'_>]) -> Result<Made> {
    let [left, right] = [&of[0], &of[1]].map(|of| of.text().chars().collect::<HashSet<_>>());
    if left.is_empty() || right.is_empty() {
        return exec_err!("jaccard: a text is empty");
    }
    let both = left.intersection(&right).count();
    Ok((both as f64 / (left.len() + right.len() - both) as f64).into())
}

fn jaro(left: &[char], right: &[char]) -> f64 {
    if left.is_empty() || right.is_empty() {
        return 0.0;
    }
    // Characters match that are not further from each other.
    let reach = (left.len().max(right.len()) / 2).saturating_sub(1);
    let mut is_taken = vec![false; right.len()];
    let mut matched = Vec::new();
    for (at, of) in left.iter().enumerate() {
        let places = at.saturating_sub(reach)..(at + reach + 1).min(right.len());
        if let Some(place) = places.into_iter().find(|place| !is_taken[*place] && right[*place] == *of) {
            is_taken[place] = true;
            matched.push(*of);
        }
    }
    if matched.is_empty() {
        return 0.0;
    }
    let others = right.iter().zip(&is_taken).filter(|(_, taken)| **taken).map(|(of, _)| of);
    let moved = matched.iter().zip(others).filter(|(left, right)| left != right).count() / 2;
    let count = matched.len() as f64;
    (count / left.len() as f64 + count / right.len() as f64 + (count - moved as f64) / count) / 3.0
}

/// Jaro's, and more for up to four characters that both begin with.
fn jaro_winkler(of: &[Given<'_>]) -> f64 {
    let (left, right) = (chars(&of[0]), chars(&of[1]));
    let alike = jaro(&left, &right);
    let begin = left.iter().zip(&right).take(4).take_while(|(left, right)| left == right).count();
    // What is hardly alike is not more so by how it begins.
    if alike > 0.7 { alike + begin as f64 * 0.1 * (1.0 - alike) } else { alike }
}
