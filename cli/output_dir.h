/* The directory that a profile is written to. One `run` at a time owns it (a lock on the directory itself, so nothing
 * is left behind); what an earlier run left there is kept as *.old. Single-threaded. */
#ifndef OUTPUT_DIR_H
#define OUTPUT_DIR_H

#include <limits.h>

struct output_dir {
	int fd; /* holds the lock; -1: not open */
	char path[PATH_MAX];
};

#define OUTPUT_STORE  "profile.db"
#define OUTPUT_FOLDED "gpu.folded"
#define OUTPUT_HTML   "flame.html"
#define OUTPUT_API    "api.txt"

/* Folded stacks of another plane than the GPU's (report_plane.h): "sync.folded". */
#define OUTPUT_PLANE_SUFFIX ".folded"
#define OUTPUT_PLANE_SIZE   32u

/* Creates path (its parents too) if needed, locks it, and moves an earlier profile aside. If another run holds it,
 * "path.PID" is used instead: output->path says which.
 * 0 or -errno: -ENOTDIR, -EACCES, -EROFS, -ENOSPC, -ENAMETOOLONG. */
int output_dir_open(struct output_dir *output, const char *path);
void output_dir_close(struct output_dir *output);

/* Writes "path/name" into out. 0 or -ENAMETOOLONG. */
int output_dir_file(const struct output_dir *output, const char *name, char out[static PATH_MAX]);

#endif
