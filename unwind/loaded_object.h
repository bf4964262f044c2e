/* Asks the loader, without its lock, which file is loaded at an address. glibc answers from 2.35 on. Any thread, signal
 * handlers too. */
#ifndef LOADED_OBJECT_H
#define LOADED_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

struct loaded_object {
	uint64_t start, end; /* addresses, of all of its segments */
	uint64_t eh_frame_hdr;
};

/* Looks for the loader's function. Call it once, before the first question. */
void loaded_object_init(void);

/* Finds the file at an address. false: no file is loaded there, or the loader cannot answer; *object is then zero. */
bool loaded_object_at(uint64_t address, struct loaded_object *object);

#endif
