/* Two databases of an environment, joined by two cursors. */

#include "sample.h"

typedef struct {
    uint32_t id;
    char name[16];
} customer_t;
typedef struct {
    uint32_t id, customer;
    char assignee[16];
} order_t;

int main(void) {
    customer_t customers[] = {{1, "Ada"}, {2, "Bob"}};
    order_t orders[] = {{1, 1, "Joe"}, {2, 2, "Tom"}, {3, 1, "Ben"}};
    size_t i;
    ups_env_t *env;
    ups_db_t *db[2];
    ups_cursor_t *cursor[2];
    ups_key_t key;
    ups_record_t record;
    ups_parameter_t params[] = {{UPS_PARAM_KEY_TYPE, UPS_TYPE_UINT32}, {0, 0}};

    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    DONE(ups_env_create(&env, "test.db", 0, 0664, NULL));
    for (i = 0; i < 2; i++) {
        DONE(ups_env_create_db(env, &db[i], (uint16_t)(i + 1), 0, params));
        DONE(ups_cursor_create(&cursor[i], db[i], NULL, 0));
    }
    key.size = sizeof(uint32_t);
    for (i = 0; i < 2; i++) {
        key.data = &customers[i].id;
        record.data = &customers[i];
        record.size = sizeof customers[i];
        DONE(ups_db_insert(db[0], NULL, &key, &record, 0));
    }
    for (i = 0; i < 3; i++) {
        key.data = &orders[i].id;
        record.data = &orders[i];
        record.size = sizeof orders[i];
        DONE(ups_db_insert(db[1], NULL, &key, &record, 0));
    }
    memset(&key, 0, sizeof key);
    memset(&record, 0, sizeof record);
    while (ups_cursor_move(cursor[0], &key, &record, UPS_CURSOR_NEXT) == UPS_SUCCESS) {
        customer_t customer;
        ups_key_t order_key;
        ups_record_t order_record;
        ups_status_t status;
        memcpy(&customer, record.data, sizeof customer);
        memset(&order_key, 0, sizeof order_key);
        memset(&order_record, 0, sizeof order_record);
        printf("%s\n", customer.name);
        status = ups_cursor_move(cursor[1], &order_key, &order_record, UPS_CURSOR_FIRST);
        for (; status == UPS_SUCCESS; status = ups_cursor_move(cursor[1], &order_key, &order_record, UPS_CURSOR_NEXT)) {
            order_t order;
            memcpy(&order, order_record.data, sizeof order);
            if (order.customer == customer.id) {
                printf("  order %u (%s)\n", order.id, order.assignee);
            }
        }
        HOLDS(status == UPS_KEY_NOT_FOUND);
    }
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
    return 0;
}
