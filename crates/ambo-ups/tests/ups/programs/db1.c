/* Creates a database, and inserts, finds and erases some items. */

#include "sample.h"

#define LOOP 10

int main(void) {
    int i, found = 0;
    ups_env_t *env;
    ups_db_t *db;
    ups_key_t key = ups_make_key(&i, sizeof(i));
    ups_record_t record = ups_make_record(&i, sizeof(i));
    ups_parameter_t params[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT32}, {UPS_PARAM_RECORD_SIZE, sizeof(uint32_t)}, {0, 0}};

    DONE(ups_env_create(&env, "test.db", UPS_ENABLE_TRANSACTIONS, 0664, NULL));
    DONE(ups_env_create_db(env, &db, 1, 0, params));
    for (i = 0; i < LOOP; i++) {
        DONE(ups_db_insert(db, NULL, &key, &record, 0));
    }
    printf("%d keys inserted\n", LOOP);
    for (i = 0; i < LOOP; i++) {
        ups_record_t got;
        memset(&got, 0, sizeof got);
        DONE(ups_db_find(db, NULL, &key, &got, 0));
        found += got.size == sizeof(i) && *(int *)got.data == i;
    }
    printf("%d keys found\n", found);
    /* Opened again, and erased one after the other. */
    DONE(ups_db_close(db, 0));
    DONE(ups_env_close(env, 0));
    DONE(ups_env_open(&env, "test.db", 0, NULL));
    DONE(ups_env_open_db(env, &db, 1, 0, NULL));
    for (i = 0; i < LOOP; i++) {
        DONE(ups_db_erase(db, NULL, &key, 0));
    }
    printf("%d keys erased\n", LOOP);
    for (i = 0; i < LOOP; i++) {
        ups_record_t got;
        memset(&got, 0, sizeof got);
        HOLDS(ups_db_find(db, NULL, &key, &got, 0) == UPS_KEY_NOT_FOUND);
    }
    printf("erased keys are gone\n");
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
