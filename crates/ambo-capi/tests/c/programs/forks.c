/* In a child nothing of the parent's is used, and nothing hangs. */

#define _POSIX_C_SOURCE 200809L
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

int main(int argc, char **argv) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_table *table = NULL;
    ambo_transaction *transaction = NULL;
    ambo_cursor *cursor = NULL;
    uint64_t count = 0;
    int nth;
    HOLDS(argc == 2);
    done(ambo_open(argv[1], NULL, &database, &error), &error);
    done(ambo_key_value(database, "t", &table, &error), &error);
    done(ambo_put(table, NULL, "k", 1, "v", 1, 0, &error), &error);
    done(ambo_begin(database, 0, &transaction, &error), &error);
    done(ambo_cursor_open(table, NULL, &cursor, &error), &error);
    for (nth = 0; nth < 20; nth++) {
        int status = 0;
        pid_t child = fork();
        HOLDS(child >= 0);
        if (child == 0) {
            fails(AMBO_IN_USE, ambo_put(table, NULL, "l", 1, "v", 1, 0, &error), &error);
            fails(AMBO_IN_USE, ambo_cursor_next(cursor, &error), &error);
            fails(AMBO_IN_USE, ambo_flush(database, &error), &error);
            ambo_cursor_free(&cursor);
            if (nth % 2 == 0) {
                fails(AMBO_IN_USE, ambo_commit(&transaction, &error), &error);
            }
            ambo_rollback(&transaction);
            ambo_table_free(&table);
            ambo_close(&database);
            /* One of its own. */
            done(ambo_open(":memory:", NULL, &database, &error), &error);
            done(ambo_key_value(database, "t", &table, &error), &error);
            done(ambo_put(table, NULL, "l", 1, "v", 1, 0, &error), &error);
            ambo_table_free(&table);
            ambo_close(&database);
            _exit(0);
        }
        HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    done(ambo_put(table, transaction, "m", 1, "v", 1, 0, &error), &error);
    done(ambo_commit(&transaction, &error), &error);
    done(ambo_count(table, NULL, NULL, &count, &error), &error);
    HOLDS(count == 2);
    ambo_cursor_free(&cursor);
    ambo_table_free(&table);
    ambo_close(&database);
    return 0;
}
