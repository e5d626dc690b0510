/* Keys and values: put, get, cursors, ranges, batches. Run with the directory of a database, which is created. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ambo.h"

/* Ends the program with what went wrong. */
static void check(ambo_status status, ambo_error **error) {
    if (AMBO_IS_ERROR(status)) {
        fprintf(stderr, "%s: %s\n", ambo_status_name(status), ambo_error_show(*error));
        ambo_error_free(error);
        exit(1);
    }
}

static void put(ambo_table *table, const char *key, const char *value) {
    ambo_error *error = NULL;
    check(ambo_put(table, NULL, key, strlen(key), value, strlen(value), AMBO_UPSERT, &error), &error);
}

int main(int argc, char **argv) {
    ambo_error *error = NULL;
    ambo_options *options = ambo_options_new();
    ambo_database *database = NULL;
    ambo_table *towns = NULL;
    ambo_value *value = NULL;
    ambo_cursor *cursor = NULL;
    ambo_range range = {"b", 1, "d", 1, 0};
    ambo_operation operations[3];
    ambo_status status;
    uint64_t count = 0;
    char buffer[16];
    size_t size = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    check(ambo_options_set(options, "cache_bytes", "32MiB", &error), &error);
    check(ambo_open(argv[1], options, &database, &error), &error);
    ambo_options_free(&options);
    check(ambo_key_value(database, "towns", &towns, &error), &error);

    put(towns, "bergen", "Norway");
    put(towns, "delft", "Netherlands");
    put(towns, "cork", "Ireland");
    put(towns, "aarhus", "Denmark");

    /* A value is lent where it lies, until it is freed. */
    check(ambo_get(towns, NULL, "cork", 4, &value, &error), &error);
    printf("cork is in %.*s\n", (int)ambo_value_size(value), (const char *)ambo_value_data(value));
    ambo_value_free(&value);

    /* Or it is copied. */
    status = ambo_get_into(towns, NULL, "bergen", 6, buffer, sizeof buffer, &size, &error);
    check(status, &error);
    printf("bergen is in %.*s\n", (int)size, buffer);

    /* What is not there is an answer, and no error. */
    status = ambo_get(towns, NULL, "nowhere", 7, &value, &error);
    check(status, &error);
    printf("nowhere: %s\n", ambo_status_name(status));
    status = ambo_put(towns, NULL, "cork", 4, "France", 6, AMBO_INSERT, &error);
    check(status, &error);
    printf("cork again: %s\n", ambo_status_name(status));
    status = ambo_compare_and_set(towns, NULL, "cork", 4, "Ireland", 7, "Munster", 7, &error);
    check(status, &error);
    printf("cork from Ireland to Munster: %s\n", ambo_status_name(status));

    /* A cursor goes both ways, here between two keys. */
    check(ambo_cursor_open(towns, NULL, &cursor, &error), &error);
    check(ambo_cursor_set_range(cursor, &range, &error), &error);
    for (status = ambo_cursor_seek(cursor, AMBO_FIRST, NULL, 0, &error); status == AMBO_OK;
         status = ambo_cursor_next(cursor, &error)) {
        const void *key, *data;
        size_t key_size, data_size;
        check(ambo_cursor_key(cursor, &key, &key_size, &error), &error);
        check(ambo_cursor_value(cursor, &data, &data_size, &error), &error);
        printf("%.*s = %.*s\n", (int)key_size, (const char *)key, (int)data_size, (const char *)data);
    }
    check(status, &error);
    ambo_cursor_free(&cursor);
    check(ambo_count(towns, NULL, &range, &count, &error), &error);
    printf("%d towns from b to d\n", (int)count);

    /* Several operations, all or none. */
    memset(operations, 0, sizeof operations);
    for (size = 0; size < 3; size++) {
        operations[size].struct_size = sizeof operations[size];
        operations[size].table = towns;
    }
    operations[0].kind = AMBO_OP_DELETE;
    operations[0].key = "aarhus";
    operations[0].key_size = 6;
    operations[1].kind = AMBO_OP_UPSERT;
    operations[1].key = "essen";
    operations[1].key_size = 5;
    operations[1].value = "Germany";
    operations[1].value_size = 7;
    operations[2].kind = AMBO_OP_GET;
    operations[2].key = "aarhus";
    operations[2].key_size = 6;
    check(ambo_apply(database, NULL, operations, 3, &error), &error);
    printf("aarhus: %s\n", ambo_status_name(operations[2].status));
    check(ambo_count(towns, NULL, NULL, &count, &error), &error);
    printf("%d towns\n", (int)count);

    ambo_table_free(&towns);
    ambo_close(&database);
    return 0;
}
