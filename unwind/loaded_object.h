/* Asks the loader, without its lock, what file is loaded at an address: glibc 2.35 and later. Any
 * thread, signal handlers too. */
#ifndef LOADED_OBJECT_H
#define LOADED_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct loaded_object {
	uint64_t start, end; /* addresses, of all of its segments */
	uint64_t eh_frame_hdr;
};

/* Looks for the loader's function. Once, before the first question. */
void loaded_object_init(void);

/* false: nothing is loaded there, or no answer; *object is then zero. */
bool loaded_object_at(uint64_t address, struct loaded_object *object);

#endif
