/* Records what one walk of a thread's Python frames read, so that a later walk need not be done if it would read the
 * same. docs/stacks.md says why. Frames are relative to the first one; where they lie is only a guess. Pure but for the
 * frames that are read, which are the calling thread's; no lock, no allocation. */
#ifndef PYTHON_RECORD_H
#define PYTHON_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "python_layout.h"

#define PYTHON_RECORD_MAX 255u /* frames; more are not recorded */

/* One frame, also of those that a walk leaves out. */
struct python_read {
	uint64_t key;   /* its code, by identity, and instruction; 0: the interpreter's own frame */
	uint64_t place; /* bytes from the first frame to where it probably lies << 16 | its kind */
};

/* Returns a number that is mostly another one for other innermost frames. Reads no code. first 0: no frames. */
uint64_t python_record_hash(const struct python_layout *layout, uint64_t first);

/* Returns the number of frames; PYTHON_RECORD_MAX + 1 for any larger one. */
uint32_t python_record_count(const struct python_layout *layout, uint64_t first);

/* Writes nr frames, as many as python_record_count() returned. */
void python_record_write(const struct python_layout *layout, uint64_t first,
			 struct python_read *reads, uint32_t nr);

/* Returns whether a walk from here would read what the recorded one did. */
bool python_record_holds(const struct python_layout *layout, uint64_t first,
			 const struct python_read *reads, uint32_t nr);

#endif
