/* Lists the addresses of this host that other hosts may reach, as ZeroMQ endpoints. Single-threaded. */
#ifndef ADDRESS_LIST_H
#define ADDRESS_LIST_H

#include "proto/trust/rendezvous.h"

/* Appends the endpoints of a socket that is bound to bound: "tcp://0.0.0.0:PORT", "tcp://[::]:PORT" or one address.
 * They are those of all interfaces that are up, the loopback's last, without link-local ones; as many as there is room
 * for. 0 or -errno. */
int address_list_add(struct rendezvous *rendezvous, const char *bound);

/* Writes the first address of an interface as "tcp://ADDRESS:*", for which ZeroMQ chooses the port. IPv4 comes before
 * IPv6. 0; -ENODEV: the interface has no address, or does not exist; other -errno. */
int address_list_of_interface(const char *interface,
			      char endpoint[static RENDEZVOUS_ENDPOINT_SIZE]);

#endif
