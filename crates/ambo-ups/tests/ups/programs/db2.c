/* Copies a database with binary keys into another by a cursor. */

#include "sample.h"

int main(void) {
    int i;
    unsigned copied = 0;
    uint64_t count = 0;
    ups_env_t *env;
    ups_db_t *from, *to;
    ups_cursor_t *cursor;
    ups_key_t key;
    ups_record_t record;
    ups_status_t status;

    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    DONE(ups_env_create(&env, NULL, UPS_IN_MEMORY, 0, NULL));
    DONE(ups_env_create_db(env, &from, 1, 0, NULL));
    DONE(ups_env_create_db(env, &to, 2, 0, NULL));
    for (i = 0; i < 1000; i++) {
        char text[32];
        sprintf(text, "key %04d", i);
        key.data = text;
        key.size = (uint16_t)strlen(text);
        record.data = text;
        record.size = key.size - 4u;
        DONE(ups_db_insert(from, NULL, &key, &record, 0));
    }
    DONE(ups_cursor_create(&cursor, from, NULL, 0));
    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    status = ups_cursor_move(cursor, &key, &record, UPS_CURSOR_FIRST);
    while (status == UPS_SUCCESS) {
        DONE(ups_db_insert(to, NULL, &key, &record, 0));
        copied++;
        status = ups_cursor_move(cursor, &key, &record, UPS_CURSOR_NEXT);
    }
    HOLDS(status == UPS_KEY_NOT_FOUND);
    DONE(ups_cursor_close(cursor));
    DONE(ups_db_count(to, NULL, 0, &count));
    HOLDS(count == copied);
    printf("%u items copied\n", copied);
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
