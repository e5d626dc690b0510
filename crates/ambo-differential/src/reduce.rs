//! Makes what shows a fault smaller, as long as it shows it: statements are left out, then words of the last one.

use std::time::{Duration, Instant};

/// A fault is made smaller for so long.
const TIME: Duration = Duration::from_secs(20);

/// Leaves parts out of a list, half of it first, as long as `fails` says that the fault is there.
pub fn shorter<T: Clone>(mut list: Vec<T>, until: Instant, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut size = list.len().div_ceil(2);
    while size > 0 && !list.is_empty() && Instant::now() < until {
        let mut from = 0;
        let mut is_shorter = false;
        while from < list.len() && Instant::now() < until {
            let to = (from + size).min(list.len());
            let without: Vec<T> = list[..from].iter().chain(&list[to..]).cloned().collect();
            match fails(&without) {
                true => (list, is_shorter) = (without, true),
                false => from = to,
            }
        }
        size = match (size, is_shorter) {
            (1, true) => 1,
            (1, false) => 0,
            (size, _) => size / 2,
        };
    }
    list
}

pub fn deadline() -> Instant {
    Instant::now() + TIME
}

/// Makes a statement smaller.
pub fn simpler(statement: &str, until: Instant, mut fails: impl FnMut(&str) -> bool) -> String {
    let mut words = words(statement);
    loop {
        let before = words.len();
        words = inner(words, until, &mut fails);
        words = shorter(words, until, |words| is_whole(words) && fails(&words.join(" ")));
        if words.len() == before || Instant::now() >= until {
            return words.join(" ");
        }
    }
}

/// Puts what is simple in the place of what is in parentheses, or leaves out the parentheses.
fn inner(mut words: Vec<String>, until: Instant, fails: &mut impl FnMut(&str) -> bool) -> Vec<String> {
    let mut open = 0;
    while open < words.len() && Instant::now() < until {
        if words[open] != "(" {
            open += 1;
            continue;
        }
        let Some(close) = closing(&words, open) else { return words };
        let begin = match open > 0 && is_name(&words[open - 1]) {
            true => open - 1,
            false => open,
        };
        let within = &words[open + 1..close];
        let first = within.iter().position(|word| word == ",").unwrap_or(within.len());
        let instead = ["null", "1", "true", "'a'"].map(|word| vec![word.to_owned()]);
        let instead = instead.into_iter().chain([within.to_vec(), within[..first].to_vec()]);
        let smaller = instead
            .map(|middle| [&words[..begin], &middle, &words[close + 1..]].concat())
            .find(|smaller| smaller.len() < words.len() && fails(&smaller.join(" ")));
        match smaller {
            Some(smaller) => words = smaller,
            None => open += 1,
        }
    }
    words
}

fn is_name(word: &str) -> bool {
    word.chars().all(|c| c.is_alphanumeric() || c == '_')
        && ![
            "in", "as", "and", "or", "not", "where", "on", "from", "join", "select", "values", "any", "all",
            "exists", "when",
        ]
        .contains(&word)
}

fn closing(words: &[String], open: usize) -> Option<usize> {
    let mut depth = 0;
    words.iter().enumerate().skip(open).find_map(|(place, word)| {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(place)
    })
}

fn is_whole(words: &[String]) -> bool {
    let mut depth = 0;
    for word in words {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

/// The words and signs of a statement.
fn words(statement: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for c in statement.chars() {
        if c == '\'' {
            is_quoted = !is_quoted;
        }
        match c {
            ' ' | '\n' if !is_quoted => words.push(std::mem::take(&mut word)),
            '(' | ')' | ',' if !is_quoted => {
                words.push(std::mem::take(&mut word));
                words.push(c.to_string());
            }
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a statement may be taken for a smaller form of another: what says in which order rows come is there as before, or nothing asks
/// for it.
pub fn keeps_its_order(whole: &str, smaller: &str) -> bool {
    let count = |text: &str, words: &str| text.matches(words).count();
    let asks = ["limit", "offset", "distinct on", "rows between", "row_number", "lag", "lead", "_value"];
    // "order by" is written with one space in both.
    let orders = |text: &str| {
        text.split("order by").skip(1).map(|rest| rest.split(')').next().unwrap_or("").len()).sum::<usize>()
    };
    asks.iter().all(|word| count(smaller, word) == 0) || orders(smaller) >= orders(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        // Keeps away: reports of random statements that nobody can read.
        let until = deadline();
        let statement = "select a, (b + 'x ( y'), max(c) from t where (a > 3 and c in (1, 2)) group by a";
        let smaller = simpler(statement, until, |text| text.contains("max") && text.contains("select"));
        assert!(smaller.len() < 16, "{smaller}");
        assert_eq!(
            shorter((0..100).collect(), until, |list| list.contains(&17) && list.contains(&80)),
            [17, 80]
        );
    }
}
