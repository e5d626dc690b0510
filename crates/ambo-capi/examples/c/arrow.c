/* Arrow: a result as a stream, and a stream into a table, without a copy. Run with the directory of a database, which is created. */

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

int main(int argc, char **argv) {
    ambo_error *error = NULL;
    ambo_database *database = NULL;
    ambo_connection *connection = NULL;
    ambo_statement *statement = NULL;
    ambo_result *result = NULL;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema, parameters;
    int64_t rows = 0, sum = 0;
    uint64_t ingested = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    check(ambo_open(argv[1], NULL, &database, &error), &error);
    check(ambo_connect(database, &connection, &error), &error);

    /* What a statement returns and takes, before it runs. */
    check(ambo_prepare(connection, "select n, n * 2 as twice from generate_series(1, 100000) as t (n) where n <> :left", AMBO_ZERO_ENDED,
                       &statement, &error), &error);
    check(ambo_describe(statement, &schema, &parameters, &error), &error);
    printf("%d columns: %s is %s; parameter %s\n", (int)schema.n_children, schema.children[1]->name, schema.children[1]->format,
           parameters.children[0]->name);
    schema.release(&schema);
    parameters.release(&parameters);

    /* Batch after batch, with the buffers as they are. */
    check(ambo_bind_int64(statement, ambo_parameter_index(statement, "left"), 7, &error), &error);
    check(ambo_run(statement, &result, &error), &error);
    check(ambo_result_stream(&result, &stream, &error), &error);
    for (;;) {
        struct ArrowArray batch;
        const int64_t *values;
        int64_t row;
        if (stream.get_next(&stream, &batch) != 0) {
            fprintf(stderr, "%s\n", stream.get_last_error(&stream));
            return 1;
        }
        if (batch.release == NULL) {
            break;
        }
        values = (const int64_t *)batch.children[0]->buffers[1] + batch.children[0]->offset;
        for (row = 0; row < batch.length; row++) {
            sum += values[row];
        }
        rows += batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    printf("%d rows, the sum of n is %lld\n", (int)rows, (long long)sum);

    /* A stream becomes a table. */
    check(ambo_run(statement, &result, &error), &error);
    check(ambo_result_stream(&result, &stream, &error), &error);
    check(ambo_ingest(connection, "doubled", "create", "storage = column", &stream, &ingested, &error), &error);
    printf("%d rows ingested; the stream is %s\n", (int)ingested, stream.release == NULL ? "released" : "not released");

    /* Or what statements read, once. */
    check(ambo_run(statement, &result, &error), &error);
    check(ambo_result_stream(&result, &stream, &error), &error);
    check(ambo_register(connection, "mine", &stream, &error), &error);
    check(ambo_query(connection, "select count(*) from mine join doubled using (n)", AMBO_ZERO_ENDED, &result, &error), &error);
    check(ambo_result_next(result, &error), &error);
    check(ambo_result_int64(result, 0, &rows, &error), &error);
    printf("%d rows joined\n", (int)rows);
    ambo_result_free(&result);

    ambo_statement_free(&statement);
    ambo_connection_free(&connection);
    ambo_close(&database);
    return 0;
}
