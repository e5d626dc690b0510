/* What must not be done is found out, as far as it can be. */

#include "test.h"

static void nulls(void) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_table *table = NULL;
    ambo_value *value = NULL;
    fails(AMBO_MISUSE, ambo_open(NULL, NULL, &database, &error), &error);
    fails(AMBO_MISUSE, ambo_open(":memory:", NULL, NULL, &error), &error);
    fails(AMBO_MISUSE, ambo_key_value(NULL, "t", &table, &error), &error);
    fails(AMBO_MISUSE, ambo_get(NULL, NULL, "k", 1, &value, &error), &error);
    fails(AMBO_MISUSE, ambo_cursor_next(NULL, &error), &error);
    fails(AMBO_MISUSE, ambo_commit(NULL, &error), &error);
    /* Nobody wants to know. */
    HOLDS(ambo_flush(NULL, NULL) == AMBO_MISUSE);
    /* What asks alone has an answer. */
    HOLDS(ambo_value_data(NULL) == NULL && ambo_value_size(NULL) == 0 && ambo_names_at(NULL, 0) == NULL);
    HOLDS(ambo_error_message(NULL) == NULL && !ambo_error_retryable(NULL));
    /* Nothing is freed. */
    ambo_close(NULL);
    ambo_close(&database);
    ambo_table_free(&table);
    ambo_value_free(NULL);
    ambo_error_free(&error);
}

static void arguments(void) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_options *options = ambo_options_new();
    ambo_table *table = NULL;
    ambo_transaction *transaction = NULL;
    ambo_value *value = NULL;
    ambo_cursor *cursor = NULL;
    const void *data;
    size_t size;
    ambo_operation operation;
    fails(AMBO_REQUEST, ambo_options_set(options, "cache_byte", "1", &error), &error);
    HOLDS(ambo_options_set(options, "cache_byte", "1", &error) == AMBO_REQUEST);
    HOLDS(strstr(ambo_error_hint(error), "cache_bytes") != NULL);
    /* An error that is left is freed when another comes. */
    fails(AMBO_REQUEST, ambo_options_set(options, "sync", "never", &error), &error);
    ambo_options_free(&options);
    HOLDS(options == NULL);

    fails(AMBO_MISUSE, ambo_open("\xff\xfe", NULL, &database, &error), &error);
    done(ambo_open(":memory:", NULL, &database, &error), &error);
    fails(AMBO_NO_SUCH_NAME, ambo_table_open(database, "t", &table, &error), &error);
    done(ambo_key_value(database, "t", &table, &error), &error);
    fails(AMBO_MISUSE, ambo_put(table, NULL, NULL, 3, "v", 1, 0, &error), &error);
    fails(AMBO_MISUSE, ambo_put(table, NULL, "k", 1, "v", 1, 9, &error), &error);
    fails(AMBO_MISUSE, ambo_get(table, NULL, "k", (size_t)-2, &value, &error), &error);
    fails(AMBO_MISUSE, ambo_begin(database, AMBO_SERIALIZABLE | AMBO_READ_ONLY, &transaction, &error), &error);
    /* No bytes are bytes. */
    done(ambo_put(table, NULL, NULL, 0, NULL, 0, 0, &error), &error);
    HOLDS(ambo_contains(table, NULL, NULL, 0, &error) == AMBO_OK && ambo_contains(table, NULL, "k", 1, &error) == AMBO_NOT_FOUND);

    done(ambo_cursor_open(table, NULL, &cursor, &error), &error);
    fails(AMBO_REQUEST, ambo_cursor_key(cursor, &data, &size, &error), &error);
    fails(AMBO_MISUSE, ambo_cursor_seek(cursor, 99, "k", 1, &error), &error);
    HOLDS(ambo_cursor_next(cursor, &error) == AMBO_NOT_FOUND && error == NULL);
    ambo_cursor_free(&cursor);

    memset(&operation, 0, sizeof operation);
    operation.table = table;
    fails(AMBO_MISUSE, ambo_apply(database, NULL, &operation, 1, &error), &error);
    operation.struct_size = sizeof operation;
    fails(AMBO_MISUSE, ambo_apply(database, NULL, &operation, 1, &error), &error);
    done(ambo_begin(database, AMBO_READ_ONLY, &transaction, &error), &error);
    HOLDS(ambo_put(table, transaction, "k", 1, "v", 1, 0, &error) == AMBO_REQUEST);
    HOLDS(strcmp(ambo_error_sqlstate(error), "25006") == 0);
    ambo_error_free(&error);
    fails(AMBO_MISUSE, ambo_rollback_to(NULL, 0, &error), &error);
    done(ambo_commit(&transaction, &error), &error);
    HOLDS(transaction == NULL);
    fails(AMBO_MISUSE, ambo_commit(&transaction, &error), &error);
    /* A key is too long: the store says so. */
    {
        char *key = calloc(1, 70000);
        HOLDS(ambo_put(table, NULL, key, 70000, "v", 1, 0, &error) == AMBO_REQUEST);
        ambo_error_free(&error);
        free(key);
    }
    ambo_table_free(&table);
    ambo_close(&database);
}

/* A handle is none of another kind. */
static void kinds(void) {
    ambo_error *error = NULL;
    ambo_database *database = NULL, *other = NULL;
    ambo_table *table = NULL;
    ambo_transaction *transaction = NULL;
    ambo_value *value = NULL;
    void *wrong;
    done(ambo_open(":memory:", NULL, &database, &error), &error);
    done(ambo_open(":memory:", NULL, &other, &error), &error);
    wrong = database;
    fails(AMBO_MISUSE, ambo_get(wrong, NULL, "k", 1, &value, &error), &error);
    fails(AMBO_MISUSE, ambo_commit((ambo_transaction **)&wrong, &error), &error);
    HOLDS(wrong == NULL);
    done(ambo_key_value(database, "t", &table, &error), &error);
    done(ambo_begin(other, 0, &transaction, &error), &error);
    fails(AMBO_MISUSE, ambo_put(table, transaction, "k", 1, "v", 1, 0, &error), &error);
    ambo_rollback(&transaction);
    ambo_rollback(&transaction);
    ambo_table_free(&table);
    ambo_close(&other);
    ambo_close(&database);
}

/* What is left when the database is closed is closed, and still freed. */
static void after_close(void) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_table *table = NULL;
    ambo_transaction *transaction = NULL;
    ambo_cursor *cursor = NULL;
    ambo_load *load = NULL;
    ambo_value *value = NULL;
    const void *data;
    size_t size;
    done(ambo_open(":memory:", NULL, &database, &error), &error);
    done(ambo_key_value(database, "t", &table, &error), &error);
    done(ambo_put(table, NULL, "k", 1, "v", 1, 0, &error), &error);
    done(ambo_begin(database, 0, &transaction, &error), &error);
    done(ambo_put(table, transaction, "l", 1, "v", 1, 0, &error), &error);
    done(ambo_cursor_open(table, transaction, &cursor, &error), &error);
    done(ambo_cursor_seek(cursor, AMBO_FIRST, NULL, 0, &error), &error);
    done(ambo_load_begin(table, &load, &error), &error);
    done(ambo_get(table, NULL, "k", 1, &value, &error), &error);
    ambo_close(&database);
    HOLDS(database == NULL);
    fails(AMBO_CLOSED, ambo_put(table, NULL, "k", 1, "v", 1, 0, &error), &error);
    fails(AMBO_CLOSED, ambo_put(table, transaction, "k", 1, "v", 1, 0, &error), &error);
    fails(AMBO_CLOSED, ambo_cursor_next(cursor, &error), &error);
    fails(AMBO_CLOSED, ambo_cursor_key(cursor, &data, &size, &error), &error);
    fails(AMBO_CLOSED, ambo_load_push(load, "a", 1, "b", 1, &error), &error);
    fails(AMBO_CLOSED, ambo_commit(&transaction, &error), &error);
    /* A value is its own. */
    HOLDS(ambo_value_size(value) == 1 && memcmp(ambo_value_data(value), "v", 1) == 0);
    ambo_value_free(&value);
    ambo_load_free(&load);
    ambo_cursor_free(&cursor);
    ambo_table_free(&table);
}

#ifndef AMBO_NO_SQL
static bool endless(void *user) {
    ++*(int *)user;
    return *(int *)user < 3;
}

static void statements(void) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_connection *connection = NULL;
    ambo_statement *statement = NULL;
    ambo_result *result = NULL, *kept = NULL;
    ambo_transaction *transaction = NULL;
    ambo_datum datum;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    struct ArrowSchema schema;
    int64_t number = 0;
    int calls = 0;
    uint64_t rows;
    memset(&stream, 0, sizeof stream);
    done(ambo_open(":memory:", NULL, &database, &error), &error);
    done(ambo_connect(database, &connection, &error), &error);
    fails(AMBO_SYNTAX, ambo_query(connection, "selekt 1", AMBO_ZERO_ENDED, &result, &error), &error);
    fails(AMBO_MISUSE, ambo_query(connection, NULL, AMBO_ZERO_ENDED, &result, &error), &error);
    fails(AMBO_MISUSE, ambo_query(connection, "\xff", 1, &result, &error), &error);
    fails(AMBO_REQUEST, ambo_connection_transaction(connection, &transaction, &error), &error);
    fails(AMBO_MISUSE, ambo_ingest(connection, "t", "create", NULL, &stream, NULL, &error), &error);

    done(ambo_prepare(connection, "select $1::bigint", AMBO_ZERO_ENDED, &statement, &error), &error);
    fails(AMBO_REQUEST, ambo_run(statement, &result, &error), &error);
    fails(AMBO_MISUSE, ambo_bind_int64(statement, 0, 1, &error), &error);
    fails(AMBO_MISUSE, ambo_bind_int64(statement, 2, 1, &error), &error);
    memset(&datum, 0, sizeof datum);
    datum.kind = 99;
    fails(AMBO_MISUSE, ambo_bind(statement, 1, &datum, &error), &error);
    done(ambo_bind_int64(statement, 1, 7, &error), &error);
    done(ambo_run(statement, &result, &error), &error);
    fails(AMBO_MISUSE, ambo_result_int64(result, 0, &number, &error), &error);
    done(ambo_result_next(result, &error), &error);
    fails(AMBO_MISUSE, ambo_result_int64(result, 1, &number, &error), &error);
    done(ambo_result_int64(result, 0, &number, &error), &error);
    HOLDS(number == 7 && ambo_result_kind(result, 0) == AMBO_INT && ambo_result_kind(result, 1) == -1);
    fails(AMBO_MISUSE, ambo_result_stream(&result, &stream, &error), &error);
    HOLDS(result != NULL && ambo_result_next(result, &error) == AMBO_NOT_FOUND);
    fails(AMBO_MISUSE, ambo_result_int64(result, 0, &number, &error), &error);
    ambo_result_free(&result);
    done(ambo_describe(statement, &schema, NULL, &error), &error);
    HOLDS(strcmp(schema.children[0]->format, "l") == 0);
    schema.release(&schema);

    /* What is waited for is ended. */
    done(ambo_on_wait(connection, 5, endless, &calls, &error), &error);
    fails(AMBO_CANCELLED,
          ambo_execute(connection, "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t",
                       AMBO_ZERO_ENDED, &rows, &error),
          &error);
    HOLDS(calls == 3);
    done(ambo_on_wait(connection, 5, NULL, NULL, &error), &error);

    /* Results need no connection, streams no result; nothing outlives the database. */
    done(ambo_query(connection, "select n from generate_series(1, 1000000) as t (n)", AMBO_ZERO_ENDED, &result, &error), &error);
    done(ambo_result_stream(&result, &stream, &error), &error);
    HOLDS(result == NULL);
    done(ambo_query(connection, "select n from generate_series(1, 1000000) as t (n)", AMBO_ZERO_ENDED, &kept, &error), &error);
    ambo_connection_free(&connection);
    HOLDS(connection == NULL);
    done(ambo_result_next(kept, &error), &error);
    fails(AMBO_CLOSED, ambo_run(statement, &result, &error), &error);
    HOLDS(stream.get_next(&stream, &array) == 0 && array.release != NULL);
    ambo_close(&database);
    /* An array is its own. */
    HOLDS(*(const int64_t *)array.children[0]->buffers[1] == 1);
    array.release(&array);
    HOLDS(stream.get_next(&stream, &array) != 0 && strstr(stream.get_last_error(&stream), "closed") != NULL);
    stream.release(&stream);
    fails(AMBO_CLOSED, ambo_result_next(kept, &error), &error);
    ambo_result_free(&kept);
    ambo_statement_free(&statement);
}
#endif

int main(void) {
    HOLDS(strcmp(ambo_version(), AMBO_VERSION) == 0 && ambo_abi_version() == AMBO_ABI_VERSION);
    HOLDS(AMBO_VERSION_AT_LEAST(0, 1) && !AMBO_VERSION_AT_LEAST(99, 0));
    HOLDS(strcmp(ambo_status_name(-5), "unknown") == 0);
    nulls();
    arguments();
    kinds();
    after_close();
#ifndef AMBO_NO_SQL
    HOLDS(ambo_has_sql());
    statements();
#endif
    return 0;
}
