/* The number of descriptors that this process may have open. Any thread. */
#ifndef DESCRIPTOR_LIMIT_H
#define DESCRIPTOR_LIMIT_H

#include <stdint.h>

/* Raises the soft limit to the hard one; that needs no right. Children inherit the limit, so a process that starts the
 * user's programs must not call it. */
void descriptor_limit_raise(void);

/* The soft limit; UINT32_MAX at most. */
uint32_t descriptor_limit(void);

/* The aggregator's division of its descriptors: the most stores, and the most connections, that are open at once. The
 * rest is for other files. Each is 1 or more. */
uint32_t descriptor_limit_stores(uint32_t limit);
uint32_t descriptor_limit_connections(uint32_t limit);

#endif
