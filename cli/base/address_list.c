#include "address_list.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Prints an address as ZeroMQ wants it ("10.0.0.1", "[fd00::1]"). false: another family. */
static bool print_address(const struct ifaddrs *entry, char *text, size_t size)
{
	char digits[INET6_ADDRSTRLEN];

	if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP))
		return false;
	if (entry->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)entry->ifa_addr;

		inet_ntop(AF_INET, &v4->sin_addr, digits, sizeof(digits));
		snprintf(text, size, "%s", digits);
		return true;
	}
	if (entry->ifa_addr->sa_family != AF_INET6)
		return false;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)entry->ifa_addr;
	if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
		return false;
	inet_ntop(AF_INET6, &v6->sin6_addr, digits, sizeof(digits));
	snprintf(text, size, "[%s]", digits);
	return true;
}

static void add(struct rendezvous *rendezvous, const char *address, const char *port)
{
	if (rendezvous->nr_endpoints < RENDEZVOUS_ENDPOINTS_MAX)
		snprintf(rendezvous->endpoints[rendezvous->nr_endpoints++],
			 RENDEZVOUS_ENDPOINT_SIZE, "tcp://%s%s", address, port);
}

static void add_all(struct rendezvous *rendezvous, const struct ifaddrs *list, bool v6,
		    bool loopback, const char *port)
{
	char address[INET6_ADDRSTRLEN + 2];

	for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
		if (!(entry->ifa_flags & IFF_LOOPBACK) == !loopback &&
		    print_address(entry, address, sizeof(address)) && (*address == '[') == v6)
			add(rendezvous, address, port);
}

int address_list_add(struct rendezvous *rendezvous, const char *bound)
{
	const char *port = strrchr(bound, ':');
	bool any_v4 = strncmp(bound, "tcp://0.0.0.0:", strlen("tcp://0.0.0.0:")) == 0;
	bool any_v6 = strncmp(bound, "tcp://[::]:", strlen("tcp://[::]:")) == 0;
	struct ifaddrs *list;

	if (!any_v4 && !any_v6) {
		if (rendezvous->nr_endpoints < RENDEZVOUS_ENDPOINTS_MAX)
			snprintf(rendezvous->endpoints[rendezvous->nr_endpoints++],
				 RENDEZVOUS_ENDPOINT_SIZE, "%s", bound);
		return 0;
	}
	if (getifaddrs(&list) < 0)
		return -errno;
	add_all(rendezvous, list, any_v6, false, port);
	add_all(rendezvous, list, any_v6, true, port);
	freeifaddrs(list);
	return 0;
}

int address_list_of_interface(const char *interface, char endpoint[static RENDEZVOUS_ENDPOINT_SIZE])
{
	char address[INET6_ADDRSTRLEN + 2] = "", found[INET6_ADDRSTRLEN + 2] = "";
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0)
		return -errno;
	for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
		if (strcmp(entry->ifa_name, interface) == 0 &&
		    print_address(entry, address, sizeof(address)) &&
		    (!*found || (*found == '[' && *address != '[')))
			strcpy(found, address);
	freeifaddrs(list);
	snprintf(endpoint, RENDEZVOUS_ENDPOINT_SIZE, "tcp://%s:*", found);
	return *found ? 0 : -ENODEV;
}
