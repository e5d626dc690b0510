//! Messages of the planner in words of SQL: no prefixes, no trees of the parser, no names of Arrow's types, no lists of signatures.

use std::{borrow::Cow, sync::LazyLock};

use arrow::datatypes::DataType;
use regex::{Captures, Regex};

use super::{Error, ErrorKind, instead, nested_types};

/// What the planner puts before a message to say where in itself it comes from.
const PREFIXES: [&str; 11] = [
    "Internal error: ",
    "Error during planning: ",
    "Execution error: ",
    "This feature is not implemented: ",
    "Arrow error: ",
    "Compute error: ",
    "Cast error: ",
    "Parser error: ",
    "Invalid argument error: ",
    "External error: ",
    "type_coercion\ncaused by\n",
];

/// What is said of statements that the planner does not know.
const NO_STATEMENT: &str = "a statement of this kind";

/// What is said of queries whose columns do not go together.
pub(crate) const NO_COMMON_TYPE: &str =
    "the queries of UNION have no common type for column \"$c\": $l and $r";

/// Messages of the planner, and what they mean.
const MEANINGS: [(&str, &str); 44] = [
    (
        r"^Function '(?P<f>[^']+)' user-defined coercion failed with: Internal error: .*$",
        "$f does not take arguments of these types",
    ),
    (
        r"^Function '(?P<f>[^']+)' failed to match any signature.*? requires .*? but received .*? \(DataType: (?P<t>.+?)\)\.*(?:,Error.*)?$",
        "$f does not take $t",
    ),
    (
        r"^Function '(?P<f>[^']+)' failed to match any signature.*? expects .*? but received (?P<n>\d+).*$",
        "$f does not take $n arguments",
    ),
    (
        r"^Function '(?P<f>[^']+)' requires .*? but received .*? \(DataType: (?P<t>.+)\)\.?$",
        "$f does not take $t",
    ),
    (
        r"^Cannot coerce arithmetic expression (?P<l>.+) (?P<o>\S+) (?P<r>.+) to valid types$",
        "the operator $o does not take $l and $r",
    ),
    (
        r"^Cannot get result type for temporal operation (?P<l>.+) (?P<o>[-+*/%]) (?P<r>.+?): .*$",
        "the operator $o does not take $l and $r",
    ),
    (
        r"^Cannot infer common (?:string type for string concat|type for bitwise) operation (?P<l>.+) (?P<o>\S+) (?P<r>.+)$",
        "the operator $o does not take $l and $r",
    ),
    (
        r"^Cannot infer common argument type for comparison operation (?P<l>\S.*?) (?:=|<>|!=|<=?|>=?|IS (?:NOT )?DISTINCT FROM) (?P<r>.+)$",
        "$l and $r cannot be compared",
    ),
    (
        r"^There isn't a common type to coerce (?P<l>.+) and (?P<r>.+) in (?P<o>LIKE|ILIKE|REGEX) expression$",
        "$o does not take $l and $r",
    ),
    (r"^Unary operator '-' only supports .*$", "the operator - takes numbers and intervals only"),
    (r"^Unary operator 'NOT' requires a boolean expression, got (?P<t>.+)$", "NOT takes a condition, not $t"),
    (
        r"(?s)^Cannot cast (?:string|value) '(?P<v>.*)' to value of (?P<t>.+) type$",
        "'$v' cannot be read as $t",
    ),
    (r"^Date arithmetic overflow: .*$", "a date with an interval added to it is beyond its range"),
    (r"^Can't cast value (?P<v>.+) to type (?P<t>.+)$", "$v is out of range for $t"),
    (r"(?s)^Error parsing timestamp from '(?P<v>.*)': .*$", "'$v' cannot be read as timestamp"),
    (
        r"^(?P<v>\S+) is too (?:large|small) to store in a Decimal\d+ of precision (?P<p>\d+)\. M(?:ax|in) is (?P<m>.+)$",
        "$v is out of range: with a precision of $p, the limit is $m",
    ),
    (
        r"^Cannot create filter with non-boolean predicate '(?P<e>.*)' returning (?P<t>.+)$",
        "a condition must be boolean, but $e is $t",
    ),
    (
        r#"(?s)^Column in (?P<w>SELECT|HAVING|QUALIFY|ORDER BY) must be in GROUP BY or an aggregate function: .*?column "(?P<c>.*?)" must appear in .*$"#,
        "column \"$c\" must stand in GROUP BY or in an aggregate function",
    ),
    (
        r"^Incompatible inputs for Union: Previous inputs were of type (?P<l>.+), but got incompatible type (?P<r>.+) on column '(?P<c>.+)'$",
        NO_COMMON_TYPE,
    ),
    (
        r"^(?P<o>UNION|INTERSECT|EXCEPT) queries have different number of columns$",
        "the queries of $o have different numbers of columns",
    ),
    (
        r"^Too many columns! The subquery should only return one column: (?P<c>.*)$",
        "a query that stands for a value returns one column, not several: $c",
    ),
    (
        r"^Ambiguous reference to unqualified field (?P<c>.+)$",
        "column $c is ambiguous: several tables have it",
    ),
    (
        r"^Order by column out of bounds, specified: (?P<n>\d+), max: (?P<m>\d+)$",
        "ORDER BY $n: the result has $m columns",
    ),
    (r"^Unsupported SQL type (?P<t>.+)$", "there is no type $t"),
    (r"^Unsupported CAST from (?P<l>.+) to (?P<r>.+)$", "$l cannot be cast to $r"),
    (r"^Divide by zero error$", "division by zero"),
    (r"^Overflow happened on FACTORIAL\((?P<v>.+)\)$", "factorial($v) is out of range for bigint"),
    (r"^Signed integer overflow in (?P<f>GCD|LCM)\((?P<v>.+)\)$", "the $f of $v is out of range for bigint"),
    (r"^Unsupported logical plan: .*$", NO_STATEMENT),
    (
        r"^Scalar subquery returned more than one row$",
        "a query that stands for a value returned more than one row",
    ),
    (
        r"^Schema contains duplicate qualified field name (?P<t>.+)\.(?P<c>[^.]+)$",
        "table $t stands twice in FROM: give each a name of its own (AS)",
    ),
    (
        r"^Inconsistent data type across values list at row \d+ column \d+\. Was (?P<l>.+) but found (?P<r>.+)$",
        "the rows of VALUES have no common type: $l and $r",
    ),
    (
        r"^Inconsistent data length across values list: got (?P<l>\d+) values in row \d+ but expected (?P<r>\d+)$",
        "the rows of VALUES have different lengths: $r values and $l",
    ),
    (
        r"^Failed to unify argument types of \w+: \[(?P<t>.*)\].*$",
        "the elements of a list have no common type: $t",
    ),
    (
        r"^Can not find compatible types to compare (?P<l>.+) with \[(?P<r>.+)\]$",
        "$l and $r cannot be compared",
    ),
    (
        r"(?s)^Dot access not supported for non-string expr: .*$",
        "a part of a value is taken by its name in brackets: (value)['name']",
    ),
    (r"^The window (?P<w>.+) is not defined!$", "there is no window \"$w\""),
    (
        r"^Cannot access field at argument \d+: type (?P<t>.+) is not .*$",
        "$t has no parts: only structs and maps have",
    ),
    (r"^Invalid HexStringLiteral '(?P<v>.*)'$", "x'$v' is not a hexadecimal string"),
    (
        r"^Aggregate functions are not allowed in the WHERE clause\. .*$",
        "WHERE chooses rows before they are grouped: conditions on aggregates stand in HAVING",
    ),
    (
        r"^Aggregate function calls cannot be nested: .*$",
        "an aggregate function cannot stand in the arguments of another",
    ),
    (
        r"^SELECT DISTINCT ON expressions must match initial ORDER BY expressions$",
        "ORDER BY begins with the expressions of DISTINCT ON",
    ),
    (
        r"^lambda defined (?P<n>\d+) params but UDF support only (?P<m>\d+)$",
        "the lambda has $n parameters, and the function gives it $m",
    ),
    (
        r"^Physical plan does not support logical expression Wildcard.*$",
        "* stands for the columns of a SELECT and cannot be an argument here",
    ),
];

/// A message as a user reads it.
pub(super) struct Wording {
    pub text: String,
    pub hint: Option<String>,
    /// Whether a function is named that is not there.
    is_missing: bool,
    /// Whether the message says by itself what is wrong.
    is_whole: bool,
}

impl Wording {
    pub fn of(message: &str) -> Self {
        let message = message.split("\n\nbacktrace:").next().unwrap_or_default();
        let message = message.split("This issue was likely caused by a bug").next().unwrap_or_default();
        let message = without_prefixes(message);
        if let Some(missing) = missing_function(message) {
            return missing;
        }
        let text = of_call(message).unwrap_or_else(|| said(message).into_owned());
        let is_whole = text != message && text != NO_STATEMENT;
        let hint = text.strip_prefix("there is no type ").and_then(instead::of_type).map(str::to_owned);
        Self { text: in_sql(&without_trees(&text)), hint, is_missing: false, is_whole }
    }

    /// The message of something that is not supported.
    pub fn unsupported(message: &str) -> Self {
        let mut wording = Self::of(message);
        if !wording.is_whole {
            wording.text = format!("not supported: {}", wording.text);
        }
        wording
    }

    /// The error of this message, which is of a kind unless it says otherwise.
    pub fn error(self, kind: ErrorKind) -> Error {
        let error = Error::new(if self.is_missing { ErrorKind::NotFound } else { kind }, self.text);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

fn without_prefixes(message: &str) -> &str {
    let mut rest = message.trim();
    while let Some(shorter) = PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = shorter.trim_start();
    }
    rest
}

/// A function that is not there. The planner names the nearest of all, however far that is.
fn missing_function(message: &str) -> Option<Wording> {
    let (name, rest) = message.strip_prefix("Invalid function '")?.split_once('\'')?;
    if let Some(instead) = instead::of_function(name) {
        return Some(Wording {
            text: format!("not supported: the function {name}"),
            hint: Some(instead.to_owned()),
            is_missing: true,
            is_whole: true,
        });
    }
    let near = rest.split_once("Did you mean '").and_then(|(_, near)| near.split_once('\''));
    let near = near.filter(|(near, _)| near.chars().next() == name.chars().next());
    let near = near.and_then(|(near, _)| ambo::nearest(name, std::iter::once(near)));
    Some(Wording {
        text: format!("there is no function \"{name}\""),
        hint: near.map(|near| format!("did you mean \"{near}\"?")),
        is_missing: true,
        is_whole: true,
    })
}

/// What is wrong with the arguments of a function, if a message says that none takes them: what the function says, or what it was given.
fn of_call(message: &str) -> Option<String> {
    let (before, after) = message.split_once("No function matches the given name and argument types '")?;
    if let Some((_, own)) = before.split_once("user-defined coercion failed with: Error during planning: ") {
        return Some(own.trim_end_matches([' ', '.']).to_owned());
    }
    let (call, _) = after.split_once('\'')?;
    Some(format!("no function takes these arguments: {call}"))
}

/// What a message of [`MEANINGS`] means; another one as it is.
fn said(message: &str) -> Cow<'_, str> {
    static KNOWN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        MEANINGS.iter().filter_map(|(form, meaning)| Some((Regex::new(form).ok()?, *meaning))).collect()
    });
    let found = KNOWN.iter().find(|(form, _)| form.is_match(message));
    found.map_or(Cow::Borrowed(message), |(form, meaning)| form.replace(message, *meaning))
}

/// A message without the parser's trees: what comes before the first of them says what it is about.
fn without_trees(message: &str) -> Cow<'_, str> {
    static TREE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:Ident|Value|Span|Location|Expr|ObjectName|ValueWithSpan|Column)\s*[{(]")
            .expect("a form")
    });
    static KIND: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<before>.*?):? *(?P<kind>[A-Z][A-Za-z]+) *[{(\[].*$").expect("a form")
    });
    if !TREE.is_match(message) || !message.contains("Span(") && !message.contains("Ident {") {
        return Cow::Borrowed(message);
    }
    let line = message.replace('\n', " ");
    match KIND.captures(&line) {
        Some(parts) => Cow::Owned(format!("this form of expression ({})", words_of(&parts["kind"]))),
        None => Cow::Borrowed("this form of statement"),
    }
}

/// The words of a name that is written with capitals inside.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for (nth, c) in name.chars().enumerate() {
        if c.is_uppercase() && nth > 0 {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

/// What SQL calls a type.
pub fn type_in_sql(ty: &DataType) -> String {
    in_sql(&ty.to_string())
}

/// A message with SQL's names of types and literals instead of Arrow's. What stands in quotes stays as it is.
fn in_sql(message: &str) -> String {
    static ARROW: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r#"(?P<quoted>'[^']*'|"[^"]*")"#,
            r"|\bU?Int(?:8|16|32|64)\((?P<number>-?\d+)\)",
            r"|\bFloat(?:32|64)\((?P<double>[-+.\deE]+)\)",
            r"|\bBoolean\((?P<truth>true|false)\)",
            r#"|\bUtf8(?:View)?\("(?P<text>[^"]*)"\)"#,
            r"|\bDecimal\d+\((?P<precision>\d+), ?(?P<scale>-?\d+)\)",
            r#"|\bTimestamp\([^,()]*, ?"[^"]*"\)(?P<zone>)"#,
            r"|\bFixedSizeBinary\((?P<uuid>16)\)",
            r"|\b(?P<parts>Timestamp|Time32|Time64|Duration|Interval|FixedSizeBinary)\([^()]*\)",
            r"|\b(?P<name>U?Int(?:8|16|32|64)|Float(?:16|32|64)|(?:Large)?Utf8(?:View)?|(?:Large)?Binary(?:View)?|Date(?:32|64)|Boolean|Null)\b",
        ))
        .expect("a form")
    });
    let replaced = ARROW.replace_all(message.trim(), |found: &Captures<'_>| {
        let group = |name| found.name(name).map(|part| part.as_str());
        if let Some(same) = group("quoted").or_else(|| group("number")).or_else(|| group("double")) {
            return same.to_owned();
        }
        if group("uuid").is_some() {
            return "uuid".to_owned();
        }
        if let Some(truth) = group("truth") {
            return truth.to_owned();
        }
        if let Some(text) = group("text") {
            return format!("'{text}'");
        }
        if let (Some(precision), Some(scale)) = (group("precision"), group("scale")) {
            return format!("decimal({precision}, {scale})");
        }
        if group("zone").is_some() {
            return "timestamp with time zone".to_owned();
        }
        type_name(group("parts").or_else(|| group("name")).unwrap_or_default()).to_owned()
    });
    nested_types::named(&replaced)
}

/// SQL's name of a type of Arrow's.
fn type_name(arrow: &str) -> &str {
    match arrow {
        "Int8" => "tinyint",
        "Int16" => "smallint",
        "Int32" => "int",
        "Int64" => "bigint",
        "UInt8" => "tinyint unsigned",
        "UInt16" => "smallint unsigned",
        "UInt32" => "int unsigned",
        "UInt64" => "bigint unsigned",
        "Float16" | "Float32" => "real",
        "Float64" => "double",
        "Utf8" | "LargeUtf8" | "Utf8View" => "text",
        "Binary" | "FixedSizeBinary" => "blob",
        "LargeBinary" => "bit",
        "BinaryView" => "geometry",
        "Date32" | "Date64" => "date",
        "Time32" | "Time64" => "time",
        "Timestamp" => "timestamp",
        "Duration" | "Interval" => "interval",
        "Boolean" => "boolean",
        "Null" => "NULL",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: &str) -> String {
        Wording::of(message).text
    }

    /// Keeps away: a form that cannot be read, of which nobody would hear.
    #[test]
    fn forms_are_regular_expressions() {
        for (form, _) in MEANINGS {
            assert!(Regex::new(form).is_ok(), "{form}");
        }
    }

    /// Keeps away: signatures, prefixes and names of Arrow's types in what users read.
    #[test]
    fn messages_are_in_words_of_sql() {
        let sum = "Internal error: Function 'sum' failed to match any signature, errors: Error during planning: Function 'sum' requires Decimal, but received String (DataType: Utf8).,Error during planning: Function 'sum' requires UInt64, but received String (DataType: Utf8)..";
        let substr = "Internal error: Function 'substr' failed to match any signature, errors: Error during planning: Function 'substr' expects 2 arguments but received 4,Error during planning: Function 'substr' expects 3 arguments but received 4.";
        for (message, meant) in [
            (sum, "sum does not take text"),
            (substr, "substr does not take 4 arguments"),
            (
                "Cannot coerce arithmetic expression Int32 + Utf8 to valid types",
                "the operator + does not take int and text",
            ),
            (
                "Cannot infer common argument type for comparison operation Decimal128(8, 2) = Date32",
                "decimal(8, 2) and date cannot be compared",
            ),
            ("Cast error: Cannot cast string 'abc' to value of Int32 type", "'abc' cannot be read as int"),
            ("Cast error: Can't cast value 300 to type Int8", "300 is out of range for tinyint"),
            ("Divide by zero error", "division by zero"),
            (
                "No function matches the given name and argument types 'abs(Timestamp(µs, \"UTC\"))'. You might need to add explicit type casts.\n\tCandidate functions:\n\tabs(Numeric(1))",
                "no function takes these arguments: abs(timestamp with time zone)",
            ),
        ] {
            assert_eq!(text(message), meant);
        }
    }

    /// Keeps away: values and names of users that are changed because they look like types.
    #[test]
    fn what_users_wrote_stays() {
        let message = "Cast error: Cannot cast string 'Int32 Utf8' to value of Date32 type";
        assert_eq!(text(message), "'Int32 Utf8' cannot be read as date");
        assert_eq!(text("column \"Int32\" is missing"), "column \"Int32\" is missing");
    }

    /// Keeps away: the parser's trees.
    #[test]
    fn trees_are_left_out() {
        let message = "Unsupported ast node in sqltorel: Collate { expr: Identifier(Ident { value: \"name\", span: Span(Location(1,29)..Location(1,33)) }) }";
        assert_eq!(text(message), "this form of expression (collate)");
    }

    /// Keeps away: hints at functions that have nothing in common with what was written.
    #[test]
    fn only_near_functions_are_named() {
        let far = Wording::of("Invalid function 'json_extract'.\nDid you mean 'union_extract'?");
        assert_eq!((far.text.as_str(), far.hint), ("there is no function \"json_extract\"", None));
        let near = Wording::of("Invalid function 'uper'.\nDid you mean 'upper'?");
        assert_eq!(near.hint.as_deref(), Some("did you mean \"upper\"?"));
    }
}
