//! Conditions on the keys of joins: the optimizer asks of them whether they are true of NULL, with columns that have no type.

use ambo_sql::Database;

/// Types of keys, each with conditions in which # is the key.
const CONDITIONS: [(&str, &[&str]); 12] = [
    (
        "timestamp",
        &[
            "date_trunc('day', #) = timestamp '2024-01-01'",
            "year(#) = 2024",
            "# + interval '1 day' > timestamp '2024-01-01'",
            "# - interval '1 day' > timestamp '2024-01-01'",
            "date_diff('day', #, timestamp '2024-01-01') > 1",
            "time_bucket(interval '1 day', #) = #",
            "date_bin('1 day', #) = #",
            "age(#, timestamp '2024-01-01') > interval '1 day'",
            "# at time zone 'Europe/Berlin' > now()",
            "epoch_ms(#) > 1",
            "strftime(#, '%Y') = '2024'",
            "#::date = date '2024-01-01'",
            "#::text = 'x'",
            "# - timestamp '2024-01-01' > interval '1 day'",
            "last_day(#) = date '2024-01-31'",
            "dayname(#) = 'Monday'",
            "#::time > time '10:00'",
            "date_part('epoch', #) > 1",
        ],
    ),
    (
        "date",
        &[
            "# < timestamp '2024-01-01'",
            "# + 5 > date '2024-01-01'",
            "# - date '2024-01-01' > 5",
            "# + interval '1 month' > date '2024-01-01'",
            "date_trunc('month', #) = date '2024-01-01'",
            "# + time '10:00' > timestamp '2024-01-01'",
            "year(#) = 2024",
            "#::text = 'x'",
            "julian(#) > 5",
        ],
    ),
    (
        "timestamptz",
        &[
            "# > timestamp '2024-01-01'",
            "date_trunc('day', #) = now()",
            "year(#) = 2024",
            "# + interval '1 day' > now()",
            "#::date = date '2024-01-01'",
            "#::text = 'x'",
            "timezone('Europe/Berlin', #) > timestamp '2024-01-01'",
        ],
    ),
    (
        "int",
        &[
            "# + 1 > 2",
            "# * 2.5 > 1",
            "# % 2 = 0",
            "#::decimal(10, 2) > 1",
            "round(#, 1) > 1",
            "# / 2 > 1",
            "power(#, 2) > 1",
            "#::text = 'a'",
            "abs(#) > 1",
            "chr(#) = 'a'",
            "#::double > 1.5",
        ],
    ),
    (
        "decimal(10, 2)",
        &["# + 1 > 2", "# * 2.5 > 1", "#::int = 1", "round(#, 1) > 1", "# / 3 > 1", "#::double > 1"],
    ),
    (
        "double",
        &["# + 1 > 2", "round(#, 1) > 1", "#::int = 1", "sqrt(#) > 1", "#::decimal(10, 2) > 1", "isnan(#)"],
    ),
    (
        "text",
        &[
            "length(#) = 1",
            "upper(#) = 'A'",
            "# ~ '^a'",
            "regexp_extract(#, 'a') = 'a'",
            "#::int = 1",
            "#::date = date '2024-01-01'",
            "split_part(#, 'a', 1) = ''",
            "#::uuid is not null",
            "md5(#) = ''",
            "# similar to 'a%'",
            "json_extract(#, '$.a') = '1'",
            "#::interval > interval '1 day'",
            "strptime(#, '%Y') > timestamp '2024-01-01'",
            "levenshtein(#, 'a') = 1",
        ],
    ),
    (
        "interval",
        &[
            "# > interval '1 day'",
            "# * 2 > interval '1 day'",
            "date_part('day', #) = 1",
            "# + interval '1 day' > interval '1 day'",
        ],
    ),
    (
        "int[]",
        &[
            "#[1] = 1",
            "array_length(#) = 1",
            "list_contains(#, 1)",
            "#::text = '[]'",
            "list_sum(#) = 1",
            "list_transform(#, lambda x: x + 1) = [1]",
            "list_distinct(#) = [1]",
            "# < [1]",
        ],
    ),
    ("uuid", &["# = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "#::text = 'a'"]),
    ("blob", &["length(#) = 1", "md5(#) = 'a'"]),
    ("json", &["# -> 'a' = '1'", "json_type(#) = 'a'", "# ->> 'a' = 'x'"]),
];

/// Keeps away: functions that panic when they are given a column without a type, of which all are refused or answered alike.
#[test]
fn conditions_on_keys_of_joins_have_answers() {
    let db = Database::in_memory().unwrap();
    let mut connection = db.connect();
    for (ty, conditions) in CONDITIONS {
        connection
            .script(&format!(
                "create or replace table a (k int primary key, c {ty}); create or replace table b (k int primary key, c {ty});
                insert into a values (1, null); insert into b values (1, null)"
            ))
            .unwrap();
        for condition in conditions {
            for join in ["join", "left join", "right join", "full join"] {
                for side in ["a", "b"] {
                    let condition = condition.replace('#', &format!("{side}.c"));
                    let query = format!("select a.k, b.k from a {join} b on a.c = b.c where {condition}");
                    let rows = connection.sql(&query).and_then(|rows| rows.collect::<Result<Vec<_>, _>>());
                    assert_eq!(rows.unwrap_or_else(|error| panic!("{query}: {error}")).len(), 0, "{query}");
                }
            }
        }
    }
}
