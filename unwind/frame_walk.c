#include "frame_walk.h"

#define FIRST_PAGE  4096u
#define FRAME_BYTES (2 * sizeof(uintptr_t))

/* Whatever the words between frames hold, a sanitizer's red zones too, may be read. */
__attribute__((no_sanitize("address"))) uint32_t
frame_walk_from(uintptr_t fp, uintptr_t low, uintptr_t high, uint64_t *frames, uint32_t max)
{
	uint32_t nr = 0;

	while (nr < max) {
		/* By subtraction: fp may be any value, and fp + 16 may wrap. */
		if (fp < low || fp > high || high - fp < FRAME_BYTES || fp % sizeof(uintptr_t) != 0)
			break;

		const uintptr_t *frame = (const uintptr_t *)fp;
		uintptr_t next = frame[0], address = frame[1];
		if (address < FIRST_PAGE)
			break;
		frames[nr++] = address;
		low = fp + FRAME_BYTES; /* strictly upwards */
		fp = next;
	}
	return nr;
}
