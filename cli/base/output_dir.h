/* The directory that a profile is written to. One `run` at a time owns it: while it does, there is a mark in it
 * (OUTPUT_MARK), locked. The newest profile is always in the directory that was asked for; an earlier one is moved
 * to the next free number (prof.2, prof.3 ...). Nothing is ever written over, and a run that has nothing to keep
 * leaves all as it was. Single-threaded. */
#ifndef OUTPUT_DIR_H
#define OUTPUT_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct output_dir {
	int mark;               /* its descriptor, which holds the lock; -1: not open */
	size_t kept;            /* so much of path was there before; the rest was made */
	char path[PATH_MAX];    /* without a slash at its end */
	char earlier[PATH_MAX]; /* where the profile is that was in path; "": there was none */
};

#define OUTPUT_STORE  "profile.db"
#define OUTPUT_FOLDED "gpu.folded"
#define OUTPUT_HTML   "flame.html"
#define OUTPUT_API    "api.txt"
#define OUTPUT_MEMORY "memory.folded"
#define OUTPUT_LEAKS  "leaks.folded"

/* There while a run writes here, and after one that was killed: then its lock is free. Empty, or, of several ranks,
 * a copy of the rendezvous (rendezvous.h). */
#define OUTPUT_MARK "profile.open"

/* Folded stacks of another plane than the GPU's (report_plane.h): "sync.folded". */
#define OUTPUT_PLANE_SUFFIX ".folded"
#define OUTPUT_PLANE_SIZE   32u

/* Creates path (its parents too) if needed, marks it, and moves an earlier profile away: its files alone, since
 * others may be there, to "path.2" or the next number that is free; to "path/2" where nothing can be made beside
 * path. If another run holds path, or may hold it because the file system has no locks, the next number is used
 * instead: output->path says which. 0 or -errno, with all as it was: -ENOTDIR, -EACCES, -EROFS, -ENOSPC,
 * -ENAMETOOLONG, -EEXIST (no number is free). */
int output_dir_open(struct output_dir *output, const char *path);

/* Takes the mark away. keep: this run's files stay. Otherwise they are removed, the earlier profile is put back, and
 * directories that were made are removed. Nothing if it is not open. */
void output_dir_close(struct output_dir *output, bool keep);

/* Writes "path/name" into out. 0 or -ENAMETOOLONG. */
int output_dir_file(const struct output_dir *output, const char *name, char out[static PATH_MAX]);

/* The store of a profile: the path itself, or the store in it if it is a directory, written into buffer. */
const char *output_dir_store(const char *path, char buffer[static PATH_MAX]);

#endif
