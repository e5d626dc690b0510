// Ambo for C++17: what ambo.h has, with owners that free what they own, and errors that are thrown. Only this header; link with libambo.

#ifndef AMBO_HPP
#define AMBO_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ambo.h"

namespace ambo {

// An error. what() is for people; the other parts are those of ambo_error.
class Error : public std::runtime_error {
public:
    Error(ambo_status status, ambo_error *error)
        : std::runtime_error(error != nullptr ? ambo_error_show(error) : ambo_status_name(status)), status_(status) {
        if (error != nullptr) {
            sqlstate_ = ambo_error_sqlstate(error);
            message_ = ambo_error_message(error);
            if (const char *hint = ambo_error_hint(error)) hint_ = hint;
            line_ = ambo_error_line(error);
            column_ = ambo_error_column(error);
            ambo_error_free(&error);
        }
    }

    ambo_status status() const noexcept { return status_; }
    const std::string &message() const noexcept { return message_; }
    const std::string &sqlstate() const noexcept { return sqlstate_; }
    const std::string &hint() const noexcept { return hint_; }
    std::uint64_t line() const noexcept { return line_; }
    std::uint64_t column() const noexcept { return column_; }
    bool retryable() const noexcept { return status_ == AMBO_CONFLICT; }

private:
    ambo_status status_;
    std::string message_, sqlstate_, hint_;
    std::uint64_t line_ = 0, column_ = 0;
};

namespace detail {

// Calls a function that ends in an error's place; throws what goes wrong, and returns what is an answer.
template <typename Function, typename... Arguments>
ambo_status call(Function function, Arguments... arguments) {
    ambo_error *error = nullptr;
    ambo_status status = function(arguments..., &error);
    if (AMBO_IS_ERROR(status)) throw Error(status, error);
    return status;
}

template <typename Handle, void (*Free)(Handle **)>
struct Freeing {
    void operator()(Handle *handle) const noexcept { Free(&handle); }
};

template <typename Handle, void (*Free)(Handle **)>
using Owned = std::unique_ptr<Handle, Freeing<Handle, Free>>;

inline std::vector<std::string> names(ambo_names *names) {
    Owned<ambo_names, ambo_names_free> owned(names);
    std::vector<std::string> all;
    for (std::size_t place = 0; place < ambo_names_count(names); place++) all.emplace_back(ambo_names_at(names, place));
    return all;
}

}  // namespace detail

// A value of any kind. Texts and bytes stay the caller's.
class Datum {
public:
    Datum() : datum_(ambo_null()) {}
    Datum(std::nullptr_t) : datum_(ambo_null()) {}
    Datum(bool truth) : datum_(ambo_bool(truth)) {}
    Datum(int integer) : datum_(ambo_int(integer)) {}
    Datum(long integer) : datum_(ambo_int(integer)) {}
    Datum(long long integer) : datum_(ambo_int(integer)) {}
    Datum(unsigned integer) : datum_(ambo_uint(integer)) {}
    Datum(unsigned long integer) : datum_(ambo_uint(integer)) {}
    Datum(unsigned long long integer) : datum_(ambo_uint(integer)) {}
    Datum(double real) : datum_(ambo_real(real)) {}
    Datum(const char *text) : datum_(ambo_text(text, AMBO_ZERO_ENDED)) {}
    Datum(std::string_view text) : datum_(ambo_text(text.data(), text.size())) {}
    Datum(const std::string &text) : datum_(ambo_text(text.data(), text.size())) {}
    Datum(const ambo_datum &datum) : datum_(datum) {}

    static Datum blob(std::string_view bytes) { return Datum(ambo_blob(bytes.data(), bytes.size())); }

    const ambo_datum &get() const noexcept { return datum_; }
    bool is_null() const noexcept { return datum_.kind == AMBO_NULL; }
    std::int64_t integer() const noexcept { return datum_.integer; }
    double real() const noexcept { return datum_.real; }
    std::string_view bytes() const noexcept { return {static_cast<const char *>(datum_.data), datum_.size}; }

private:
    ambo_datum datum_;
};

// How a database is opened: Options().set("sync", "off").
class Options {
public:
    Options() : handle_(ambo_options_new()) {}
    Options &set(const std::string &option, const std::string &value) {
        detail::call(ambo_options_set, handle_.get(), option.c_str(), value.c_str());
        return *this;
    }
    ambo_options *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<ambo_options, ambo_options_free> handle_;
};

// What a table is to be: Definition("t").column("id", "bigint").key("id").
class Definition {
public:
    explicit Definition(const std::string &table) {
        ambo_definition *handle = nullptr;
        detail::call(ambo_definition_new, table.c_str(), &handle);
        handle_.reset(handle);
    }
    Definition &column(const std::string &name, const std::string &type, std::uint32_t flags = 0) {
        detail::call(ambo_definition_column, handle_.get(), name.c_str(), type.c_str(), flags);
        return *this;
    }
    Definition &key(const std::string &column) {
        detail::call(ambo_definition_key, handle_.get(), column.c_str());
        return *this;
    }
    Definition &set(const std::string &option, const std::string &value) {
        detail::call(ambo_definition_set, handle_.get(), option.c_str(), value.c_str());
        return *this;
    }
    ambo_definition *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<ambo_definition, ambo_definition_free> handle_;
};

// The values of a row of a typed table.
class Row {
public:
    explicit Row(ambo_row *handle) : handle_(handle) {}
    std::size_t size() const noexcept { return ambo_row_size(handle_.get()); }
    Datum operator[](std::size_t column) const {
        ambo_datum datum;
        detail::call(ambo_row_datum, static_cast<const ambo_row *>(handle_.get()), column, &datum);
        return Datum(datum);
    }

private:
    detail::Owned<ambo_row, ambo_row_free> handle_;
};

// A transaction. Without commit() it is rolled back.
class Transaction {
public:
    explicit Transaction(ambo_transaction *handle) : handle_(handle) {}
    // Throws an Error that is retryable() after a conflict.
    void commit() {
        ambo_transaction *handle = handle_.release();
        detail::call(ambo_commit, &handle);
    }
    void rollback() noexcept { handle_.reset(); }
    std::uint64_t savepoint() {
        std::uint64_t savepoint = 0;
        detail::call(ambo_savepoint, handle_.get(), &savepoint);
        return savepoint;
    }
    void rollback_to(std::uint64_t savepoint) { detail::call(ambo_rollback_to, handle_.get(), savepoint); }
    void refresh() { detail::call(ambo_refresh, handle_.get()); }
    ambo_transaction *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<ambo_transaction, ambo_rollback> handle_;
};

// A range of keys: from `lower` on and below `upper`; without them, everything.
struct Range {
    std::optional<std::string_view> lower, upper;
    bool lower_excluded = false, upper_included = false;

    ambo_range get() const noexcept {
        ambo_range range = {nullptr, 0, nullptr, 0, 0};
        if (lower) range.lower = lower->data() != nullptr ? lower->data() : "", range.lower_size = lower->size();
        if (upper) range.upper = upper->data() != nullptr ? upper->data() : "", range.upper_size = upper->size();
        range.flags = (lower_excluded ? AMBO_LOWER_EXCLUDED : 0u) | (upper_included ? AMBO_UPPER_INCLUDED : 0u);
        return range;
    }
};

// A place in a table. What it lends is there until it goes on.
class Cursor {
public:
    explicit Cursor(ambo_cursor *handle) : handle_(handle) {}
    void set_range(const Range &range) {
        ambo_range of = range.get();
        detail::call(ambo_cursor_set_range, handle_.get(), static_cast<const ambo_range *>(&of));
    }
    void set_prefix(std::string_view prefix) {
        detail::call(ambo_cursor_set_prefix, handle_.get(), static_cast<const void *>(prefix.data()), prefix.size());
    }
    bool first() { return seek(AMBO_FIRST, {}); }
    bool last() { return seek(AMBO_LAST, {}); }
    bool next() { return detail::call(ambo_cursor_next, handle_.get()) == AMBO_OK; }
    bool prev() { return detail::call(ambo_cursor_prev, handle_.get()) == AMBO_OK; }
    bool seek(std::uint32_t how, std::string_view key) {
        const void *data = key.data();
        return detail::call(ambo_cursor_seek, handle_.get(), how, data, key.size()) == AMBO_OK;
    }
    bool seek_row(std::uint32_t how, const std::vector<Datum> &key) {
        std::vector<ambo_datum> values;
        for (const Datum &value : key) values.push_back(value.get());
        const ambo_datum *data = values.data();
        return detail::call(ambo_cursor_seek_row, handle_.get(), how, data, values.size()) == AMBO_OK;
    }
    std::string_view key() const { return lent(ambo_cursor_key); }
    std::string_view value() const { return lent(ambo_cursor_value); }
    Row row() const {
        ambo_row *row = nullptr;
        detail::call(ambo_cursor_row, handle_.get(), &row);
        return Row(row);
    }

private:
    template <typename Function>
    std::string_view lent(Function function) const {
        const void *data = nullptr;
        std::size_t size = 0;
        detail::call(function, handle_.get(), &data, &size);
        return {static_cast<const char *>(data), size};
    }
    detail::Owned<ambo_cursor, ambo_cursor_free> handle_;
};

// A table. Functions that take a transaction read and write in it; without one, what is written is a commit of its own.
class Table {
public:
    explicit Table(ambo_table *handle) : handle_(handle) {}

    std::optional<std::string> get(std::string_view key, const Transaction *in = nullptr) const {
        ambo_value *value = nullptr;
        const ambo_table *table = handle_.get();
        const ambo_transaction *transaction = of(in);
        const void *data = key.data();
        if (detail::call(ambo_get, table, transaction, data, key.size(), &value) != AMBO_OK) return std::nullopt;
        detail::Owned<ambo_value, ambo_value_free> owned(value);
        return std::string(static_cast<const char *>(ambo_value_data(value)), ambo_value_size(value));
    }
    void put(std::string_view key, std::string_view value, Transaction *in = nullptr) { put(key, value, AMBO_UPSERT, in); }
    // Whether it was not there, and is now.
    bool insert(std::string_view key, std::string_view value, Transaction *in = nullptr) {
        return put(key, value, AMBO_INSERT, in);
    }
    // Whether it was there, and has another value now.
    bool update(std::string_view key, std::string_view value, Transaction *in = nullptr) {
        return put(key, value, AMBO_UPDATE, in);
    }
    // Whether the value was the expected one, and is another now. Without a value the key is, or is to be, not there.
    bool compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                         std::optional<std::string_view> value, Transaction *in = nullptr) {
        Part was(expected), will_be(value);
        return detail::call(ambo_compare_and_set, handle_.get(), of(in), static_cast<const void *>(key.data()), key.size(), was.data,
                            was.size, will_be.data, will_be.size) == AMBO_OK;
    }
    void erase(std::string_view key, Transaction *in = nullptr) {
        detail::call(ambo_delete, handle_.get(), of(in), static_cast<const void *>(key.data()), key.size());
    }
    bool contains(std::string_view key, const Transaction *in = nullptr) const {
        const ambo_table *table = handle_.get();
        const ambo_transaction *transaction = of(in);
        return detail::call(ambo_contains, table, transaction, static_cast<const void *>(key.data()), key.size()) == AMBO_OK;
    }
    std::uint64_t count(const Range &range = {}, const Transaction *in = nullptr) const {
        const ambo_table *table = handle_.get();
        const ambo_transaction *transaction = of(in);
        ambo_range bounds = range.get();
        std::uint64_t count = 0;
        detail::call(ambo_count, table, transaction, static_cast<const ambo_range *>(&bounds), &count);
        return count;
    }
    // Deletes the rows of a range; without one, all.
    void delete_range(const Range &range = {}, Transaction *in = nullptr) {
        ambo_range bounds = range.get();
        detail::call(ambo_delete_range, handle_.get(), of(in), static_cast<const ambo_range *>(&bounds));
    }
    Cursor cursor(const Transaction *in = nullptr) const {
        const ambo_table *table = handle_.get();
        const ambo_transaction *transaction = of(in);
        ambo_cursor *cursor = nullptr;
        detail::call(ambo_cursor_open, table, transaction, &cursor);
        return Cursor(cursor);
    }

    // Adds a row of a typed table; false if there is one with its key.
    bool insert_row(const std::vector<Datum> &row, Transaction *in = nullptr) {
        std::vector<ambo_datum> values = data(row);
        std::uint64_t *number = nullptr;
        const ambo_datum *first = values.data();
        return detail::call(ambo_row_insert, handle_.get(), of(in), first, values.size(), number) == AMBO_OK;
    }
    void upsert_row(const std::vector<Datum> &row, Transaction *in = nullptr) {
        std::vector<ambo_datum> values = data(row);
        const ambo_datum *first = values.data();
        detail::call(ambo_row_upsert, handle_.get(), of(in), first, values.size());
    }
    std::optional<Row> get_row(const std::vector<Datum> &key, const Transaction *in = nullptr) const {
        std::vector<ambo_datum> values = data(key);
        const ambo_table *table = handle_.get();
        const ambo_transaction *transaction = of(in);
        const ambo_datum *first = values.data();
        ambo_row *row = nullptr;
        if (detail::call(ambo_row_get, table, transaction, first, values.size(), &row) != AMBO_OK) return std::nullopt;
        return Row(row);
    }
    bool delete_row(const std::vector<Datum> &key, Transaction *in = nullptr) {
        std::vector<ambo_datum> values = data(key);
        const ambo_datum *first = values.data();
        return detail::call(ambo_row_delete, handle_.get(), of(in), first, values.size()) == AMBO_OK;
    }
    ambo_table *get() const noexcept { return handle_.get(); }

private:
    struct Part {
        explicit Part(std::optional<std::string_view> of)
            : data(!of ? nullptr : of->data() != nullptr ? of->data() : ""), size(of ? of->size() : 0) {}
        const void *data;
        std::size_t size;
    };
    static ambo_transaction *of(const Transaction *in) noexcept { return in != nullptr ? in->get() : nullptr; }
    static std::vector<ambo_datum> data(const std::vector<Datum> &row) {
        std::vector<ambo_datum> values;
        for (const Datum &value : row) values.push_back(value.get());
        return values;
    }
    bool put(std::string_view key, std::string_view value, std::uint32_t flags, Transaction *in) {
        const void *key_data = key.data(), *value_data = value.data();
        return detail::call(ambo_put, handle_.get(), of(in), key_data, key.size(), value_data, value.size(), flags) == AMBO_OK;
    }
    detail::Owned<ambo_table, ambo_table_free> handle_;
};

// A source of rows of a table: what is pushed is published by checkpoint(), with a token that says how far the source has come.
class Feed {
public:
    Feed(const Table &table, const std::string &source) {
        ambo_feed *handle = nullptr;
        detail::call(ambo_feed_open, table.get(), source.c_str(), &handle);
        handle_.reset(handle);
    }
    // Where the source is to go on; nothing, if there was no checkpoint.
    std::optional<std::string> token() const {
        ambo_value *value = nullptr;
        if (detail::call(ambo_feed_token, static_cast<const ambo_feed *>(handle_.get()), &value) != AMBO_OK) return std::nullopt;
        detail::Owned<ambo_value, ambo_value_free> owned(value);
        return std::string(static_cast<const char *>(ambo_value_data(value)), ambo_value_size(value));
    }
    void push(const std::vector<Datum> &row) {
        std::vector<ambo_datum> values;
        for (const Datum &value : row) values.push_back(value.get());
        const ambo_datum *first = values.data();
        detail::call(ambo_feed_push, handle_.get(), first, values.size());
    }
    // Records of one width, as ambo_feed_push_records says; how many they were.
    std::uint64_t push_records(const void *records, std::size_t size) {
        std::uint64_t rows = 0;
        detail::call(ambo_feed_push_records, handle_.get(), records, size, &rows);
        return rows;
    }
    std::uint64_t checkpoint(std::string_view token) {
        std::uint64_t rows = 0;
        detail::call(ambo_feed_checkpoint, handle_.get(), static_cast<const void *>(token.data()), token.size(), &rows);
        return rows;
    }

private:
    detail::Owned<ambo_feed, ambo_feed_free> handle_;
};

// What was committed after a moment: while (changes.next()) … What change() lends is there until the next.
class Changes {
public:
    explicit Changes(ambo_changes *handle) : handle_(handle) {}
    bool next() { return detail::call(ambo_changes_next, handle_.get(), &change_) == AMBO_OK; }
    const ambo_change &change() const noexcept { return change_; }
    std::string table() const { return change_.table != nullptr ? change_.table : ""; }
    // The values of the key, or of the row; none, if there is no such.
    std::vector<Datum> key() const { return values(change_.key); }
    std::vector<Datum> row() const { return values(change_.row); }
    // Begin the next with it.
    std::uint64_t until() const noexcept { return ambo_changes_until(handle_.get()); }

private:
    static std::vector<Datum> values(const ambo_row *row) {
        std::vector<Datum> all;
        for (std::size_t column = 0; row != nullptr && column < ambo_row_size(row); column++) {
            ambo_datum datum;
            detail::call(ambo_row_datum, row, column, &datum);
            all.emplace_back(datum);
        }
        return all;
    }
    ambo_change change_ = {};
    detail::Owned<ambo_changes, ambo_changes_free> handle_;
};

#ifndef AMBO_NO_SQL

// Rows of a statement: while (result.next()) …
class Result {
public:
    explicit Result(ambo_result *handle) : handle_(handle) {}
    bool next() { return detail::call(ambo_result_next, handle_.get()) == AMBO_OK; }
    std::size_t columns() const noexcept { return ambo_result_columns(handle_.get()); }
    std::string name(std::size_t column) const { return text_or_empty(ambo_result_name(handle_.get(), column)); }
    std::string type(std::size_t column) const { return text_or_empty(ambo_result_type(handle_.get(), column)); }
    std::int64_t affected() const noexcept { return ambo_result_affected(handle_.get()); }
    bool is_null(std::size_t column) { return datum(column).is_null(); }
    Datum datum(std::size_t column) { return Datum(value<ambo_datum>(ambo_result_datum, column)); }
    bool boolean(std::size_t column) { return value<bool>(ambo_result_bool, column); }
    std::int64_t int64(std::size_t column) { return value<std::int64_t>(ambo_result_int64, column); }
    double real(std::size_t column) { return value<double>(ambo_result_double, column); }
    // As SQL shows it; nothing for NULL.
    std::optional<std::string_view> text(std::size_t column) {
        const char *text = nullptr;
        std::size_t size = 0;
        detail::call(ambo_result_text, handle_.get(), column, &text, &size);
        if (text == nullptr) return std::nullopt;
        return std::string_view(text, size);
    }
    // The rows as a stream of Arrow's, to be released by the caller. Nothing is left of the result.
    ArrowArrayStream stream() {
        ArrowArrayStream stream;
        ambo_result *handle = handle_.release();
        ambo_error *error = nullptr;
        ambo_status status = ambo_result_stream(&handle, &stream, &error);
        handle_.reset(handle);
        if (AMBO_IS_ERROR(status)) throw Error(status, error);
        return stream;
    }

private:
    static std::string text_or_empty(const char *text) { return text != nullptr ? text : ""; }
    template <typename Value, typename Function>
    Value value(Function function, std::size_t column) {
        Value value;
        detail::call(function, handle_.get(), column, &value);
        return value;
    }
    detail::Owned<ambo_result, ambo_result_free> handle_;
};

// A statement that was read.
class Statement {
public:
    explicit Statement(ambo_statement *handle) : handle_(handle) {}
    // Parameters are counted from 1.
    Statement &bind(std::size_t parameter, const Datum &value) {
        detail::call(ambo_bind, handle_.get(), parameter, &value.get());
        return *this;
    }
    Statement &bind(const std::string &name, const Datum &value) {
        return bind(ambo_parameter_index(handle_.get(), name.c_str()), value);
    }
    template <typename... Values>
    Result run(const Values &...values) {
        bind_all(values...);
        ambo_result *result = nullptr;
        detail::call(ambo_run, handle_.get(), &result);
        return Result(result);
    }
    template <typename... Values>
    std::uint64_t update(const Values &...values) {
        bind_all(values...);
        std::uint64_t affected = 0;
        detail::call(ambo_run_update, handle_.get(), &affected);
        return affected;
    }

private:
    template <typename... Values>
    void bind_all(const Values &...values) {
        std::size_t parameter = 0;
        (bind(++parameter, Datum(values)), ...);
    }
    detail::Owned<ambo_statement, ambo_statement_free> handle_;
};

// A connection.
class Connection {
public:
    explicit Connection(ambo_connection *handle) : handle_(handle) {}
    Result query(std::string_view sql) {
        ambo_result *result = nullptr;
        detail::call(ambo_query, handle_.get(), sql.data(), sql.size(), &result);
        return Result(result);
    }
    std::uint64_t execute(std::string_view sql) {
        std::uint64_t affected = 0;
        detail::call(ambo_execute, handle_.get(), sql.data(), sql.size(), &affected);
        return affected;
    }
    Statement prepare(std::string_view sql) {
        ambo_statement *statement = nullptr;
        detail::call(ambo_prepare, handle_.get(), sql.data(), sql.size(), &statement);
        return Statement(statement);
    }
    std::uint64_t ingest(const std::string &table, ArrowArrayStream &stream, const std::string &mode = "append",
                         const std::string &options = "") {
        std::uint64_t rows = 0;
        detail::call(ambo_ingest, handle_.get(), table.c_str(), mode.c_str(), options.c_str(), &stream, &rows);
        return rows;
    }
    // The transaction that BEGIN opened here, for tables; commit() and rollback() end it.
    Transaction transaction() {
        ambo_transaction *transaction = nullptr;
        detail::call(ambo_connection_transaction, handle_.get(), &transaction);
        return Transaction(transaction);
    }
    // Ends the statement that runs; from any thread.
    void interrupt() const noexcept { ambo_interrupt(handle_.get()); }
    bool in_transaction() const noexcept { return ambo_in_transaction(handle_.get()); }
    ambo_connection *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<ambo_connection, ambo_connection_free> handle_;
};

#endif  // AMBO_NO_SQL

// An open database.
class Database {
public:
    explicit Database(const std::string &path, const Options &options = {}) {
        ambo_database *handle = nullptr;
        detail::call(ambo_open, path.c_str(), static_cast<const ambo_options *>(options.get()), &handle);
        handle_.reset(handle);
    }
    // The table of a name whose keys and values are bytes; it is created when it is not there.
    Table key_value(const std::string &name) {
        ambo_table *table = nullptr;
        detail::call(ambo_key_value, handle_.get(), name.c_str(), &table);
        return Table(table);
    }
    Table create(const Definition &definition) {
        ambo_table *table = nullptr;
        detail::call(ambo_table_create, handle_.get(), static_cast<const ambo_definition *>(definition.get()), &table);
        return Table(table);
    }
    Table table(const std::string &name) {
        ambo_table *table = nullptr;
        detail::call(ambo_table_open, static_cast<const ambo_database *>(handle_.get()), name.c_str(), &table);
        return Table(table);
    }
    void drop(const std::string &table) { detail::call(ambo_table_drop, handle_.get(), table.c_str()); }
    std::vector<std::string> tables() const {
        ambo_names *names = nullptr;
        detail::call(ambo_tables, static_cast<const ambo_database *>(handle_.get()), &names);
        return detail::names(names);
    }
    Transaction begin(std::uint32_t flags = 0) {
        ambo_transaction *transaction = nullptr;
        detail::call(ambo_begin, handle_.get(), flags, &transaction);
        return Transaction(transaction);
    }
    Transaction snapshot() { return begin(AMBO_READ_ONLY); }
    // Does something in a transaction and commits it; again, while others are in the way.
    template <typename Act>
    void retry(Act act, std::uint32_t flags = 0) {
        for (;;) {
            Transaction transaction = begin(flags);
            try {
                act(transaction);
                return transaction.commit();
            } catch (const Error &error) {
                if (!error.retryable()) throw;
            }
        }
    }
#ifndef AMBO_NO_SQL
    Connection connect() {
        ambo_connection *connection = nullptr;
        detail::call(ambo_connect, handle_.get(), &connection);
        return Connection(connection);
    }
#endif
    void flush() { detail::call(ambo_flush, handle_.get()); }
    void compact() { detail::call(ambo_compact, handle_.get()); }
    // Makes a directory a backup of the database as it is now.
    ambo_backup_report backup(const std::string &path) {
        ambo_backup_report report;
        detail::call(ambo_backup, handle_.get(), path.c_str(), &report);
        return report;
    }
    static ambo_backup_report restore(const std::string &backup, const std::string &path, const Options &options = {}) {
        ambo_backup_report report;
        detail::call(ambo_restore, backup.c_str(), path.c_str(), static_cast<const ambo_options *>(options.get()), &report);
        return report;
    }
    static std::vector<std::string> verify_backup(const std::string &path, const Options &options = {}) {
        ambo_names *names = nullptr;
        detail::call(ambo_verify_backup, path.c_str(), static_cast<const ambo_options *>(options.get()), &names);
        return detail::names(names);
    }
    // The moment of the last commit, or that which a transaction reads at.
    std::uint64_t moment(const Transaction *in = nullptr) const {
        const ambo_database *database = handle_.get();
        const ambo_transaction *transaction = in != nullptr ? in->get() : nullptr;
        std::uint64_t moment = 0;
        detail::call(ambo_moment, database, transaction, &moment);
        return moment;
    }
    // What was committed after a moment. The option keep_log_bytes says how much is kept.
    Changes changes(std::uint64_t since) {
        ambo_changes *changes = nullptr;
        detail::call(ambo_changes_open, handle_.get(), since, &changes);
        return Changes(changes);
    }
    // All that is wrong: nothing, if nothing is.
    std::vector<std::string> check() {
        ambo_names *names = nullptr;
        detail::call(ambo_check, handle_.get(), &names);
        return detail::names(names);
    }
    ambo_database *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<ambo_database, ambo_close> handle_;
};

}  // namespace ambo

#endif  // AMBO_HPP
