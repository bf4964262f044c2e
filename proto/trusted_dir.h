/* Directories that other users can't put anything into, or anything in the place of: for sockets and locks, also in /tmp. Any thread. */
#ifndef TRUSTED_DIR_H
#define TRUSTED_DIR_H

/* Whether what we make in this directory stays ours: it is sticky, or it is ours or root's and nobody else may write to it. 0; -ENOTDIR; -EPERM: others could
 * replace it; other -errno. */
int trusted_dir_check_parent(const char *path);

/* Opens a directory that is ours, and that nobody else can enter. Returns its descriptor, owned by the caller; -ENOENT: nothing is there;
 * -EPERM: something else is, another user's perhaps; other -errno. */
int trusted_dir_open(const char *path);

#endif
