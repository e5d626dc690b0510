/* A library with an aggregate and a predicate for UQI. It is compiled by
 *
 *     cc -shared -fPIC -O2 -I include -o plugins/squares.so uqi_plugin.c
 *
 * and called, with plugins/ as the directory of plug-ins, by
 *
 *     "sum_of_squares@squares.so"($record) FROM numbers WHERE "even@squares.so"($key) */
#include <stdlib.h>
#include <string.h>

#include "ambo_uqi.h"

/* The sum of the squares of numbers of 64 bits. */
static int32_t squares_init(const ambo_uqi_input *input, void **state) {
  uint32_t type = input->streams & 2 ? input->record_type : input->key_type;
  if (type != AMBO_UQI_U64) return -1;
  *state = calloc(1, sizeof(double));
  return *state ? 0 : -2;
}

static int32_t squares_many(void *state, const ambo_uqi_batch *batch) {
  const uint8_t *data = batch->record_data ? batch->record_data : batch->key_data;
  double sum = 0;
  for (uint64_t row = 0; row < batch->rows; row++) {
    uint64_t number;
    memcpy(&number, data + row * sizeof number, sizeof number);
    sum += (double)number * (double)number;
  }
  *(double *)state += sum;
  return 0;
}

static int32_t squares_merge(void *into, void *from) {
  *(double *)into += *(double *)from;
  return 0;
}

static int32_t squares_finish(void *state, ambo_uqi_result *result) {
  ambo_bytes key = {(const uint8_t *)"SQUARES", 7};
  ambo_bytes record = {state, sizeof(double)};
  if (result->types(result, AMBO_UQI_BYTES, AMBO_UQI_F64) < 0) return -1;
  return result->add_row(result, key, record);
}

/* Whether a number of any size is even: its first byte says so. */
static int32_t even_test(void *state, ambo_bytes key, ambo_bytes record) {
  (void)state;
  ambo_bytes bytes = record.data ? record : key;
  return bytes.len > 0 && bytes.data[0] % 2 == 0;
}

/* The number of rows, one by one, and what may go wrong. */
static int32_t count_one(void *state, ambo_bytes key, ambo_bytes record) {
  (void)key;
  (void)record;
  ++*(uint64_t *)state;
  return 0;
}

static int32_t count_init(const ambo_uqi_input *input, void **state) {
  (void)input;
  *state = calloc(1, sizeof(uint64_t));
  return *state ? 0 : -2;
}

static int32_t fails_finish(void *state, ambo_uqi_result *result) {
  (void)state;
  result->fail(result, "it was asked to fail");
  return 0;
}

static const ambo_uqi_plugin plugins[] = {
    {sizeof(ambo_uqi_plugin), AMBO_UQI_ABI, "sum_of_squares", AMBO_UQI_AGGREGATE, AMBO_UQI_ANY_THREAD | AMBO_UQI_DETERMINISTIC,
     squares_init, free, NULL, squares_many, NULL, NULL, squares_merge, squares_finish},
    {sizeof(ambo_uqi_plugin), AMBO_UQI_ABI, "even", AMBO_UQI_PREDICATE, AMBO_UQI_ANY_THREAD | AMBO_UQI_DETERMINISTIC, NULL, NULL,
     NULL, NULL, even_test, NULL, NULL, NULL},
    {sizeof(ambo_uqi_plugin), AMBO_UQI_ABI, "fails", AMBO_UQI_AGGREGATE, 0, count_init, free, count_one, NULL, NULL, NULL, NULL,
     fails_finish},
    {sizeof(ambo_uqi_plugin), AMBO_UQI_ABI + 1, "newer", AMBO_UQI_PREDICATE, 0, NULL, NULL, NULL, NULL, even_test, NULL, NULL, NULL},
};

const ambo_uqi_plugin *ambo_uqi_plugin_descriptor(const char *name, uint32_t host_abi) {
  (void)host_abi;
  for (size_t at = 0; at < sizeof plugins / sizeof *plugins; at++)
    if (strcmp(plugins[at].name, name) == 0) return &plugins[at];
  return NULL;
}
