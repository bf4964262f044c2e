/* A directory of files that can be made anew: symbols, unwind tables. It is this user's alone, each file is written
 * whole or not at all, and the files that were not used for the longest go first. A writer that is killed leaves a file
 * of another name, which the next listing deletes. The callers check what is in a file. Any thread calls. Several
 * threads and processes may use one directory at once. */
#ifndef CACHE_DIRECTORY_H
#define CACHE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Makes the directory and those above it (0700), unless they exist. Returns 0 or -errno. */
int cache_directory_make(const char *path);

/* Returns a descriptor; -EPERM: the directory is another user's, or another user can write to it; other -errno. */
int cache_directory_open(const char *path);

/* Reads a whole file. The caller owns *data: free(). Returns 0; -ENOENT; -EBADMSG: not a plain file of ours, or not of
 * size_min to size_max bytes; other -errno. On error *data is NULL and *size 0. */
int cache_directory_read(int directory, const char *name, size_t size_min, size_t size_max,
			 char **data, size_t *size);

/* Marks a file as used now. */
void cache_directory_use(int directory, const char *name);

/* Deletes a file, if it is there. */
void cache_directory_delete(int directory, const char *name);

struct cache_part {
	const void *data;
	size_t size;
};

/* Writes a file of mode 0600 that consists of these parts. Returns 0 or -errno. */
int cache_directory_write(int directory, const char *name, const struct cache_part *parts,
			  uint32_t nr_parts);

#define CACHE_DIRECTORY_NAME_SIZE                                                                  \
	160u /* of a name with its end; files with longer ones are not ours */
#define CACHE_DIRECTORY_LIST_MAX 65536u /* files of a list; others are not looked at */

struct cache_file {
	struct timespec used; /* last; by the file system's clock */
	uint64_t bytes;
	bool is_written; /* now, by a living process; its name is not final */
	char name[CACHE_DIRECTORY_NAME_SIZE];
};

/* Lists the files whose names end in `suffix`, the last used first. Deletes those of the suffix that writers have left
 * and that no living process writes. The caller owns *files: free(). Returns 0; -errno: *files is NULL and *nr 0. */
int cache_directory_list(int directory, const char *suffix, struct cache_file **files,
			 uint32_t *nr);

struct cache_limits {
	uint64_t bytes;
	uint32_t files;
};

/* Deletes files whose names end in `suffix`, the least recently used first, until those that stay are within the
 * limits. One always stays. Files that are being written count, and stay. */
void cache_directory_trim(int directory, const char *suffix, const struct cache_limits *limits);

#endif
