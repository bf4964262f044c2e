/* Return addresses by the chain of frame pointers. Any thread, its own stack only; reads nothing
 * outside of the bounds it is given, whatever the chain holds. Allocates nothing. */
#ifndef FRAME_WALK_H
#define FRAME_WALK_H

#include <stdint.h>

/* Follows the chain that starts at the frame pointer fp: two words, the caller's frame pointer and
 * the return address. Reads only inside [low, high). Ends at an address that is misaligned,
 * outside, or not above the one before; at a return address within the first page; or after max
 * frames.
 * Returns the number of return addresses stored, leaf first. */
uint32_t frame_walk_from(uintptr_t fp, uintptr_t low, uintptr_t high, uint64_t *frames,
			 uint32_t max);

#endif
