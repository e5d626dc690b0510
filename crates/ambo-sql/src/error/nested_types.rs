//! Names of nested types in messages: `bigint[]`, `struct(a bigint)`, `map(text, bigint)`.

/// A message with SQL's names for the nested types of Arrow's in it, whose parts have SQL's names already.
pub(super) fn named(message: &str) -> String {
    let mut named = String::new();
    let mut rest = message;
    while let Some(start) = ["List(", "LargeList(", "FixedSizeList(", "Struct(", "Map("]
        .into_iter()
        .filter_map(|begin| rest.find(begin))
        .min()
    {
        let (before, from_here) = rest.split_at(start);
        named.push_str(before);
        match ty(from_here) {
            Some((name, behind)) => {
                named.push_str(&name);
                rest = behind;
            }
            None => {
                let (opening, behind) = from_here.split_at(from_here.find('(').map_or(0, |at| at + 1));
                named.push_str(opening);
                rest = behind;
            }
        }
    }
    named + rest
}

/// The name of the type that a text begins with, and what follows.
fn ty(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix("non-null ").unwrap_or(text);
    for begin in ["List(", "LargeList(", "FixedSizeList("] {
        let Some(item) = text.strip_prefix(begin) else { continue };
        let item = item.trim_start_matches(|c: char| c.is_ascii_digit());
        let (item, rest) = ty(item.strip_prefix(" x ").unwrap_or(item))?;
        let rest = match rest.strip_prefix(", field: '") {
            Some(name) => name.split_once('\'')?.1,
            None => rest,
        };
        return Some((format!("{item}[]"), rest.strip_prefix(')')?));
    }
    if let Some(fields_of) = text.strip_prefix("Struct(") {
        let (fields, rest) = fields(fields_of)?;
        // The field of an enum is named by its labels.
        if let [(name, _)] = &fields[..]
            && ["\u{1}", "\\u{1}"].iter().any(|mark| name.starts_with(mark))
        {
            return Some(("enum".to_owned(), rest));
        }
        let fields: Vec<_> = fields.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        return Some((format!("struct({})", fields.join(", ")), rest));
    }
    if let Some(entries) = text.strip_prefix("Map(") {
        let entries = entries.split_once("Struct(")?.1;
        let (fields, rest) = fields(entries)?;
        let [(_, key), (_, value)] = &fields[..] else { return None };
        let (_, rest) = rest.split_once(')')?;
        return Some((format!("map({key}, {value})"), rest));
    }
    plain(text)
}

/// The names and types of fields up to the parenthesis that ends them, and what follows.
fn fields(mut text: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut fields = Vec::new();
    loop {
        let (name, of) = text.strip_prefix('"')?.split_once("\": ")?;
        let (ty, rest) = ty(of)?;
        fields.push((name, ty));
        match rest.strip_prefix(", ") {
            Some(next) => text = next,
            None => return Some((fields, rest.strip_prefix(')')?)),
        }
    }
}

/// A type without parts: words, or `decimal(9, 2)`.
fn plain(text: &str) -> Option<(String, &str)> {
    let words = text.find(|c: char| !c.is_ascii_alphabetic() && c != ' ').unwrap_or(text.len());
    let end = match text[..words] == *"decimal" {
        true => text.find(')')? + 1,
        false => words,
    };
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn nested_types_have_names_of_sql() {
        // Keeps away: names of Arrow's types in what users read.
        for (message, expected) in [
            ("sum does not take List(bigint)", "sum does not take bigint[]"),
            ("a FixedSizeList(3 x decimal(9, 2)) b", "a decimal(9, 2)[] b"),
            (
                r#"Struct("a": bigint, "b": List(non-null timestamp with time zone)) and int"#,
                "struct(a bigint, b timestamp with time zone[]) and int",
            ),
            (
                r#"abs(Map("entries": non-null Struct("key": non-null text, "value": List(NULL)), unsorted))"#,
                "abs(map(text, NULL[]))",
            ),
            (r#"upper(Struct("\u{1}\u{1}a\u{1}b": smallint unsigned))"#, "upper(enum)"),
            ("List(of, things)", "List(of, things)"),
            ("no type", "no type"),
        ] {
            assert_eq!(named(message), expected);
        }
    }
}
