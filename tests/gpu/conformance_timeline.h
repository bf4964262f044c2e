/* What CUPTI tells besides GPU work: waits, overhead, unified memory, calls that load code. */
#ifndef CONFORMANCE_TIMELINE_H
#define CONFORMANCE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

/* Borrowed during the call. */
struct timeline_subject {
	void *context;
	uint32_t context_id;
	int ordinal;
	void *function; /* a kernel with parameters (address, loops) */
	uint64_t memory;
	const char *ptx;         /* of other kernels, none of which was launched */
	const char *kernel_name; /* one of them */
};

/* Prints checks and facts; the log is cleared. */
void conformance_timeline_run(const struct timeline_subject *subject);

/* From the log: a record of a kind that is looked at here (false: it is not), and a context that was just created. */
bool conformance_timeline_keep(const uint8_t *record, uint32_t kind);
void conformance_timeline_context(void *context);

#endif
