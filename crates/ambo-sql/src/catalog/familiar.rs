//! The catalogs of DuckDB and SQLite, for statements that ask them: queries of `information_schema` and `ambo_catalog`.
//!
//! They have those of the columns of their namesakes for which there is something to tell. Each is a table (`FROM duckdb_tables`) and a
//! function (`FROM duckdb_tables()`).

/// Queries without arguments, by name.
const QUERIES: [(&str, &str); 12] = [
    (
        "duckdb_databases",
        "SELECT DISTINCT catalog_name AS database_name, false AS internal, 'ambo' AS type, false AS readonly
        FROM information_schema.schemata",
    ),
    (
        "duckdb_schemas",
        "SELECT catalog_name AS database_name, schema_name,
            schema_name IN ('information_schema', 'ambo_catalog') AS internal
        FROM information_schema.schemata",
    ),
    (
        "duckdb_tables",
        "SELECT t.table_catalog AS database_name, t.table_schema AS schema_name, t.table_name,
            t.table_comment AS comment, false AS internal, false AS temporary,
            EXISTS (SELECT 1 FROM information_schema.table_constraints AS c
                WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name
                    AND c.constraint_type = 'PRIMARY KEY') AS has_primary_key,
            a.rows AS estimated_size,
            (SELECT count(*) FROM information_schema.columns AS c
                WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name) AS column_count,
            (SELECT count(DISTINCT s.index_name) FROM information_schema.statistics AS s
                WHERE s.table_schema = t.table_schema AND s.table_name = t.table_name
                    AND s.index_name <> 'PRIMARY') AS index_count,
            (SELECT count(*) FROM information_schema.table_constraints AS c
                WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name
                    AND c.constraint_type = 'CHECK') AS check_constraint_count,
            t.definition AS sql
        FROM information_schema.tables AS t
        JOIN ambo_catalog.tables AS a ON a.table_schema = t.table_schema AND a.table_name = t.table_name
        WHERE t.table_type = 'BASE TABLE'",
    ),
    (
        "duckdb_columns",
        "SELECT c.table_catalog AS database_name, c.table_schema AS schema_name, c.table_name, c.column_name,
            c.ordinal_position AS column_index, c.column_comment AS comment, t.table_type = 'SYSTEM VIEW' AS internal,
            c.column_default, c.is_nullable = 'YES' AS is_nullable, c.data_type, c.numeric_precision,
            c.numeric_scale
        FROM information_schema.columns AS c
        JOIN information_schema.tables AS t ON t.table_schema = c.table_schema AND t.table_name = c.table_name",
    ),
    (
        "duckdb_views",
        "SELECT t.table_catalog AS database_name, t.table_schema AS schema_name, t.table_name AS view_name,
            t.table_comment AS comment, t.table_type = 'SYSTEM VIEW' AS internal, false AS temporary,
            (SELECT count(*) FROM information_schema.columns AS c
                WHERE c.table_schema = t.table_schema AND c.table_name = t.table_name) AS column_count,
            t.definition AS sql
        FROM information_schema.tables AS t WHERE t.table_type <> 'BASE TABLE'",
    ),
    (
        "duckdb_sequences",
        "SELECT sequence_catalog AS database_name, sequence_schema AS schema_name, sequence_name,
            false AS temporary, start_value::bigint AS start_value, minimum_value::bigint AS min_value,
            maximum_value::bigint AS max_value, increment::bigint AS increment_by, cycle_option = 'YES' AS cycle
        FROM information_schema.sequences",
    ),
    (
        "duckdb_functions",
        "SELECT routine_catalog AS database_name, routine_schema AS schema_name, routine_name AS function_name,
            lower(routine_type) AS function_type, routine_definition AS macro_definition, false AS internal
        FROM information_schema.routines",
    ),
    (
        "duckdb_indexes",
        "SELECT table_catalog AS database_name, table_schema AS schema_name, index_name, table_name,
            NOT non_unique AS is_unique, false AS is_primary,
            array_agg(column_name ORDER BY seq_in_index) AS expressions, index_type
        FROM information_schema.statistics WHERE index_name <> 'PRIMARY'
        GROUP BY table_catalog, table_schema, index_name, table_name, non_unique, index_type",
    ),
    (
        "duckdb_constraints",
        "SELECT c.table_catalog AS database_name, c.table_schema AS schema_name, c.table_name, c.constraint_name,
            c.constraint_type, k.check_clause AS expression,
            (SELECT array_agg(u.column_name ORDER BY u.ordinal_position)
                FROM information_schema.key_column_usage AS u
                WHERE u.table_schema = c.table_schema AND u.table_name = c.table_name
                    AND u.constraint_name = c.constraint_name) AS constraint_column_names
        FROM information_schema.table_constraints AS c
        LEFT JOIN information_schema.check_constraints AS k
            ON k.constraint_schema = c.constraint_schema AND k.constraint_name = c.constraint_name",
    ),
    (
        "duckdb_settings",
        "SELECT name, value, description, CASE name WHEN 'timezone' THEN 'LOCAL' ELSE 'GLOBAL' END AS scope
        FROM ambo_catalog.settings",
    ),
    ("sqlite_master", SQLITE),
    ("sqlite_schema", SQLITE),
];

const SQLITE: &str =
    "SELECT CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS type, table_name AS name,
        table_name AS tbl_name, 0 AS rootpage, definition AS sql
    FROM information_schema.tables WHERE table_type <> 'SYSTEM VIEW'
    UNION ALL
    SELECT DISTINCT 'index', index_name, table_name, 0, NULL
    FROM information_schema.statistics WHERE index_name <> 'PRIMARY'";

/// Of a table, whose name is `$1`, as `schema.table` or of the schema main.
const TABLE_INFO: &str = "SELECT c.ordinal_position - 1 AS cid, c.column_name AS name, c.data_type AS type,
        c.is_nullable = 'NO' AS notnull, c.column_default AS dflt_value,
        EXISTS (SELECT 1 FROM information_schema.key_column_usage AS u
            JOIN information_schema.table_constraints AS k ON k.constraint_type = 'PRIMARY KEY'
                AND k.constraint_schema = u.constraint_schema AND k.constraint_name = u.constraint_name
                AND k.table_name = u.table_name
            WHERE u.table_schema = c.table_schema AND u.table_name = c.table_name
                AND u.column_name = c.column_name) AS pk
    FROM information_schema.columns AS c
    WHERE lower($1) IN (lower(c.table_schema || '.' || c.table_name),
        CASE c.table_schema WHEN 'main' THEN lower(c.table_name) END)
    ORDER BY c.ordinal_position";

/// The query of this name.
pub(crate) fn query(name: &str) -> Option<&'static str> {
    QUERIES.iter().find(|(known, _)| *known == name).map(|(_, query)| *query)
}

/// The query of a function of this name with a text as argument.
pub(crate) fn query_of(name: &str, argument: &str) -> Option<String> {
    let literal = format!("'{}'", argument.replace('\'', "''"));
    (name == "pragma_table_info").then(|| TABLE_INFO.replace("$1", &literal))
}

/// Their names.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    QUERIES.iter().map(|(name, _)| *name).chain(["pragma_table_info"])
}

#[cfg(test)]
mod tests {
    /// Keeps away: a query that a change of `information_schema` breaks.
    #[test]
    fn all_of_them_can_be_asked() {
        let db = crate::Database::in_memory().unwrap();
        let mut connection = db.connect();
        connection
            .script(
                "create table t (a int primary key, b text default 'x' check (b <> 'y')); create index i on t (b);
                create view v as select a from t; create sequence s; create macro f(x) as x + 1",
            )
            .unwrap();
        for (name, least) in
            super::QUERIES.map(|(name, _)| (name, if name == "sqlite_schema" { 3 } else { 1 }))
        {
            for source in [name.to_owned(), format!("{name}()")] {
                let rows: i64 = connection
                    .query(&format!("select count(*) from {source}"), ())
                    .and_then(|rows| rows.single()?.into_values())
                    .unwrap_or_else(|error| panic!("{source}: {error}"));
                assert!(rows >= least, "{source}: {rows}");
            }
        }
    }
}
