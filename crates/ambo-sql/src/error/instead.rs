//! What others have and Ambo has not, on purpose, and what is written instead of it.

/// Functions.
const FUNCTIONS: [(&str, &str); 15] = [
    (
        "can_cast_implicitly",
        "typeof(x) is the name of a type; TRY_CAST(x AS type) is NULL where a value is of no such type",
    ),
    ("get_type", "types are no values here: typeof(x) is the name of one"),
    ("make_type", "types are no values here: CAST(x AS type) has the type in the statement"),
    (
        "make_timestamp_ns",
        "moments have microseconds here: to_timestamp_nanos(n) leaves out the digits behind them",
    ),
    ("md5_number", "no number has so many digits here: md5(x) is its text, hash(x) a number of 64 bits"),
    ("md5_number_lower", "md5(x) is its text, hash(x) a number of 64 bits"),
    ("md5_number_upper", "md5(x) is its text, hash(x) a number of 64 bits"),
    ("setseed", "chance has no seed here, but of samples: FROM t TABLESAMPLE bernoulli(10) REPEATABLE (42)"),
    ("json_serialize_sql", "statements are no values here: EXPLAIN shows what is made of one"),
    ("json_serialize_plan", "statements are no values here: EXPLAIN shows what is made of one"),
    ("json_deserialize_sql", "statements are no values here: query('SELECT …') runs the text of one"),
    ("json_execute_serialized_sql", "statements are no values here: query('SELECT …') runs the text of one"),
    ("union_value", "there are no unions: a struct has a field for each kind of value, {'a': 1, 'b': NULL}"),
    ("export_state", "aggregates have no states that are values"),
    ("finalize", "aggregates have no states that are values"),
];

/// Functions in FROM.
const TABLE_FUNCTIONS: [(&str, &str); 2] = [
    (
        "histogram_values",
        "SELECT unnest(map_entries(histogram(x, equi_width_bins(0, 100, 10, true)))) FROM t has a row for each bin",
    ),
    (
        "histogram",
        "SELECT unnest(map_entries(histogram(x, equi_width_bins(0, 100, 10, true)))) FROM t has a row for each bin",
    ),
];

/// Types, by the words that they begin with, in small letters.
const TYPES: [(&str, &str); 13] = [
    ("timetz", TIMETZ),
    ("time with time zone", TIMETZ),
    ("union", "a struct has a field for each kind of value: struct(number integer, word text)"),
    ("variant", "json has values of any kind"),
    ("bignum", WIDE),
    ("varint", WIDE),
    ("money", "decimal(19, 2) is exact"),
    ("xml", "text, or json"),
    ("inet", "text, or blob for addresses in the order of their numbers"),
    ("cidr", "text"),
    ("macaddr", "text"),
    ("tsvector", "text: x LIKE '%word%' and regexp_matches look into it"),
    ("hstore", "map(text, text), or json"),
];

const TIMETZ: &str =
    "timestamptz is a moment of the world; a time of a day and its zone are two columns, time and text";
const WIDE: &str = "decimal(38, 0) has 38 digits";

fn found(all: &'static [(&str, &str)], is: impl Fn(&str) -> bool) -> Option<&'static str> {
    all.iter().find(|(name, _)| is(name)).map(|(_, instead)| *instead)
}

/// What to write for a function.
pub(super) fn of_function(name: &str) -> Option<&'static str> {
    found(&FUNCTIONS, |known| known.eq_ignore_ascii_case(name))
}

/// What to write for a function in FROM.
pub(crate) fn of_table_function(name: &str) -> Option<&'static str> {
    found(&TABLE_FUNCTIONS, |known| known.eq_ignore_ascii_case(name))
}

/// What to write for a type.
pub(crate) fn of_type(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    found(&TYPES, |known| {
        name.strip_prefix(known)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}
