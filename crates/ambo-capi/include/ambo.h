/* Ambo: one embedded store for keys, rows and columns.
 *
 * 1. A function that can fail returns a status. From AMBO_MISUSE on it is an error, and error, unless it is NULL, is given an object
 *    that says more. Below are answers, such as AMBO_NOT_FOUND, which have no object. *error is NULL before its first use; an object
 *    that is still there is freed when another takes its place. On success it stays as it is.
 * 2. Handles are made by functions that end in _open, _new, _begin and the like, and freed by ambo_close and by functions that take the
 *    address of the handle and set it to NULL. Freeing NULL does nothing.
 * 3. Names and options are texts that end in a zero byte, keys and values are bytes with their number. Texts are UTF-8, and checked.
 * 4. What a function lends, such as the key of a cursor, is there until the next call with that handle.
 * 5. Databases, tables and connections are used by as many threads as like to; a connection runs one statement at a time. The other
 *    handles wait for one another, too, but what is lent is for one thread.
 * 6. ambo_close ends what runs and rolls back what is open. Handles that are left answer AMBO_CLOSED, and are still to be freed.
 * 7. In the child of a fork everything that was opened before answers AMBO_IN_USE. The child opens the database again.
 * 8. Callbacks neither call the library nor leave by longjmp or an exception.
 * 9. No function prints, ends the process, or handles signals. */

/* Made of the sources in Rust: make header. */

#ifndef AMBO_H
#define AMBO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef AMBO_API
#define AMBO_API extern
#endif

#define AMBO_VERSION_MAJOR 0
#define AMBO_VERSION_MINOR 1
#define AMBO_VERSION_PATCH 0
#define AMBO_VERSION "0.1.0"
/* Whether the header is of this version or a later one. */
#define AMBO_VERSION_AT_LEAST(major, minor) \
    (AMBO_VERSION_MAJOR > (major) || (AMBO_VERSION_MAJOR == (major) && AMBO_VERSION_MINOR >= (minor)))

/* What a function answers: AMBO_OK and so on. */
typedef int32_t ambo_status;

/* Whether a status is an error. */
#define AMBO_IS_ERROR(status) ((status) >= AMBO_MISUSE)

/* ==== Handles ==== */

/* What went wrong. What it lends is there until it is freed. */
typedef struct ambo_error ambo_error;
/* Bytes, which are there until they are freed. They hold memory of the cache, so do not keep many. */
typedef struct ambo_value ambo_value;
/* Names, one after the other. */
typedef struct ambo_names ambo_names;
/* How a database is opened: options by name. Sizes are texts such as "256MiB", times such as "500ms", switches "true" and "false".
 * There are read_only, beside, create, sync ("commit", "off", or an interval such as "100ms"), cache_bytes, memtable_bytes,
 * transaction_bytes_max, page_size, log_compression, keep_log_bytes, keep_partials, archive, archive_wait_bytes, background_merge,
 * lock_timeout, plugin_directory, key_file, key_environment and passphrase_environment; and of SQL memory_bytes, threads and
 * default_storage. */
typedef struct ambo_options ambo_options;
/* An open database. */
typedef struct ambo_database ambo_database;
/* What a table is to be. Without columns it is one of keys and values that are bytes. */
typedef struct ambo_definition ambo_definition;
/* A table. Threads that read much have a handle each, so that they do not wait for one another's counts. */
typedef struct ambo_table ambo_table;
/* Several reads and writes at one moment, all or none. */
typedef struct ambo_transaction ambo_transaction;
/* The values of a row, which are there until it is freed. */
typedef struct ambo_row ambo_row;
/* A place in a table, as it was when the cursor was opened; or as the transaction saw it then. */
typedef struct ambo_cursor ambo_cursor;
/* Pairs in the order of their keys, straight to packed pages; all are there at once when it is finished. */
typedef struct ambo_load ambo_load;
/* A source of rows of a table that is stored by column, best of storage "append". */
typedef struct ambo_feed ambo_feed;
/* What was committed after one moment, up to another, in order. */
typedef struct ambo_changes ambo_changes;
/* The rows of a query of UQI: keys and records. What it lends is there until it is freed. */
typedef struct ambo_uqi_rows ambo_uqi_rows;
/* A connection: what transactions, prepared statements and interruption belong to. */
typedef struct ambo_connection ambo_connection;
/* A statement that was read, to run it often. */
typedef struct ambo_statement ambo_statement;
/* What a statement returned. Rows are computed as they are taken; they are those of the moment when the statement began, and need neither
 * statement nor connection. */
typedef struct ambo_result ambo_result;

/* ==== Versions ==== */

/* The version of the library as a text, such as "0.1.0". AMBO_VERSION is that of the header. */
AMBO_API const char *ambo_version(void);
/* The version of the binary interface: what was compiled with AMBO_ABI_VERSION works with a library that says the same. */
#define AMBO_ABI_VERSION 1
/* See AMBO_ABI_VERSION. */
AMBO_API uint32_t ambo_abi_version(void);
/* Whether the library has SQL: libambo has it, libambo-kv has not. */
AMBO_API bool ambo_has_sql(void);

/* ==== Statuses ==== */

/* It was done. */
#define AMBO_OK 0
/* There is no such key, or no further row. */
#define AMBO_NOT_FOUND 1
/* The key is there already. */
#define AMBO_EXISTS 2
/* The buffer is too small; the size that is needed was said. */
#define AMBO_TOO_SMALL 3
/* The value is another one than was expected. */
#define AMBO_CHANGED 4
/* The first status that is an error: a NULL where none may be, a handle that was freed, an index that is too great. */
#define AMBO_MISUSE 10
/* The text is no SQL. */
#define AMBO_SYNTAX 11
/* A table, a column or the like is not there. */
#define AMBO_NO_SUCH_NAME 12
/* It cannot be done as it is meant. */
#define AMBO_REQUEST 13
/* It is understood, and not supported. */
#define AMBO_NOT_SUPPORTED 14
/* A value is out of range, or no value of its type. */
#define AMBO_DATA 15
/* A rule of a table forbids it, or a name is taken. */
#define AMBO_INTEGRITY 16
/* Another transaction was in the way: roll back, and run the transaction again. */
#define AMBO_CONFLICT 17
/* It was interrupted. */
#define AMBO_CANCELLED 18
/* No space is left on the disk. */
#define AMBO_DISK_FULL 19
/* Somebody else has the database open, or it was opened before a fork. */
#define AMBO_IN_USE 20
/* It refuses writes since an earlier failure: open it again. */
#define AMBO_POISONED 21
/* What is on the disk is not what was written. */
#define AMBO_DAMAGED 22
/* What is used was closed. */
#define AMBO_CLOSED 23
/* Something went wrong on the way: memory, a file. */
#define AMBO_OPERATIONAL 24
/* A fault of Ambo's own. */
#define AMBO_INTERNAL 25
/* The name of a status. */
AMBO_API const char *ambo_status_name(ambo_status status);

/* ==== Errors ==== */

/* The status that the function returned. */
AMBO_API ambo_status ambo_error_status(const ambo_error *error);
/* What went wrong, in a sentence. */
AMBO_API const char *ambo_error_message(const ambo_error *error);
/* The message, the line of the statement with a mark below the place, and what may help: what to show to people. */
AMBO_API const char *ambo_error_show(const ambo_error *error);
/* Five letters and digits, as the standard and PostgreSQL have them; HY000 for misuse. */
AMBO_API const char *ambo_error_sqlstate(const ambo_error *error);
/* What may help, or NULL. */
AMBO_API const char *ambo_error_hint(const ambo_error *error);
/* The name that is not there, or NULL. */
AMBO_API const char *ambo_error_object(const ambo_error *error);
/* The line of the statement, from 1; 0 if there is none. */
AMBO_API uint64_t ambo_error_line(const ambo_error *error);
/* The character in the line, from 1; 0 if there is none. */
AMBO_API uint64_t ambo_error_column(const ambo_error *error);
/* Whether the same transaction may succeed when it is run again. */
AMBO_API bool ambo_error_retryable(const ambo_error *error);
/* Frees an error. */
AMBO_API void ambo_error_free(ambo_error **error);
/* The size of a text that ends in a zero byte: its size is looked for. */
#define AMBO_ZERO_ENDED SIZE_MAX

/* ==== Bytes and names that the library hands out ==== */

/* The bytes. */
AMBO_API const void *ambo_value_data(const ambo_value *value);
/* How many there are. */
AMBO_API size_t ambo_value_size(const ambo_value *value);
/* Frees a value. */
AMBO_API void ambo_value_free(ambo_value **value);
/* How many there are. */
AMBO_API size_t ambo_names_count(const ambo_names *names);
/* The name at a place, from 0; NULL behind the last. */
AMBO_API const char *ambo_names_at(const ambo_names *names, size_t place);
/* Frees names. */
AMBO_API void ambo_names_free(ambo_names **names);

/* ==== Options ==== */

/* The defaults. */
AMBO_API ambo_options *ambo_options_new(void);
/* Gives an option a value. What is wrong with it is said here. */
AMBO_API ambo_status ambo_options_set(ambo_options *options, const char *option, const char *value, ambo_error **error);
/* Frees options. */
AMBO_API void ambo_options_free(ambo_options **options);

/* ==== Databases ==== */

/* Opens the database in a directory, or creates it; ":memory:" is one in memory. A path that this process has open is opened again with
 * the same options. options may be NULL. */
AMBO_API ambo_status ambo_open(const char *path, const ambo_options *options, ambo_database **database, ambo_error **error);
/* Closes a database, once all that this process opened it for are closed. What is not compacted is written before. */
AMBO_API void ambo_close(ambo_database **database);
/* Writes what memory holds of commits to pages, so that opening has nothing to replay. */
AMBO_API ambo_status ambo_flush(ambo_database *database, ambo_error **error);
/* Compacts all tables. */
AMBO_API ambo_status ambo_compact(ambo_database *database, ambo_error **error);
/* Waits until what is due to be compacted is. */
AMBO_API ambo_status ambo_settle(ambo_database *database, ambo_error **error);
/* Compacts, and gives free space back to the file system. */
AMBO_API ambo_status ambo_vacuum(ambo_database *database, ambo_error **error);
/* Verifies every page and every row. problems says all that is wrong: no names, if nothing is. */
AMBO_API ambo_status ambo_check(ambo_database *database, ambo_names **problems, ambo_error **error);
/* The names of all tables, as schema.table. */
AMBO_API ambo_status ambo_tables(const ambo_database *database, ambo_names **tables, ambo_error **error);
/* A figure of the database: page_size, file_bytes, segments, segment_bytes, cache_bytes, memtable_bytes, log_bytes, log_segments,
 * checkpoints, snapshots (that and how many transactions are open), data_keys (of an encrypted database; 0 of another), readers (in other
 * processes) or tables. */
AMBO_API ambo_status ambo_info(const ambo_database *database, const char *figure, uint64_t *value, ambo_error **error);

/* ==== Backups ==== */

/* What making or restoring a backup did. */
typedef struct ambo_backup_report {
    /* Every commit up to this moment is in it. */
    uint64_t moment;
    /* Bytes of pages, which were copied. */
    uint64_t page_bytes;
    /* Files that have a second name in the directory of the backup. */
    uint64_t linked;
    /* Files that were copied, as they could not be linked. */
    uint64_t copied;
    /* Their bytes. */
    uint64_t copied_bytes;
    /* Files that an earlier backup had already. */
    uint64_t kept;
    /* Files of an earlier backup that this one does not need. */
    uint64_t removed;
} ambo_backup_report;
/* Makes a directory a backup of the database as it is now, while it goes on being used. A backup is a database. A directory with an
 * earlier backup of the database becomes the new one, and what it has already is not copied again. report may be NULL. */
AMBO_API ambo_status ambo_backup(ambo_database *database, const char *path, ambo_backup_report *report, ambo_error **error);
/* Makes the directory path a database like a backup, which stays what it is; or like a database that was closed in order and that
 * nobody has open. options, or NULL, have the key of one that is encrypted. report may be NULL. */
AMBO_API ambo_status ambo_restore(
    const char *backup, const char *path, const ambo_options *options, ambo_backup_report *report, ambo_error **error);
/* Verifies every page and every row of a backup, as ambo_restore reads it. problems says all that is wrong: no names, if nothing is. */
AMBO_API ambo_status ambo_verify_backup(
    const char *path, const ambo_options *options, ambo_names **problems, ambo_error **error);

/* ==== Definitions of tables ==== */

/* A column may be NULL. */
#define AMBO_NULLABLE 1
/* Begins the definition of a table. */
AMBO_API ambo_status ambo_definition_new(const char *table, ambo_definition **definition, ambo_error **error);
/* Adds a column of a type such as "bigint", "u32", "text", "blob" or "decimal(10,2)". flags are 0 or AMBO_NULLABLE. */
AMBO_API ambo_status ambo_definition_column(
    ambo_definition *definition, const char *column, const char *kind, uint32_t flags, ambo_error **error);
/* Adds a column to the primary key, which is the order of the table. */
AMBO_API ambo_status ambo_definition_key(ambo_definition *definition, const char *column, ambo_error **error);
/* Sets an option: storage ("btree", "lsm", "column", "append", "memory"), log, auto_increment, duplicates ("true", "false"),
 * key_compression (a codec of integers, such as "bp128"), record_compression ("lz4", "zstd:9" …), record_dictionary, comment,
 * ttl ("7 days": rows expire so long after their time; values of a table without columns after their commit) and ttl_column (the column
 * that says it, a date or a timestamp). */
AMBO_API ambo_status ambo_definition_set(ambo_definition *definition, const char *option, const char *value, ambo_error **error);
/* Frees a definition. */
AMBO_API void ambo_definition_free(ambo_definition **definition);

/* ==== Tables ==== */

/* The table of a name whose keys and values are bytes; it is created when it is not there. */
AMBO_API ambo_status ambo_key_value(ambo_database *database, const char *table_name, ambo_table **table, ambo_error **error);
/* Creates a table. */
AMBO_API ambo_status ambo_table_create(
    ambo_database *database, const ambo_definition *definition, ambo_table **table, ambo_error **error);
/* The table of a name (table, or schema.table), which has to be there. */
AMBO_API ambo_status ambo_table_open(
    const ambo_database *database, const char *table_name, ambo_table **table, ambo_error **error);
/* Drops a table with everything in it. */
AMBO_API ambo_status ambo_table_drop(ambo_database *database, const char *table, ambo_error **error);
/* Deletes all rows of a table. */
AMBO_API ambo_status ambo_table_truncate(ambo_database *database, const char *table, ambo_error **error);
/* Renames a table. */
AMBO_API ambo_status ambo_table_rename(ambo_database *database, const char *table, const char *new_name, ambo_error **error);
/* Changes an option of a table that may have rows: key_compression, record_compression, record_dictionary, ttl or ttl_column ("none" ends
 * them). What is compacted from now on is stored that way; ambo_vacuum rewrites the rest. */
AMBO_API ambo_status ambo_table_alter(
    ambo_database *database, const char *table, const char *option, const char *value, ambo_error **error);
/* The names of a table's columns, as they were when it was opened. A table of bytes has key and value. */
AMBO_API ambo_status ambo_table_columns(const ambo_table *table, ambo_names **names, ambo_error **error);
/* The types of a table's columns, as SQL has them. */
AMBO_API ambo_status ambo_table_types(const ambo_table *table, ambo_names **types, ambo_error **error);
/* The columns of a table's primary key. */
AMBO_API ambo_status ambo_table_key(const ambo_table *table, ambo_names **names, ambo_error **error);
/* Frees a table's handle. Cursors over the table stay. */
AMBO_API void ambo_table_free(ambo_table **table);

/* ==== Transactions ====
 * Where a function takes a transaction, NULL means what is committed now; what is written then is a commit of its own. */

/* A transaction that fails with AMBO_CONFLICT where it would not be as if it ran alone. */
#define AMBO_SERIALIZABLE 1
/* A transaction that only reads, at one moment: a snapshot. It blocks nobody, and is never blocked. */
#define AMBO_READ_ONLY 2
/* A transaction that sees what others commit meanwhile, from statement to statement. */
#define AMBO_READ_COMMITTED 4
/* Begins a transaction. flags are 0 or one of AMBO_SERIALIZABLE, AMBO_READ_ONLY and AMBO_READ_COMMITTED. */
AMBO_API ambo_status ambo_begin(ambo_database *database, uint32_t flags, ambo_transaction **transaction, ambo_error **error);
/* Begins a statement of a transaction that was begun with AMBO_READ_COMMITTED: what others have committed meanwhile is seen. For others
 * nothing changes. */
AMBO_API ambo_status ambo_refresh(ambo_transaction *transaction, ambo_error **error);
/* Commits, and frees the handle whatever comes of it. After AMBO_CONFLICT nothing was written: run the transaction again. */
AMBO_API ambo_status ambo_commit(ambo_transaction **transaction, ambo_error **error);
/* Gives up a transaction, and frees the handle. */
AMBO_API void ambo_rollback(ambo_transaction **transaction);
/* Marks a moment of a transaction. */
AMBO_API ambo_status ambo_savepoint(ambo_transaction *transaction, uint64_t *savepoint, ambo_error **error);
/* Takes back what was written after a savepoint, which stays; those after it are gone. */
AMBO_API ambo_status ambo_rollback_to(ambo_transaction *transaction, uint64_t savepoint, ambo_error **error);
/* Locks a key until the end of the transaction: others wait to write it. */
AMBO_API ambo_status ambo_lock(
    ambo_table *table, ambo_transaction *transaction, const void *key, size_t key_size, ambo_error **error);
/* A commit that is durable when it returns. */
#define AMBO_SYNC_COMMIT 1
/* A commit that a crash of the machine may take back. */
#define AMBO_SYNC_OFF 2
/* Chooses how durable the commit of a transaction is, if not as the database is. */
AMBO_API ambo_status ambo_set_sync(ambo_transaction *transaction, uint32_t sync, ambo_error **error);

/* ==== Keys and values ==== */

/* Maps a key to a value; AMBO_NOT_FOUND if there is none. */
AMBO_API ambo_status ambo_get(
    const ambo_table *table, const ambo_transaction *transaction, const void *key, size_t key_size, ambo_value **value,
    ambo_error **error);
/* The same into a buffer. value_size becomes the size of the value; if the buffer is smaller, AMBO_TOO_SMALL, and nothing is written. */
AMBO_API ambo_status ambo_get_into(
    const ambo_table *table, const ambo_transaction *transaction, const void *key, size_t key_size, void *buffer,
    size_t buffer_size, size_t *value_size, ambo_error **error);
/* Whether a key is there: AMBO_OK or AMBO_NOT_FOUND. */
AMBO_API ambo_status ambo_contains(
    const ambo_table *table, const ambo_transaction *transaction, const void *key, size_t key_size, ambo_error **error);
/* Puts a pair, whether or not the key is there. */
#define AMBO_UPSERT 0
/* Puts a pair only if its key is not there; else AMBO_EXISTS. */
#define AMBO_INSERT 1
/* Puts a pair only if its key is there; else AMBO_NOT_FOUND. */
#define AMBO_UPDATE 2
/* Maps a key to a value. flags is AMBO_UPSERT, AMBO_INSERT or AMBO_UPDATE. */
AMBO_API ambo_status ambo_put(
    ambo_table *table, ambo_transaction *transaction, const void *key, size_t key_size, const void *value,
    size_t value_size, uint32_t flags, ambo_error **error);
/* Deletes a key; AMBO_OK whether or not it was there. */
AMBO_API ambo_status ambo_delete(
    ambo_table *table, ambo_transaction *transaction, const void *key, size_t key_size, ambo_error **error);
/* Maps a key to value if its value is expected, as one step; else AMBO_CHANGED. Where expected is NULL the key must not be there;
 * where value is NULL it is deleted. */
AMBO_API ambo_status ambo_compare_and_set(
    ambo_table *table, ambo_transaction *transaction, const void *key, size_t key_size, const void *expected,
    size_t expected_size, const void *value, size_t value_size, ambo_error **error);
/* The key at the lower end is not in the range. */
#define AMBO_LOWER_EXCLUDED 1
/* The key at the upper end is in the range. */
#define AMBO_UPPER_INCLUDED 2
/* A range of keys: from lower on and below upper, unless flags say otherwise. An end that is NULL is open. */
typedef struct ambo_range {
    /* The least key. */
    const void *lower;
    /* Its size. */
    size_t lower_size;
    /* The first key behind the range. */
    const void *upper;
    /* Its size. */
    size_t upper_size;
    /* AMBO_LOWER_EXCLUDED, AMBO_UPPER_INCLUDED, both, or 0. */
    uint32_t flags;
} ambo_range;
/* How many rows a range has; of NULL, how many the table has. Values are not read. */
AMBO_API ambo_status ambo_count(
    const ambo_table *table, const ambo_transaction *transaction, const ambo_range *range, uint64_t *count,
    ambo_error **error);
/* Deletes the rows of a range of keys; of NULL, all rows. They are not read, so that many cost as little as few; only where the table has
 * indexes or is stored by column they are deleted one by one. */
AMBO_API ambo_status ambo_delete_range(
    ambo_table *table, ambo_transaction *transaction, const ambo_range *range, ambo_error **error);
/* The sum of all keys of a table whose key is one integer: its lower 64 bits, and in upper, which may be NULL, those above, as one
 * number of 128 bits with a sign. */
AMBO_API ambo_status ambo_sum_keys(
    const ambo_table *table, const ambo_transaction *transaction, uint64_t *sum, int64_t *upper, ambo_error **error);

/* ==== Values with types ==== */

/* NULL. A datum of zeros is NULL. */
#define AMBO_NULL 0
/* A truth: integer is 0 or 1. */
#define AMBO_BOOL 1
/* An integer with a sign: integer. */
#define AMBO_INT 2
/* An integer without a sign: integer, read as uint64_t. */
#define AMBO_UINT 3
/* A number: real. */
#define AMBO_REAL 4
/* A decimal: all its digits as a number of 128 bits, of which integer has the lower and upper the upper half; scale of them are
 * behind the point. */
#define AMBO_DECIMAL 5
/* A text: data and size. It need not end in a zero byte. */
#define AMBO_TEXT 6
/* Bytes: data and size. */
#define AMBO_BLOB 7
/* A date: integer, in days since 1970. */
#define AMBO_DATE 8
/* A time of day: integer, in nanoseconds. */
#define AMBO_TIME 9
/* A time without a zone: integer, in microseconds since 1970. */
#define AMBO_TIMESTAMP 10
/* A moment: integer, in microseconds since 1970 in UTC. */
#define AMBO_TIMESTAMPTZ 11
/* A UUID: data are 16 bytes. */
#define AMBO_UUID 12
/* An interval: scale months, upper days and integer nanoseconds. */
#define AMBO_INTERVAL 13
/* A list, a struct or a map: it is read as a text, or as Arrow. */
#define AMBO_NESTED 14
/* A value with its type. Which of the other fields count is said by kind. */
typedef struct ambo_datum {
    /* AMBO_NULL, AMBO_BOOL and so on. */
    int32_t kind;
    /* Digits behind the point, or months. */
    int32_t scale;
    /* Integers, dates and times. */
    int64_t integer;
    /* The upper half of decimals, or days. */
    int64_t upper;
    /* Numbers. */
    double real;
    /* Texts and bytes. */
    const void *data;
    /* How many bytes those have. */
    size_t size;
} ambo_datum;

/* Values of each kind, such as ambo_int(7) or ambo_text("seven", AMBO_ZERO_ENDED). What they point to stays the caller's. */
static inline ambo_datum ambo_of_kind(int32_t kind, int64_t integer, double real, const void *data, size_t size) {
    ambo_datum datum = {0, 0, 0, 0, 0.0, NULL, 0};
    datum.kind = kind;
    datum.integer = integer;
    datum.real = real;
    datum.data = data;
    datum.size = size;
    return datum;
}
static inline ambo_datum ambo_null(void) { return ambo_of_kind(AMBO_NULL, 0, 0.0, NULL, 0); }
static inline ambo_datum ambo_bool(bool truth) { return ambo_of_kind(AMBO_BOOL, truth, 0.0, NULL, 0); }
static inline ambo_datum ambo_int(int64_t integer) { return ambo_of_kind(AMBO_INT, integer, 0.0, NULL, 0); }
static inline ambo_datum ambo_uint(uint64_t integer) { return ambo_of_kind(AMBO_UINT, (int64_t)integer, 0.0, NULL, 0); }
static inline ambo_datum ambo_real(double real) { return ambo_of_kind(AMBO_REAL, 0, real, NULL, 0); }
static inline ambo_datum ambo_text(const char *text, size_t size) { return ambo_of_kind(AMBO_TEXT, 0, 0.0, text, size); }
static inline ambo_datum ambo_blob(const void *data, size_t size) { return ambo_of_kind(AMBO_BLOB, 0, 0.0, data, size); }

/* ==== Rows of typed tables ==== */

/* How many values a row has. */
AMBO_API size_t ambo_row_size(const ambo_row *row);
/* Lends the value of a column, from 0. */
AMBO_API ambo_status ambo_row_datum(const ambo_row *row, size_t column, ambo_datum *datum, ambo_error **error);
/* Frees a row. */
AMBO_API void ambo_row_free(ambo_row **row);
/* Adds a row: a value for each column of the table, in their order. AMBO_EXISTS if there is one with its key, or with
 * a value that has to be unique. number, unless it is NULL,
 * becomes that which the row was given, if the table numbers its rows; else 0. */
AMBO_API ambo_status ambo_row_insert(
    ambo_table *table, ambo_transaction *transaction, const ambo_datum *values, size_t columns, uint64_t *number,
    ambo_error **error);
/* Adds a row, or replaces the one with its key. */
AMBO_API ambo_status ambo_row_upsert(
    ambo_table *table, ambo_transaction *transaction, const ambo_datum *values, size_t columns, ambo_error **error);
/* The row with a primary key, or AMBO_NOT_FOUND. */
AMBO_API ambo_status ambo_row_get(
    const ambo_table *table, const ambo_transaction *transaction, const ambo_datum *key, size_t key_columns,
    ambo_row **row, ambo_error **error);
/* Deletes the row with a primary key, or AMBO_NOT_FOUND. */
AMBO_API ambo_status ambo_row_delete(
    ambo_table *table, ambo_transaction *transaction, const ambo_datum *key, size_t key_columns, ambo_error **error);

/* ==== Cursors ==== */

/* To the first row. */
#define AMBO_FIRST 1
/* To the last row. */
#define AMBO_LAST 2
/* To the row with the key. */
#define AMBO_EQ 3
/* To the first row with the key or a greater one. */
#define AMBO_GE 4
/* To the first row with a greater key. */
#define AMBO_GT 5
/* To the last row with the key or a smaller one. */
#define AMBO_LE 6
/* To the last row with a smaller key. */
#define AMBO_LT 7
/* Opens a cursor, which stands nowhere. It sees the table as it is now, or as the transaction sees it: not what is written later. */
AMBO_API ambo_status ambo_cursor_open(
    const ambo_table *table, const ambo_transaction *transaction, ambo_cursor **cursor, ambo_error **error);
/* Has a cursor over keys that are bytes go to keys of a range alone. It stands nowhere then. NULL is everything. */
AMBO_API ambo_status ambo_cursor_set_range(ambo_cursor *cursor, const ambo_range *range, ambo_error **error);
/* The same, of the keys that begin with a prefix. */
AMBO_API ambo_status ambo_cursor_set_prefix(ambo_cursor *cursor, const void *prefix, size_t prefix_size, ambo_error **error);
/* Goes somewhere: AMBO_OK, or AMBO_NOT_FOUND, and the cursor stands nowhere. For AMBO_FIRST and AMBO_LAST there is no key. */
AMBO_API ambo_status ambo_cursor_seek(ambo_cursor *cursor, uint32_t how, const void *key, size_t key_size, ambo_error **error);
/* The same in a table of typed columns, by values of all columns of its key. Of several rows of one key AMBO_EQ goes to the first. */
AMBO_API ambo_status ambo_cursor_seek_row(
    ambo_cursor *cursor, uint32_t how, const ambo_datum *key, size_t key_columns, ambo_error **error);
/* Goes to the next row: AMBO_OK, or AMBO_NOT_FOUND, and the cursor stands nowhere. */
AMBO_API ambo_status ambo_cursor_next(ambo_cursor *cursor, ambo_error **error);
/* Goes to the row before: AMBO_OK, or AMBO_NOT_FOUND, and the cursor stands nowhere. */
AMBO_API ambo_status ambo_cursor_prev(ambo_cursor *cursor, ambo_error **error);
/* Lends the key of the row that the cursor stands on, until the cursor goes on. */
AMBO_API ambo_status ambo_cursor_key(ambo_cursor *cursor, const void **key, size_t *key_size, ambo_error **error);
/* Lends the value of the row that the cursor stands on, until the cursor goes on. */
AMBO_API ambo_status ambo_cursor_value(ambo_cursor *cursor, const void **value, size_t *value_size, ambo_error **error);
/* The values of the row that the cursor stands on, of any table. */
AMBO_API ambo_status ambo_cursor_row(ambo_cursor *cursor, ambo_row **row, ambo_error **error);
/* Frees a cursor. */
AMBO_API void ambo_cursor_free(ambo_cursor **cursor);

/* ==== Loading sorted rows ==== */

/* Begins a load into a table of bytes. */
AMBO_API ambo_status ambo_load_begin(ambo_table *table, ambo_load **load, ambo_error **error);
/* Adds a pair, whose key is greater than that before. */
AMBO_API ambo_status ambo_load_push(
    ambo_load *load, const void *key, size_t key_size, const void *value, size_t value_size, ambo_error **error);
/* Publishes the pairs, which replace those of the same keys, and frees the handle. rows, unless it is NULL, becomes their number. */
AMBO_API ambo_status ambo_load_finish(ambo_load **load, uint64_t *rows, ambo_error **error);
/* Gives up a load: nothing of it is there. */
AMBO_API void ambo_load_free(ambo_load **load);

/* ==== Feeding the rows of a source ====
 * What is pushed is seen when a checkpoint publishes it, as one commit and together with a token that says how far the source has come:
 * after a crash both are there, or neither. So a source that goes on where its last token says brings each row once. */

/* Begins, or goes on with, a source of a name. Rows that were pushed before and not published are not there. There is to be one of a
 * name at a time. */
AMBO_API ambo_status ambo_feed_open(ambo_table *table, const char *source, ambo_feed **feed, ambo_error **error);
/* What the last checkpoint of the source said: where it is to go on. AMBO_NOT_FOUND if there was none. */
AMBO_API ambo_status ambo_feed_token(const ambo_feed *feed, ambo_value **token, ambo_error **error);
/* Takes a row: a value for each column of the table, in their order. */
AMBO_API ambo_status ambo_feed_push(ambo_feed *feed, const ambo_datum *values, size_t columns, ambo_error **error);
/* Takes rows as records of one width, one behind the other, in size bytes; their numbers are little-endian. A record has a field for
 * each column of the table: those of 16 bytes (decimals) first, then those of 8, 4, 2 and 1, of one width in the order of the table;
 * behind them a bit for each column that may be NULL, in their order from the lowest bit of a byte on, set where the value is NULL. It
 * ends with as many bytes as make its width a multiple of 8. Tables with text have no records. rows, unless it is NULL, becomes how
 * many there were. */
AMBO_API ambo_status ambo_feed_push_records(
    ambo_feed *feed, const void *records, size_t size, uint64_t *rows, ambo_error **error);
/* Publishes all that was pushed, and the token in the same moment. rows, unless it is NULL, becomes how many rows that are. After an
 * error nothing of them is there: open the source again, which says where to go on. */
AMBO_API ambo_status ambo_feed_checkpoint(
    ambo_feed *feed, const void *token, size_t token_size, uint64_t *rows, ambo_error **error);
/* Frees a source. What it pushed and did not publish is gone. */
AMBO_API void ambo_feed_free(ambo_feed **feed);

/* ==== Many operations at once ==== */

/* Puts a pair, whether or not its key is there. */
#define AMBO_OP_UPSERT 1
/* Puts a pair if its key is not there; else its status becomes AMBO_EXISTS. */
#define AMBO_OP_INSERT 2
/* Puts a pair if its key is there; else its status becomes AMBO_NOT_FOUND. */
#define AMBO_OP_UPDATE 3
/* Deletes a key. */
#define AMBO_OP_DELETE 4
/* Gets the value of a key into result; if it is not there, its status becomes AMBO_NOT_FOUND. */
#define AMBO_OP_GET 5
/* One of many operations. */
typedef struct ambo_operation {
    /* The size of this structure: sizeof(ambo_operation). */
    uint32_t struct_size;
    /* AMBO_OP_UPSERT and so on. */
    int32_t kind;
    /* A table of bytes. */
    ambo_table *table;
    /* The key. */
    const void *key;
    /* Its size. */
    size_t key_size;
    /* The value. */
    const void *value;
    /* Its size. */
    size_t value_size;
    /* What came of it. */
    ambo_status status;
    /* What was got, to be freed by the caller; else NULL. */
    ambo_value *result;
} ambo_operation;
/* Does operations one after the other, as one commit or in a transaction. An error leaves nothing of them; keys that are there or not are
 * no errors, and stand in each status. */
AMBO_API ambo_status ambo_apply(
    ambo_database *database, ambo_transaction *transaction, ambo_operation *operations, size_t count, ambo_error **error);

/* ==== Following what is committed ====
 * A moment is the number of a commit. Who keeps ambo_changes_until with what was made of the changes goes on from there. */

/* A row that was put: table, key and row are there. */
#define AMBO_CHANGE_WRITTEN 1
/* A row that was deleted: table and key are there. */
#define AMBO_CHANGE_DELETED 2
/* A row that was put and is too long for the log: table and key are there. Read it; if it is gone, a later change says so. */
#define AMBO_CHANGE_ELSEWHERE 3
/* A range of keys that was deleted: table, lower and upper are there. */
#define AMBO_CHANGE_RANGE 4
/* Definitions were changed. */
#define AMBO_CHANGE_DEFINED 5
/* Commits from moment to last that the log does not have, such as loads: who follows their tables reads them anew. */
#define AMBO_CHANGE_UNLOGGED 6
/* A change. What it lends is there until the changes go on. */
typedef struct ambo_change {
    /* AMBO_CHANGE_WRITTEN and so on. */
    int32_t kind;
    /* The commit that it is of. Changes of one commit come one after the other. */
    uint64_t moment;
    /* The last moment of AMBO_CHANGE_UNLOGGED; else as moment. */
    uint64_t last;
    /* The table, as schema.table, or NULL. */
    const char *table;
    /* The values of its key, or NULL. Of a table without one it is a hidden number. */
    const ambo_row *key;
    /* Its values, or NULL. */
    const ambo_row *row;
    /* The first key of a range as it is stored, or NULL. */
    const void *lower;
    /* Its size. */
    size_t lower_size;
    /* The first key behind a range; NULL if there is no end. */
    const void *upper;
    /* Its size. */
    size_t upper_size;
} ambo_change;
/* The moment that a transaction reads at, or of NULL that of the last commit. */
AMBO_API ambo_status ambo_moment(
    const ambo_database *database, const ambo_transaction *transaction, uint64_t *moment, ambo_error **error);
/* Begins to read what was committed after a moment, up to now. The log has it: the option keep_log_bytes says how much of that is kept.
 * Begin with the moment of a transaction that was begun with AMBO_READ_ONLY: read the tables there, and follow from there. */
AMBO_API ambo_status ambo_changes_open(ambo_database *database, uint64_t since, ambo_changes **changes, ambo_error **error);
/* Everything up to this moment is in the changes: begin the next with it. 0 if they were closed. */
AMBO_API uint64_t ambo_changes_until(const ambo_changes *changes);
/* Goes to the next change: AMBO_OK, or AMBO_NOT_FOUND behind the last. */
AMBO_API ambo_status ambo_changes_next(ambo_changes *changes, ambo_change *change, ambo_error **error);
/* Frees changes. */
AMBO_API void ambo_changes_free(ambo_changes **changes);

/* ==== UQI ====
 * Aggregates of keys and records, such as SUM($key) FROM numbers WHERE $record > 5; the language stands in Ambo's book. Functions of
 * others are described in ambo_uqi.h, and come from the directory that the option plugin_directory names. */

/* The keys of rows. */
#define AMBO_UQI_KEYS 0
/* Their records. */
#define AMBO_UQI_RECORDS 1
/* Computes a query, of which query is the text, AMBO_ZERO_ENDED or of a size. */
AMBO_API ambo_status ambo_uqi(
    ambo_database *database, const ambo_transaction *transaction, const char *query, size_t query_size,
    ambo_uqi_rows **rows, ambo_error **error);
/* The same of the rows of a range of keys, as ambo_cursor_key lends them. NULL is everything. */
AMBO_API ambo_status ambo_uqi_between(
    ambo_database *database, const ambo_transaction *transaction, const char *query, size_t query_size,
    const ambo_range *range, ambo_uqi_rows **rows, ambo_error **error);
/* How many rows there are. */
AMBO_API size_t ambo_uqi_rows_count(const ambo_uqi_rows *rows);
/* The type of keys or records, as in ambo_uqi.h. */
AMBO_API uint32_t ambo_uqi_rows_type(const ambo_uqi_rows *rows, uint32_t which);
/* The key or the record of a row, and its size; NULL if there is none, or it is NULL. */
AMBO_API const void *ambo_uqi_rows_at(const ambo_uqi_rows *rows, uint32_t which, size_t row, size_t *size);
/* All keys or all records one behind the other, and how many bytes that are: an array, if values of the type have one width. */
AMBO_API const void *ambo_uqi_rows_data(const ambo_uqi_rows *rows, uint32_t which, size_t *size);
/* Frees rows. */
AMBO_API void ambo_uqi_rows_free(ambo_uqi_rows **rows);

#ifndef AMBO_NO_SQL

/* Arrow's C data and C stream interfaces: https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* ==== SQL: connections ==== */

/* Connects to a database. */
AMBO_API ambo_status ambo_connect(ambo_database *database, ambo_connection **connection, ambo_error **error);
/* Ends the statement that runs, rolls back what is open, and frees the connection. Results that are there stay, unless a statement had to
 * be ended; statements answer AMBO_CLOSED. */
AMBO_API void ambo_connection_free(ambo_connection **connection);
/* Ends the statement that runs, and all results of the connection whose rows are still computed, from any thread: they fail with
 * AMBO_CANCELLED and change nothing. */
AMBO_API void ambo_interrupt(const ambo_connection *connection);
/* How far the query is that runs, or ran last. */
typedef struct ambo_progress_figures {
    /* Rows that were read. */
    uint64_t rows_read;
    /* About how many that will be; UINT64_MAX if it is not known. */
    uint64_t rows_total;
    /* Bytes that were written to temporary files. */
    uint64_t bytes_spilled;
} ambo_progress_figures;
/* Says how far the query is that runs, from any thread. False if none does. */
AMBO_API bool ambo_progress(const ambo_connection *connection, ambo_progress_figures *progress);
/* What is called while a statement is waited for; false ends the statement. */
typedef bool (*ambo_wait_function)(void *user);
/* Has a function called about each so many milliseconds while a statement of the connection is waited for, by the thread that waits.
 * Where it returns false, the statement ends with AMBO_CANCELLED. NULL is none. */
AMBO_API ambo_status ambo_on_wait(
    ambo_connection *connection, uint32_t milliseconds, ambo_wait_function function, void *user, ambo_error **error);
/* Whether a transaction is open on a connection. */
AMBO_API bool ambo_in_transaction(const ambo_connection *connection);
/* The transaction that was begun on a connection by BEGIN, for functions that take one: so SQL and keys are written together. It is for as
 * long as that is open; ambo_commit and ambo_rollback end it there. ambo_transaction_free leaves it open. */
AMBO_API ambo_status ambo_connection_transaction(
    ambo_connection *connection, ambo_transaction **transaction, ambo_error **error);
/* Frees the handle of ambo_connection_transaction alone; any other transaction is rolled back. */
AMBO_API void ambo_transaction_free(ambo_transaction **transaction);
/* Runs a statement. Of several, one after the other, the rows are those of the last. sql_size may be AMBO_ZERO_ENDED. */
AMBO_API ambo_status ambo_query(
    ambo_connection *connection, const char *sql, size_t sql_size, ambo_result **result, ambo_error **error);
/* Runs a statement, or several, whose rows are not wanted. affected, unless it is NULL, becomes how many rows the last inserted, changed
 * or deleted. */
AMBO_API ambo_status ambo_execute(
    ambo_connection *connection, const char *sql, size_t sql_size, uint64_t *affected, ambo_error **error);
/* Puts the rows of a stream into a table, all or none; columns are found by their names. mode is "create", "append", "replace" or
 * "create_append". options, or NULL, stand behind the columns of a CREATE TABLE, such as "storage = memory". The stream is taken
 * whatever comes of it. rows, unless it is NULL, becomes their number. */
AMBO_API ambo_status ambo_ingest(
    ambo_connection *connection, const char *table, const char *mode, const char *options,
    struct ArrowArrayStream *stream, uint64_t *rows, ambo_error **error);
/* Has statements of the connection read the rows of a stream under a name, once. The stream is taken whatever comes of it. */
AMBO_API ambo_status ambo_register(
    ambo_connection *connection, const char *table, struct ArrowArrayStream *stream, ambo_error **error);
/* Forgets what was registered under a name: AMBO_NOT_FOUND if there is nothing. */
AMBO_API ambo_status ambo_unregister(ambo_connection *connection, const char *table, ambo_error **error);

/* ==== SQL: prepared statements ==== */

/* Reads one statement. Parameters are written as ?, $1, $name or :name. sql_size may be AMBO_ZERO_ENDED. */
AMBO_API ambo_status ambo_prepare(
    ambo_connection *connection, const char *sql, size_t sql_size, ambo_statement **statement, ambo_error **error);
/* How many parameters a statement has. */
AMBO_API size_t ambo_parameter_count(const ambo_statement *statement);
/* The name of a parameter, from 1; NULL if it has none. */
AMBO_API const char *ambo_parameter_name(const ambo_statement *statement, size_t parameter);
/* The place of the parameter with a name, from 1; 0 if there is none. */
AMBO_API size_t ambo_parameter_index(const ambo_statement *statement, const char *parameter_name);
/* Gives a parameter, from 1, a value of any kind. Texts and bytes are copied. */
AMBO_API ambo_status ambo_bind(ambo_statement *statement, size_t parameter, const ambo_datum *value, ambo_error **error);
/* Gives a parameter NULL. */
AMBO_API ambo_status ambo_bind_null(ambo_statement *statement, size_t parameter, ambo_error **error);
/* Gives a parameter a truth. */
AMBO_API ambo_status ambo_bind_bool(ambo_statement *statement, size_t parameter, bool value, ambo_error **error);
/* Gives a parameter an integer. */
AMBO_API ambo_status ambo_bind_int64(ambo_statement *statement, size_t parameter, int64_t value, ambo_error **error);
/* Gives a parameter an integer without a sign. */
AMBO_API ambo_status ambo_bind_uint64(ambo_statement *statement, size_t parameter, uint64_t value, ambo_error **error);
/* Gives a parameter a number. */
AMBO_API ambo_status ambo_bind_double(ambo_statement *statement, size_t parameter, double value, ambo_error **error);
/* Gives a parameter a text, which is copied. size may be AMBO_ZERO_ENDED. */
AMBO_API ambo_status ambo_bind_text(
    ambo_statement *statement, size_t parameter, const char *value, size_t size, ambo_error **error);
/* Gives a parameter bytes, which are copied. */
AMBO_API ambo_status ambo_bind_blob(
    ambo_statement *statement, size_t parameter, const void *value, size_t size, ambo_error **error);
/* Takes the values of all parameters away. */
AMBO_API ambo_status ambo_clear_bindings(ambo_statement *statement, ambo_error **error);
/* Runs a statement with the values that its parameters have, which stay. The rows need the statement no longer. */
AMBO_API ambo_status ambo_run(ambo_statement *statement, ambo_result **result, ambo_error **error);
/* The same where no rows are wanted. affected, unless it is NULL, becomes how many rows were inserted, changed or deleted. */
AMBO_API ambo_status ambo_run_update(ambo_statement *statement, uint64_t *affected, ambo_error **error);
/* What a statement returns and takes, as Arrow's schemas, without running it. Either may be NULL if it is not wanted. A parameter whose
 * type may be any has that of NULL. Where only running the statement tells its columns, that is an error. */
AMBO_API ambo_status ambo_describe(
    ambo_statement *statement, struct ArrowSchema *columns, struct ArrowSchema *parameters, ambo_error **error);
/* Frees a statement. Its results stay. */
AMBO_API void ambo_statement_free(ambo_statement **statement);

/* ==== SQL: results ==== */

/* How many columns a result has: none, if the statement returns no rows. */
AMBO_API size_t ambo_result_columns(const ambo_result *result);
/* The name of a column, from 0; NULL behind the last. */
AMBO_API const char *ambo_result_name(const ambo_result *result, size_t column);
/* The type of a column, as SQL calls it; NULL behind the last. */
AMBO_API const char *ambo_result_type(const ambo_result *result, size_t column);
/* The kind of the values of a column that are not NULL: AMBO_INT, AMBO_TEXT and so on; -1 behind the last. */
AMBO_API int32_t ambo_result_kind(const ambo_result *result, size_t column);
/* How many rows the statement inserted, changed or deleted; -1 if it is none that does such things. */
AMBO_API int64_t ambo_result_affected(const ambo_result *result);
/* What kind of statement it was, in capitals, such as "SELECT". */
AMBO_API const char *ambo_result_tag(const ambo_result *result);
/* Goes to the next row, before the first at the beginning: AMBO_OK, or AMBO_NOT_FOUND behind the last. */
AMBO_API ambo_status ambo_result_next(ambo_result *result, ambo_error **error);
/* The value of a column, from 0, of the row that the result stands on. What it lends is there until the result goes on. */
AMBO_API ambo_status ambo_result_datum(ambo_result *result, size_t column, ambo_datum *datum, ambo_error **error);
/* Whether the value of a column is NULL. */
AMBO_API bool ambo_result_is_null(ambo_result *result, size_t column);
/* A truth. */
AMBO_API ambo_status ambo_result_bool(ambo_result *result, size_t column, bool *truth, ambo_error **error);
/* An integer. NULL, another kind, and what does not fit are errors. */
AMBO_API ambo_status ambo_result_int64(ambo_result *result, size_t column, int64_t *integer, ambo_error **error);
/* An integer without a sign. NULL, another kind, and what does not fit are errors. */
AMBO_API ambo_status ambo_result_uint64(ambo_result *result, size_t column, uint64_t *integer, ambo_error **error);
/* A number: of reals, integers and decimals the nearest. NULL and another kind are errors. */
AMBO_API ambo_status ambo_result_double(ambo_result *result, size_t column, double *number, ambo_error **error);
/* Bytes, or those of a text, until the result goes on. NULL and another kind are errors. */
AMBO_API ambo_status ambo_result_blob(ambo_result *result, size_t column, const void **data, size_t *size, ambo_error **error);
/* The value as a text, whatever its type is, as SQL shows it with clocks in UTC; until the result goes on. NULL is a NULL with size 0.
 * It does not end in a zero byte. Of bytes it is an error. */
AMBO_API ambo_status ambo_result_text(ambo_result *result, size_t column, const char **text, size_t *size, ambo_error **error);
/* The columns as Arrow's schema, to be released by the caller. */
AMBO_API ambo_status ambo_result_schema(const ambo_result *result, struct ArrowSchema *schema, ambo_error **error);
/* The rows as a stream of Arrow's, to be released by the caller, and frees the result. Rows must not have been taken before; on an error
 * the result stays. When the database is closed, the stream ends with an error. */
AMBO_API ambo_status ambo_result_stream(ambo_result **result, struct ArrowArrayStream *stream, ambo_error **error);
/* Frees a result, and ends what computes it. */
AMBO_API void ambo_result_free(ambo_result **result);

#endif /* AMBO_NO_SQL */

#ifdef __cplusplus
}
#endif

#endif /* AMBO_H */
