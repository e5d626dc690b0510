/* What the programs have in common. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ambo.h"

/* Ends the program where something does not hold. */
#define HOLDS(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

/* What has to be done. */
static void done(ambo_status status, ambo_error **error) {
    if (status != AMBO_OK) {
        fprintf(stderr, "%s: %s\n", ambo_status_name(status), *error == NULL ? "" : ambo_error_show(*error));
        exit(1);
    }
}

/* What has to fail so. The error has the status, too, and goes. */
static void fails(ambo_status wanted, ambo_status status, ambo_error **error) {
    if (status != wanted || *error == NULL || ambo_error_status(*error) != wanted || ambo_error_message(*error)[0] == 0) {
        fprintf(stderr, "%s instead of %s: %s\n", ambo_status_name(status), ambo_status_name(wanted),
                *error == NULL ? "no error" : ambo_error_show(*error));
        exit(1);
    }
    ambo_error_free(error);
    HOLDS(*error == NULL);
}
