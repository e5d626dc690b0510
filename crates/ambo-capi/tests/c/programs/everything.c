/* Values of all kinds, in tables and in statements; cursors with all ways to seek; loads; figures. */

#include "test.h"

static void seeks(ambo_database *database) {
    static const char *wanted[] = {"b", "b", "d", "b", "-", "-", "b", "d", "d", "b", "-", "f"};
    static const struct {
        uint32_t how;
        const char *key;
    } ways[] = {{AMBO_EQ, "b"}, {AMBO_GE, "b"}, {AMBO_GT, "b"}, {AMBO_LE, "b"}, {AMBO_LT, "b"}, {AMBO_EQ, "c"},
                {AMBO_LE, "c"}, {AMBO_GE, "c"}, {AMBO_GT, "c"}, {AMBO_LT, "c"}, {AMBO_GT, "f"}, {AMBO_LE, "z"}};
    ambo_error *error = NULL;
    ambo_load *load = NULL;
    ambo_table *table = NULL;
    ambo_cursor *cursor = NULL;
    ambo_range range = {"b", 1, "f", 1, AMBO_LOWER_EXCLUDED | AMBO_UPPER_INCLUDED};
    const void *data;
    size_t size, nth;
    uint64_t rows = 0;
    done(ambo_key_value(database, "letters", &table, &error), &error);
    done(ambo_load_begin(table, &load, &error), &error);
    for (nth = 0; nth < 3; nth++) {
        done(ambo_load_push(load, &"bdf"[nth], 1, "", 0, &error), &error);
    }
    fails(AMBO_REQUEST, ambo_load_push(load, "a", 1, "", 0, &error), &error);
    done(ambo_load_finish(&load, &rows, &error), &error);
    HOLDS(rows == 3 && load == NULL);
    done(ambo_cursor_open(table, NULL, &cursor, &error), &error);
    for (nth = 0; nth < sizeof ways / sizeof ways[0]; nth++) {
        ambo_status status = ambo_cursor_seek(cursor, ways[nth].how, ways[nth].key, 1, &error);
        if (wanted[nth][0] == '-') {
            HOLDS(status == AMBO_NOT_FOUND);
        } else {
            done(status, &error);
            done(ambo_cursor_key(cursor, &data, &size, &error), &error);
            HOLDS(size == 1 && *(const char *)data == wanted[nth][0]);
        }
    }
    /* From b, without it, to f, with it. */
    done(ambo_cursor_set_range(cursor, &range, &error), &error);
    fails(AMBO_REQUEST, ambo_cursor_key(cursor, &data, &size, &error), &error);
    done(ambo_cursor_seek(cursor, AMBO_GE, "a", 1, &error), &error);
    done(ambo_cursor_key(cursor, &data, &size, &error), &error);
    HOLDS(*(const char *)data == 'd');
    HOLDS(ambo_cursor_prev(cursor, &error) == AMBO_NOT_FOUND && ambo_cursor_seek(cursor, AMBO_EQ, "b", 1, &error) == AMBO_NOT_FOUND);
    done(ambo_cursor_seek(cursor, AMBO_LAST, NULL, 0, &error), &error);
    done(ambo_cursor_value(cursor, &data, &size, &error), &error);
    HOLDS(size == 0 && ambo_cursor_next(cursor, &error) == AMBO_NOT_FOUND);
    done(ambo_count(table, NULL, &range, &rows, &error), &error);
    HOLDS(rows == 2);
    ambo_cursor_free(&cursor);
    ambo_table_free(&table);
}

static void tables(ambo_database *database) {
    static const char *types[] = {"boolean", "u8", "bigint", "u64", "double", "decimal(38,4)", "text", "blob", "date", "time", "timestamp", "timestamptz"};
    ambo_error *error = NULL;
    ambo_definition *definition = NULL;
    ambo_table *table = NULL;
    ambo_row *row = NULL;
    ambo_names *names = NULL;
    ambo_cursor *cursor = NULL;
    ambo_datum values[12], got;
    uint64_t number = 0, lower = 0;
    int64_t upper = 0;
    size_t nth;
    memset(values, 0, sizeof values);
    values[0] = ambo_bool(true);
    values[1] = ambo_uint(200);
    values[2] = ambo_int(-5);
    values[3] = ambo_uint(UINT64_MAX);
    values[4] = ambo_real(1.5);
    values[5].kind = AMBO_DECIMAL;
    values[5].integer = -12345;
    values[5].upper = -1;
    values[5].scale = 4;
    values[6] = ambo_text("caf\xc3\xa9", AMBO_ZERO_ENDED);
    values[7] = ambo_blob("\0\1", 2);
    for (nth = 8; nth < 12; nth++) {
        values[nth].kind = (int32_t)(AMBO_DATE + nth - 8);
        values[nth].integer = 86400;
    }
    done(ambo_definition_new("kinds", &definition, &error), &error);
    for (nth = 0; nth < 12; nth++) {
        char name[2] = {(char)('a' + nth), 0};
        done(ambo_definition_column(definition, name, types[nth], nth == 4 ? AMBO_NULLABLE : 0, &error), &error);
    }
    fails(AMBO_REQUEST, ambo_definition_column(definition, "z", "strange", 0, &error), &error);
    fails(AMBO_REQUEST, ambo_definition_set(definition, "storage", "paper", &error), &error);
    done(ambo_definition_key(definition, "c", &error), &error);
    done(ambo_definition_set(definition, "record_compression", "lz4", &error), &error);
    done(ambo_table_create(database, definition, &table, &error), &error);
    ambo_table_free(&table);
    fails(AMBO_INTEGRITY, ambo_table_create(database, definition, &table, &error), &error);
    ambo_definition_free(&definition);
    done(ambo_table_open(database, "main.kinds", &table, &error), &error);
    done(ambo_row_insert(table, NULL, values, 12, NULL, &error), &error);
    HOLDS(ambo_row_insert(table, NULL, values, 12, NULL, &error) == AMBO_EXISTS && error == NULL);
    done(ambo_row_get(table, NULL, &values[2], 1, &row, &error), &error);
    HOLDS(ambo_row_size(row) == 12);
    for (nth = 0; nth < 12; nth++) {
        done(ambo_row_datum(row, nth, &got, &error), &error);
        HOLDS(got.kind == values[nth].kind && got.integer == values[nth].integer && got.upper == values[nth].upper);
        HOLDS(got.scale == values[nth].scale && got.real == values[nth].real);
    }
    done(ambo_row_datum(row, 6, &got, &error), &error);
    HOLDS(got.size == 5 && memcmp(got.data, "caf\xc3\xa9", 5) == 0);
    fails(AMBO_MISUSE, ambo_row_datum(row, 12, &got, &error), &error);
    ambo_row_free(&row);
    values[1] = ambo_uint(300);
    fails(AMBO_REQUEST, ambo_row_upsert(table, NULL, values, 12, &error), &error);
    values[1] = ambo_uint(3);
    values[4] = ambo_null();
    done(ambo_row_upsert(table, NULL, values, 12, &error), &error);
    done(ambo_sum_keys(table, NULL, &lower, &upper, &error), &error);
    HOLDS((int64_t)lower == -5 && upper == -1);
    done(ambo_table_types(table, &names, &error), &error);
    HOLDS(ambo_names_count(names) == 12 && strcmp(ambo_names_at(names, 5), "decimal(38,4)") == 0);
    ambo_names_free(&names);
    done(ambo_table_key(table, &names, &error), &error);
    HOLDS(ambo_names_count(names) == 1 && strcmp(ambo_names_at(names, 0), "c") == 0);
    ambo_names_free(&names);
    HOLDS(ambo_row_delete(table, NULL, &values[2], 1, &error) == AMBO_OK);
    HOLDS(ambo_row_delete(table, NULL, &values[2], 1, &error) == AMBO_NOT_FOUND);
    ambo_table_free(&table);
    done(ambo_table_rename(database, "kinds", "sorts", &error), &error);
    done(ambo_table_drop(database, "sorts", &error), &error);

    /* Several rows of a key, and rows that are numbered. */
    done(ambo_definition_new("tags", &definition, &error), &error);
    done(ambo_definition_column(definition, "key", "u32", 0, &error), &error);
    done(ambo_definition_column(definition, "tag", "text", 0, &error), &error);
    done(ambo_definition_key(definition, "key", &error), &error);
    done(ambo_definition_set(definition, "duplicates", "true", &error), &error);
    done(ambo_table_create(database, definition, &table, &error), &error);
    ambo_definition_free(&definition);
    for (nth = 0; nth < 4; nth++) {
        values[0] = ambo_uint(nth / 2);
        values[1] = ambo_text(&"wxyz"[nth], 1);
        done(ambo_row_insert(table, NULL, values, 2, &number, &error), &error);
    }
    done(ambo_cursor_open(table, NULL, &cursor, &error), &error);
    values[0] = ambo_uint(1);
    for (nth = 0; nth < 3; nth++) {
        static const uint32_t how[] = {AMBO_EQ, AMBO_LE, AMBO_LT};
        done(ambo_cursor_seek_row(cursor, how[nth], values, 1, &error), &error);
        done(ambo_cursor_row(cursor, &row, &error), &error);
        done(ambo_row_datum(row, 1, &got, &error), &error);
        HOLDS(got.size == 1 && *(const char *)got.data == "yzx"[nth]);
        ambo_row_free(&row);
    }
    HOLDS(ambo_cursor_seek_row(cursor, AMBO_GT, values, 1, &error) == AMBO_NOT_FOUND);
    ambo_cursor_free(&cursor);
    ambo_table_free(&table);
}

int main(int argc, char **argv) {
    ambo_error *error = NULL;
    ambo_database *database = NULL, *same = NULL;
    ambo_options *options = ambo_options_new();
    ambo_names *names = NULL;
    uint64_t figure = 0;
    HOLDS(argc == 2);
    done(ambo_open(argv[1], NULL, &database, &error), &error);
    seeks(database);
    tables(database);
    done(ambo_flush(database, &error), &error);
    done(ambo_settle(database, &error), &error);
    done(ambo_compact(database, &error), &error);
    done(ambo_vacuum(database, &error), &error);
    done(ambo_info(database, "tables", &figure, &error), &error);
    HOLDS(figure == 2);
    fails(AMBO_REQUEST, ambo_info(database, "weather", &figure, &error), &error);
    done(ambo_check(database, &names, &error), &error);
    HOLDS(ambo_names_count(names) == 0);
    ambo_names_free(&names);
    /* A path is open once; with other options it is refused. */
    done(ambo_open(argv[1], NULL, &same, &error), &error);
    ambo_close(&database);
    done(ambo_options_set(options, "sync", "off", &error), &error);
    fails(AMBO_REQUEST, ambo_open(argv[1], options, &database, &error), &error);
    done(ambo_tables(same, &names, &error), &error);
    HOLDS(ambo_names_count(names) == 2 && strcmp(ambo_names_at(names, 0), "main.letters") == 0);
    ambo_names_free(&names);
    ambo_close(&same);
    done(ambo_open(argv[1], options, &database, &error), &error);
    ambo_options_free(&options);
    ambo_close(&database);
    return 0;
}
