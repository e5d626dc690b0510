//! Forms that the parser does not know. Each is said in tokens that it knows, where a word of it is there: one look at the tokens
//! tells which.

mod implied_types;
mod struct_types;

use datafusion::sql::sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

use super::{
    asof::say_asof,
    conflicts::say_conflicts,
    copies::say_copies,
    created_names::say_named_tables,
    describe::say_descriptions,
    explained::say_explained,
    fetches::say_fetches,
    keyed::say_keys,
    limits::say_shares,
    merge_forms::say_short_merges,
    names_before::say_names_before,
    pivots::say_pivots,
    samples::say_samples,
    stars::say_stars,
    tokens::{before, next},
    words::say_words,
};
pub(crate) use implied_types::IMPLIED;
use implied_types::say_implied_types;
use struct_types::say_struct_types;

/// Which words there are.
#[derive(Default)]
struct Words {
    asof: bool,
    /// A table that is made of a query.
    named_tables: bool,
    /// A comma with nothing behind it.
    commas: bool,
    /// Names before colons.
    colons: bool,
    conflicts: bool,
    copies: bool,
    descriptions: bool,
    explained: bool,
    /// Options of identities, FETCH FIRST.
    fetches: bool,
    merges: bool,
    /// Columns that may have no type.
    implied: bool,
    /// Keys of tables in WITH.
    keys: bool,
    pivots: bool,
    samples: bool,
    shares: bool,
    stars: bool,
    structs: bool,
    words: bool,
}

/// Says a form wherever it stands.
type Say = fn(Vec<TokenWithSpan>) -> Vec<TokenWithSpan>;

/// Says all forms of ours.
pub(super) fn say_forms(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let there = Words::of(&tokens);
    let forms: [(bool, Say); 18] = [
        (there.keys, say_keys),
        (there.implied, say_implied_types),
        (there.structs, say_struct_types),
        (there.commas, without_last_commas),
        (there.colons, say_names_before),
        (there.conflicts, say_conflicts),
        (there.copies, say_copies),
        (there.merges, say_short_merges),
        (there.words, say_words),
        (there.fetches, say_fetches),
        (there.named_tables, say_named_tables),
        (there.asof, say_asof),
        (there.shares, say_shares),
        (there.samples, say_samples),
        (there.stars, say_stars),
        (there.pivots, say_pivots),
        (there.descriptions, say_descriptions),
        (there.explained, say_explained),
    ];
    for (_, say) in forms.into_iter().filter(|(is_there, _)| *is_there) {
        tokens = say(tokens);
    }
    tokens
}

impl Words {
    fn of(tokens: &[TokenWithSpan]) -> Self {
        let mut there = Self::default();
        let (mut has_limit, mut has_create, mut has_recursive) = (false, false, false);
        let (mut is_behind_star, mut is_behind_comma) = (false, false);
        for TokenWithSpan { token, .. } in tokens {
            match token {
                Token::Word(word) => match word.keyword {
                    Keyword::ASOF => there.asof = true,
                    Keyword::AS => {
                        there.named_tables |= has_create;
                        there.implied |= has_create;
                    }
                    Keyword::CONFLICT => there.conflicts = true,
                    Keyword::COPY => there.copies = true,
                    Keyword::CREATE => has_create = true,
                    Keyword::BY | Keyword::KEY | Keyword::INDEX | Keyword::IN | Keyword::INTERVAL => {
                        there.words = true
                    }
                    Keyword::MERGE => (there.words, there.merges) = (true, true),
                    Keyword::IDENTITY | Keyword::FETCH => there.fetches = true,
                    Keyword::COLUMNS => there.stars = true,
                    Keyword::DESCRIBE | Keyword::DESC | Keyword::SHOW => there.descriptions = true,
                    Keyword::EXPLAIN => there.explained = true,
                    Keyword::LIMIT => has_limit = true,
                    Keyword::RECURSIVE => has_recursive = true,
                    Keyword::USING => there.keys |= has_recursive,
                    Keyword::PERCENT => there.shares |= has_limit,
                    Keyword::PIVOT | Keyword::UNPIVOT => there.pivots = true,
                    Keyword::STRUCT | Keyword::ROW => there.structs = true,
                    Keyword::SAMPLE | Keyword::TABLESAMPLE => there.samples = true,
                    Keyword::LIKE | Keyword::SIMILAR | Keyword::EXCEPT => there.stars |= is_behind_star,
                    Keyword::NoKeyword if word.value.len() == 9 => {
                        there.descriptions |= word.value.eq_ignore_ascii_case("summarize");
                    }
                    Keyword::NoKeyword if word.value.len() == 4 => {
                        there.stars |= word.value.eq_ignore_ascii_case("glob");
                    }
                    _ => {}
                },
                Token::Mod => there.shares |= has_limit,
                Token::Colon => there.colons = true,
                _ => {}
            }
            there.commas |= is_behind_comma && ends_list(token);
            is_behind_comma = match token {
                Token::Comma => true,
                Token::Whitespace(_) => is_behind_comma,
                _ => false,
            };
            is_behind_star = match token {
                Token::Mul => true,
                Token::Whitespace(_) => is_behind_star,
                Token::Word(word) => is_behind_star && word.keyword == Keyword::NOT,
                _ => false,
            };
        }
        there.commas |= is_behind_comma;
        there
    }
}

/// Whether there is no element before a comma behind this.
fn begins_list(token: &Token) -> bool {
    matches!(token, Token::LBracket | Token::LParen | Token::LBrace | Token::Comma)
}

fn ends_list(token: &Token) -> bool {
    matches!(token, Token::RBracket | Token::RParen | Token::RBrace | Token::SemiColon | Token::EOF)
}

/// Leaves out the comma behind the last row of VALUES, the last element of a list, the last argument.
fn without_last_commas(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        let is_last = tokens[at].token == Token::Comma
            && before(&tokens, at).is_some_and(|before| !begins_list(&tokens[before].token))
            && next(&tokens, at + 1).is_none_or(|next| ends_list(&tokens[next].token));
        match is_last {
            true => drop(tokens.remove(at)),
            false => at += 1,
        }
    }
    tokens
}
