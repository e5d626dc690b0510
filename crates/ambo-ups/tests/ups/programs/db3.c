/* Reads words, and prints each once in their order: an empty record for each key. */

#include "sample.h"

int main(void) {
    char line[1024];
    ups_env_t *env;
    ups_db_t *db;
    ups_cursor_t *cursor;
    ups_key_t key;
    ups_record_t record;
    ups_status_t status;
    ups_parameter_t params[] = {{UPS_PARAM_RECORD_SIZE, 0}, {0, 0}};

    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    DONE(ups_env_create(&env, "test.db", 0, 0664, NULL));
    DONE(ups_env_create_db(env, &db, 1, 0, params));
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *word = strtok(line, " \t\r\n");
        for (; word != NULL; word = strtok(NULL, " \t\r\n")) {
            key.data = word;
            key.size = (uint16_t)(strlen(word) + 1);
            status = ups_db_insert(db, NULL, &key, &record, 0);
            HOLDS(status == UPS_SUCCESS || status == UPS_DUPLICATE_KEY);
        }
    }
    DONE(ups_cursor_create(&cursor, db, NULL, 0));
    memset(&key, 0, sizeof key);
    while ((status = ups_cursor_move(cursor, &key, &record, UPS_CURSOR_NEXT)) == UPS_SUCCESS) {
        printf("%s\n", (const char *)key.data);
        HOLDS(record.size == 0 && record.data == NULL);
    }
    HOLDS(status == UPS_KEY_NOT_FOUND);
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
