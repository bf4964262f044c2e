#include "service_ready.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VARIABLE "NOTIFY_SOCKET"

static int send_ready(const char *name)
{
	static const char message[] = "READY=1";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t size = strlen(name);
	int fd, r = 0;

	if ((*name != '/' && *name != '@') || size < 2 || size >= sizeof(address.sun_path))
		return -EINVAL;
	memcpy(address.sun_path, name, size);
	if (*name == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, message, sizeof(message) - 1, MSG_NOSIGNAL, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)) < 0)
		r = -errno;
	close(fd);
	return r;
}

void service_ready_take(struct service_ready *ready)
{
	const char *name = getenv(VARIABLE);

	/* a longer name than an address can have stays too long when it is cut */
	snprintf(ready->socket, sizeof(ready->socket), "%s", name ? name : "");
	unsetenv(VARIABLE);
}

int service_ready_tell(const struct service_ready *ready)
{
	return *ready->socket ? send_ready(ready->socket) : 0;
}
