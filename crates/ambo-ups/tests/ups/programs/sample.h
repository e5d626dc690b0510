/* What the samples have in common. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ups/upscaledb.h>

#define HOLDS(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

/* What has to be done. */
#define DONE(what) \
    do { \
        ups_status_t status_ = (what); \
        if (status_ != UPS_SUCCESS) { \
            fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #what, ups_strerror(status_), status_); \
            exit(1); \
        } \
    } while (0)
