/* Fields of CUPTI's records, which need not be aligned. */
#ifndef CONFORMANCE_RECORD_H
#define CONFORMANCE_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t u16_at(const uint8_t *record, size_t offset)
{
	uint16_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static inline uint32_t u32_at(const uint8_t *record, size_t offset)
{
	uint32_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static inline uint64_t u64_at(const uint8_t *record, size_t offset)
{
	uint64_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

#endif
