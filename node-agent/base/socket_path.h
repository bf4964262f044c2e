/* The file of a Unix socket: checks that other users cannot replace it, and handles an older file in its place. Called
 * at start and end only. */
#ifndef SOCKET_PATH_H
#define SOCKET_PATH_H

#include <sys/types.h>

/* Makes a listening, non-blocking SOCK_SEQPACKET socket at path, with exactly this mode. It replaces a socket of ours
 * at which no agent listens. Agents that start at once take turns by a lock, PATH.lock, which exists only for that
 * moment; one of them listens. Returns the descriptor, which the caller owns, or -errno; *problem is then a phrase
 * (static storage). -ENAMETOOLONG: the path is too long; -EPERM: other users could replace files in its directory;
 * -EEXIST: the path leads to something else than a socket of ours; -EADDRINUSE: another agent listens at the path;
 * other -errno of the system. */
int socket_path_listen(const char *path, mode_t mode, const char **problem);

/* Removes the path if it is still the file with this device and inode. */
void socket_path_remove(const char *path, dev_t device, ino_t inode);

#endif
