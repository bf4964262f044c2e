/* Reads the text of /proc/PID/maps. Pure; any thread. */
#ifndef MAPS_FILE_H
#define MAPS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_file_entry {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t offset;     /* offset of start in the file, bytes */
	uint64_t device;     /* st_dev of the file (makedev()) */
	uint64_t inode;      /* the file's inode; 0: not a file */
	bool executable;
	bool vdso;        /* the kernel's own code, which is in every process and is no file */
	bool deleted;     /* the file has been unlinked or replaced */
	const char *path; /* borrowed from the text, without " (deleted)"; not terminated */
	size_t path_size; /* 0: not a file */
};

/* Finds the mapping that holds an address, by bisection. false: no mapping holds it, and *entry is zeroed but for start
 * and end. They then bound the gap around the address; the last gap ends at UINT64_MAX. Both are 0 if the text is not a
 * maps file. */
bool maps_file_find(const char *text, size_t size, uint64_t address, struct maps_file_entry *entry);

/* Reads the next mapping and moves *text and *size behind it. false: none is left; *entry is then zeroed. */
bool maps_file_next(const char **text, size_t *size, struct maps_file_entry *entry);

#endif
