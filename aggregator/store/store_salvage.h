/* Takes what is whole out of a damaged store. Used by one thread. */
#ifndef STORE_SALVAGE_H
#define STORE_SALVAGE_H

#include <stdint.h>

struct store_salvage {
	uint32_t nr_pages; /* of the file */
	/* damaged ones, and those to which only these lead; 0: free ones alone are damaged */
	uint32_t nr_lost;
	uint64_t nr_lost_records; /* that the processes count, and that are in no total */
};

/* Writes a store at copy_path, which must not exist, with all rows on sound pages of the store at path and of its log.
 * What they name and nobody can read becomes "[damaged]". Nobody can go on with the copy: it can be read and merged.
 * The store at path does not change. 0; -EPROTO: too little is whole, or no page is damaged; -EBUSY: a process writes
 * it; -EIO, -ENOSPC, and so on. On error there is no copy. */
int store_salvage(const char *path, const char *copy_path, struct store_salvage *salvage);

/* Copies the store at path, which nobody writes, with its log in it, to copy_path, which must not exist. To read a
 * store with a log SQLite writes a file beside it. 0; -ENOENT: it has no log, or is written; other -errno. On error
 * there is no copy. */
int store_salvage_log(const char *path, const char *copy_path);

#endif
