#include "endpoint.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#define HOST_MAX 64u

/* Finds the host between "tcp://" and the port, without brackets. libzmq takes "SOURCE;TARGET" when it connects; only
 * the target counts. */
static bool split_host(const char *address, char host[HOST_MAX])
{
	const char *source_end = strchr(address, ';');
	if (source_end)
		address = source_end + 1;

	const char *colon = strrchr(address, ':');
	if (!colon)
		return false;
	size_t size = (size_t)(colon - address);
	if (size >= 2 && address[0] == '[' && address[size - 1] == ']') {
		address++;
		size -= 2;
	}
	if (size == 0 || size >= HOST_MAX)
		return false;
	memcpy(host, address, size);
	host[size] = '\0';
	return true;
}

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6) ||
		       (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
	return false;
}

int endpoint_is_local(const char *endpoint)
{
	char host[HOST_MAX];

	if (strncmp(endpoint, "ipc://", 6) == 0 || strncmp(endpoint, "inproc://", 9) == 0)
		return 1;
	if (strncmp(endpoint, "tcp://", 6) != 0)
		return 0;
	return split_host(endpoint + 6, host) && is_loopback(host);
}
