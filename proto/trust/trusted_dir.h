/* Directories for sockets and locks, also in /tmp, whose contents other users cannot add to or replace. Any thread. */
#ifndef TRUSTED_DIR_H
#define TRUSTED_DIR_H

/* Checks whether files that we make in this directory stay ours. It must be ours or root's, because a directory's
 * owner may rename and remove everything in it. If others may write to it, it must be sticky. In a container without a
 * name for the host's root, a sticky directory whose owner has no name is the host's /tmp. 0; -ENOTDIR; -EPERM: others
 * could replace the files; other -errno. */
int trusted_dir_check_parent(const char *path);

/* Opens a directory that is ours and that nobody else can enter. Returns its descriptor, which the caller owns;
 * -ENOENT: path does not exist; -EPERM: path is something else, perhaps another user's; other -errno. */
int trusted_dir_open(const char *path);

#endif
