/* What counting API calls and launch configurations relies on: names of callbacks, callbacks enabled one by one, what
 * kernel records and devices say. Prints its checks. */
#ifndef CONFORMANCE_API_H
#define CONFORMANCE_API_H

#include <stdint.h>

/* context: to work in; function: a kernel that takes an address and a count; memory: that address. The subscription of
 * conformance_log.h is on, and is as it was afterwards. */
void conformance_api_run(void *context, void *function, uint64_t memory);

#endif
