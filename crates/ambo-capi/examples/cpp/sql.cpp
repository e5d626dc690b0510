// SQL in C++. Run with the directory of a database, which is created.

#include <iostream>

#include "ambo.hpp"

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " DIRECTORY\n";
        return 2;
    }
    ambo::Database db(argv[1]);
    ambo::Connection connection = db.connect();
    connection.execute("create table towns (id int primary key, name text, people bigint)");
    ambo::Statement insert = connection.prepare("insert into towns values (:id, :name, :people)");
    insert.update(1, "Bergen", 291000);
    insert.update(2, std::string("Cork"), nullptr);
    insert.bind("id", 3).bind("name", "Delft").bind("people", 109000).update();

    ambo::Result rows = connection.query("select name, people from towns order by id");
    while (rows.next()) {
        std::cout << *rows.text(0) << ": " << (rows.is_null(1) ? -1 : rows.int64(1)) << "\n";
    }
    try {
        connection.query("select nmae from towns");
    } catch (const ambo::Error &error) {
        std::cout << error.sqlstate() << " at " << error.line() << ":" << error.column() << "\n" << error.what() << "\n";
    }

    ArrowArrayStream stream = connection.query("select id, people from towns").stream();
    std::cout << connection.ingest("copy", stream, "create") << " rows\n";
    connection.execute("begin");
    connection.execute("delete from copy");
    connection.transaction().rollback();
    std::cout << std::boolalpha << connection.in_transaction() << "\n";
    ambo::Result count = connection.query("select count(*) from copy");
    count.next();
    std::cout << count.int64(0) << " rows\n";
}
