#include "own_endpoints.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/base/address_list.h"

#define ALL_OF_IPV4 "tcp://0.0.0.0:*"
#define ALL_OF_IPV6 "tcp://[::]:*"

int own_endpoints_choose(struct own_endpoints *endpoints, const char *interface)
{
	if (endpoints->count)
		return 0;
	if (!interface) {
		strcpy(endpoints->text[0], ALL_OF_IPV4);
		strcpy(endpoints->text[1], ALL_OF_IPV6);
		endpoints->count = OWN_ENDPOINTS_MAX;
		return 0;
	}
	int r = address_list_of_interface(interface, endpoints->text[0]);
	if (r)
		log_error("--interface %s: it has no address: %s", interface, strerror(-r));
	else
		endpoints->count = 1;
	return r;
}

bool own_endpoints_drop_ipv6(struct own_endpoints *endpoints, int error)
{
	if (endpoints->count < 2 || strcmp(endpoints->text[1], ALL_OF_IPV6) != 0 ||
	    (error != -EAFNOSUPPORT && error != -EADDRNOTAVAIL && error != -ENODEV))
		return false;
	endpoints->count = 1;
	return true;
}

bool own_endpoints_give_up(struct own_endpoints *endpoints, int error)
{
	if (error != -EADDRINUSE || !endpoints->count)
		return false;
	log_warning("the aggregator's port (%s) is another program's by now: it takes another one",
		    endpoints->text[0]);
	*endpoints = (struct own_endpoints){.count = 0};
	return true;
}

void own_endpoints_take(struct own_endpoints *endpoints, const struct aggregator *aggregator)
{
	for (uint32_t i = 0; i < endpoints->count; i++)
		snprintf(endpoints->text[i], sizeof(endpoints->text[i]), "%s",
			 aggregator_endpoint(aggregator, i));
}
