//! The words of a text: where its statements end, and what stands in them one after the other. Texts, names between quotes and comments are
//! told from words as PostgreSQL does.

use std::ops::Range;

/// The statements of a text, without what stands between them. There are none in a text of blanks and comments.
pub(super) fn split(text: &str) -> Vec<Range<usize>> {
    let (bytes, mut all) = (text.as_bytes(), Vec::new());
    let (mut begin, mut end, mut at) = (None, 0, 0);
    while at < bytes.len() {
        let next = skip(text, at);
        match bytes[at] {
            b';' => all.extend(begin.take().map(|begin| begin..end)),
            byte if byte.is_ascii_whitespace() || is_comment(bytes, at) => {}
            _ => {
                begin.get_or_insert(at);
                end = next;
            }
        }
        at = next;
    }
    all.extend(begin.map(|begin| begin..end));
    all
}

fn is_comment(bytes: &[u8], at: usize) -> bool {
    bytes[at..].starts_with(b"--") || bytes[at..].starts_with(b"/*")
}

/// Where what begins at a place ends: a text, a name between quotes, a comment, or a sign.
fn skip(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let rest = &bytes[at..];
    let end = |found: Option<usize>, length: usize| found.map_or(bytes.len(), |place| at + place + length);
    match rest[0] {
        quote @ (b'\'' | b'"') => {
            let escapes = quote == b'\''
                && at > 0
                && matches!(bytes[at - 1], b'e' | b'E')
                && !is_word(bytes, at.wrapping_sub(2));
            let mut place = at + 1;
            while place < bytes.len() {
                match bytes[place] {
                    b'\\' if escapes => place += 1,
                    byte if byte == quote => return place + 1,
                    _ => {}
                }
                place += 1;
            }
            bytes.len()
        }
        b'-' if rest.starts_with(b"--") => end(rest.iter().position(|byte| *byte == b'\n'), 1),
        b'/' if rest.starts_with(b"/*") => {
            let (mut depth, mut place) = (1, at + 2);
            while place < bytes.len() && depth > 0 {
                let (step, deeper) = match &bytes[place..] {
                    [b'/', b'*', ..] => (2, 1),
                    [b'*', b'/', ..] => (2, -1),
                    _ => (1, 0),
                };
                (place, depth) = (place + step, depth + deeper);
            }
            place
        }
        b'$' if !is_word(bytes, at.wrapping_sub(1)) => match dollar(text, at) {
            Some(tag) => end(text[at + tag.len()..].find(tag).map(|place| place + tag.len()), tag.len()),
            None => at + 1,
        },
        _ => at + 1,
    }
}

/// What a text between dollars begins with.
fn dollar(text: &str, at: usize) -> Option<&str> {
    let length = text.as_bytes()[at + 1..].iter().position(|byte| *byte == b'$')?;
    let tag = &text.as_bytes()[at + 1..at + 1 + length];
    let is_tag = tag.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
        && !tag.first().is_some_and(u8::is_ascii_digit);
    is_tag.then(|| &text[at..at + length + 2])
}

fn is_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
}

/// The next word of a text, in small letters, and what is behind it: a name, a number, or a sign of its own. Names between quotes and texts
/// come as they mean, and are told by [`Word::Quoted`].
pub(super) fn word(text: &str) -> Option<(Word, &str)> {
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() && (bytes[at].is_ascii_whitespace() || is_comment(bytes, at)) {
        at = skip(text, at);
    }
    let first = *bytes.get(at)?;
    let end = match first {
        b'\'' | b'"' => {
            let (mut meant, mut end) = (String::new(), at);
            // Quotes that are doubled are two texts that touch.
            while bytes.get(end) == Some(&first) {
                let next = skip(text, end);
                if end > at {
                    meant.push(first.into());
                }
                let closed = next > end + 1 && bytes[next - 1] == first;
                meant.push_str(&text[end + 1..next - usize::from(closed)]);
                end = next;
            }
            return Some((Word::Quoted(meant), &text[end..]));
        }
        _ if is_word(bytes, at) => {
            let is_part = |byte: &u8| is_word(&[*byte], 0) || *byte == b'.' || *byte == b'$';
            bytes[at..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| at + length)
        }
        _ => at + 1,
    };
    Some((Word::Plain(text.get(at..end)?.to_lowercase()), &text[end..]))
}

/// See [`word`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    Plain(String),
    Quoted(String),
}

impl Word {
    /// What it says.
    pub fn text(self) -> String {
        match self {
            Self::Plain(text) | Self::Quoted(text) => text,
        }
    }

    pub fn is(&self, word: &str) -> bool {
        matches!(self, Self::Plain(text) if text == word)
    }
}

/// All words of a text.
pub(super) fn words(mut text: &str) -> Vec<Word> {
    let mut all = Vec::new();
    while let Some((word, rest)) = word(text) {
        all.push(word);
        text = rest;
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn statements_end_where_they_end() {
        let texts = |text: &str| split(text).into_iter().map(|of| text[of].to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(" select 1 ; select ';' -- ; \n;; /* ; /* ; */ ; */"), ["select 1", "select ';'"]);
        assert_eq!(
            texts(r#"select "a;b", $$;$$, $x$;$$;$x$; x"#),
            [r#"select "a;b", $$;$$, $x$;$$;$x$"#, "x"]
        );
        assert_eq!(texts(r"select E'\';', '\'; select $1;"), [r"select E'\';', '\'", "select $1"]);
        assert!(texts("-- ping").is_empty() && texts(" ;; ").is_empty());
        assert_eq!(texts("select 'it''s; ' ; b"), ["select 'it''s; '", "b"]);
    }

    #[test]
    fn words_are_told_from_texts() {
        let plain = |text: &str| Word::Plain(text.to_owned());
        let all = words("SET /* x */ a.b = 'it''s' , \"C\"");
        let quoted = |text: &str| Word::Quoted(text.to_owned());
        assert_eq!(all, [plain("set"), plain("a.b"), plain("="), quoted("it's"), plain(","), quoted("C")]);
    }

    proptest! {
        #[test]
        fn any_text_is_split(text in "[-a;'\"$/*\\\\ü eE1\n]{0,40}") {
            for of in split(&text) {
                prop_assert!(!text[of].is_empty());
            }
            words(&text);
        }
    }
}
