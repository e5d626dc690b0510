/* Types of the programming interface of upscaledb, for programs that run on Ambo. */

#ifndef UPS_TYPES_H
#define UPS_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifndef UPS_EXPORT
#define UPS_EXPORT extern
#endif
#ifndef UPS_CALLCONV
#define UPS_CALLCONV
#endif

typedef int ups_status_t;
typedef int ups_bool_t;
#define UPS_FALSE 0
#define UPS_TRUE 1

typedef int64_t ups_s64_t;
typedef uint64_t ups_u64_t;
typedef int32_t ups_s32_t;
typedef uint32_t ups_u32_t;
typedef int16_t ups_s16_t;
typedef uint16_t ups_u16_t;
typedef int8_t ups_s8_t;
typedef uint8_t ups_u8_t;

#endif /* UPS_TYPES_H */
