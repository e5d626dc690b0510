/* Many threads on the same handles: what each adds is there in the end. Closing meanwhile ends them all. */

#include <pthread.h>

#include "test.h"

#define THREADS 4
#define ROUNDS 200

static ambo_database *database;
static ambo_table *table;

/* Adds to a counter that all share. */
static void *count_up(void *unused) {
    int round;
    (void)unused;
    for (round = 0; round < ROUNDS; round++) {
        for (;;) {
            ambo_error *error = NULL;
            ambo_transaction *transaction = NULL;
            ambo_status status;
            int number = 0;
            size_t size;
            done(ambo_begin(database, 0, &transaction, &error), &error);
            status = ambo_get_into(table, transaction, "n", 1, &number, sizeof number, &size, &error);
            HOLDS(status == AMBO_OK || status == AMBO_NOT_FOUND);
            number++;
            done(ambo_put(table, transaction, "n", 1, &number, sizeof number, 0, &error), &error);
            status = ambo_commit(&transaction, &error);
            if (status == AMBO_OK) {
                break;
            }
            fails(AMBO_CONFLICT, status, &error);
        }
    }
    return NULL;
}

/* Reads and writes until the database is closed. */
static void *work(void *unused) {
    ambo_error *error = NULL;
    ambo_status status = AMBO_OK;
    (void)unused;
    while (!AMBO_IS_ERROR(status)) {
        ambo_cursor *cursor = NULL;
        status = ambo_cursor_open(table, NULL, &cursor, &error);
        if (status == AMBO_OK) {
            status = ambo_cursor_seek(cursor, AMBO_FIRST, NULL, 0, &error);
        }
        if (!AMBO_IS_ERROR(status)) {
            status = ambo_put(table, NULL, "n", 1, "later", 5, 0, &error);
        }
        ambo_cursor_free(&cursor);
    }
    fails(AMBO_CLOSED, status, &error);
    return NULL;
}

int main(void) {
    ambo_error *error = NULL;
    ambo_options *options = ambo_options_new();
    pthread_t threads[THREADS];
    int nth, number = 0;
    size_t size;
    done(ambo_options_set(options, "sync", "off", &error), &error);
    done(ambo_open(":memory:", options, &database, &error), &error);
    ambo_options_free(&options);
    done(ambo_key_value(database, "t", &table, &error), &error);
    for (nth = 0; nth < THREADS; nth++) {
        HOLDS(pthread_create(&threads[nth], NULL, count_up, NULL) == 0);
    }
    for (nth = 0; nth < THREADS; nth++) {
        HOLDS(pthread_join(threads[nth], NULL) == 0);
    }
    done(ambo_get_into(table, NULL, "n", 1, &number, sizeof number, &size, &error), &error);
    HOLDS(number == THREADS * ROUNDS);
    for (nth = 0; nth < THREADS; nth++) {
        HOLDS(pthread_create(&threads[nth], NULL, work, NULL) == 0);
    }
    ambo_close(&database);
    for (nth = 0; nth < THREADS; nth++) {
        HOLDS(pthread_join(threads[nth], NULL) == 0);
    }
    ambo_table_free(&table);
    return 0;
}
