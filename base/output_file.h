/* A file that people read, written as a whole: until it is complete, what was there before stays. It is written beside
 * its path and then renamed. A device or a pipe, or a symbolic link that a caller follows, is written in place. A
 * process that is killed leaves nothing, where the file system has files without names; elsewhere, and at the very end,
 * it may leave "PATH.PID-0". One thread. */
#ifndef OUTPUT_FILE_H
#define OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum output_file_mode {
	OUTPUT_FILE_FOLLOWS, /* the path is what a user named */
	/* the path is a fixed name in a folder, which may be another user's: no link is followed */
	OUTPUT_FILE_REPLACES
};

struct output_file {
	FILE *stream;     /* to write to; owns */
	const char *path; /* borrowed until output_file_close() */
	char written
		[PATH_MAX]; /* the name of what is written, if it has one that is not the path; else "" */
	bool is_nameless;
};

/* mode: of the file; if it follows, less the umask, and a file that is there keeps its own. 0; -EISDIR; -ENAMETOOLONG;
 * -errno of open(). After an error the file is not open. */
int output_file_open(struct output_file *file, const char *path, enum output_file_mode how,
		     mode_t mode);

/* Ends the file, and moves it to its path if result is not negative; else removes it. Returns result if that is
 * negative, else 0 or -errno: the path is as it was then, unless it is written in place. */
int output_file_close(struct output_file *file, int result);

/* Returns whether the path is a profile's store, or has the name of a file that belongs to the profile: in the store's
 * folder, each name that begins with the store's own and "-" or "."; or it lies in a folder of such a name. */
bool output_file_is_of_store(const char *path, const char *store_path);

#endif
