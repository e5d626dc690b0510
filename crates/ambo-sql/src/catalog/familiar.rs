//! The catalogs of DuckDB and SQLite, for statements that ask them: queries of `information_schema` and `ambo_catalog`.
//!
//! They have those of the columns of their namesakes for which there is something to tell. Each is a table (`FROM duckdb_tables`) and a
//! function (`FROM duckdb_tables()`).

/// Queries without arguments, by name.
const QUERIES: [(&str, &str); 13] = [
    (
        "duckdb_databases",
        "SELECT database_name, path, database_type = 'temporary' AS internal, 'ambo' AS type,
            is_read_only AS readonly
        FROM ambo_catalog.databases",
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
            t.table_comment AS comment, false AS internal, t.table_type = 'LOCAL TEMPORARY' AS temporary,
            EXISTS (SELECT 1 FROM information_schema.table_constraints AS c
                WHERE c.table_catalog = t.table_catalog AND c.table_schema = t.table_schema
                    AND c.table_name = t.table_name AND c.constraint_type = 'PRIMARY KEY') AS has_primary_key,
            a.rows AS estimated_size,
            (SELECT count(*) FROM information_schema.columns AS c
                WHERE c.table_catalog = t.table_catalog AND c.table_schema = t.table_schema
                    AND c.table_name = t.table_name) AS column_count,
            (SELECT count(DISTINCT s.index_name) FROM information_schema.statistics AS s
                WHERE s.table_catalog = t.table_catalog AND s.table_schema = t.table_schema
                    AND s.table_name = t.table_name AND s.index_name <> 'PRIMARY') AS index_count,
            (SELECT count(*) FROM information_schema.table_constraints AS c
                WHERE c.table_catalog = t.table_catalog AND c.table_schema = t.table_schema
                    AND c.table_name = t.table_name AND c.constraint_type = 'CHECK') AS check_constraint_count,
            t.definition AS sql
        FROM information_schema.tables AS t
        LEFT JOIN ambo_catalog.tables AS a ON a.table_catalog = t.table_catalog AND a.table_schema = t.table_schema
            AND a.table_name = t.table_name
        WHERE t.table_type IN ('BASE TABLE', 'LOCAL TEMPORARY')",
    ),
    (
        "duckdb_columns",
        "SELECT c.table_catalog AS database_name, c.table_schema AS schema_name, c.table_name, c.column_name,
            c.ordinal_position AS column_index, c.column_comment AS comment, t.table_type = 'SYSTEM VIEW' AS internal,
            c.column_default, c.is_nullable = 'YES' AS is_nullable, c.data_type, c.numeric_precision,
            c.numeric_scale, c.is_generated = 'ALWAYS' AS is_generated, c.generation_expression
        FROM information_schema.columns AS c
        JOIN information_schema.tables AS t ON t.table_catalog = c.table_catalog
            AND t.table_schema = c.table_schema AND t.table_name = c.table_name",
    ),
    (
        "duckdb_views",
        "SELECT t.table_catalog AS database_name, t.table_schema AS schema_name, t.table_name AS view_name,
            t.table_comment AS comment, t.table_type = 'SYSTEM VIEW' AS internal, t.table_catalog = 'temp' AS temporary,
            (SELECT count(*) FROM information_schema.columns AS c
                WHERE c.table_catalog = t.table_catalog AND c.table_schema = t.table_schema
                    AND c.table_name = t.table_name) AS column_count,
            t.definition AS sql
        FROM information_schema.tables AS t WHERE t.table_type IN ('VIEW', 'SYSTEM VIEW')",
    ),
    (
        "duckdb_sequences",
        "SELECT sequence_catalog AS database_name, sequence_schema AS schema_name, sequence_name,
            sequence_catalog = 'temp' AS temporary, start_value::bigint AS start_value, minimum_value::bigint AS min_value,
            maximum_value::bigint AS max_value, increment::bigint AS increment_by, cycle_option = 'YES' AS cycle
        FROM information_schema.sequences",
    ),
    (
        "duckdb_functions",
        "SELECT routine_catalog AS database_name, routine_schema AS schema_name, routine_name AS function_name,
            CASE WHEN routine_definition LIKE '%) AS TABLE %' THEN 'table_macro' ELSE 'macro' END AS function_type,
            routine_definition AS macro_definition, false AS internal
        FROM information_schema.routines
        UNION ALL SELECT 'system', 'main', function_name, function_type, NULL, true FROM ambo_catalog.functions",
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
                WHERE u.table_catalog = c.table_catalog AND u.table_schema = c.table_schema
                    AND u.table_name = c.table_name AND u.constraint_name = c.constraint_name) AS constraint_column_names
        FROM information_schema.table_constraints AS c
        LEFT JOIN information_schema.check_constraints AS k
            ON k.constraint_catalog = c.constraint_catalog AND k.constraint_schema = c.constraint_schema
                AND k.constraint_name = c.constraint_name",
    ),
    (
        "duckdb_settings",
        "SELECT name, value, description, CASE WHEN name IN ('default_storage', 'memory_limit', 'threads') THEN 'GLOBAL' ELSE 'LOCAL' END AS scope
        FROM ambo_catalog.settings",
    ),
    ("sqlite_master", SQLITE),
    ("sqlite_schema", SQLITE),
    ("sqlite_temp_master", SQLITE_TEMPORARY),
];

const SQLITE: &str =
    "SELECT CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS type, table_name AS name,
        table_name AS tbl_name, 0 AS rootpage, definition AS sql
    FROM information_schema.tables WHERE table_type <> 'SYSTEM VIEW' AND table_catalog <> 'temp'
    UNION ALL
    SELECT DISTINCT 'index', index_name, table_name, 0, NULL
    FROM information_schema.statistics WHERE index_name <> 'PRIMARY' AND table_catalog <> 'temp'";

const SQLITE_TEMPORARY: &str =
    "SELECT CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS type, table_name AS name,
        table_name AS tbl_name, 0 AS rootpage, definition AS sql
    FROM information_schema.tables WHERE table_catalog = 'temp'
    UNION ALL
    SELECT DISTINCT 'index', index_name, table_name, 0, NULL
    FROM information_schema.statistics WHERE index_name <> 'PRIMARY' AND table_catalog = 'temp'";

/// Of a table: `$1` is its database, `$2` its schema, `$3` its name.
const TABLE_INFO: &str = "SELECT c.ordinal_position - 1 AS cid, c.column_name AS name, c.data_type AS type,
        c.is_nullable = 'NO' AS notnull, c.column_default AS dflt_value,
        EXISTS (SELECT 1 FROM information_schema.key_column_usage AS u
            JOIN information_schema.table_constraints AS k ON k.constraint_type = 'PRIMARY KEY'
                AND k.constraint_catalog = u.constraint_catalog AND k.constraint_schema = u.constraint_schema AND k.constraint_name = u.constraint_name
                AND k.table_name = u.table_name
            WHERE u.table_catalog = c.table_catalog AND u.table_schema = c.table_schema
                AND u.table_name = c.table_name AND u.column_name = c.column_name) AS pk
    FROM information_schema.columns AS c
    WHERE c.table_catalog = $1 AND lower(c.table_schema) = lower($2) AND lower(c.table_name) = lower($3)
    ORDER BY c.ordinal_position";

/// The query of this name.
pub(crate) fn query(name: &str) -> Option<&'static str> {
    QUERIES.iter().find(|(known, _)| *known == name).map(|(_, query)| *query)
}

/// The function of a table.
pub(crate) const OF_TABLE: &str = "pragma_table_info";

/// Its query, for a database, a schema and a name.
pub(crate) fn query_of_table(names: [&str; 3]) -> String {
    let literal = |name: &str| format!("'{}'", name.replace('\'', "''"));
    let [database, schema, name] = names.map(literal);
    TABLE_INFO.replace("$1", &database).replace("$2", &schema).replace("$3", &name)
}

/// Their names.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    QUERIES.iter().map(|(name, _)| *name).chain([OF_TABLE])
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
        for (name, least) in super::QUERIES.map(|(name, _)| (name, i64::from(name != "sqlite_temp_master"))) {
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
