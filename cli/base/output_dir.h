/* Owns the directory that a profile is written to, for one `run` at a time. Meanwhile a locked mark (OUTPUT_MARK) is in
 * it. The newest profile is always in the directory that the user named; an earlier one is moved to the next free
 * number (prof.2, prof.3 ...). No file is ever overwritten, and a run without a result leaves everything as it was.
 * Single-threaded. */
#ifndef OUTPUT_DIR_H
#define OUTPUT_DIR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/profile/profile_parts.h"

struct output_dir {
	int mark; /* the mark's descriptor, which holds the lock; -1: not open */
	/* bytes of path whose directories existed before; the rest was made */
	size_t kept;
	char path[PATH_MAX];    /* without a slash at its end */
	char earlier[PATH_MAX]; /* new place of the profile that was in path; "": there was none */
};

#define OUTPUT_DEFAULT "flamegrid-profile" /* the directory without --output; a step adds its job */
#define OUTPUT_STORE   "profile.db"
/* the profiles of nodes, while they are no part of the store yet (page_set.h) */
#define OUTPUT_NODES OUTPUT_STORE PROFILE_PARTS_NODES
/* How the names of further stores begin, which are parts of the profile (whole_profile.h). A store has the pages of
 * nodes beside it, as the first one. */
#define OUTPUT_PART OUTPUT_STORE PROFILE_PARTS_PART
/* The names say the unit: nanoseconds, bytes. */
#define OUTPUT_FOLDED "gpu.ns.folded"
#define OUTPUT_HTML   "flame.html"
#define OUTPUT_API    "api.txt"
#define OUTPUT_MEMORY "memory.bytes.folded"
#define OUTPUT_LEAKS  "leaks.bytes.folded"

/* Exists while a run writes here, and after a killed run, whose lock is then free. It is empty, or, with several ranks,
 * a copy of the rendezvous (rendezvous.h). */
#define OUTPUT_MARK "profile.open"

/* The file of folded stacks of a plane other than the GPU's (report_plane.h): "sync.ns.folded". */
#define OUTPUT_PLANE_SUFFIX ".ns.folded"
#define OUTPUT_PLANE_SIZE   32u

/* Creates path and its parents if needed, marks it, and moves an earlier profile away. It moves only the profile's
 * files, since others may be there, to "path.2" or the next free number. If nothing can be made beside path, it moves
 * them to "path/2". If another run holds path, or may hold it because the file system has no locks, the next number is
 * used instead: output->path says which, and a warning is logged. 0 or -errno, which is logged, with everything as it
 * was: -ENOTDIR, -EACCES, -EROFS, -ENOSPC, -ENAMETOOLONG, -EEXIST (no number is free). */
int output_dir_open(struct output_dir *output, const char *path);

/* Takes the place of a run on another node that was lost, and whose profile lies in path and this number
 * (rendezvous.h): all files stay, and the mark is made anew. first: what the mark has to name, since another run
 * may have taken the directory meanwhile; NULL: whatever it names. 0; -ESTALE, after a warning: the mark is
 * another's; other -errno, as above. */
int output_dir_take_over(struct output_dir *output, const char *path, const char *number,
			 const char *first);

/* Names the directory in path and this number, for a process that writes there beside the run that has the mark. It
 * takes no mark, so output_dir_close() does nothing. 0 or -ENAMETOOLONG. */
int output_dir_join(struct output_dir *output, const char *path, const char *number);

/* Returns whether another run has taken this one's place since (output_dir_take_over). first: of the rendezvous, a copy
 * of which is in the mark. If that other run has failed or was killed, this one makes the mark anew, and has its place
 * again. */
bool output_dir_is_taken_over(struct output_dir *output, const char *first);

/* Is output_dir_close() for a run that took over and did nothing: all files stay, and so does the mark, with the lost
 * run's text. If that run lives, its next output_dir_is_taken_over() makes the mark its own again. */
void output_dir_leave(struct output_dir *output);

/* Removes the mark. keep: this run's files stay. Otherwise they are removed, the earlier profile is put back, and
 * directories that were made are removed. If it is not open, it does nothing. */
void output_dir_close(struct output_dir *output, bool keep);

/* Writes "path/name" into out. 0 or -ENAMETOOLONG. */
int output_dir_file(const struct output_dir *output, const char *name, char out[static PATH_MAX]);

/* Returns whether a directory that is, or is to be made, at this path lies on a file system of several hosts
 * (base/shared_disk.h). */
bool output_dir_is_shared(const char *path);

/* Returns the store of a profile: the path itself, or, if it is a directory, the store in it, written into buffer. The
 * page or the folded stacks beside a store name that store, too. */
const char *output_dir_store(const char *path, char buffer[static PATH_MAX]);

#endif
