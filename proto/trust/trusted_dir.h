/* Directories that other users cannot put anything into, or anything in the place of: for sockets and locks, also in
 * /tmp. Any thread. */
#ifndef TRUSTED_DIR_H
#define TRUSTED_DIR_H

/* Whether what we make in this directory stays ours. It must be ours or root's, since its owner may rename and remove
 * all that is in it, and sticky if others may write to it. In a container that has no name for the host's root, a
 * sticky directory of an owner without a name is the host's /tmp. 0; -ENOTDIR; -EPERM: others could replace it; other
 * -errno. */
int trusted_dir_check_parent(const char *path);

/* Opens a directory that is ours, and that nobody else can enter. Returns its descriptor, which the caller owns;
 * -ENOENT: nothing is there; -EPERM: something else is, another user's perhaps; other -errno. */
int trusted_dir_open(const char *path);

#endif
