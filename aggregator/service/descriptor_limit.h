/* How many descriptors this process may have open. Any thread may call these. */
#ifndef DESCRIPTOR_LIMIT_H
#define DESCRIPTOR_LIMIT_H

#include <stdint.h>

/* Raises the soft limit to the hard one, which needs no right. A process calls it before it starts others for
 * which the raised limit does no harm; never one whose children are the user's. */
void descriptor_limit_raise(void);

/* The soft limit; UINT32_MAX at most. */
uint32_t descriptor_limit(void);

/* How an aggregator divides its descriptors: so many stores are open at once, and so many connections. The rest is
 * for what else it opens. Each is 1 at least. */
uint32_t descriptor_limit_stores(uint32_t limit);
uint32_t descriptor_limit_connections(uint32_t limit);

#endif
