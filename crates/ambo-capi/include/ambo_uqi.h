/* Functions and predicates for Ambo's UQI, in libraries of others.
 *
 * A library exports one function, which describes what it has by name:
 *
 *     const ambo_uqi_plugin *ambo_uqi_plugin_descriptor(const char *name, uint32_t host_abi);
 *
 * It lies in the directory that the database was opened with (plugin_directory), and a query calls "function@library.so"; names are in
 * lower case. What it describes has to stay. A library runs in the process of the database: nothing is kept from it, and if it crashes, so
 * does the process. Exceptions and longjmp must not leave it.
 *
 * Numbers are in the order of bytes of the processor, at any address. Rows whose first input is NULL are not given. */
#ifndef AMBO_UQI_H
#define AMBO_UQI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this interface. Structures grow at their ends alone, where struct_size says so. */
#define AMBO_UQI_ABI 1

/* Types of keys and records. */
#define AMBO_UQI_BOOL 1
#define AMBO_UQI_I8 2
#define AMBO_UQI_I16 3
#define AMBO_UQI_I32 4
#define AMBO_UQI_I64 5
#define AMBO_UQI_U8 6
#define AMBO_UQI_U16 7
#define AMBO_UQI_U32 8
#define AMBO_UQI_U64 9
#define AMBO_UQI_F32 10
#define AMBO_UQI_F64 11
#define AMBO_UQI_DECIMAL128 12
#define AMBO_UQI_DATE32 13
#define AMBO_UQI_TIME64 14
#define AMBO_UQI_TIMESTAMP 15
#define AMBO_UQI_TEXT 16
#define AMBO_UQI_BYTES 17
#define AMBO_UQI_TIMESTAMPTZ 18

/* Kinds of plug-ins. */
#define AMBO_UQI_PREDICATE 1
#define AMBO_UQI_AGGREGATE 2

/* It is given keys and records, whichever of them the query names. */
#define AMBO_UQI_BOTH_STREAMS 1
/* It may be called by several threads, each with a state of its own; an aggregate then has merge. */
#define AMBO_UQI_ANY_THREAD 2
/* The same rows always have the same answer. */
#define AMBO_UQI_DETERMINISTIC 4

typedef struct {
  const uint8_t *data;
  uint64_t len;
} ambo_bytes;

/* What a plug-in is called with. */
typedef struct {
  uint32_t struct_size;
  uint32_t streams; /* 1: keys, 2: records, 3: both */
  uint32_t key_type;
  uint32_t key_size; /* 0 if keys have different sizes */
  uint32_t record_type;
  uint32_t record_size;
} ambo_uqi_input;

/* Many rows: keys and records each one behind the other. */
typedef struct {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t rows;
  const uint8_t *key_data;       /* NULL if there are no keys */
  const uint64_t *key_offsets;   /* rows + 1 places in key_data; NULL if all have key_size bytes */
  const uint8_t *record_data;    /* the same of records */
  const uint64_t *record_offsets;
} ambo_uqi_batch;

/* Where an aggregate puts what it has found. */
typedef struct ambo_uqi_result {
  uint32_t struct_size;
  uint32_t reserved;
  void *host;
  /* Of which types keys and records are, before the first row; else they are bytes. Less than 0: no such type. */
  int32_t (*types)(struct ambo_uqi_result *result, uint32_t key_type, uint32_t record_type);
  /* Less than 0: bytes that are no value of the type. */
  int32_t (*add_row)(struct ambo_uqi_result *result, ambo_bytes key, ambo_bytes record);
  /* The query ends with this error. */
  void (*fail)(struct ambo_uqi_result *result, const char *message);
} ambo_uqi_result;

/* A plug-in. Functions answer less than 0 for an error, which ends the query. */
typedef struct {
  uint32_t struct_size; /* sizeof(ambo_uqi_plugin) */
  uint32_t abi;         /* AMBO_UQI_ABI */
  const char *name;
  uint32_t kind;
  uint32_t flags;
  /* Makes a state, for each thread; may be NULL. An input that it does not take is an error. */
  int32_t (*init)(const ambo_uqi_input *input, void **state);
  /* Ends a state, also after an error; may be NULL. */
  void (*cleanup)(void *state);
  /* Aggregates have one of these, or both: then rows come by many. */
  int32_t (*one)(void *state, ambo_bytes key, ambo_bytes record);
  int32_t (*many)(void *state, const ambo_uqi_batch *batch);
  /* Predicates have one of these: 1 is yes, 0 is no. The mask has a bit for each row (row % 64 of word row / 64), all 0 before. */
  int32_t (*test)(void *state, ambo_bytes key, ambo_bytes record);
  int32_t (*test_many)(void *state, const ambo_uqi_batch *batch, uint64_t *mask);
  /* Takes what another state has seen; may be NULL. */
  int32_t (*merge)(void *into, void *from);
  /* Aggregates: puts the rows that were found into the result. */
  int32_t (*finish)(void *state, ambo_uqi_result *result);
} ambo_uqi_plugin;

const ambo_uqi_plugin *ambo_uqi_plugin_descriptor(const char *name, uint32_t host_abi);

#ifdef __cplusplus
}
#endif

#endif /* AMBO_UQI_H */
