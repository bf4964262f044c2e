/* What CUPTI tells of allocations and frees: device, managed, pinned, arrays, in stream order; and what it tells of
 * memory that is mapped by hand, or that dies with its context. */
#ifndef CONFORMANCE_MEMORY_H
#define CONFORMANCE_MEMORY_H

#include <stdint.h>

/* Borrowed during the call. */
struct memory_subject {
	int device;
	void *context;
	uint32_t context_id;
	void *driver; /* dlopen's, for functions that may not be there */
};

/* Prints checks and facts. The log subscribes to the driver's functions; it is cleared. */
void conformance_memory_run(const struct memory_subject *subject);

#endif
