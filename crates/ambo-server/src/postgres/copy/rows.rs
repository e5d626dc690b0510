//! Rows from bytes that come in parts of any length.

use super::{
    super::message::{Malformed, Reader},
    options::{Form, Kind},
};

/// What has come and is not a row yet.
pub(super) struct Rows {
    form: Form,
    waiting: Vec<u8>,
    /// How much of it was looked at for an end, and whether that was between quotes.
    scanned: usize,
    in_quotes: bool,
    /// What is skipped: the line of names.
    skips: bool,
    /// Whether rows have come to their end.
    pub ended: bool,
    has_signature: bool,
    /// Rows so far.
    pub count: u64,
}

/// A field of a row: NULL, or bytes.
pub(super) type Field = Option<Vec<u8>>;

impl Rows {
    pub fn new(form: &Form) -> Self {
        Self {
            form: form.clone(),
            waiting: Vec::new(),
            scanned: 0,
            in_quotes: false,
            skips: form.header && form.kind != Kind::Binary,
            ended: false,
            has_signature: false,
            count: 0,
        }
    }

    /// Takes bytes and gives the rows that are whole then.
    pub fn push(
        &mut self,
        bytes: &[u8],
        row: impl FnMut(&[Field]) -> Result<(), String>,
    ) -> Result<(), String> {
        self.waiting.extend_from_slice(bytes);
        match self.form.kind {
            Kind::Binary => self.take_binary(row),
            Kind::Text | Kind::Csv => self.take_lines(row),
        }
    }

    /// Gives the last row, if it has no end of its own.
    pub fn finish(&mut self, row: impl FnMut(&[Field]) -> Result<(), String>) -> Result<(), String> {
        match self.form.kind {
            // As in PostgreSQL, what ends behind a row needs no mark of its end: pgx sends none.
            Kind::Binary if !self.ended && (!self.has_signature || !self.waiting.is_empty()) => {
                Err("the rows end too early".to_owned())
            }
            Kind::Binary => Ok(()),
            _ if self.in_quotes => Err("a field between quotes has no end".to_owned()),
            _ if self.waiting.is_empty() || self.ended => Ok(()),
            Kind::Text | Kind::Csv => {
                self.waiting.push(b'\n');
                self.take_lines(row)
            }
        }
    }

    fn take_lines(&mut self, mut row: impl FnMut(&[Field]) -> Result<(), String>) -> Result<(), String> {
        let mut start = 0;
        let mut fields = Vec::new();
        while !self.ended {
            let Some(end) = self.line_end() else { break };
            let line = &self.waiting[start..end];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            match line {
                b"\\." => self.ended = true,
                _ if self.skips => self.skips = false,
                line => {
                    self.count += 1;
                    fields.clear();
                    let read = match self.form.kind {
                        Kind::Csv => csv(&self.form, line, &mut fields),
                        _ => text(&self.form, line, &mut fields),
                    };
                    let count = self.count;
                    read.and_then(|()| row(&fields)).map_err(|what| format!("{what}, in row {count}"))?;
                }
            }
            start = end + 1;
        }
        self.waiting.drain(..start.min(self.waiting.len()));
        self.scanned -= start.min(self.scanned);
        Ok(())
    }

    /// Where the next line ends.
    fn line_end(&mut self) -> Option<usize> {
        let is_csv = self.form.kind == Kind::Csv;
        while self.scanned < self.waiting.len() {
            let (at, byte) = (self.scanned, self.waiting[self.scanned]);
            self.scanned += 1;
            match byte {
                byte if is_csv && self.in_quotes && byte == self.form.escape && byte != self.form.quote => {
                    self.scanned += 1
                }
                byte if is_csv && byte == self.form.quote => self.in_quotes = !self.in_quotes,
                // What is behind a backslash is no end.
                b'\\' if !is_csv => match self.waiting.get(at + 1) {
                    None => {
                        self.scanned = at;
                        return None;
                    }
                    Some(b'.') => {}
                    Some(_) => self.scanned += 1,
                },
                b'\n' if !self.in_quotes => return Some(at),
                _ => {}
            }
        }
        None
    }

    fn take_binary(&mut self, mut row: impl FnMut(&[Field]) -> Result<(), String>) -> Result<(), String> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut rest = &waiting[..];
        if !self.has_signature {
            match signature(rest)? {
                Some(after) => (rest, self.has_signature) = (after, true),
                None => {
                    self.waiting = waiting;
                    return Ok(());
                }
            }
        }
        let mut fields = Vec::new();
        while !self.ended {
            let mut from = Reader(rest);
            match tuple(&mut from, &mut fields)? {
                None => break,
                Some(false) => self.ended = true,
                Some(true) => {
                    self.count += 1;
                    row(&fields).map_err(|what| format!("{what}, in row {}", self.count))?;
                }
            }
            rest = from.0;
        }
        self.waiting = rest.to_vec();
        Ok(())
    }
}

/// What is behind the signature; `None` if not all of it has come.
fn signature(bytes: &[u8]) -> Result<Option<&[u8]>, String> {
    let known = &super::output::SIGNATURE[..11];
    if !bytes.starts_with(&known[..bytes.len().min(11)]) {
        return Err("the rows do not begin as rows in binary form do".to_owned());
    }
    let mut from = Reader(bytes);
    let skipped = from.take(15).and_then(|_| {
        let more = from.u32()?;
        from.take(more as usize)
    });
    Ok(skipped.ok().map(|_| from.0))
}

/// A row in binary form; `None` if not all of it has come, `false` for the end of all rows.
fn tuple(from: &mut Reader<'_>, fields: &mut Vec<Field>) -> Result<Option<bool>, String> {
    fields.clear();
    let Ok(count) = from.i16() else { return Ok(None) };
    if count == -1 {
        return Ok(Some(false));
    }
    if count < 0 {
        return Err("a row has a number of fields below zero".to_owned());
    }
    for _ in 0..count {
        let Ok(length) = from.i32() else { return Ok(None) };
        if length == -1 {
            fields.push(None);
            continue;
        }
        let length = usize::try_from(length).map_err(|_| "a length is below zero".to_owned())?;
        match from.take(length) {
            Ok(bytes) => fields.push(Some(bytes.to_vec())),
            Err(Malformed(_)) => return Ok(None),
        }
    }
    Ok(Some(true))
}

fn text(form: &Form, line: &[u8], fields: &mut Vec<Field>) -> Result<(), String> {
    let (mut field, mut start, mut at) = (Vec::new(), 0, 0);
    loop {
        let byte = line.get(at).copied();
        match byte {
            Some(byte) if byte == form.delimiter => {}
            None => {}
            Some(b'\\') => {
                at += 1;
                let escaped = line.get(at).copied();
                at += 1;
                match escaped {
                    Some(b'n') => field.push(b'\n'),
                    Some(b'r') => field.push(b'\r'),
                    Some(b't') => field.push(b'\t'),
                    Some(b'b') => field.push(8),
                    Some(b'f') => field.push(12),
                    Some(b'v') => field.push(11),
                    Some(b'x') => {
                        let digits =
                            line[at..].iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
                        let value = std::str::from_utf8(&line[at..at + digits])
                            .ok()
                            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
                        field.push(value.unwrap_or(b'x'));
                        at += digits;
                    }
                    Some(first @ b'0'..=b'7') => {
                        let mut value = u32::from(first - b'0');
                        for _ in 0..2 {
                            if let Some(digit @ b'0'..=b'7') = line.get(at) {
                                value = value * 8 + u32::from(digit - b'0');
                                at += 1;
                            }
                        }
                        field.push(value as u8);
                    }
                    Some(other) => field.push(other),
                    None => return Err("a backslash ends the line".to_owned()),
                }
                continue;
            }
            Some(byte) => {
                field.push(byte);
                at += 1;
                continue;
            }
        }
        let is_null = line[start..at] == *form.null.as_bytes();
        let taken = std::mem::take(&mut field);
        fields.push((!is_null).then_some(taken));
        at += 1;
        start = at;
        if byte.is_none() {
            return Ok(());
        }
    }
}

fn csv(form: &Form, line: &[u8], fields: &mut Vec<Field>) -> Result<(), String> {
    let (mut field, mut at, mut was_quoted) = (Vec::new(), 0, false);
    loop {
        match line.get(at).copied() {
            Some(byte) if byte == form.quote => {
                was_quoted = true;
                at += 1;
                loop {
                    let Some(byte) = line.get(at).copied() else {
                        return Err("a field between quotes has no end".to_owned());
                    };
                    at += 1;
                    let next = line.get(at).copied();
                    if byte == form.escape
                        && next.is_some_and(|next| next == form.quote || next == form.escape)
                    {
                        field.extend(next);
                        at += 1;
                    } else if byte == form.quote {
                        break;
                    } else {
                        field.push(byte);
                    }
                }
            }
            Some(byte) if byte != form.delimiter => {
                field.push(byte);
                at += 1;
            }
            end => {
                let is_null = !was_quoted && field == form.null.as_bytes();
                let taken = std::mem::take(&mut field);
                fields.push((!is_null).then_some(taken));
                was_quoted = false;
                at += 1;
                if end.is_none() {
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::options::Copy, *};

    fn read(options: &str, parts: &[&[u8]]) -> Result<Vec<Vec<Field>>, String> {
        let form = Copy::of(&format!("t from stdin {options}")).unwrap().unwrap().form;
        let (mut rows, mut all) = (Rows::new(&form), Vec::new());
        for part in parts {
            rows.push(part, |fields| {
                all.push(fields.to_vec());
                Ok(())
            })?;
        }
        rows.finish(|fields| {
            all.push(fields.to_vec());
            Ok(())
        })?;
        Ok(all)
    }

    fn fields(all: &[Option<&str>]) -> Vec<Field> {
        all.iter().map(|field| field.map(|text| text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn rows_are_read_of_texts() {
        let all = read("", &[b"1\ta\\tb\n2\t\\N\r\n3\t\n\\.\nx"]).unwrap();
        assert_eq!(
            all,
            [fields(&[Some("1"), Some("a\tb")]), fields(&[Some("2"), None]), fields(&[Some("3"), Some("")])]
        );
        assert_eq!(read("", &[b"a\\x41\\101\\\\"]).unwrap(), [fields(&[Some("aAA\\")])]);
    }

    #[test]
    fn rows_are_read_of_csv() {
        let all = read("csv header", &[b"a,b\n1,\"x\"\"\n,\"\n,\"\"\n"]).unwrap();
        assert_eq!(all, [fields(&[Some("1"), Some("x\"\n,")]), fields(&[None, Some("")])]);
        assert_eq!(read("csv", &[b"\"a\n"]).unwrap_err(), "a field between quotes has no end");
    }

    proptest! {
        #[test]
        fn parts_do_not_matter(
            bytes in prop::collection::vec(prop::sample::select(b"ab\t,\"\\\n\r.N1x".to_vec()), 0..60),
            cut in 0usize..60,
            options in prop::sample::select(vec!["", "csv", "csv escape '\\'"]),
        ) {
            let (one, two) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(read(options, &[&bytes]), read(options, &[one, two]));
        }

        #[test]
        fn any_bytes_are_rows_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let all = [&super::super::output::SIGNATURE[..], &bytes].concat();
            let _rows_or_error = read("binary", &[&all]);
            let _rows_or_error = read("binary", &[&bytes]);
        }
    }
}
