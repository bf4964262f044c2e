/* Tells systemd that a daemon is ready to serve, as sd_notify(3) does, for units of Type=notify. Any thread. */
#ifndef SERVICE_READY_H
#define SERVICE_READY_H

/* Sends READY=1 to the socket that $NOTIFY_SOCKET names: a path, or, behind an @, a name. The variable is
 * then removed from the environment. 0, also without the variable. -errno: systemd was not told, and will wait in vain;
 * -EINVAL: the variable names no socket. */
int service_ready(void);

#endif
