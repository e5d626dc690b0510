/* Transactions: conflicts, savepoints, snapshots; tables of typed columns. Run with the directory of a database, which is created. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ambo.h"

static void check(ambo_status status, ambo_error **error) {
    if (AMBO_IS_ERROR(status)) {
        fprintf(stderr, "%s: %s\n", ambo_status_name(status), ambo_error_show(*error));
        ambo_error_free(error);
        exit(1);
    }
}

/* The balance of an account. */
static int64_t balance(const ambo_table *accounts, const ambo_transaction *transaction, int64_t id) {
    ambo_error *error = NULL;
    ambo_row *row = NULL;
    ambo_datum key = ambo_int(id), value;
    if (ambo_row_get(accounts, transaction, &key, 1, &row, &error) != AMBO_OK) {
        fprintf(stderr, "there is no account %d\n", (int)id);
        exit(1);
    }
    check(ambo_row_datum(row, 1, &value, &error), &error);
    ambo_row_free(&row);
    return value.integer;
}

static ambo_status set(ambo_table *accounts, ambo_transaction *transaction, int64_t id, int64_t amount) {
    ambo_error *error = NULL;
    ambo_datum row[2];
    ambo_status status;
    row[0] = ambo_int(id);
    row[1] = ambo_int(amount);
    status = ambo_row_upsert(accounts, transaction, row, 2, &error);
    check(status, &error);
    return status;
}

/* Moves an amount, as often as others are in the way. */
static void move(ambo_database *database, ambo_table *accounts, int64_t from, int64_t to, int64_t amount) {
    for (;;) {
        ambo_error *error = NULL;
        ambo_transaction *transaction = NULL;
        ambo_status status;
        check(ambo_begin(database, AMBO_SERIALIZABLE, &transaction, &error), &error);
        set(accounts, transaction, from, balance(accounts, transaction, from) - amount);
        set(accounts, transaction, to, balance(accounts, transaction, to) + amount);
        status = ambo_commit(&transaction, &error);
        if (status != AMBO_CONFLICT) {
            check(status, &error);
            return;
        }
        ambo_error_free(&error);
    }
}

int main(int argc, char **argv) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_definition *definition = NULL;
    ambo_table *accounts = NULL;
    ambo_transaction *snapshot = NULL, *one = NULL, *other = NULL;
    ambo_cursor *cursor = NULL;
    ambo_status status;
    uint64_t savepoint = 0;
    ambo_datum key = ambo_int(1);

    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    check(ambo_open(argv[1], NULL, &database, &error), &error);
    check(ambo_definition_new("accounts", &definition, &error), &error);
    check(ambo_definition_column(definition, "id", "bigint", 0, &error), &error);
    check(ambo_definition_column(definition, "balance", "bigint", 0, &error), &error);
    check(ambo_definition_key(definition, "id", &error), &error);
    check(ambo_definition_set(definition, "storage", "btree", &error), &error);
    check(ambo_table_create(database, definition, &accounts, &error), &error);
    ambo_definition_free(&definition);
    set(accounts, NULL, 1, 100);
    set(accounts, NULL, 2, 0);

    /* A snapshot stays what it was. */
    check(ambo_begin(database, AMBO_READ_ONLY, &snapshot, &error), &error);
    move(database, accounts, 1, 2, 30);
    printf("before: %d and %d\n", (int)balance(accounts, snapshot, 1), (int)balance(accounts, snapshot, 2));
    printf("now: %d and %d\n", (int)balance(accounts, NULL, 1), (int)balance(accounts, NULL, 2));
    ambo_rollback(&snapshot);

    /* Of two that write the same row, the first to commit wins. */
    check(ambo_begin(database, 0, &one, &error), &error);
    check(ambo_begin(database, 0, &other, &error), &error);
    set(accounts, one, 1, 1);
    set(accounts, other, 1, 2);
    check(ambo_commit(&one, &error), &error);
    status = ambo_commit(&other, &error);
    printf("the other: %s, to be run again: %s\n", ambo_status_name(status), ambo_error_retryable(error) ? "yes" : "no");
    ambo_error_free(&error);

    /* What was written after a savepoint is taken back. */
    check(ambo_begin(database, 0, &one, &error), &error);
    set(accounts, one, 3, 7);
    check(ambo_savepoint(one, &savepoint, &error), &error);
    set(accounts, one, 4, 8);
    check(ambo_rollback_to(one, savepoint, &error), &error);
    check(ambo_commit(&one, &error), &error);

    /* Cursors over typed tables seek by values. */
    check(ambo_cursor_open(accounts, NULL, &cursor, &error), &error);
    for (status = ambo_cursor_seek_row(cursor, AMBO_GT, &key, 1, &error); status == AMBO_OK;
         status = ambo_cursor_next(cursor, &error)) {
        ambo_row *row = NULL;
        ambo_datum id, amount;
        check(ambo_cursor_row(cursor, &row, &error), &error);
        check(ambo_row_datum(row, 0, &id, &error), &error);
        check(ambo_row_datum(row, 1, &amount, &error), &error);
        printf("account %d has %d\n", (int)id.integer, (int)amount.integer);
        ambo_row_free(&row);
    }
    check(status, &error);
    ambo_cursor_free(&cursor);
    ambo_table_free(&accounts);
    ambo_close(&database);
    return 0;
}
