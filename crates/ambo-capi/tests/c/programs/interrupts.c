/* Statements are ended from other threads: by an interrupt, and by closing the database. */

#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <time.h>

#include "test.h"

static const char endless[] = "with recursive t (n) as (select 1 union all select n % 7 + 1 from t) select max(n) from t";

static ambo_connection *connection;
static ambo_status wanted;

static void rest(void) {
    struct timespec time = {0, 100000000};
    nanosleep(&time, NULL);
}

static void *run(void *own) {
    ambo_error *error = NULL;
    ambo_status status = ambo_execute(own, endless, AMBO_ZERO_ENDED, NULL, &error);
    HOLDS(status == wanted || status == AMBO_CLOSED);
    ambo_error_free(&error);
    return NULL;
}

static void *take(void *own) {
    ambo_error *error = NULL;
    ambo_status status = ambo_result_next(own, &error);
    HOLDS(status == AMBO_CANCELLED || status == AMBO_CLOSED);
    ambo_error_free(&error);
    return NULL;
}

int main(void) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_connection *other = NULL;
    ambo_result *result = NULL;
    ambo_progress_figures progress;
    pthread_t thread;
    int64_t number = 0;
    int tries;
    done(ambo_open(":memory:", NULL, &database, &error), &error);
    done(ambo_connect(database, &connection, &error), &error);
    done(ambo_connect(database, &other, &error), &error);
    HOLDS(!ambo_progress(connection, &progress));

    wanted = AMBO_CANCELLED;
    HOLDS(pthread_create(&thread, NULL, run, connection) == 0);
    /* Until it runs. */
    for (tries = 0; !ambo_progress(connection, &progress); tries++) {
        HOLDS(tries < 200);
        rest();
    }
    HOLDS(progress.bytes_spilled == 0);
    /* Another connection goes on. */
    done(ambo_query(other, "select 7::bigint", AMBO_ZERO_ENDED, &result, &error), &error);
    ambo_interrupt(connection);
    HOLDS(pthread_join(thread, NULL) == 0);
    done(ambo_result_next(result, &error), &error);
    done(ambo_result_int64(result, 0, &number, &error), &error);
    HOLDS(number == 7);
    ambo_result_free(&result);
    /* What was interrupted is used again. */
    done(ambo_execute(connection, "create table t (id int); insert into t values (1)", AMBO_ZERO_ENDED, NULL, &error), &error);
    ambo_connection_free(&connection);

    HOLDS(pthread_create(&thread, NULL, run, other) == 0);
    rest();
    ambo_close(&database);
    HOLDS(pthread_join(thread, NULL) == 0);
    fails(AMBO_CLOSED, ambo_execute(other, "select 1", AMBO_ZERO_ENDED, NULL, &error), &error);
    ambo_connection_free(&other);

    /* So is a result whose connection was freed. */
    done(ambo_open(":memory:", NULL, &database, &error), &error);
    done(ambo_connect(database, &connection, &error), &error);
    done(ambo_query(connection, endless, AMBO_ZERO_ENDED, &result, &error), &error);
    ambo_connection_free(&connection);
    HOLDS(pthread_create(&thread, NULL, take, result) == 0);
    rest();
    ambo_close(&database);
    HOLDS(pthread_join(thread, NULL) == 0);
    ambo_result_free(&result);
    return 0;
}
