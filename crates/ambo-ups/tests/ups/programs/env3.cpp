// The interface from C++: how many orders a customer has.

#include <string>
#include <vector>

#include "sample.h"

int main() {
    ups_env_t *env;
    ups_db_t *db;
    ups_cursor_t *cursor;
    DONE(ups_env_create(&env, "test.db", UPS_ENABLE_TRANSACTIONS | UPS_ENABLE_FSYNC, 0644, nullptr));
    DONE(ups_env_create_db(env, &db, 7, UPS_ENABLE_DUPLICATE_KEYS, nullptr));
    const std::vector<std::pair<std::string, int>> orders = {{"Ada", 1}, {"Bob", 2}, {"Ada", 3}};
    for (const auto &order : orders) {
        std::string customer = order.first;
        int id = order.second;
        ups_key_t key = ups_make_key(customer.data(), static_cast<uint16_t>(customer.size()));
        ups_record_t record = ups_make_record(&id, sizeof id);
        DONE(ups_db_insert(db, nullptr, &key, &record, UPS_DUPLICATE));
    }
    DONE(ups_cursor_create(&cursor, db, nullptr, 0));
    ups_key_t key = ups_make_key(nullptr, 0);
    while (ups_cursor_move(cursor, &key, nullptr, UPS_CURSOR_NEXT | UPS_SKIP_DUPLICATES) == UPS_SUCCESS) {
        uint32_t count;
        DONE(ups_cursor_get_duplicate_count(cursor, &count, 0));
        std::string customer(static_cast<const char *>(key.data), key.size);
        printf("%s has %u orders\n", customer.c_str(), count);
    }
    DONE(ups_env_close(env, UPS_AUTO_CLEANUP));
}
