/* Orders what samples name by its content. Ids depend on the order in which things were told, so on the order of a
 * merge; the division of samples must not. Pure. */
#ifndef STALL_ORDER_H
#define STALL_ORDER_H

#include <stdint.h>

#include "aggregator/profile/catalog.h"

/* Compares two numbers: below 0, 0 or above 0. */
static inline int stall_order_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Each compares two ids of the catalog as memcmp() does. Only things with the same content are equal. So are plain
 * addresses of different processes, which nothing tells apart. */
int stall_order_strings(const struct catalog *catalog, uint32_t a, uint32_t b);
int stall_order_stacks(const struct catalog *catalog, uint32_t a, uint32_t b);

#endif
