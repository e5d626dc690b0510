//! Statements whose constants are parameters: what is compared, added or limited by is bound instead of written.

use ambo::Datum;

/// What stands before a constant that may be bound. Not a parenthesis or a comma: behind these are places of columns, lengths of types and
/// arguments that have to be written.
const BEFORE: [&str; 16] = [
    "=", "<", ">", "<=", ">=", "<>", "+", "-", "*", "||", "then", "else", "limit", "offset", "and", "between",
];

/// A statement with `?` for its constants, and their values in the order of the text.
pub fn bound(statement: &str) -> (String, Vec<Datum>) {
    let (mut text, mut values) = (String::new(), Vec::new());
    // What is defined is kept as it is written.
    if ["create", "alter"].iter().any(|word| statement.starts_with(word)) {
        return (statement.to_owned(), values);
    }
    let mut rest = statement;
    let mut before = "";
    while let Some(first) = rest.chars().next() {
        let (token, behind) = rest.split_at(length(rest, first));
        match value(token) {
            Some(value) if BEFORE.contains(&before) => {
                text.push('?');
                values.push(value);
            }
            _ => text.push_str(token),
        }
        if !first.is_whitespace() {
            before = token;
        }
        rest = behind;
    }
    (text, values)
}

/// Bytes of the token that a text begins with: a text in quotes, a word or number, an operator, or one character.
fn length(text: &str, first: char) -> usize {
    let run = |is_in: fn(char) -> bool| text.find(|c| !is_in(c)).unwrap_or(text.len());
    match first {
        '\'' | '"' => text[1..].find(first).map_or(text.len(), |end| end + 2),
        c if c.is_alphanumeric() || c == '_' => run(|c| c.is_alphanumeric() || c == '_' || c == '.'),
        c if "=<>|+*".contains(c) => run(|c| "=<>|+*".contains(c)),
        c => c.len_utf8(),
    }
}

/// The value of a constant. Quotes within a text end it, and the next begins another: these stay as they are written.
fn value(token: &str) -> Option<Datum> {
    match token.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(text) => Some(Datum::Utf8(text.into())),
        None => token.parse().ok().map(Datum::I64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_bound() {
        // Keeps away: parameters in places where none may stand, and statements without any.
        let (text, values) = bound(
            "select (x1.k + 5), date '2024-01-01', lag(a, 3) from t1 as x1 where s = 'é' and k between 1 and 2 order by 1 limit 7",
        );
        assert_eq!(
            text,
            "select (x1.k + ?), date '2024-01-01', lag(a, 3) from t1 as x1 where s = ? and k between ? and ? order by 1 limit ?"
        );
        let numbers = |of: &[i64]| of.iter().map(|number| Datum::I64(*number)).collect::<Vec<_>>();
        assert_eq!(values[0], Datum::I64(5));
        assert_eq!(values[1], Datum::Utf8("é".into()));
        assert_eq!(values[2..], numbers(&[1, 2, 7]));
        let (text, values) = bound("sum(x) over (rows between 1 preceding and 2 following)");
        assert_eq!(text, "sum(x) over (rows between ? preceding and ? following)");
        assert_eq!(values, numbers(&[1, 2]));
        for same in ["cast(x as decimal(9, 2))", "1.5 + 2.5"] {
            assert_eq!(bound(same), (same.to_owned(), Vec::new()));
        }
    }
}
