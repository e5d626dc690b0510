/* SQL: statements, parameters, rows, errors, keys and rows in one transaction. Run with the directory of a database, which is created. */

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

static void execute(ambo_connection *connection, const char *sql) {
    ambo_error *error = NULL;
    check(ambo_execute(connection, sql, AMBO_ZERO_ENDED, NULL, &error), &error);
}

/* Prints all rows of a result. */
static void print(ambo_result *result) {
    ambo_error *error = NULL;
    size_t column, columns = ambo_result_columns(result);
    ambo_status status;
    while ((status = ambo_result_next(result, &error)) == AMBO_OK) {
        for (column = 0; column < columns; column++) {
            const char *text;
            size_t size;
            check(ambo_result_text(result, column, &text, &size, &error), &error);
            printf("%s%s = ", column == 0 ? "" : ", ", ambo_result_name(result, column));
            printf("%.*s", text == NULL ? 4 : (int)size, text == NULL ? "NULL" : text);
        }
        printf("\n");
    }
    check(status, &error);
}

int main(int argc, char **argv) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_connection *connection = NULL;
    ambo_statement *insert = NULL;
    ambo_result *result = NULL;
    ambo_table *seen = NULL;
    ambo_transaction *transaction = NULL;
    ambo_datum day = ambo_null();
    ambo_status status;
    uint64_t affected = 0, count = 0;
    int64_t sum = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    check(ambo_open(argv[1], NULL, &database, &error), &error);
    check(ambo_connect(database, &connection, &error), &error);
    execute(connection, "create table flights (id bigint primary key, to_town text, price decimal(8, 2), day date)");

    /* A statement is read once. */
    check(ambo_prepare(connection, "insert into flights values (?, ?, ?, ?)", AMBO_ZERO_ENDED, &insert, &error), &error);
    check(ambo_bind_int64(insert, 1, 1, &error), &error);
    check(ambo_bind_text(insert, 2, "Bergen", 6, &error), &error);
    check(ambo_bind_double(insert, 3, 120.5, &error), &error);
    day.kind = AMBO_DATE;
    day.integer = 20000;
    check(ambo_bind(insert, 4, &day, &error), &error);
    check(ambo_run_update(insert, &affected, &error), &error);
    printf("%d row inserted\n", (int)affected);
    check(ambo_bind_int64(insert, 1, 2, &error), &error);
    check(ambo_bind_text(insert, 2, "Cork", AMBO_ZERO_ENDED, &error), &error);
    check(ambo_bind_null(insert, 4, &error), &error);
    check(ambo_run_update(insert, &affected, &error), &error);
    ambo_statement_free(&insert);

    check(ambo_query(connection, "select * from flights order by id", AMBO_ZERO_ENDED, &result, &error), &error);
    print(result);
    ambo_result_free(&result);

    /* Values are read as what they are. */
    check(ambo_query(connection, "select sum(id)::bigint, max(to_town) from flights", AMBO_ZERO_ENDED, &result, &error), &error);
    check(ambo_result_next(result, &error), &error);
    check(ambo_result_int64(result, 0, &sum, &error), &error);
    status = ambo_result_int64(result, 1, &sum, &error);
    printf("the sum is %d; a text as an integer: %s\n", (int)sum, ambo_status_name(status));
    ambo_error_free(&error);
    ambo_result_free(&result);

    /* An error says where. */
    status = ambo_query(connection, "select id,\n  prise from flights", AMBO_ZERO_ENDED, &result, &error);
    printf("%s %s at line %d, column %d\n%s\n", ambo_status_name(status), ambo_error_sqlstate(error),
           (int)ambo_error_line(error), (int)ambo_error_column(error), ambo_error_show(error));
    ambo_error_free(&error);

    /* Rows and keys in one transaction. */
    check(ambo_key_value(database, "seen", &seen, &error), &error);
    execute(connection, "begin");
    check(ambo_connection_transaction(connection, &transaction, &error), &error);
    execute(connection, "delete from flights where id = 2");
    check(ambo_put(seen, transaction, "Cork", 4, "", 0, AMBO_UPSERT, &error), &error);
    check(ambo_count(seen, NULL, NULL, &count, &error), &error);
    printf("before the commit: %d key\n", (int)count);
    check(ambo_commit(&transaction, &error), &error);
    check(ambo_count(seen, NULL, NULL, &count, &error), &error);
    printf("after it: %d key\n", (int)count);

    ambo_table_free(&seen);
    ambo_connection_free(&connection);
    ambo_close(&database);
    return 0;
}
