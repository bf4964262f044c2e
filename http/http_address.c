#include "http_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_text.h"

/* -1: it is no port. */
static int parse_port(const char *text)
{
	const size_t size = strlen(text);
	long port;

	if (size == 0 || size > 5 || strspn(text, "0123456789") != size)
		return -1;
	port = strtol(text, NULL, 10);
	return port <= UINT16_MAX ? (int)port : -1;
}

static int take_v4(struct http_address *address, const char *host, int port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address->socket;

	v4->sin_family = AF_INET;
	v4->sin_port = htons((uint16_t)port);
	address->size = sizeof(*v4);
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 ? 0 : -EINVAL;
}

static int take_v6(struct http_address *address, char *host, int port)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address->socket;
	const size_t size = strlen(host);

	if (size < 2 || host[size - 1] != ']')
		return -EINVAL;
	host[size - 1] = '\0';
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	address->size = sizeof(*v6);
	return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1 ? 0 : -EINVAL;
}

int http_address_parse(const char *text, struct http_address *address, char **error)
{
	const char *colon = strrchr(text, ':');
	const int port = parse_port(colon ? colon + 1 : text);
	char host[HTTP_ADDRESS_TEXT_MAX] = "127.0.0.1";
	int status = port < 0 ? -EINVAL : 0;

	*address = (struct http_address){0};
	if (colon && (size_t)(colon - text) >= sizeof(host))
		status = -EINVAL;
	else if (colon)
		snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (!status)
		status = *host == '[' ? take_v6(address, host, port) : take_v4(address, host, port);
	return status ? error_text_set(error, status,
				       "%s: this is not PORT, ADDRESS:PORT or [ADDRESS]:PORT", text)
		      : 0;
}

bool http_address_is_local(const struct http_address *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;

	if (address->socket.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

const char *http_address_text(const struct http_address *address,
			      char text[static HTTP_ADDRESS_TEXT_MAX])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
	const bool is_v6 = address->socket.ss_family == AF_INET6;
	char host[INET6_ADDRSTRLEN] = "";

	inet_ntop(address->socket.ss_family,
		  is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, host,
		  sizeof(host));
	snprintf(text, HTTP_ADDRESS_TEXT_MAX, is_v6 ? "[%s]:%u" : "%s:%u", host,
		 ntohs(is_v6 ? v6->sin6_port : v4->sin_port));
	return text;
}
