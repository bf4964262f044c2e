/* Finds the functions of a file that are to be probed (call_function.h, collective_function.h). Any thread. */
#ifndef CALL_SITES_H
#define CALL_SITES_H

#include <stdint.h>

#define CALL_SITES_MAX 512u

struct elf_file;

struct call_sites {
	uint32_t count;
	/* file offset of each function's first instruction; each offset once */
	uint64_t offsets[CALL_SITES_MAX];
	uint64_t functions[CALL_SITES_MAX]; /* the functions' numbers */
};

/* Finds functions by the file's symbols. find returns a function's number, 0: it is not to be probed. If no function is
 * found, or the file can't be read, sites->count is 0. */
void call_sites_find(struct elf_file *file, uint32_t (*find)(const char *symbol),
		     struct call_sites *sites);

#endif
