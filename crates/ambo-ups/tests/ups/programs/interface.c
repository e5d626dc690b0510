/* The rest of the interface: matches that are near, duplicates, bulk operations, parameters, names, and what is refused. */

#include "sample.h"

static int told = 0;

static void tell(int level, const char *message) {
    HOLDS(level == UPS_DEBUG_LEVEL_NORMAL && message[0] != 0);
    told++;
}

static void near(ups_env_t *env) {
    static const struct {
        uint16_t wanted;
        uint32_t flags;
        int found, side;
    } cases[] = {{20, UPS_FIND_EQ_MATCH, 20, 0},  {20, UPS_FIND_LT_MATCH, 10, -1}, {20, UPS_FIND_GT_MATCH, 30, 1},
                 {20, UPS_FIND_LEQ_MATCH, 20, 0}, {25, UPS_FIND_LEQ_MATCH, 20, -1}, {25, UPS_FIND_GEQ_MATCH, 30, 1},
                 {5, UPS_FIND_NEAR_MATCH, 10, 1}, {25, UPS_FIND_NEAR_MATCH, 20, -1}, {35, UPS_FIND_GT_MATCH, -1, 0},
                 {5, UPS_FIND_LEQ_MATCH, -1, 0},  {25, 0, -1, 0},                    {300, UPS_FIND_LT_MATCH, 30, -1}};
    ups_parameter_t params[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT16}, {0, 0}};
    ups_db_t *db;
    ups_cursor_t *cursor;
    uint16_t number;
    size_t i;
    DONE(ups_env_create_db(env, &db, 10, 0, params));
    DONE(ups_cursor_create(&cursor, db, NULL, 0));
    for (number = 10; number <= 30; number += 10) {
        ups_key_t key = ups_make_key(&number, sizeof number);
        ups_record_t record = ups_make_record(&number, sizeof number);
        DONE(ups_db_insert(db, NULL, &key, &record, 0));
    }
    for (i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        ups_key_t key;
        ups_record_t record;
        ups_status_t status;
        memset(&key, 0, sizeof key);
        memset(&record, 0, sizeof record);
        number = cases[i / 2].wanted;
        key.data = &number;
        key.size = sizeof number;
        status = i % 2 == 0 ? ups_db_find(db, NULL, &key, &record, cases[i / 2].flags)
                            : ups_cursor_find(cursor, &key, &record, cases[i / 2].flags);
        if (cases[i / 2].found < 0) {
            HOLDS(status == UPS_KEY_NOT_FOUND);
            continue;
        }
        DONE(status);
        HOLDS(*(uint16_t *)record.data == cases[i / 2].found && *(uint16_t *)key.data == cases[i / 2].found);
        HOLDS(ups_key_get_approximate_match_type(&key) == cases[i / 2].side);
    }
    DONE(ups_db_close(db, UPS_AUTO_CLEANUP));
}

/* The items of a key, as one text. */
static void items(ups_cursor_t *cursor, const char *wanted) {
    ups_key_t key = ups_make_key((void *)"k", 1);
    ups_record_t record;
    ups_status_t status;
    size_t nth = 0;
    memset(&record, 0, sizeof record);
    status = ups_cursor_find(cursor, &key, &record, 0);
    while (status == UPS_SUCCESS) {
        uint32_t place = 99, size = 0;
        HOLDS(record.size == 1 && *(char *)record.data == wanted[nth]);
        DONE(ups_cursor_get_duplicate_position(cursor, &place));
        DONE(ups_cursor_get_record_size(cursor, &size));
        HOLDS(place == nth && size == 1);
        nth++;
        status = ups_cursor_move(cursor, NULL, &record, UPS_CURSOR_NEXT | UPS_ONLY_DUPLICATES);
    }
    HOLDS(status == UPS_KEY_NOT_FOUND && nth == strlen(wanted));
}

static void duplicates(ups_env_t *env) {
    ups_db_t *db;
    ups_cursor_t *cursor, *clone;
    ups_key_t key = ups_make_key((void *)"k", 1), other = ups_make_key((void *)"l", 1);
    ups_record_t record = ups_make_record((void *)"c", 1);
    uint32_t count = 0;
    uint64_t all = 0;
    DONE(ups_env_create_db(env, &db, 11, UPS_ENABLE_DUPLICATE_KEYS, NULL));
    DONE(ups_cursor_create(&cursor, db, NULL, 0));
    HOLDS(ups_cursor_get_duplicate_count(cursor, &count, 0) == UPS_CURSOR_IS_NIL);
    DONE(ups_db_insert(db, NULL, &key, &record, 0));
    HOLDS(ups_db_insert(db, NULL, &key, &record, 0) == UPS_DUPLICATE_KEY);
    record.data = (void *)"e";
    DONE(ups_db_insert(db, NULL, &key, &record, UPS_DUPLICATE));
    record.data = (void *)"a";
    DONE(ups_cursor_insert(cursor, &key, &record, UPS_DUPLICATE_INSERT_FIRST));
    record.data = (void *)"b";
    DONE(ups_cursor_insert(cursor, &key, &record, UPS_DUPLICATE_INSERT_AFTER));
    DONE(ups_cursor_find(cursor, &key, NULL, 0));
    DONE(ups_cursor_move(cursor, NULL, NULL, UPS_CURSOR_LAST));
    record.data = (void *)"d";
    DONE(ups_cursor_insert(cursor, &key, &record, UPS_DUPLICATE_INSERT_BEFORE));
    record.data = (void *)"x";
    DONE(ups_db_insert(db, NULL, &other, &record, 0));
    items(cursor, "abcde");
    DONE(ups_cursor_clone(cursor, &clone));
    DONE(ups_cursor_get_duplicate_count(clone, &count, 0));
    HOLDS(count == 5);
    DONE(ups_db_count(db, NULL, 0, &all));
    HOLDS(all == 6);
    DONE(ups_db_count(db, NULL, UPS_SKIP_DUPLICATES, &all));
    HOLDS(all == 2);
    /* The first is overwritten by a database, that of the cursor by a cursor. */
    record.data = (void *)"A";
    DONE(ups_db_insert(db, NULL, &key, &record, UPS_OVERWRITE));
    record.data = (void *)"E";
    DONE(ups_cursor_overwrite(clone, &record, 0));
    items(cursor, "AbcdE");
    DONE(ups_cursor_erase(clone, 0));
    HOLDS(ups_cursor_move(clone, NULL, &record, 0) == UPS_CURSOR_IS_NIL);
    items(cursor, "Abcd");
    DONE(ups_cursor_move(cursor, NULL, &record, UPS_CURSOR_NEXT | UPS_SKIP_DUPLICATES));
    HOLDS(*(char *)record.data == 'x');
    HOLDS(ups_cursor_move(cursor, NULL, &record, UPS_CURSOR_NEXT) == UPS_KEY_NOT_FOUND);
    DONE(ups_cursor_move(cursor, NULL, &record, UPS_CURSOR_PREVIOUS));
    HOLDS(*(char *)record.data == 'd');
    HOLDS(ups_db_close(db, 0) == UPS_CURSOR_STILL_OPEN);
    DONE(ups_db_erase(db, NULL, &key, 0));
    HOLDS(ups_db_erase(db, NULL, &key, 0) == UPS_KEY_NOT_FOUND);
    HOLDS(ups_cursor_move(cursor, &key, NULL, 0) == UPS_CURSOR_IS_NIL);
    DONE(ups_cursor_close(clone));
    DONE(ups_db_close(db, UPS_AUTO_CLEANUP));
}

static void bulk(ups_env_t *env) {
    ups_parameter_t params[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT32}, {UPS_PARAM_KEY_COMPRESSION, UPS_COMPRESSOR_UINT32_SIMDCOMP}, {0, 0}};
    ups_operation_t operations[6];
    uint32_t numbers[6] = {1, 2, 2, 1, 7, 1};
    size_t i;
    ups_db_t *db;
    DONE(ups_env_create_db(env, &db, 12, 0, params));
    memset(operations, 0, sizeof operations);
    for (i = 0; i < 6; i++) {
        operations[i].key.data = &numbers[i];
        operations[i].key.size = sizeof numbers[i];
        operations[i].type = i < 3 ? UPS_OP_INSERT : i < 5 ? UPS_OP_ERASE : UPS_OP_FIND;
    }
    operations[0].record.data = (void *)"one";
    operations[0].record.size = 3;
    operations[5].type = UPS_OP_FIND;
    operations[3].type = UPS_OP_FIND;
    HOLDS(ups_db_bulk_operations(db, NULL, operations, 6, 0) == UPS_INV_PARAMETER);
    operations[3].type = UPS_OP_INSERT;
    operations[3].flags = UPS_OVERWRITE;
    operations[3].record.data = (void *)"uno";
    operations[3].record.size = 3;
    DONE(ups_db_bulk_operations(db, NULL, operations, 6, 0));
    HOLDS(operations[0].result == 0 && operations[1].result == 0 && operations[2].result == UPS_DUPLICATE_KEY);
    HOLDS(operations[3].result == 0 && operations[4].result == UPS_KEY_NOT_FOUND && operations[5].result == 0);
    HOLDS(operations[5].record.size == 3 && memcmp(operations[5].record.data, "uno", 3) == 0);
    DONE(ups_db_check_integrity(db, 0));
    HOLDS(ups_db_get_env(db) == env);
    DONE(ups_db_close(db, 0));
}

static void parameters(ups_env_t *env) {
    ups_parameter_t of_env[] = {{UPS_PARAM_PAGE_SIZE, 0}, {UPS_PARAM_CACHE_SIZE, 0}, {UPS_PARAM_FLAGS, 0},
                                {UPS_PARAM_FILENAME, 0}, {UPS_PARAM_FILEMODE, 0}, {UPS_PARAM_MAX_DATABASES, 0}, {0, 0}};
    ups_parameter_t of_db[] = {{UPS_PARAM_KEY_TYPE, 0}, {UPS_PARAM_KEY_SIZE, 0}, {UPS_PARAM_RECORD_SIZE, 0},
                               {UPS_PARAM_DATABASE_NAME, 0}, {UPS_PARAM_KEY_COMPRESSION, 0}, {UPS_PARAM_FLAGS, 0}, {0, 0}};
    uint16_t names[3], one;
    uint32_t length = 1;
    ups_db_t *db, *again;
    DONE(ups_env_get_parameters(env, of_env));
    HOLDS(of_env[0].value == 8192 && of_env[1].value == 1 << 20 && of_env[2].value & UPS_ENABLE_TRANSACTIONS);
    HOLDS(strcmp((const char *)(uintptr_t)of_env[3].value, "test.db") == 0 && of_env[4].value == 0640 && of_env[5].value > 600);
    DONE(ups_env_open_db(env, &db, 12, 0, NULL));
    HOLDS(ups_env_open_db(env, &again, 12, 0, NULL) == UPS_DATABASE_ALREADY_OPEN);
    DONE(ups_db_get_parameters(db, of_db));
    HOLDS(of_db[0].value == UPS_TYPE_UINT32 && of_db[1].value == 4 && of_db[2].value == UPS_RECORD_SIZE_UNLIMITED);
    HOLDS(of_db[3].value == 12 && of_db[4].value == UPS_COMPRESSOR_UINT32_SIMDCOMP);
    HOLDS(ups_env_erase_db(env, 12, 0) == UPS_DATABASE_ALREADY_OPEN);
    DONE(ups_db_close(db, 0));
    HOLDS(ups_env_get_database_names(env, &one, &length) == UPS_LIMITS_REACHED && length == 3);
    DONE(ups_env_get_database_names(env, names, &length));
    HOLDS(length == 3 && names[0] == 10 && names[1] == 11 && names[2] == 12);
    DONE(ups_env_rename_db(env, 12, 20, 0));
    HOLDS(ups_env_rename_db(env, 12, 21, 0) == UPS_DATABASE_NOT_FOUND);
    HOLDS(ups_env_rename_db(env, 20, 10, 0) == UPS_DATABASE_ALREADY_EXISTS);
    DONE(ups_env_erase_db(env, 20, 0));
    HOLDS(ups_env_open_db(env, &db, 20, 0, NULL) == UPS_DATABASE_NOT_FOUND);
    DONE(ups_env_flush(env, 0));
}

/* Refused by a status, and the handler is told. */
#define REFUSED(status, what) \
    do { \
        int before_ = told; \
        HOLDS((what) == (status)); \
        HOLDS(told == before_ + 1); \
    } while (0)

static void refusals(ups_env_t *env) {
    ups_parameter_t custom[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_CUSTOM}, {0, 0}};
    ups_parameter_t fixed[] = {{UPS_PARAM_KEY_SIZE, 4}, {UPS_PARAM_RECORD_SIZE, 2}, {0, 0}};
    ups_parameter_t secret[] = {{UPS_PARAM_ENCRYPTION_KEY, 1}, {0, 0}};
    ups_parameter_t page[] = {{UPS_PARAM_PAGE_SIZE, 1000}, {0, 0}};
    ups_env_t *other;
    ups_db_t *db;
    ups_key_t key = ups_make_key((void *)"abc", 3);
    ups_record_t record = ups_make_record((void *)"abc", 3);
    REFUSED(UPS_NOT_IMPLEMENTED, ups_env_create_db(env, &db, 30, 0, custom));
    REFUSED(UPS_NOT_IMPLEMENTED, ups_register_compare("mine", NULL));
    REFUSED(UPS_NOT_IMPLEMENTED, ups_env_create(&other, "other.db", 0, 0664, secret));
    REFUSED(UPS_INV_PAGE_SIZE, ups_env_create(&other, "other.db", 0, 0664, page));
    REFUSED(UPS_NOT_IMPLEMENTED, ups_env_open(&other, "ups://localhost:8080/customers.db", 0, NULL));
    REFUSED(UPS_FILE_NOT_FOUND, ups_env_open(&other, "nowhere.db", 0, NULL));
    REFUSED(UPS_WOULD_BLOCK, ups_env_open(&other, "test.db", 0, NULL));
    REFUSED(UPS_INV_PARAMETER, ups_env_create_db(env, &db, 0, 0, NULL));
    REFUSED(UPS_INV_PARAMETER, ups_env_create_db(env, &db, 0xf000, 0, NULL));
    REFUSED(UPS_INV_PARAMETER, ups_env_create_db(env, NULL, 1, 0, NULL));
    REFUSED(UPS_DATABASE_ALREADY_EXISTS, ups_env_create_db(env, &db, 10, 0, NULL));
    DONE(ups_env_create_db(env, &db, 30, 0, fixed));
    REFUSED(UPS_INV_KEY_SIZE, ups_db_insert(db, NULL, &key, &record, 0));
    key.data = (void *)"abcd";
    key.size = 4;
    REFUSED(UPS_INV_RECORD_SIZE, ups_db_insert(db, NULL, &key, &record, 0));
    record.size = 2;
    REFUSED(UPS_INV_PARAMETER, ups_db_insert(db, NULL, &key, &record, UPS_DUPLICATE));
    REFUSED(UPS_INV_PARAMETER, ups_db_insert(db, NULL, NULL, &record, 0));
    DONE(ups_db_insert(db, NULL, &key, &record, 0));
    HOLDS(ups_db_insert(db, NULL, &key, &record, 0) == UPS_DUPLICATE_KEY);
    DONE(ups_db_close(db, 0));
}

int main(void) {
    ups_parameter_t params[] = {{UPS_PARAM_CACHE_SIZE, 1 << 20}, {UPS_PARAM_PAGE_SIZE, 6144}, {0, 0}};
    ups_env_t *env;
    ups_db_t *left;
    uint32_t major = 0;
    ups_key_t key = ups_make_key((void *)"abcd", 4);
    ups_set_error_handler(tell);
    ups_get_version(&major, NULL, NULL);
    HOLDS(major == UPS_VERSION_MAJ && strcmp(ups_strerror(UPS_KEY_NOT_FOUND), "Key not found") == 0);
    DONE(ups_env_create(&env, "test.db", UPS_ENABLE_TRANSACTIONS, 0640, params));
    near(env);
    duplicates(env);
    bulk(env);
    parameters(env);
    refusals(env);
    DONE(ups_env_open_db(env, &left, 10, 0, NULL));
    /* What is left when its environment is closed is no more, and is still to be closed. */
    DONE(ups_env_close(env, 0));
    HOLDS(ups_db_erase(left, NULL, &key, 0) == UPS_NOT_READY);
    HOLDS(ups_db_close(left, 0) == UPS_NOT_READY);
    /* Creating overwrites. */
    DONE(ups_env_create(&env, "test.db", 0, 0640, NULL));
    HOLDS(ups_env_open_db(env, &left, 10, 0, NULL) == UPS_DATABASE_NOT_FOUND);
    DONE(ups_env_close(env, 0));
    return 0;
}
