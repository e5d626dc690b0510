//! Texts of queries: nothing that is written makes the reader panic, or read for ever.

use ambo_query::uqi::Statement;
use proptest::prelude::*;

const WORDS: [&str; 44] = [
    "SUM",
    "count",
    "(",
    ")",
    "$key",
    "$record",
    "$",
    ",",
    "FROM",
    "DATABASE",
    "1",
    "0x",
    "0xFFFF",
    "070",
    "t",
    "main",
    ".",
    "WHERE",
    "NOT",
    "AND",
    "OR",
    "=",
    "<",
    "<>",
    ">=",
    "BETWEEN",
    "IN",
    "IS",
    "NULL",
    "LIKE",
    "'a%'",
    "'",
    "\"f@lib.so\"",
    "\"",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    "1e9",
    "1.5e",
    "LIMIT",
    ";",
];

proptest! {
    #[test]
    fn any_words_are_read_or_refused(
        picks in proptest::collection::vec((0..WORDS.len(), any::<bool>()), 0..40),
        begins in any::<bool>(),
    ) {
        let mut text = String::from(if begins { "SUM($key) FROM t WHERE " } else { "" });
        for (pick, spaced) in picks {
            text.push_str(WORDS[pick]);
            if spaced {
                text.push(' ');
            }
        }
        if let Err(error) = Statement::parse(&text) {
            prop_assert!(error.to_string().contains("UQI, at byte "), "{}", error);
        }
    }

    #[test]
    fn any_characters_are_refused_or_read(text in ".{0,60}") {
        let _ = Statement::parse(&text);
        let _ = Statement::parse(&format!("COUNT($key) FROM t WHERE $key = {text}"));
    }
}
