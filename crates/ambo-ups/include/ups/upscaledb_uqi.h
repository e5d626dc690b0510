/* The query interface of upscaledb 2.2, for programs that run on Ambo (libambo-ups). What the language has beyond upscaledb's, and what
 * differs, stands in the chapters "UQI" and "Coming from upscaledb" of Ambo's book. */

#ifndef UPS_UPSCALEDB_UQI_H
#define UPS_UPSCALEDB_UQI_H

#include <ups/upscaledb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of a query. What it lends is there until it is closed. */
typedef struct uqi_result_t uqi_result_t;

UPS_EXPORT uint32_t UPS_CALLCONV uqi_result_get_row_count(uqi_result_t *result);
UPS_EXPORT uint32_t UPS_CALLCONV uqi_result_get_key_type(uqi_result_t *result);
UPS_EXPORT uint32_t UPS_CALLCONV uqi_result_get_record_type(uqi_result_t *result);
/* Key and record of a row; of one that is not there, or has none, the size is 0. */
UPS_EXPORT void UPS_CALLCONV uqi_result_get_key(uqi_result_t *result, uint32_t row, ups_key_t *key);
UPS_EXPORT void UPS_CALLCONV uqi_result_get_record(uqi_result_t *result, uint32_t row, ups_record_t *record);
/* All keys and all records one behind the other: arrays of their types, if these have a fixed width. */
UPS_EXPORT void *UPS_CALLCONV uqi_result_get_key_data(uqi_result_t *result, uint32_t *size);
UPS_EXPORT void *UPS_CALLCONV uqi_result_get_record_data(uqi_result_t *result, uint32_t *size);
UPS_EXPORT void UPS_CALLCONV uqi_result_close(uqi_result_t *result);

/* For plug-ins: what keys and records are, and rows. */
UPS_EXPORT void UPS_CALLCONV uqi_result_initialize(uqi_result_t *result, int key_type, int record_type);
UPS_EXPORT void UPS_CALLCONV uqi_result_add_row(
    uqi_result_t *result, const void *key_data, uint32_t key_size, const void *record_data, uint32_t record_size);
UPS_EXPORT void UPS_CALLCONV uqi_result_move(uqi_result_t *destination, uqi_result_t *source);

/* A plug-in. There is a state for each query; a predicate may have one for each thread. */
typedef void *(*uqi_plugin_init_function)(
    int flags, int key_type, uint32_t key_size, int record_type, uint32_t record_size, const char *reserved);
#define UQI_STREAM_KEY 1
#define UQI_STREAM_RECORD 2
typedef void (*uqi_plugin_cleanup_function)(void *state);
typedef void (*uqi_plugin_aggregate_single_function)(
    void *state, const void *key_data, uint32_t key_size, const void *record_data, uint32_t record_size);
/* For keys and records of fixed width alone. */
typedef void (*uqi_plugin_aggregate_many_function)(
    void *state, const void *key_data_list, const void *record_data_list, size_t list_length);
typedef int (*uqi_plugin_predicate_function)(
    void *state, const void *key_data, uint32_t key_size, const void *record_data, uint32_t record_size);
typedef void (*uqi_plugin_result_function)(void *state, uqi_result_t *result);
#define UQI_PLUGIN_PREDICATE 1
#define UQI_PLUGIN_AGGREGATE 2
#define UQI_PLUGIN_REQUIRE_BOTH_STREAMS 1

typedef struct {
    const char *name;
    uint32_t type;
    uint32_t flags;
    uint32_t plugin_version;
    uqi_plugin_init_function init;
    uqi_plugin_cleanup_function cleanup;
    uqi_plugin_aggregate_single_function agg_single;
    uqi_plugin_aggregate_many_function agg_many;
    uqi_plugin_predicate_function pred;
    uqi_plugin_result_function results;
} uqi_plugin_t;

/* Makes a plug-in known to all environments of the process. */
UPS_EXPORT ups_status_t UPS_CALLCONV uqi_register_plugin(uqi_plugin_t *descriptor);

/* Runs a query. The result is closed by the caller. */
UPS_EXPORT ups_status_t UPS_CALLCONV uqi_select(ups_env_t *env, const char *query, uqi_result_t **result);
/* The same from the item that begin points to, which moves to the first behind; to that before end. Both may be NULL. */
UPS_EXPORT ups_status_t UPS_CALLCONV uqi_select_range(
    ups_env_t *env, const char *query, ups_cursor_t *begin, const ups_cursor_t *end, uqi_result_t **result);

#ifdef __cplusplus
}
#endif

#endif /* UPS_UPSCALEDB_UQI_H */
