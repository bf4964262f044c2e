/* Where a server listens: [ADDRESS:]PORT, with IPv6 addresses in brackets. Pure; any thread. */
#ifndef HTTP_ADDRESS_H
#define HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#define HTTP_ADDRESS_TEXT_MAX 64u

struct http_address {
	struct sockaddr_storage socket;
	socklen_t size;
};

/* A port alone is one of 127.0.0.1. Port 0: the system chooses one. Names of hosts are not looked up. 0; -EINVAL, with
 * *error as error_text_set() makes it. */
int http_address_parse(const char *text, struct http_address *address, char **error);

/* Returns whether only this machine can reach it. */
bool http_address_is_local(const struct http_address *address);

/* Returns text, which becomes "127.0.0.1:9400", or "[::1]:9400". */
const char *http_address_text(const struct http_address *address,
			      char text[static HTTP_ADDRESS_TEXT_MAX]);

#endif
