/* The addresses on which a step's aggregator listens: all, or those of one interface. One that is started again listens
 * on the same ones if it can. Plain data, so that processes can share it; single-threaded. */
#ifndef OWN_ENDPOINTS_H
#define OWN_ENDPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregator/service/aggregator.h"
#include "proto/trust/rendezvous.h"

#define OWN_ENDPOINTS_MAX 2u

/* Zeroed: not chosen yet. */
struct own_endpoints {
	char text[OWN_ENDPOINTS_MAX][RENDEZVOUS_ENDPOINT_SIZE];
	uint32_t count;
};

/* Chooses them, unless they are chosen. interface: NULL: all addresses. 0 or -errno after a message. */
int own_endpoints_choose(struct own_endpoints *endpoints, const char *interface);

/* Drops that of IPv6 if this error of aggregator_create() tells that the host has no IPv6. Returns whether it did, so
 * that another try makes sense. */
bool own_endpoints_drop_ipv6(struct own_endpoints *endpoints, int error);

/* Gives up its ports, with a warning, if this error of aggregator_create() tells that another program has one of them.
 * Returns whether it did: then they are to be chosen anew. */
bool own_endpoints_give_up(struct own_endpoints *endpoints, int error);

/* Takes the ports that the aggregator has got. */
void own_endpoints_take(struct own_endpoints *endpoints, const struct aggregator *aggregator);

#endif
