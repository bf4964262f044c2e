/* The file of a Unix socket: checks that other users cannot replace it, and handles an older file in its place. Called
 * at start and end only. */
#ifndef SOCKET_PATH_H
#define SOCKET_PATH_H

#include <sys/types.h>

/* A listening SOCK_SEQPACKET socket, non-blocking, at path, which gets exactly this mode. A socket
 * of ours that nobody listens to is replaced. Returns the descriptor, owned by the caller, or
 * -errno, and *problem is then a phrase (static storage): -ENAMETOOLONG: the path is too long;
 * -EPERM: others could replace files in its directory; -EEXIST: something else lies there;
 * -EADDRINUSE: another agent listens there; other -errno of the system. Agents that start at once take turns by a lock,
 * PATH.lock, which exists only for that moment; one of them listens. */
int socket_path_listen(const char *path, mode_t mode, const char **problem);

/* Removes the path if it is still the file with this device and inode. */
void socket_path_remove(const char *path, dev_t device, ino_t inode);

#endif
