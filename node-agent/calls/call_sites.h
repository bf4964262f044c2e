/* Where a file has functions that are probed (call_function.h, collective_function.h). Any thread. */
#ifndef CALL_SITES_H
#define CALL_SITES_H

#include <stdint.h>

#define CALL_SITES_MAX 512u

struct elf_file;

struct call_sites {
	uint32_t count;
	uint64_t offsets[CALL_SITES_MAX];   /* of their first instruction in the file; each once */
	uint64_t functions[CALL_SITES_MAX]; /* their numbers */
};

/* By the file's symbols: find gives a function's number, 0: it is not one of these. What it does not have, or can't be
 * read, leaves sites->count 0. */
void call_sites_find(struct elf_file *file, uint32_t (*find)(const char *symbol),
		     struct call_sites *sites);

#endif
