/* A handle that was freed is found out, as long as its memory is nothing else. Not for sanitizers, which end the program first. */

#include "test.h"

int main(void) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_table *table = NULL, *again;
    done(ambo_open(":memory:", NULL, &database, &error), &error);
    done(ambo_key_value(database, "t", &table, &error), &error);
    again = table;
    ambo_table_free(&table);
    fails(AMBO_MISUSE, ambo_put(again, NULL, "k", 1, "v", 1, 0, &error), &error);
    ambo_table_free(&again);
    HOLDS(again == NULL);
    ambo_close(&database);
    return 0;
}
