/* A file system of one file, by /dev/fuse, that stops answering when it is told to. For root. The server is a
 * process: a test that fails would wait for ever for a thread of its own. */
#ifndef STOPPED_FILES_H
#define STOPPED_FILES_H

struct stopped_files;

/* Gives the process a mount namespace of its own. Before any thread is there. */
void stopped_files_prepare(void);

/* Mounts it with a copy of the file. The caller owns it. */
struct stopped_files *stopped_files_mount(const char *copied);

/* Where the file is. Borrowed until stopped_files_unmount(). */
const char *stopped_files_path(const struct stopped_files *files);

/* From now on nothing is answered; then all that waits is. What was read before is in the kernel's cache. */
void stopped_files_stop(struct stopped_files *files);
void stopped_files_go_on(struct stopped_files *files);

/* What waits for an answer gets an error. */
void stopped_files_unmount(struct stopped_files *files);

#endif
