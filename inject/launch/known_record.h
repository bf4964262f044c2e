/* A stack that a thread has captured, with all that its walks read: one piece of memory, which does not change once it
 * is written. The first record of a thread's memory has number 1; the last has one below 65,536. */
#ifndef KNOWN_RECORD_H
#define KNOWN_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk_record.h"

#define KNOWN_RECORD_UNIT 64u /* records start on cache lines; numbers count these */

/* Behind the walk's record stand struct python_read python[nr_python] and uint64_t outer[nr_outer]. */
struct known_record {
	uint32_t stack_id, stack_epoch;
	uint32_t options;
	uint16_t nr_python, nr_outer;
	uint32_t older; /* a record that no word of the native stack tells from this one; 0: none */
	uint16_t nr_older; /* in a row */
	bool truncated;    /* the walks ended at the depth cap */
	struct walk_record walk;
};

static inline struct known_record *known_record_at(char *records, uint32_t number)
{
	return (struct known_record *)(records + (uint64_t)number * KNOWN_RECORD_UNIT);
}

#endif
