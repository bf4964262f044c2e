/* What is relied on of green contexts: which context their records, and the callbacks of their launches, name. Prints
 * its checks. */
#ifndef CONFORMANCE_GREEN_H
#define CONFORMANCE_GREEN_H

#include <stdbool.h>
#include <stdint.h>

/* CUPTI's thread, for each record: whether it was of a context or a stream. */
bool conformance_green_keep(const uint8_t *record, uint32_t kind);

/* context: the primary one of device 0, current; function: a kernel that takes an address and a count; memory: that
 * address. The subscription of conformance_log.h is on. */
void conformance_green_run(void *context, void *function, uint64_t memory);

#endif
