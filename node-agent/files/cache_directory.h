/* A directory of files that can be made anew: symbols, unwind tables. It is this user's alone, each file is written
 * whole or not at all, and the files that were not used for the longest go first. The callers check what is in a file.
 * Any thread calls. Several threads and processes may use one directory at once. */
#ifndef CACHE_DIRECTORY_H
#define CACHE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

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

struct cache_part {
	const void *data;
	size_t size;
};

/* Writes a file of mode 0600 that consists of these parts. Returns 0 or -errno. */
int cache_directory_write(int directory, const char *name, const struct cache_part *parts,
			  uint32_t nr_parts);

/* Deletes files whose names end in `suffix` until those that stay have max_bytes at most; one always stays. */
void cache_directory_trim(int directory, const char *suffix, uint64_t max_bytes);

#endif
