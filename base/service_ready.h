/* Tells systemd that a daemon is ready to serve, as sd_notify(3) does, for units of Type=notify. */
#ifndef SERVICE_READY_H
#define SERVICE_READY_H

#include <sys/un.h>

struct service_ready {
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path) + 1]; /* "": nobody waits */
};

/* Takes $NOTIFY_SOCKET out of the environment, so that no child has it. Call it before other threads start. */
void service_ready_take(struct service_ready *ready);

/* Sends READY=1 to the socket: a path, or, behind an @, a name. Any thread. 0, also if nobody waits. -errno: systemd
 * was not told, and will wait in vain; -EINVAL: what was taken names no socket. */
int service_ready_tell(const struct service_ready *ready);

#endif
