/* UQI: functions, conditions, arrays, transactions, and what is refused. */

#include "test.h"

#include "ambo_uqi.h"

static uint64_t number(ambo_database *database, ambo_transaction *transaction, const char *query) {
    ambo_error *error = NULL;
    ambo_uqi_rows *rows = NULL;
    const void *data;
    size_t size;
    uint64_t value;
    done(ambo_uqi(database, transaction, query, AMBO_ZERO_ENDED, &rows, &error), &error);
    HOLDS(ambo_uqi_rows_count(rows) == 1);
    data = ambo_uqi_rows_at(rows, AMBO_UQI_RECORDS, 0, &size);
    HOLDS(size == sizeof value);
    memcpy(&value, data, sizeof value);
    ambo_uqi_rows_free(&rows);
    HOLDS(rows == NULL);
    return value;
}

int main(int argc, char **argv) {
    static const char *columns[] = {"key", "value"};
    static const char *types[] = {"u32", "u64"};
    ambo_database *database = NULL;
    ambo_definition *definition = NULL;
    ambo_table *table = NULL;
    ambo_transaction *transaction = NULL;
    ambo_uqi_rows *rows = NULL;
    ambo_error *error = NULL;
    const void *data;
    size_t size;
    uint32_t key, keys[2];
    HOLDS(argc == 2);
    done(ambo_open(argv[1], NULL, &database, &error), &error);
    done(ambo_definition_new("numbers", &definition, &error), &error);
    for (size = 0; size < 2; size++) {
        done(ambo_definition_column(definition, columns[size], types[size], 0, &error), &error);
    }
    done(ambo_definition_key(definition, "key", &error), &error);
    done(ambo_table_create(database, definition, &table, &error), &error);
    ambo_definition_free(&definition);
    for (key = 0; key < 100; key++) {
        ambo_datum row[2];
        row[0] = ambo_uint(key);
        row[1] = ambo_uint(key % 10);
        done(ambo_row_insert(table, NULL, row, 2, NULL, &error), &error);
    }
    HOLDS(number(database, NULL, "COUNT($key) FROM numbers") == 100);
    HOLDS(number(database, NULL, "SUM($record) FROM numbers WHERE $key >= 90") == 45);

    done(ambo_uqi(database, NULL, "VALUE($key) FROM numbers WHERE $record = 9 AND $key < 20", AMBO_ZERO_ENDED, &rows, &error), &error);
    HOLDS(ambo_uqi_rows_type(rows, AMBO_UQI_KEYS) == AMBO_UQI_U32);
    data = ambo_uqi_rows_data(rows, AMBO_UQI_KEYS, &size);
    HOLDS(size == sizeof keys);
    memcpy(keys, data, size);
    HOLDS(keys[0] == 9 && keys[1] == 19);
    HOLDS(ambo_uqi_rows_at(rows, AMBO_UQI_RECORDS, 0, &size) == NULL && size == 0);
    HOLDS(ambo_uqi_rows_at(rows, AMBO_UQI_KEYS, 2, &size) == NULL && ambo_uqi_rows_type(rows, 7) == 0);

    done(ambo_begin(database, 0, &transaction, &error), &error);
    {
        ambo_datum row[2];
        row[0] = ambo_uint(1000);
        row[1] = ambo_uint(1);
        done(ambo_row_insert(table, transaction, row, 2, NULL, &error), &error);
    }
    HOLDS(number(database, transaction, "COUNT($key) FROM numbers") == 101);
    HOLDS(number(database, NULL, "COUNT($key) FROM numbers") == 100);
    ambo_rollback(&transaction);

    fails(AMBO_REQUEST, ambo_uqi(database, NULL, "COUNT($key) FROM", AMBO_ZERO_ENDED, &rows, &error), &error);
    fails(AMBO_MISUSE, ambo_uqi(database, NULL, NULL, AMBO_ZERO_ENDED, &rows, &error), &error);
    ambo_table_free(&table);
    ambo_close(&database);
    fails(AMBO_MISUSE, ambo_uqi(database, NULL, "COUNT($key) FROM numbers", AMBO_ZERO_ENDED, &rows, &error), &error);
    ambo_uqi_rows_free(&rows);
    return 0;
}
