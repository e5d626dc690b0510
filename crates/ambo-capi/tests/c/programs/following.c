/* Backups, changes since a moment, ranges that are deleted, and UQI of a range. */

#include "test.h"

static ambo_error *error = NULL;

static void put(ambo_table *table, ambo_transaction *transaction, const char *key, const char *value) {
    done(ambo_put(table, transaction, key, strlen(key), value, strlen(value), AMBO_UPSERT, &error), &error);
}

static uint64_t count(ambo_table *table, ambo_transaction *transaction) {
    uint64_t rows = 99;
    done(ambo_count(table, transaction, NULL, &rows, &error), &error);
    return rows;
}

/* Whether a row has this value of bytes in a column. */
static bool has(const ambo_row *row, size_t column, const char *wanted) {
    ambo_datum datum;
    done(ambo_row_datum(row, column, &datum, &error), &error);
    return datum.kind == AMBO_BLOB && datum.size == strlen(wanted) && memcmp(datum.data, wanted, datum.size) == 0;
}

static void ranges(ambo_table *table, ambo_database *database) {
    ambo_range range = {"b", 1, "d", 1, 0};
    ambo_transaction *transaction = NULL;
    done(ambo_begin(database, 0, &transaction, &error), &error);
    done(ambo_delete_range(table, transaction, &range, &error), &error);
    HOLDS(count(table, transaction) == 2 && count(table, NULL) == 4);
    ambo_rollback(&transaction);
    HOLDS(count(table, NULL) == 4);
    done(ambo_delete_range(table, NULL, &range, &error), &error);
    HOLDS(count(table, NULL) == 2);
    range.flags = 64;
    fails(AMBO_MISUSE, ambo_delete_range(table, NULL, &range, &error), &error);
    done(ambo_begin(database, AMBO_READ_ONLY, &transaction, &error), &error);
    fails(AMBO_REQUEST, ambo_delete_range(table, transaction, NULL, &error), &error);
    ambo_rollback(&transaction);
}

static void changes(ambo_table *table, ambo_database *database, uint64_t since) {
    ambo_changes *changes = NULL;
    ambo_change change;
    uint64_t until;
    done(ambo_changes_open(database, since, &changes, &error), &error);
    done(ambo_changes_next(changes, &change, &error), &error);
    HOLDS(change.kind == AMBO_CHANGE_RANGE && strcmp(change.table, "main.towns") == 0 && change.key == NULL);
    HOLDS(change.lower_size == 1 && memcmp(change.lower, "b", 1) == 0 && change.upper_size == 1 && memcmp(change.upper, "d", 1) == 0);
    HOLDS(ambo_changes_next(changes, &change, &error) == AMBO_NOT_FOUND);
    until = ambo_changes_until(changes);
    HOLDS(until == change.moment && until == change.last);
    ambo_changes_free(&changes);
    HOLDS(changes == NULL && ambo_changes_until(changes) == 0);

    put(table, NULL, "e", "5");
    done(ambo_delete(table, NULL, "a", 1, &error), &error);
    done(ambo_changes_open(database, until, &changes, &error), &error);
    done(ambo_changes_next(changes, &change, &error), &error);
    HOLDS(change.kind == AMBO_CHANGE_WRITTEN && has(change.key, 0, "e") && has(change.row, 1, "5") && change.moment > until);
    until = change.moment;
    done(ambo_changes_next(changes, &change, &error), &error);
    HOLDS(change.kind == AMBO_CHANGE_DELETED && has(change.key, 0, "a") && change.row == NULL && change.moment > until);
    HOLDS(ambo_changes_next(changes, &change, &error) == AMBO_NOT_FOUND);
    fails(AMBO_REQUEST, ambo_changes_open(database, UINT64_MAX, &changes, &error), &error);
    fails(AMBO_MISUSE, ambo_changes_next(changes, NULL, &error), &error);
    ambo_changes_free(&changes);
}

static void uqi_of_ranges(ambo_database *database) {
    ambo_table *table = NULL;
    ambo_uqi_rows *rows = NULL;
    ambo_range range = {"b", 1, NULL, 0, 0};
    const void *data;
    uint64_t rows_there = 0;
    size_t size = 0;
    done(ambo_table_open(database, "towns", &table, &error), &error);
    done(ambo_uqi_between(database, NULL, "COUNT($key) FROM towns", AMBO_ZERO_ENDED, &range, &rows, &error), &error);
    data = ambo_uqi_rows_at(rows, AMBO_UQI_RECORDS, 0, &size);
    HOLDS(size == sizeof rows_there);
    memcpy(&rows_there, data, size);
    HOLDS(rows_there == 2);
    ambo_uqi_rows_free(&rows);
    ambo_table_free(&table);
}

static void backups(ambo_table *table, ambo_database *database, const char *path) {
    char backup[2000], restored[2000];
    ambo_backup_report report;
    ambo_names *problems = NULL;
    ambo_database *again = NULL;
    ambo_table *of_again = NULL;
    uint64_t moment = 0;
    snprintf(backup, sizeof backup, "%s-backup", path);
    snprintf(restored, sizeof restored, "%s-restored", path);
    done(ambo_moment(database, NULL, &moment, &error), &error);
    done(ambo_backup(database, backup, &report, &error), &error);
    HOLDS(report.moment == moment && report.page_bytes > 0);
    put(table, NULL, "later", "");
    done(ambo_verify_backup(backup, NULL, &problems, &error), &error);
    HOLDS(ambo_names_count(problems) == 0);
    ambo_names_free(&problems);
    done(ambo_restore(backup, restored, NULL, NULL, &error), &error);
    done(ambo_open(restored, NULL, &again, &error), &error);
    done(ambo_key_value(again, "towns", &of_again, &error), &error);
    HOLDS(count(of_again, NULL) + 1 == count(table, NULL));
    done(ambo_check(again, &problems, &error), &error);
    HOLDS(ambo_names_count(problems) == 0);
    ambo_names_free(&problems);
    ambo_table_free(&of_again);
    ambo_close(&again);
    fails(AMBO_REQUEST, ambo_backup(database, restored, NULL, &error), &error);
    HOLDS(AMBO_IS_ERROR(ambo_verify_backup("/dev/null/none", NULL, &problems, &error)) && problems == NULL);
    ambo_error_free(&error);
    fails(AMBO_MISUSE, ambo_backup(database, NULL, NULL, &error), &error);
}

int main(int argc, char **argv) {
    ambo_options *options = ambo_options_new();
    ambo_database *database = NULL;
    ambo_table *table = NULL;
    ambo_transaction *snapshot = NULL;
    ambo_changes *left = NULL;
    ambo_change change;
    uint64_t moment = 0;
    HOLDS(argc == 2);
    done(ambo_options_set(options, "keep_log_bytes", "64MiB", &error), &error);
    done(ambo_open(argv[1], options, &database, &error), &error);
    ambo_options_free(&options);
    done(ambo_key_value(database, "towns", &table, &error), &error);
    put(table, NULL, "a", "1");
    put(table, NULL, "b", "2");
    put(table, NULL, "c", "3");
    put(table, NULL, "d", "4");
    done(ambo_begin(database, AMBO_READ_ONLY, &snapshot, &error), &error);
    done(ambo_moment(database, snapshot, &moment, &error), &error);
    ranges(table, database);
    changes(table, database, moment);
    uqi_of_ranges(database);
    backups(table, database, argv[1]);
    ambo_rollback(&snapshot);

    /* What is left when the database is closed says so. */
    done(ambo_changes_open(database, moment, &left, &error), &error);
    done(ambo_changes_next(left, &change, &error), &error);
    ambo_close(&database);
    fails(AMBO_CLOSED, ambo_changes_next(left, &change, &error), &error);
    HOLDS(ambo_changes_until(left) == 0);
    ambo_changes_free(&left);
    ambo_table_free(&table);
    return 0;
}
