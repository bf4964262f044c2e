/* The text of /proc/PID/maps. Pure; any thread. */
#ifndef MAPS_FILE_H
#define MAPS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_file_entry {
	uint64_t start, end; /* addresses, end exclusive */
	uint64_t offset;     /* of start in the file, bytes */
	uint64_t device;     /* of the file's file system (makedev()) */
	uint64_t inode;      /* of the file; 0: not a file */
	bool executable;
	bool vdso;        /* the kernel's own code in every process, which is no file */
	bool deleted;     /* the file was unlinked or replaced since */
	const char *path; /* borrowed from the text, without " (deleted)"; not terminated */
	size_t path_size; /* 0: not a file */
};

/* Finds the mapping that holds an address, by bisection. false: none does, and *entry is zeroed but for start and end,
 * between which there is no mapping (the last one of all ends at UINT64_MAX). They are 0 where the text is no maps
 * file. */
bool maps_file_find(const char *text, size_t size, uint64_t address, struct maps_file_entry *entry);

/* The next mapping of the text, which is then shortened by it. false: none is left; *entry is then zeroed. */
bool maps_file_next(const char **text, size_t *size, struct maps_file_entry *entry);

#endif
