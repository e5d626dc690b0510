/* Queries in the manner of upscaledb's: functions, conditions, result arrays, and pages by two cursors. */
#include "sample.h"

#include <ups/upscaledb_uqi.h>

static uint64_t number(ups_env_t *env, const char *query) {
    uqi_result_t *result;
    ups_record_t record = {0, NULL, 0};
    ups_key_t key = {0, NULL, 0, 0};
    uint64_t value;
    DONE(uqi_select(env, query, &result));
    HOLDS(!(uqi_result_get_row_count(result) != 1));
    HOLDS(!(uqi_result_get_record_type(result) != UPS_TYPE_UINT64));
    uqi_result_get_record(result, 0, &record);
    uqi_result_get_key(result, 0, &key);
    HOLDS(!(record.size != sizeof value || key.size == 0));
    memcpy(&value, record.data, sizeof value);
    uqi_result_close(result);
    return value;
}

int main(void) {
    ups_env_t *env;
    ups_db_t *db;
    ups_cursor_t *begin, *end;
    uqi_result_t *result;
    uint32_t size, pages = 0, at;
    uint64_t rows = 0;
    ups_parameter_t parameters[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT32}, {UPS_PARAM_RECORD_TYPE, UPS_TYPE_UINT32}, {0, 0}};
    DONE(ups_env_create(&env, "test.db", 0, 0664, NULL));
    DONE(ups_env_create_db(env, &db, 1, 0, parameters));
    for (uint32_t key = 0; key < 10000; key++) {
        uint32_t value = 1 + key % 30;
        ups_key_t k = ups_make_key(&key, sizeof key);
        ups_record_t r = ups_make_record(&value, sizeof value);
        DONE(ups_db_insert(db, NULL, &k, &r, 0));
    }
    printf("count %d", (int)number(env, "COUNT($key) FROM DATABASE 1"));
    printf(", sum %d", (int)number(env, "SUM($record) FROM DATABASE 1"));
    printf(", tens %d", (int)number(env, "count($key) from database 1 where $record = 10;"));
    DONE(uqi_select(env, "DISTINCT TOP($record) FROM DATABASE 1 LIMIT 3", &result));
    const uint32_t *tops = uqi_result_get_record_data(result, &size);
    HOLDS(!(size != 3 * sizeof *tops || uqi_result_get_key_type(result) != UPS_TYPE_UINT32));
    printf(", distinct tops %u %u %u", tops[0], tops[1], tops[2]);
    uqi_result_close(result);

    DONE(ups_cursor_create(&begin, db, NULL, 0));
    DONE(ups_cursor_create(&end, db, NULL, 0));
    DONE(ups_cursor_move(begin, NULL, NULL, UPS_CURSOR_FIRST));
    for (at = 4000; pages < 3; at += 4000, pages++) {
        ups_key_t k = ups_make_key(&at, sizeof at);
        ups_record_t record = {0, NULL, 0};
        uint64_t value;
        ups_cursor_t *to = ups_cursor_find(end, &k, NULL, 0) == UPS_SUCCESS ? end : NULL;
        DONE(uqi_select_range(env, "COUNT($key) FROM DATABASE 1", begin, to, &result));
        uqi_result_get_record(result, 0, &record);
        memcpy(&value, record.data, sizeof value);
        rows += value;
        uqi_result_close(result);
    }
    printf(", three pages of %d\n", (int)rows);
    HOLDS(!(uqi_select_range(env, "COUNT($key) FROM DATABASE 1", begin, NULL, &result) != UPS_INV_PARAMETER));
    HOLDS(!(uqi_select(env, "COUNT($key) FROM DATABASE", &result) != UPS_PARSER_ERROR));
    HOLDS(!(uqi_select(env, "COUNT($key) FROM DATABASE 1 LIMIT 3", &result) != UPS_PARSER_ERROR));
    HOLDS(!(uqi_select(env, "nothing($key) FROM DATABASE 1", &result) != UPS_PLUGIN_NOT_FOUND));
    HOLDS(!(uqi_select(env, "COUNT($key) FROM DATABASE 9", &result) != UPS_DATABASE_NOT_FOUND));
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
