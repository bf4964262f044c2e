/* The addresses of this host that others may reach, as ZeroMQ endpoints. Single-threaded. */
#ifndef ADDRESS_LIST_H
#define ADDRESS_LIST_H

#include <stdint.h>

#include "proto/trust/rendezvous.h"

/* Puts the endpoints at which others reach who listens at bound, "tcp://0.0.0.0:PORT", "tcp://[::]:PORT" or one
 * address, behind those that are there: of all interfaces that are up, those of the loopback last; link-local ones are
 * left out. As many as there is room for. 0 or -errno. */
int address_list_add(struct rendezvous *rendezvous, const char *bound);

/* Puts the first address of an interface into "tcp://ADDRESS:*", where ZeroMQ chooses the port. IPv4 before IPv6. 0;
 * -ENODEV: it has none, or is not there; other -errno. */
int address_list_of_interface(const char *interface,
			      char endpoint[static RENDEZVOUS_ENDPOINT_SIZE]);

#endif
