/* Rows of a source, with tokens that say how far it has come. */

#include "test.h"

static ambo_error *error = NULL;

/* A table of storage append from numbers to words. */
static ambo_table *made(ambo_database *database) {
    ambo_definition *definition = NULL;
    ambo_table *table = NULL;
    done(ambo_definition_new("points", &definition, &error), &error);
    done(ambo_definition_column(definition, "x", "i32", 0, &error), &error);
    done(ambo_definition_column(definition, "y", "f64", AMBO_NULLABLE, &error), &error);
    done(ambo_definition_set(definition, "storage", "append", &error), &error);
    done(ambo_table_create(database, definition, &table, &error), &error);
    ambo_definition_free(&definition);
    return table;
}

static uint64_t count(ambo_table *table) {
    uint64_t rows = 99;
    done(ambo_count(table, NULL, NULL, &rows, &error), &error);
    return rows;
}

static void push(ambo_feed *feed, int x) {
    ambo_datum row[2];
    row[0] = ambo_int(x);
    row[1] = x % 2 == 0 ? ambo_null() : ambo_real(x / 2.0);
    done(ambo_feed_push(feed, row, 2, &error), &error);
}

/* Records: y, x, a byte for the NULL of y, and what makes 16. They are never published. */
static void records(ambo_feed *feed) {
    unsigned char some[5 * 16];
    uint64_t rows = 0;
    int x;
    memset(some, 0, sizeof some);
    for (x = 0; x < 5; x++) {
        double y = x / 4.0;
        memcpy(some + x * 16, &y, 8);
        memcpy(some + x * 16 + 8, &x, 4);
        some[x * 16 + 12] = x == 3;
    }
    done(ambo_feed_push_records(feed, some, sizeof some, &rows, &error), &error);
    HOLDS(rows == 5);
    fails(AMBO_REQUEST, ambo_feed_push_records(feed, some, sizeof some - 1, &rows, &error), &error);
}

int main(int argc, char **argv) {
    ambo_database *database = NULL;
    ambo_table *table;
    ambo_feed *feed = NULL;
    ambo_value *token = NULL;
    ambo_datum wrong = ambo_text("one", AMBO_ZERO_ENDED);
    ambo_names *problems = NULL;
    uint64_t rows = 0;
    int x;
    HOLDS(argc == 2);
    done(ambo_open(argv[1], NULL, &database, &error), &error);
    table = made(database);
    done(ambo_feed_open(table, "sensor", &feed, &error), &error);
    HOLDS(ambo_feed_token(feed, &token, &error) == AMBO_NOT_FOUND);
    for (x = 0; x < 20000; x++) push(feed, x);
    fails(AMBO_REQUEST, ambo_feed_push(feed, &wrong, 1, &error), &error);
    HOLDS(count(table) == 0);
    done(ambo_feed_checkpoint(feed, "line 20000", 10, &rows, &error), &error);
    HOLDS(rows == 20000 && count(table) == 20000);
    records(feed);
    push(feed, 1);
    ambo_feed_free(&feed);
    ambo_table_free(&table);
    ambo_close(&database);

    /* What was pushed and not published is not there. */
    done(ambo_open(argv[1], NULL, &database, &error), &error);
    done(ambo_table_open(database, "points", &table, &error), &error);
    HOLDS(count(table) == 20000);
    done(ambo_feed_open(table, "sensor", &feed, &error), &error);
    done(ambo_feed_token(feed, &token, &error), &error);
    HOLDS(ambo_value_size(token) == 10 && memcmp(ambo_value_data(token), "line 20000", 10) == 0);
    ambo_value_free(&token);
    done(ambo_feed_checkpoint(feed, NULL, 0, NULL, &error), &error);
    HOLDS(count(table) == 20000);
    done(ambo_check(database, &problems, &error), &error);
    HOLDS(ambo_names_count(problems) == 0);
    ambo_names_free(&problems);
    ambo_close(&database);
    fails(AMBO_CLOSED, ambo_feed_checkpoint(feed, NULL, 0, NULL, &error), &error);
    ambo_feed_free(&feed);
    ambo_table_free(&table);
    return 0;
}
