/* Reads a field of an activity record by copying it out. Records are packed to 8 bytes, and no struct of ours describes
 * them; cupti_abi.h has the fields' offsets. Pure. */
#ifndef ACTIVITY_FIELD_H
#define ACTIVITY_FIELD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t activity_field_u16(const void *activity, size_t offset)
{
	uint16_t value;

	memcpy(&value, (const char *)activity + offset, sizeof(value));
	return value;
}

static inline uint32_t activity_field_u32(const void *activity, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)activity + offset, sizeof(value));
	return value;
}

static inline uint64_t activity_field_u64(const void *activity, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)activity + offset, sizeof(value));
	return value;
}

#endif
