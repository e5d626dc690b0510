/* Reads lines, and numbers them: the database gives out record numbers. */

#include "sample.h"

int main(void) {
    char line[1024];
    uint32_t last = 0;
    ups_env_t *env;
    ups_db_t *db;
    ups_cursor_t *cursor;
    ups_key_t key;
    ups_record_t record;
    ups_status_t status;

    DONE(ups_env_create(&env, "test.db", 0, 0664, NULL));
    DONE(ups_env_create_db(env, &db, 1, UPS_RECORD_NUMBER32, NULL));
    DONE(ups_cursor_create(&cursor, db, NULL, 0));
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = 0;
        memset(&key, 0, sizeof key);
        memset(&record, 0, sizeof record);
        record.data = line;
        record.size = (uint32_t)strlen(line) + 1;
        if (last % 2 == 0) {
            DONE(ups_db_insert(db, NULL, &key, &record, 0));
            HOLDS(key.size == sizeof last && *(uint32_t *)key.data == last + 1);
            last++;
        } else {
            /* Into memory of the program's, by a cursor. */
            key.flags = UPS_KEY_USER_ALLOC;
            key.data = &last;
            key.size = sizeof last;
            DONE(ups_cursor_insert(cursor, &key, &record, 0));
        }
    }
    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    status = ups_cursor_move(cursor, &key, &record, UPS_CURSOR_FIRST);
    while (status == UPS_SUCCESS) {
        printf("%u: %s\n", *(uint32_t *)key.data, (const char *)record.data);
        status = ups_cursor_move(cursor, &key, &record, UPS_CURSOR_NEXT);
    }
    HOLDS(status == UPS_KEY_NOT_FOUND);
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
