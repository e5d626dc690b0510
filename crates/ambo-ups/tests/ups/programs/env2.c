/* Customers and orders with a database between them, where a customer has an item for each order: duplicate keys. */

#include "sample.h"

int main(void) {
    static const char *customers[] = {"Ada", "Bob", "Cy"};
    static const struct {
        uint32_t id, customer;
        const char *assignee;
    } orders[] = {{1, 1, "Joe"}, {2, 1, "Tom"}, {3, 3, "Joe"}, {5, 3, "Ben"}, {8, 1, "Ben"}};
    uint32_t i;
    ups_env_t *env;
    ups_db_t *db[3];
    ups_cursor_t *cursor[3];
    ups_key_t key, between_key;
    ups_record_t record, between;
    ups_parameter_t params[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT32}, {0, 0}};
    ups_parameter_t between_params[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT32}, {UPS_PARAM_RECORD_SIZE, 4}, {0, 0}};

    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    DONE(ups_env_create(&env, "test.db", UPS_ENABLE_TRANSACTIONS, 0664, NULL));
    DONE(ups_env_create_db(env, &db[0], 1, 0, params));
    DONE(ups_env_create_db(env, &db[1], 2, 0, params));
    DONE(ups_env_create_db(env, &db[2], 3, UPS_ENABLE_DUPLICATE_KEYS, between_params));
    for (i = 0; i < 3; i++) {
        DONE(ups_cursor_create(&cursor[i], db[i], NULL, 0));
    }
    key.size = sizeof i;
    for (i = 1; i <= 3; i++) {
        key.data = &i;
        record.data = (void *)customers[i - 1];
        record.size = (uint32_t)strlen(customers[i - 1]) + 1;
        DONE(ups_db_insert(db[0], NULL, &key, &record, 0));
    }
    for (i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        key.data = (void *)&orders[i].id;
        record.data = (void *)orders[i].assignee;
        record.size = (uint32_t)strlen(orders[i].assignee) + 1;
        DONE(ups_db_insert(db[1], NULL, &key, &record, 0));
        key.data = (void *)&orders[i].customer;
        record.data = (void *)&orders[i].id;
        record.size = sizeof orders[i].id;
        DONE(ups_db_insert(db[2], NULL, &key, &record, UPS_DUPLICATE));
    }
    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    memset(&between_key, 0, sizeof between_key);
    memset(&between, 0, sizeof between);
    while (ups_cursor_move(cursor[0], &key, &record, UPS_CURSOR_NEXT) == UPS_SUCCESS) {
        ups_status_t status;
        printf("customer %u (%s)\n", *(uint32_t *)key.data, (const char *)record.data);
        between_key.data = key.data;
        between_key.size = key.size;
        status = ups_cursor_find(cursor[2], &between_key, NULL, 0);
        if (status == UPS_KEY_NOT_FOUND) {
            continue;
        }
        DONE(status);
        status = ups_cursor_move(cursor[2], NULL, &between, 0);
        while (status == UPS_SUCCESS) {
            uint32_t id = *(uint32_t *)between.data;
            ups_key_t order_key = ups_make_key(&id, sizeof id);
            ups_record_t order;
            memset(&order, 0, sizeof order);
            DONE(ups_db_find(db[1], NULL, &order_key, &order, 0));
            printf("  order %u (%s)\n", id, (const char *)order.data);
            status = ups_cursor_move(cursor[2], &between_key, &between, UPS_CURSOR_NEXT | UPS_ONLY_DUPLICATES);
        }
        HOLDS(status == UPS_KEY_NOT_FOUND);
    }
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
