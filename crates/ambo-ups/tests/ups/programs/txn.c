/* Transactions: what they see, how they end, and how two are in each other's way. */

#include "sample.h"

static ups_env_t *env;
static ups_db_t *db;

static ups_status_t put(ups_txn_t *txn, uint64_t number, uint64_t value) {
    ups_key_t key = ups_make_key(&number, sizeof number);
    ups_record_t record = ups_make_record(&value, sizeof value);
    return ups_db_insert(db, txn, &key, &record, UPS_OVERWRITE);
}

static ups_status_t get(ups_txn_t *txn, uint64_t number, uint64_t *value) {
    ups_key_t key = ups_make_key(&number, sizeof number);
    ups_record_t record;
    ups_status_t status;
    memset(&record, 0, sizeof record);
    record.flags = UPS_RECORD_USER_ALLOC;
    record.data = value;
    status = ups_db_find(db, txn, &key, &record, 0);
    HOLDS(status != UPS_SUCCESS || record.size == sizeof *value);
    return status;
}

int main(void) {
    ups_txn_t *one, *other;
    ups_cursor_t *cursor;
    ups_key_t key;
    uint64_t value = 0, count = 0;
    ups_parameter_t params[] = {
        {UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT64}, {UPS_PARAM_RECORD_TYPE, UPS_TYPE_UINT64}, {0, 0}};
    memset(&key, 0, sizeof key);
    DONE(ups_env_create(&env, "test.db", 0, 0664, NULL));
    HOLDS(ups_txn_begin(&one, env, NULL, NULL, 0) == UPS_INV_PARAMETER);
    DONE(ups_env_close(env, 0));
    DONE(ups_env_create(&env, "test.db", UPS_ENABLE_TRANSACTIONS, 0664, NULL));
    DONE(ups_env_create_db(env, &db, 1, 0, params));

    DONE(ups_txn_begin(&one, env, "one", NULL, 0));
    HOLDS(strcmp(ups_txn_get_name(one), "one") == 0);
    DONE(put(one, 1, 10));
    DONE(get(one, 1, &value));
    HOLDS(value == 10 && get(NULL, 1, &value) == UPS_KEY_NOT_FOUND);
    HOLDS(ups_db_close(db, 0) == UPS_TXN_STILL_OPEN);
    DONE(ups_txn_abort(one, 0));
    HOLDS(get(NULL, 1, &value) == UPS_KEY_NOT_FOUND);

    /* Two that write one key: the second is told at once. */
    DONE(ups_txn_begin(&one, env, NULL, NULL, 0));
    DONE(ups_txn_begin(&other, env, NULL, NULL, 0));
    HOLDS(ups_txn_get_name(one) == NULL);
    DONE(put(one, 1, 11));
    HOLDS(put(other, 1, 12) == UPS_TXN_CONFLICT && put(NULL, 1, 13) == UPS_TXN_CONFLICT);
    DONE(put(other, 2, 22));
    DONE(ups_txn_commit(one, 0));
    DONE(ups_txn_commit(other, 0));
    DONE(get(NULL, 1, &value));
    HOLDS(value == 11);

    /* A transaction sees what there was when it began, and its own; a cursor keeps it from ending. */
    DONE(ups_txn_begin(&one, env, NULL, NULL, UPS_TXN_READ_ONLY));
    DONE(ups_cursor_create(&cursor, db, one, 0));
    DONE(put(NULL, 3, 33));
    DONE(ups_db_count(db, one, 0, &count));
    HOLDS(count == 2 && put(one, 4, 44) == UPS_WRITE_PROTECTED);
    HOLDS(ups_txn_commit(one, 0) == UPS_CURSOR_STILL_OPEN);
    DONE(ups_cursor_move(cursor, &key, NULL, UPS_CURSOR_LAST));
    HOLDS(*(uint64_t *)key.data == 2);
    DONE(ups_cursor_close(cursor));
    DONE(ups_txn_commit(one, 0));

    /* Closing commits what is open, if that is asked for. */
    DONE(ups_txn_begin(&one, env, NULL, NULL, 0));
    DONE(put(one, 5, 55));
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP | UPS_TXN_AUTO_COMMIT));
    DONE(ups_env_open(&env, "test.db", UPS_ENABLE_TRANSACTIONS | UPS_AUTO_RECOVERY, NULL));
    DONE(ups_env_open_db(env, &db, 1, 0, NULL));
    DONE(get(NULL, 5, &value));
    HOLDS(value == 55);
    DONE(ups_txn_begin(&one, env, NULL, NULL, 0));
    DONE(put(one, 6, 66));
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    DONE(ups_env_open(&env, "test.db", UPS_READ_ONLY, NULL));
    DONE(ups_env_open_db(env, &db, 1, 0, NULL));
    HOLDS(get(NULL, 6, &value) == UPS_KEY_NOT_FOUND && put(NULL, 7, 77) == UPS_WRITE_PROTECTED);
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
