// Backups, and a copy of a table that follows what is committed.

#include <iostream>
#include <map>

#include "ambo.hpp"

int main(int, char **argv) {
    const std::string path = argv[1];
    ambo::Database db(path, ambo::Options().set("keep_log_bytes", "64MiB"));
    ambo::Table towns = db.key_value("towns");
    for (const char *name : {"Bergen", "Cork", "Porto"}) towns.put(name, "1");

    std::uint64_t moment = db.moment();
    towns.put("Porto", "2");
    towns.put("Split", "1");
    towns.erase("Cork");
    towns.delete_range(ambo::Range{"A", "C"});

    std::map<std::string, std::string> copy = {{"Bergen", "1"}, {"Cork", "1"}, {"Porto", "1"}};
    ambo::Changes changes = db.changes(moment);
    while (changes.next()) {
        const ambo_change &change = changes.change();
        if (change.kind == AMBO_CHANGE_RANGE) {
            std::string lower(static_cast<const char *>(change.lower), change.lower_size);
            std::string upper(static_cast<const char *>(change.upper), change.upper_size);
            copy.erase(copy.lower_bound(lower), copy.lower_bound(upper));
        } else {
            std::string key(changes.key()[0].bytes());
            if (change.kind == AMBO_CHANGE_DELETED) copy.erase(key);
            if (change.kind == AMBO_CHANGE_WRITTEN) copy[key] = changes.row()[1].bytes();
        }
    }
    for (const auto &[name, value] : copy) std::cout << name << " " << value << "\n";
    std::cout << (changes.until() == db.moment() ? "all" : "a part") << " is followed\n";

    db.backup(path + "-backup");
    std::cout << ambo::Database::verify_backup(path + "-backup").size() << " problems\n";
    ambo::Database::restore(path + "-backup", path + "-restored");
    std::cout << ambo::Database(path + "-restored").key_value("towns").count() << " towns\n";
}
