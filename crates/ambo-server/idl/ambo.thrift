// Ambo's service for programs that speak Thrift: strict binary protocol, framed or not, on the port of `Options::thrift`.
//
// A connection is a session: `begin` opens a transaction in it, which ends with `commit`, `rollback`, or the connection. Keys and values are bytes; their
// tables are those of keys and values. Where there are roles, `authenticate` is the first call.

namespace * ambo

exception AmboError {
  1: string code,        // SQLSTATE
  2: string message,
  3: bool retryable,     // the same transaction may succeed when it is run again
}

// A value that may not be there.
struct Value {
  1: optional binary value,
}

struct Row {
  1: binary key,
  2: binary value,
}

struct Rows {
  1: list<Row> rows,
  2: optional binary next,   // from where to go on; not set at the end
}

// A put, or a removal if there is no value.
struct Change {
  1: string table,
  2: binary key,
  3: optional binary value,
}

// No field is set: NULL. Values of other types are texts.
union Datum {
  1: bool truth,
  2: i64 number,
  3: double real,
  4: string text,
  5: binary bytes,
}

struct Column {
  1: string name,
  2: string type,
}

struct Result {
  1: list<Column> columns,
  2: list<list<Datum>> rows,
  3: optional i64 affected,
  4: string tag,
}

service Ambo {
  void authenticate(1: string role, 2: string secret) throws (1: AmboError error),
  void ping(),

  // Makes a table of keys and values, if it is not there.
  void createTable(1: string table) throws (1: AmboError error),

  Value get(1: string table, 2: binary key) throws (1: AmboError error),
  bool exists(1: string table, 2: binary key) throws (1: AmboError error),
  list<Value> multiGet(1: string table, 2: list<binary> keys) throws (1: AmboError error),
  void put(1: string table, 2: binary key, 3: binary value) throws (1: AmboError error),
  void remove(1: string table, 2: binary key) throws (1: AmboError error),
  // All or none.
  void write(1: list<Change> changes) throws (1: AmboError error),
  // At most `limit` rows from `from` on and below `to`, from the last to the first if `reverse` says so: then `next` is the bound above.
  Rows range(1: string table, 2: optional binary from, 3: optional binary to, 4: i32 limit, 5: bool reverse) throws (1: AmboError error),
  i64 count(1: string table, 2: optional binary from, 3: optional binary to) throws (1: AmboError error),

  void begin(1: bool readOnly) throws (1: AmboError error),
  void commit() throws (1: AmboError error),
  void rollback() throws (1: AmboError error),

  Result sql(1: string text, 2: list<Datum> params) throws (1: AmboError error),
}
