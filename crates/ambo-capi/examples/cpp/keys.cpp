// Keys and values in C++. Run with the directory of a database, which is created.

#include <iostream>

#include "ambo.hpp"

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " DIRECTORY\n";
        return 2;
    }
    ambo::Database db(argv[1], ambo::Options().set("cache_bytes", "32MiB"));
    ambo::Table towns = db.key_value("towns");
    towns.put("bergen", "Norway");
    towns.put("cork", "Ireland");
    towns.put("delft", "Netherlands");
    std::cout << "cork is in " << towns.get("cork").value_or("no place") << "\n";
    std::cout << "nowhere is in " << towns.get("nowhere").value_or("no place") << "\n";
    std::cout << std::boolalpha << towns.insert("cork", "France") << " " << towns.update("cork", "Munster") << " "
              << towns.compare_and_set("cork", "Munster", std::nullopt) << " " << towns.contains("cork") << "\n";

    ambo::Cursor cursor = towns.cursor();
    for (bool is_there = cursor.last(); is_there; is_there = cursor.prev()) {
        std::cout << cursor.key() << " = " << cursor.value() << "\n";
    }
    cursor.set_prefix("de");
    std::cout << cursor.first() << " " << cursor.next() << "\n";

    // Again, while others are in the way.
    db.retry([&](ambo::Transaction &transaction) {
        towns.put("essen", "Germany", &transaction);
        std::uint64_t before = transaction.savepoint();
        towns.put("fulda", "Germany", &transaction);
        transaction.rollback_to(before);
    });
    std::cout << towns.count() << " towns, " << towns.count({"c", "e"}) << " from c to e\n";

    ambo::Table prices = db.create(ambo::Definition("prices").column("id", "u32").column("price", "double").key("id"));
    prices.upsert_row({7u, 1.5});
    std::cout << prices.insert_row({7u, 2.5}) << " " << prices.get_row({7u}).value()[1].real() << "\n";

    try {
        prices.get("7");
    } catch (const ambo::Error &error) {
        std::cout << ambo_status_name(error.status()) << ": " << error.what() << "\n";
    }
    std::cout << db.check().size() << " problems\n";
}
