/* An aggregate and a predicate of the program's own, in the manner of upscaledb's sample of that name. */
#include "sample.h"

#include <ups/upscaledb_uqi.h>

static void *count_init(int flags, int key_type, uint32_t key_size, int record_type, uint32_t record_size, const char *reserved) {
    (void)reserved;
    HOLDS(!(flags != UQI_STREAM_RECORD || key_type != 0 || key_size != 0xFFFF));
    HOLDS(!(record_type != UPS_TYPE_UINT32 || record_size != 4));
    return calloc(1, sizeof(uint64_t));
}

static void count_single(void *state, const void *key, uint32_t key_size, const void *record, uint32_t record_size) {
    (void)key, (void)key_size, (void)record, (void)record_size;
    *(uint64_t *)state += 1;
}

static void count_many(void *state, const void *keys, const void *records, size_t length) {
    (void)keys, (void)records;
    *(uint64_t *)state += length;
}

static void count_results(void *state, uqi_result_t *result) {
    uqi_result_add_row(result, NULL, 0, state, sizeof(uint64_t));
}

static int equals10(void *state, const void *key, uint32_t key_size, const void *record, uint32_t record_size) {
    uint32_t value;
    (void)state, (void)key, (void)key_size;
    HOLDS(!(record_size != sizeof value));
    memcpy(&value, record, sizeof value);
    return value == 10;
}

int main(void) {
    ups_env_t *env;
    ups_db_t *db;
    uqi_result_t *result;
    ups_record_t found = {0, NULL, 0};
    uqi_plugin_t aggregate, predicate;
    uint64_t count;
    ups_parameter_t parameters[] = {{UPS_PARAM_RECORD_TYPE, UPS_TYPE_UINT32}, {0, 0}};
    DONE(ups_env_create(&env, "test.db", 0, 0664, NULL));
    DONE(ups_env_create_db(env, &db, 1, UPS_RECORD_NUMBER32, parameters));
    for (int i = 0; i < 10000; i++) {
        uint32_t value = 1 + i % 30;
        ups_key_t key = {0, NULL, 0, 0};
        ups_record_t record = ups_make_record(&value, sizeof value);
        DONE(ups_db_insert(db, NULL, &key, &record, 0));
    }
    memset(&aggregate, 0, sizeof aggregate);
    aggregate.name = "mycount";
    aggregate.type = UQI_PLUGIN_AGGREGATE;
    aggregate.init = count_init;
    aggregate.cleanup = free;
    aggregate.agg_single = count_single;
    aggregate.agg_many = count_many;
    aggregate.results = count_results;
    DONE(uqi_register_plugin(&aggregate));
    HOLDS(!(uqi_register_plugin(&aggregate) != UPS_PLUGIN_ALREADY_EXISTS));
    memset(&predicate, 0, sizeof predicate);
    predicate.type = UQI_PLUGIN_PREDICATE;
    predicate.name = "equals10";
    HOLDS(!(uqi_register_plugin(&predicate) != UPS_INV_PARAMETER));
    predicate.pred = equals10;
    DONE(uqi_register_plugin(&predicate));
    DONE(uqi_select(env, "mycount($record) FROM DATABASE 1 WHERE equals10($record)", &result));
    uqi_result_get_record(result, 0, &found);
    memcpy(&count, found.data, sizeof count);
    printf("mycount($record): %d\n", (int)count);
    uqi_result_close(result);
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
